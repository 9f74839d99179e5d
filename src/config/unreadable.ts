/** Why nobody can say which paths of a repository are private. */
export interface Unreadable {
  /** 1-indexed; null when it concerns the whole file. */
  line: number | null;
  /** Follows the file's name: "larger than 64 KB, so ...". */
  reason: string;
  /** One imperative sentence. */
  remedy: string;
}

const unknown = "so nobody knows which paths are private";

/** The ways in which a configuration can hide what is private. */
export const unreadable = {
  tooLarge: (bytes: number): Unreadable => ({
    line: null,
    reason: `is larger than ${bytes / 1024} KB, ${unknown}`,
    remedy: "Shorten it to what a configuration needs.",
  }),
  binary: (): Unreadable => ({
    line: null,
    reason: `is not text, ${unknown}`,
    remedy: "Save it as text in UTF-8.",
  }),
  encoding: (): Unreadable => ({
    line: null,
    reason: `is not in UTF-8, ${unknown}`,
    remedy: "Save it as text in UTF-8.",
  }),
  bomb: (why: string): Unreadable => ({
    line: null,
    reason: `cannot be read (${why.replaceAll(/\s+/g, " ").slice(0, 200)}), ${unknown}`,
    remedy: "Take out the deep nesting and the aliases.",
  }),
  brokenAt: (line: number, why: string): Unreadable => ({
    line,
    reason: `is broken YAML (${why}), ${unknown}: the part with line ${line} cannot be trusted`,
    remedy: "Correct the YAML; `hunkwise config check` names every fault.",
  }),
  misreadAt: (line: number): Unreadable => ({
    line,
    reason: `holds in line ${line} what YAML does not read as a key with a value, ${unknown}`,
    remedy: "Write them as a list below `paths:` and `private:`, with a space after each colon.",
  }),
} as const;
