import { git, gitBytes } from "./bare-repository.ts";
import type { Side } from "./model.ts";

/**
 * Determines which lines of a pull request can have a comment, from `git diff`, with the double's own code. It shares nothing with
 * `src/repo/diff` on purpose: a fault there must show as a 422 here.
 */

/** A line of a hunk: its numbers on both sides, and its text with the sign. */
interface HunkRow {
  LEFT: number | null;
  RIGHT: number | null;
  text: string;
}

interface DiffHunk {
  header: string;
  rows: HunkRow[];
}

export interface DiffedFile {
  path: string;
  previousPath: string | null;
  hunks: DiffHunk[];
  /** True if GitHub shows no diff of the file and accepts no comment on its lines. */
  tooLarge: boolean;
}

/** Maximum lines and bytes of a file's diff: docs.github.com, "Repository limits", "Diff limits". */
const mostRows = 20_000;
const mostBytes = 500 * 1024;

const rowOf = (text: string, left: number, right: number): HunkRow => ({
  LEFT: text.startsWith("+") ? null : left,
  RIGHT: text.startsWith("-") ? null : right,
  text,
});

/** Reads one hunk by the counts in its header, so that content that looks like a header stays content. */
function readHunk(lines: string[], at: number): { hunk: DiffHunk; next: number } | undefined {
  const header = lines[at] ?? "";
  const counts = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(header);
  if (!counts) return undefined;
  let [left, right] = [Number(counts[1]), Number(counts[3])];
  const [leftEnd, rightEnd] = [left + Number(counts[2] ?? 1), right + Number(counts[4] ?? 1)];
  const rows: HunkRow[] = [];
  let next = at + 1;
  while (left < leftEnd || right < rightEnd) {
    const text = lines[next++] ?? "";
    if (text.startsWith("\\")) continue;
    const row = rowOf(text, left, right);
    if (row.LEFT !== null) left++;
    if (row.RIGHT !== null) right++;
    rows.push(row);
  }
  if (lines[next]?.startsWith("\\")) next++;
  return { hunk: { header, rows }, next };
}

/** @param section git's output for one file, one character per byte */
function readPatch(section: string): Pick<DiffedFile, "hunks" | "tooLarge"> {
  const start = section.search(/^@@ /m);
  if (start < 0) return { hunks: [], tooLarge: false };
  const bytes = Buffer.from(section.slice(start), "latin1");
  const lines = bytes.toString("utf8").split("\n");
  const hunks: DiffHunk[] = [];
  for (let read = readHunk(lines, 0); read; read = readHunk(lines, read.next)) hunks.push(read.hunk);
  const rows = hunks.reduce((sum, hunk) => sum + hunk.rows.length, 0);
  return { hunks, tooLarge: rows > mostRows || bytes.length > mostBytes };
}

/** Detects renames but not copies. */
const diffOptions = [
  "-M",
  "--no-color",
  "--no-ext-diff",
  "--no-textconv",
  "--src-prefix=a/",
  "--dst-prefix=b/",
];

/** The diff of two commits never changes. */
const diffs = new Map<string, Promise<DiffedFile[]>>();

/** The files of `from..to` (full object names) as GitHub lists them, by default with three lines of context. */
export function diffFiles(gitDir: string, from: string, to: string, context = 3): Promise<DiffedFile[]> {
  const key = [gitDir, from, to, context].join(" ");
  const known = diffs.get(key) ?? readDiff(gitDir, from, to, context);
  diffs.set(key, known);
  return known;
}

async function readDiff(gitDir: string, from: string, to: string, context: number): Promise<DiffedFile[]> {
  const names = (await git(gitDir, "diff", "--raw", "--no-abbrev", "-z", ...diffOptions, from, to)).split(
    "\0",
  );
  const printed = await gitBytes(gitDir, "diff", `-U${context}`, ...diffOptions, from, to);
  const patches = printed.toString("latin1").split(/(?<=\n)(?=diff --git )/);
  const files: DiffedFile[] = [];
  for (let at = 0; names[at]; ) {
    const letter = (names[at++] ?? "").split(" ")[4]?.charAt(0);
    const first = names[at++] ?? "";
    const path = letter === "R" ? (names[at++] ?? "") : first;
    // A change of type ("T") is printed as a deletion and an addition; GitHub shows the addition.
    if (letter === "T") patches.shift();
    const previousPath = letter === "R" ? first : null;
    files.push({ path, previousPath, ...readPatch(patches.shift() ?? "") });
  }
  return files;
}

/** The place of a line in a file's diff. */
export interface Place {
  hunk: number;
  row: number;
}

export function findLine(file: DiffedFile, side: Side, line: number): Place | undefined {
  for (const [hunk, { rows }] of file.hunks.entries()) {
    const row = rows.findIndex((one) => one[side] === line);
    if (row >= 0) return { hunk, row };
  }
  return undefined;
}

/** GitHub's `position`: rows below the first hunk header, including later headers. */
export function positionOf(file: DiffedFile, place: Place): number {
  const before = file.hunks.slice(0, place.hunk).reduce((sum, hunk) => sum + hunk.rows.length + 1, 0);
  return before + place.row + 1;
}

/** The hunk from its header to the commented line; GitHub shows it above a comment. */
export function hunkUpTo(file: DiffedFile, place: Place): string {
  const hunk = file.hunks[place.hunk];
  return [hunk?.header, ...(hunk?.rows.slice(0, place.row + 1).map((row) => row.text) ?? [])].join("\n");
}
