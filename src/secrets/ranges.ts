/** Exclusive of `end`; UTF-16 units. */
export interface Range {
  start: number;
  end: number;
}

/** What stands where a secret stood. */
export const censored = "[secret]";

/** The text with one mark for each range; what overlaps or follows without a gap becomes one. */
export function withoutRanges(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text;
  const pieces: string[] = [];
  let kept = 0;
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    if (start > kept || pieces.length === 0) pieces.push(text.slice(kept, start), censored);
    kept = Math.max(kept, end);
  }
  pieces.push(text.slice(kept));
  return pieces.join("");
}
