import { cutLine } from "../../text/cut.ts";

/** Lines from `start` to `end`, both counted from 1 and shown. */
export interface Range {
  start: number;
  end: number;
}

/** A file at a revision, line by line. */
export interface TextFile {
  path: string;
  ref: "head" | "merge_base";
  lines: readonly string[];
}

/** Longer lines are data: their beginning says enough. */
const MAX_LINE_BYTES = 400;

/** A line as `read_file_part` shows it, with a plus behind the number of one that the change added. */
export function numbered(file: TextFile, line: number, isAdded = false): string {
  return `${line}${isAdded ? "+" : ""}|${cutLine(file.lines[line - 1] ?? "", MAX_LINE_BYTES)}`;
}

/** Ranges in order, those that touch or overlap joined, clamped to the file. */
export function joined(ranges: readonly Range[], lastLine: number): Range[] {
  const all: Range[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) {
    const [start, end] = [Math.max(1, range.start), Math.min(lastLine, range.end)];
    if (start > end) continue;
    const last = all.at(-1);
    if (last && start <= last.end + 1) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}

/** Whether a name stands on a line as part of an object, or as a key. */
export function isMember(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (/(?:\.|->|::|@)$/.test(text.slice(Math.max(0, at - 2), at))) return true;
    if (/^["']?\s*:(?![:=])/.test(text.slice(at + name.length, at + name.length + 8))) return true;
  }
  return false;
}

/** Ascending line numbers as ranges. */
export function rangesOf(lines: readonly number[]): Range[] {
  const ranges: Range[] = [];
  for (const line of lines) {
    const last = ranges.at(-1);
    if (last && last.end === line - 1) last.end = line;
    else ranges.push({ start: line, end: line });
  }
  return ranges;
}
