import type { Side } from "../finding.ts";
import type { DiffLine, FileDiff, Hunk } from "./file-diff.ts";

/** Where a line of a file stands in its diff. */
export interface DiffPlace {
  /** 1-indexed. */
  hunk: number;
  line: DiffLine;
}

/** The lines of one file's diff by side and number. On the `-U3` diff these are the lines that can carry a comment. */
export interface LineIndex {
  at(side: Side, line: number): DiffPlace | undefined;
}

export function createLineIndex(diff: FileDiff): LineIndex {
  const sides = { RIGHT: new Map<number, DiffPlace>(), LEFT: new Map<number, DiffPlace>() };
  diff.hunks.forEach((hunk, index) => {
    for (const line of hunk.lines) {
      const place = { hunk: index + 1, line };
      if (line.kind !== "removed") sides.RIGHT.set(line.newLine, place);
      if (line.kind !== "added") sides.LEFT.set(line.oldLine, place);
    }
  });
  return { at: (side, line) => sides[side].get(line) };
}

/** The number at head of a line of the merge base that the change left alone, by the file's hunks. */
export function lineAtHead(hunks: readonly Hunk[], oldLine: number): number {
  let shift = 0;
  for (const hunk of hunks) {
    if (hunk.oldStart > oldLine) break;
    for (const line of hunk.lines) {
      if (line.kind === "context" && line.oldLine === oldLine) return line.newLine;
    }
    shift += hunk.newLines - hunk.oldLines;
  }
  return oldLine + shift;
}
