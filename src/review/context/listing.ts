import { type DiffLine, type FileDiff, type Hunk, hunkOf } from "../../diff/file-diff.ts";
import { cutLine } from "../../text/cut.ts";
import type { LineSpan } from "./lookup.ts";

/** A file of the change, as far as it must be known to show more of it than its hunks. */
export interface ListedFile {
  /** All hunks of its `-U3` diff. */
  hunks: readonly Hunk[];
  /** Its lines at head. */
  lines: readonly string[];
}

/** A larger gap takes more room than the header of a hunk. */
const SMALL_GAP = 2;
/** Longer lines are data: only their beginning is shown. */
const MAX_LINE_BYTES = 400;

/**
 * A diff with more lines of the file: those of the ranges, which are line numbers at head. Hunks that touch are joined. The lines are the
 * ones that git shows with more context, without the note on a missing line feed at the end of an unchanged last line.
 *
 * @param diff hunks of the file, or parts of them; all their lines stay
 */
export function widened(diff: FileDiff, file: ListedFile, ranges: readonly LineSpan[]): FileDiff {
  if (ranges.length === 0) return diff;
  const rows = rowsOf(file);
  const own = new Set(diff.hunks.flatMap(({ lines }) => lines));
  const kept = keptRows(rows, own, ranges);
  const sections = new Map(file.hunks.map(({ lines, section }) => [lines[0], section]));
  const hunks: Hunk[] = [];
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at];
    if (!row || !kept[at]) continue;
    let end = at + 1;
    while (end < rows.length && kept[end]) end += 1;
    const lines = rows.slice(at, end).map(({ line }) => line);
    // git names the function before a hunk, and that is known only for a beginning that is git's.
    hunks.push(hunkOf(lines, sections.get(row.line) ?? "", { old: row.old, new: row.new }));
    at = end;
  }
  return { ...diff, hunks };
}

/** A line of the whole file, with the numbers of the next lines on both sides. */
interface Row {
  line: DiffLine;
  old: number;
  new: number;
}

function rowsOf({ hunks, lines }: ListedFile): Row[] {
  const rows: Row[] = [];
  const next = { old: 1, new: 1 };
  const fill = (end: number) => {
    while (next.new < end) {
      const text = cutLine(lines[next.new - 1] ?? "", MAX_LINE_BYTES);
      rows.push({ line: { kind: "context", text, oldLine: next.old, newLine: next.new }, ...next });
      next.old += 1;
      next.new += 1;
    }
  };
  for (const hunk of hunks) {
    fill(hunk.newLines === 0 ? hunk.newStart + 1 : hunk.newStart);
    for (const line of hunk.lines) {
      rows.push({ line, ...next });
      if (line.kind !== "added") next.old += 1;
      if (line.kind !== "removed") next.new += 1;
    }
  }
  fill(lines.length + 1);
  return rows;
}

/** The lines of the diff and of the ranges, what was removed between them, and small gaps. */
function keptRows(rows: readonly Row[], own: ReadonlySet<DiffLine>, ranges: readonly LineSpan[]): boolean[] {
  let range = 0;
  const kept = rows.map(({ line, new: number }) => {
    while ((ranges[range]?.end ?? Number.POSITIVE_INFINITY) < number) range += 1;
    const { start = Number.POSITIVE_INFINITY } = ranges[range] ?? {};
    return own.has(line) || (line.kind !== "removed" && number >= start);
  });
  let last = -1;
  for (let at = 0; at < rows.length; at++) {
    if (!kept[at]) continue;
    const gap = rows.slice(last + 1, at);
    // What an earlier review has read, or what does not fit, is shown between lines that are shown.
    const isWhole = last >= 0 && gap.every(({ line }) => line.kind === "removed");
    const isSmall = last >= 0 && gap.length <= SMALL_GAP && gap.every(({ line }) => line.kind === "context");
    if (isWhole || isSmall) kept.fill(true, last + 1, at);
    last = at;
  }
  return kept;
}
