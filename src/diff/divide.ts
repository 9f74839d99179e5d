import type { DiffLine, Hunk } from "./file-diff.ts";

/** Where a hunk's next line stands in both files. */
interface Cursor {
  old: number;
  new: number;
}

/** A side without lines is named by the line before it, so its next line is one further. */
const startOf = (hunk: Hunk): Cursor => ({
  old: hunk.oldLines === 0 ? hunk.oldStart + 1 : hunk.oldStart,
  new: hunk.newLines === 0 ? hunk.newStart + 1 : hunk.newStart,
});

const changed = (line: DiffLine | undefined) => line !== undefined && line.kind !== "context";

/** A hunk of its own made of consecutive lines of another; moves the cursor behind them. */
function partOf(lines: DiffLine[], section: string, cursor: Cursor): Hunk {
  const oldLines = lines.filter((line) => line.kind !== "added").length;
  const newLines = lines.filter((line) => line.kind !== "removed").length;
  const oldStart = oldLines === 0 ? cursor.old - 1 : cursor.old;
  const newStart = newLines === 0 ? cursor.new - 1 : cursor.new;
  cursor.old += oldLines;
  cursor.new += newLines;
  return { oldStart, oldLines, newStart, newLines, section, lines };
}

/** How many lines from `start` on fit; at least one, since a line is never divided. */
function fitting(sizes: readonly number[], start: number, maxSize: number): number {
  let end = start;
  let size = 0;
  for (; end < sizes.length; end += 1) {
    size += sizes[end] ?? 0;
    if (size > maxSize) break;
  }
  return Math.max(end, start + 1);
}

/**
 * The best place to cut in `(start, limit]`: next to an unchanged line, as late as possible, with changes on both
 * sides. Where there is none the cut falls inside the change.
 */
function cutPlace(lines: readonly DiffLine[], start: number, limit: number, lastChange: number): number {
  const latest = lastChange > start ? Math.min(limit, lastChange) : limit;
  let firstChange = start;
  while (firstChange < latest && !changed(lines[firstChange])) firstChange += 1;
  for (let place = latest; place > firstChange; place -= 1) {
    if (!changed(lines[place]) || !changed(lines[place - 1])) return place;
  }
  return latest;
}

/**
 * Divides a hunk into consecutive valid hunks of at most `maxSize`; put together they are the hunk. A hunk that fits is
 * returned as it is. Only a part of a single line can be larger than `maxSize`.
 *
 * @param sizeOf size of a line in the unit of `maxSize`
 */
export function divideHunk(hunk: Hunk, maxSize: number, sizeOf: (line: DiffLine) => number): Hunk[] {
  const sizes = hunk.lines.map(sizeOf);
  if (fitting(sizes, 0, maxSize) >= hunk.lines.length) return [hunk];
  const lastChange = hunk.lines.findLastIndex(changed);
  const cursor = startOf(hunk);
  const parts: Hunk[] = [];
  for (let start = 0; start < hunk.lines.length; ) {
    const limit = fitting(sizes, start, maxSize);
    const end = limit >= hunk.lines.length ? limit : cutPlace(hunk.lines, start, limit, lastChange);
    parts.push(partOf(hunk.lines.slice(start, end), hunk.section, cursor));
    start = end;
  }
  return parts;
}
