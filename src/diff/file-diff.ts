/** A line of a hunk. `text` has no leading sign; a trailing carriage return is kept, because it is part of the line. */
export type DiffLine =
  | { kind: "context"; text: string; oldLine: number; newLine: number; noNewline?: true }
  | { kind: "added"; text: string; newLine: number; noNewline?: true }
  | { kind: "removed"; text: string; oldLine: number; noNewline?: true };

/** One `@@` section of a unified diff. Starts and counts are those of its header, 1-indexed as git prints them. */
export interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  /** What git prints after the second `@@` (usually the enclosing function); empty when there is nothing. */
  section: string;
  lines: DiffLine[];
}

/** One file's textual diff. Files without one (binary, mode only, pure rename) have no hunks. */
export interface FileDiff {
  path: string;
  /** The path at the merge base where it differs, else null. */
  oldPath: string | null;
  /** The lines before the first hunk exactly as git printed them (`diff --git`, `index`, `---`, `+++`, ...). */
  header: string[];
  hunks: Hunk[];
}
