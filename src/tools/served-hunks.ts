import type { DiffLine, FileDiff, Hunk } from "../diff/file-diff.ts";
import { isOverlong } from "../diff/render.ts";
import type { CoverageSink } from "./tool.ts";

/** The lines of one file that were shown: added and context ones by their new number, removed ones by the old. */
interface ShownLines {
  present: Set<number>;
  removed: Set<number>;
  servedHunks: Set<number>;
}

/** What a review has shown lives as long as the sink that it reports to. */
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

/**
 * Notes hunks, or parts of hunks, of any context width that were put in front of the model, and tells the sink about
 * every hunk of the `-U3` diff whose last missing line was among them.
 */
export function noteShown(sink: CoverageSink, githubDiff: FileDiff, hunks: readonly Hunk[]): void {
  const shown = shownLines(sink, githubDiff.path);
  for (const line of hunks.flatMap((hunk) => hunk.lines)) {
    // A changed line that was shown in part was not read; of an unchanged one the beginning is enough.
    if (line.kind !== "context" && isOverlong(line.text)) continue;
    if (line.kind === "removed") shown.removed.add(line.oldLine);
    else shown.present.add(line.newLine);
  }
  githubDiff.hunks.forEach((hunk, index) => {
    const number = index + 1;
    if (shown.servedHunks.has(number) || !hunk.lines.every((line) => isShown(line, shown))) return;
    shown.servedHunks.add(number);
    sink.serve(githubDiff.path, number);
  });
}
