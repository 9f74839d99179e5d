import {
  type DiffLine,
  divideHunk,
  type FileDiff,
  type Hunk,
  hunkHeader,
  isOverlong,
  renderLine,
  shownBytes,
} from "./diff/file-diff.ts";
import { MAX_PATH_BYTES } from "./diff/paths.ts";
import { MAX_RENDERED_BYTES } from "./show.ts";

/** Receives every `-U3` hunk that the model was shown completely. Hunk numbers are 1-indexed. */
export interface CoverageSink {
  serve(path: string, hunk: number): void;
}

/** Reserved in every answer for its heading and for the call that continues. */
const RESERVED_BYTES = 2 * 1024;

/** Hunks as they are served: hunks larger than one answer are divided. `bytes` is the size of each after rendering. */
interface ServedHunk {
  hunk: Hunk;
  bytes: number;
}

/** Maximum bytes for the hunks of one file in an answer: its path is in the heading and at the end, the old one occurs once. */
export function pageBudget({ path, oldPath }: Pick<FileDiff, "path" | "oldPath">): number {
  const bytes = (one: string) => Math.min(shownBytes(JSON.stringify(one)), MAX_PATH_BYTES);
  return MAX_RENDERED_BYTES - RESERVED_BYTES - 2 * bytes(path) - bytes(oldPath ?? "");
}

const dividedDiffs = new WeakMap<FileDiff, ServedHunk[]>();

function divide(diff: FileDiff): ServedHunk[] {
  const budget = pageBudget(diff);
  return diff.hunks.flatMap((hunk) => {
    const sizes = new Map(hunk.lines.map((line) => [line, shownBytes(renderLine(line)) + 1]));
    const sizeOf = (line: Hunk["lines"][number]) => sizes.get(line) ?? 0;
    // The numbers in the header of a part may be longer than those of the whole hunk.
    const headerBytes = shownBytes(hunkHeader(hunk)) + 32;
    return divideHunk(hunk, budget - headerBytes, sizeOf).map((part) => ({
      hunk: part,
      bytes: headerBytes + part.lines.reduce((sum, line) => sum + sizeOf(line), 0),
    }));
  });
}

/** The hunks of a diff as `diff_file` numbers them. Computed once per diff. */
export function servedHunks(diff: FileDiff): readonly ServedHunk[] {
  const known = dividedDiffs.get(diff);
  if (known) return known;
  const served = divide(diff);
  dividedDiffs.set(diff, served);
  return served;
}

/** As many of the hunks `start..end` (1-indexed, inclusive) as fit into one answer; at least the first. */
export function takePage(served: readonly ServedHunk[], start: number, end: number, budget: number): Hunk[] {
  const page: Hunk[] = [];
  let bytes = 0;
  for (const one of served.slice(start - 1, end)) {
    bytes += one.bytes;
    if (page.length > 0 && bytes > budget) break;
    page.push(one.hunk);
  }
  return page;
}

/** The shown lines of one file: added and context lines by their new number, removed ones by the old. */
interface ShownLines {
  present: Set<number>;
  removed: Set<number>;
  servedHunks: Set<number>;
}

/** The shown lines of a review are kept as long as its coverage sink. */
const shownBySink = new WeakMap<CoverageSink, Map<string, ShownLines>>();

function shownLines(sink: CoverageSink, path: string): ShownLines {
  const files = shownBySink.get(sink) ?? new Map<string, ShownLines>();
  shownBySink.set(sink, files);
  const lines = files.get(path) ?? { present: new Set(), removed: new Set(), servedHunks: new Set() };
  files.set(path, lines);
  return lines;
}

function isShown(line: DiffLine, shown: ShownLines): boolean {
  return line.kind === "removed" ? shown.removed.has(line.oldLine) : shown.present.has(line.newLine);
}

/** Records that the model was shown these hunks, of any context width, and reports every counted hunk that is now shown completely. */
export function noteShown(sink: CoverageSink, counted: FileDiff, hunks: readonly Hunk[]): void {
  const shown = shownLines(sink, counted.path);
  for (const line of hunks.flatMap((hunk) => hunk.lines)) {
    // A changed line that was shown in part does not count as read; for an unchanged one the beginning is enough.
    if (line.kind !== "context" && isOverlong(line.text)) continue;
    if (line.kind === "removed") shown.removed.add(line.oldLine);
    else shown.present.add(line.newLine);
  }
  counted.hunks.forEach((hunk, index) => {
    const number = index + 1;
    if (shown.servedHunks.has(number) || !hunk.lines.every((line) => isShown(line, shown))) return;
    shown.servedHunks.add(number);
    sink.serve(counted.path, number);
  });
}
