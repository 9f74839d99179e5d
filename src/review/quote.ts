/** Finding a quoted piece of code in a file's lines. Pure. */

/** Lines of a file: 1-indexed, inclusive. */
export interface LineRange {
  start: number;
  end: number;
}

export const within = (inner: LineRange, outer: LineRange) =>
  outer.start <= inner.start && inner.end <= outer.end;

/** Whether a place where the quote stands agrees with the lines that were stated: one holds the other. */
export const confirms = (place: LineRange, stated: LineRange) =>
  within(place, stated) || within(stated, place);

const squeeze = (line: string) => line.replace(/\s+/g, " ").trim();

/** The quote as lines, without the empty ones around it and without the line numbers and signs of our own renderings. */
export function quoteLines(quote: string): string[] {
  const lines = quote.split(/\r?\n/);
  while (lines.length > 0 && lines[0]?.trim() === "") lines.shift();
  while (lines.length > 0 && lines.at(-1)?.trim() === "") lines.pop();
  return lines;
}

/** The quote with the decoration of a diff or a numbered listing taken off: `12 +code`, `12| code`, `+code`. */
export function undecorated(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/^\s*(?:\d+(?:\||\s[+\- ]?)|[+-])\s?/, ""));
}

/**
 * Every place where the quote stands in `lines` and `allowed` accepts it, in file order. Lines match whole but for white
 * space. A single line may also match in part: where no line matches whole, and on a stated line before whole matches
 * elsewhere, for quote and number agree there.
 */
export function findQuote(
  lines: readonly string[],
  quote: readonly string[],
  stated: LineRange,
  allowed: (place: LineRange) => boolean = () => true,
): LineRange[] {
  const wanted = quote.map(squeeze);
  if (wanted.length === 0 || wanted.every((line) => line === "")) return [];
  const squeezed = lines.map(squeeze);
  const isStated = (place: LineRange) => confirms(place, stated);
  const whole = matches(squeezed, wanted, (line, part) => line === part).filter(allowed);
  if (wanted.length > 1 || whole.some(isStated)) return whole;
  const parts = matches(squeezed, wanted, (line, part) => line.includes(part)).filter(allowed);
  const statedParts = parts.filter(isStated);
  if (statedParts.length > 0) return statedParts;
  return whole.length > 0 ? whole : parts;
}

function matches(
  lines: readonly string[],
  wanted: readonly string[],
  same: (line: string, part: string) => boolean,
): LineRange[] {
  const places: LineRange[] = [];
  for (let at = 0; at + wanted.length <= lines.length; at++) {
    if (wanted.every((part, offset) => same(lines[at + offset] ?? "", part))) {
      places.push({ start: at + 1, end: at + wanted.length });
    }
  }
  return places;
}

/**
 * The place that agrees with the stated lines or else is nearest to them; among equally near ones, one that `preferred`
 * accepts, else the first.
 */
export function nearest(
  places: readonly LineRange[],
  stated: LineRange,
  preferred: (place: LineRange) => boolean,
): LineRange | undefined {
  const gap = (place: LineRange) => Math.max(0, stated.start - place.end, place.start - stated.end);
  // What only reaches into the stated lines comes after what agrees with them.
  const distance = (place: LineRange) => (confirms(place, stated) ? 0 : 1 + gap(place));
  return places.toSorted(
    (a, b) => distance(a) - distance(b) || Number(preferred(b)) - Number(preferred(a)) || a.start - b.start,
  )[0];
}

/** The lines most like the quote's last line, nearest first, for an answer that helps to correct a quote. */
export function similarLines(
  lines: readonly string[],
  quote: readonly string[],
  line: number,
  count = 5,
): number[] {
  const words = new Set(squeeze(quote.at(-1) ?? "").match(/\w+/g) ?? []);
  const score = (text: string) => (text.match(/\w+/g) ?? []).filter((word) => words.has(word)).length;
  return lines
    .map((text, index) => ({ number: index + 1, score: score(text) }))
    .filter((one) => one.score > 0)
    .toSorted((a, b) => b.score - a.score || Math.abs(a.number - line) - Math.abs(b.number - line))
    .slice(0, count)
    .map((one) => one.number);
}
