import { type FileDiff, headerFacts, shownBytes } from "../diff/file-diff.ts";

/** White space, and letters that look like it. */
const blank = /[\s\u115f\u1160\u2800\u3164\uffa0]/;

/**
 * A path as the model reads and repeats it. One with white space is quoted as a JSON string, which the path tools accept: renderings do not
 * escape line feeds and tabs, and a name that its author wrote as a sentence must not read like one of ours.
 */
export function showPath(path: string): string {
  return blank.test(path) || path.startsWith('"') ? JSON.stringify(path) : path;
}

/** The heading of a file's hunks, with what none of their lines says: `## src/b.ts (was src/a.ts) (mode 100644 -> 100755)`. */
export function headingOf({ path, oldPath, header }: FileDiff): string {
  const modes = headerFacts(header).filter((fact) => /^mode |executable/.test(fact));
  const facts = [...(oldPath === null ? [] : [`was ${showPath(oldPath)}`]), ...modes];
  return `## ${showPath(path)}${facts.map((fact) => ` (${fact})`).join("")}`;
}

/** A number with its noun: `1 file`, `2,000 files`. */
export function count(number: number, noun: string): string {
  // toLocaleString also groups digits, but loads 8 MB of tables on first use in a process.
  const grouped = String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
  return `${grouped} ${noun}${number === 1 ? "" : "s"}`;
}

/** The number of first entries that fit into `maxBytes` after escaping, each with its line feed. */
export function fitting(entries: readonly string[], maxBytes: number): number {
  let bytes = 0;
  const past = entries.findIndex((entry) => {
    bytes += shownBytes(entry) + 1;
    return bytes > maxBytes;
  });
  return past < 0 ? entries.length : past;
}
