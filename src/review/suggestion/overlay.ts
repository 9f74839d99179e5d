/** A file with and without a replacement. Indices are of lines from 0, ends are exclusive, lines have no line ends. */
export interface Overlay {
  path: string;
  before: readonly string[];
  after: readonly string[];
  /** The first line that is replaced: the same on both sides. */
  start: number;
  oldEnd: number;
  newEnd: number;
}

export function overlayOf(
  path: string,
  before: readonly string[],
  { start, end }: { start: number; end: number },
  replacement: readonly string[],
): Overlay {
  const after = [...before.slice(0, start), ...replacement, ...before.slice(end)];
  return { path, before, after, start, oldEnd: end, newEnd: start + replacement.length };
}

export const replaced = ({ before, start, oldEnd }: Overlay) => before.slice(start, oldEnd);
export const replacement = ({ after, start, newEnd }: Overlay) => after.slice(start, newEnd);

/** For a line after the change its index before; undefined for those that the suggestion adds. */
export function oldIndexOf(overlay: Overlay): (index: number) => number | undefined {
  const { start, oldEnd, newEnd } = overlay;
  const matched = commonLines(replaced(overlay), replacement(overlay));
  return (index) => {
    if (index < start) return index;
    if (index >= newEnd) return index - newEnd + oldEnd;
    const old = matched.get(index - start);
    return old === undefined ? undefined : old + start;
  };
}

/** A longest common subsequence of two lists of lines but for white space around them: index in `to` -> index in `from`, the first where several are as good. */
export function commonLines(from: readonly string[], to: readonly string[]): Map<number, number> {
  const [a, b] = [from.map((line) => line.trim()), to.map((line) => line.trim())];
  const columns = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * columns);
  const at = (i: number, j: number) => lengths[i * columns + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const longest = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
      lengths[i * columns + j] = longest;
    }
  }
  const matched = new Map<number, number>();
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) matched.set(j++, i++);
    else if (at(i, j + 1) >= at(i + 1, j)) j++;
    else i++;
  }
  return matched;
}
