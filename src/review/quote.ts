/** Finding a quoted piece of code in a file's lines. Pure. */

/** Where a quote stands: 1-indexed, inclusive. */
export interface QuotePlace {
  start: number;
  end: number;
}

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
 * Every place where the quote stands in `lines`, in file order. Lines match whole but for white space; where none does, a
 * single line may also match in part.
 */
export function findQuote(lines: readonly string[], quote: readonly string[]): QuotePlace[] {
  const wanted = quote.map(squeeze);
  if (wanted.length === 0 || wanted.every((line) => line === "")) return [];
  const squeezed = lines.map(squeeze);
  const whole = matches(squeezed, wanted, (line, part) => line === part);
  if (whole.length > 0 || wanted.length > 1) return whole;
  return matches(squeezed, wanted, (line, part) => line.includes(part));
}

function matches(
  lines: readonly string[],
  wanted: readonly string[],
  same: (line: string, part: string) => boolean,
): QuotePlace[] {
  const places: QuotePlace[] = [];
  for (let at = 0; at + wanted.length <= lines.length; at++) {
    if (wanted.every((part, offset) => same(lines[at + offset] ?? "", part))) {
      places.push({ start: at + 1, end: at + wanted.length });
    }
  }
  return places;
}

/** The place whose last line is nearest to `line`; among equally near ones, one that `preferred` accepts, else the first. */
export function nearest(
  places: readonly QuotePlace[],
  line: number,
  preferred: (place: QuotePlace) => boolean,
): QuotePlace | undefined {
  const distance = (place: QuotePlace) => Math.abs(place.end - line);
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
