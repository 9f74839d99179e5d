import { divideHunk } from "../diff/divide.ts";
import type { FileDiff, Hunk } from "../diff/file-diff.ts";
import { MAX_PATH_BYTES } from "../diff/path-fault.ts";
import { hunkHeader, renderLine, shownBytes } from "../diff/render.ts";
import { MAX_RENDERED_BYTES } from "./tool.ts";

/** Kept free in every answer for its heading and for the call that continues. */
const RESERVED_BYTES = 2 * 1024;

/** Hunks as they are served: those larger than one answer are divided. `bytes` is what each takes once rendered. */
export interface ServedHunk {
  hunk: Hunk;
  bytes: number;
}

/** What the hunks of one file may take in an answer: its path stands in the heading and in the ending, the old one once. */
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

/** The hunks of a diff as `diff_file` numbers them. Computed once for each diff. */
export function servedHunks(diff: FileDiff): readonly ServedHunk[] {
  const known = dividedDiffs.get(diff);
  if (known) return known;
  const served = divide(diff);
  dividedDiffs.set(diff, served);
  return served;
}

/** As many of the hunks `start..end` (1-indexed, inclusive) as one answer holds; at least the first. */
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
