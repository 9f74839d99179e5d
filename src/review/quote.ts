import type { Side } from "../finding.ts";

/** Finding a quoted piece of code in a file's lines. Pure, and linear in the file whatever the quote is. */

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

/** A longer quote is known by its first lines. */
const MAX_LINES = 200;

/** The quote as lines, without the empty ones around it. */
export function quoteLines(quote: string): string[] {
  return withoutBlankEnds(quote.split(/\r?\n/));
}

function withoutBlankEnds(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  const last = lines.findLastIndex((line) => line.trim() !== "");
  return first < 0 ? [] : lines.slice(first, Math.min(last + 1, first + MAX_LINES));
}

/** `12 +code`, `12| code`, `12:code` and `12-code` of our listings, `+code` of a diff. */
const decoration = /^\s*(?:\d+(?:[|:-]|\s([+\- ])?)|([+-]))\s?/;
/** The sign in front of every line of a diff, a space for unchanged ones. */
const diffSign = /^([+\- ])/;
const notOfTheFile = /^(?:@@ -\d.*|\\ No newline at end of file)$/;

/**
 * The quote without the decoration of a diff or a numbered listing, and the side on which its signs say that it stands:
 * null where there are none or of both kinds.
 */
export function undecorated(quote: readonly string[]): { lines: string[]; side: Side | null } {
  const lines = quote.filter((line) => !notOfTheFile.test(line));
  const isDiff = lines.every((line) => line === "" || diffSign.test(line)) && lines.some(isSigned);
  const pattern = isDiff ? diffSign : decoration;
  const signs = new Set(lines.map((line) => pattern.exec(line)).map((found) => found?.[1] ?? found?.[2]));
  const onlySign = signs.size === 1 ? [...signs][0] : undefined;
  const side = onlySign === "-" ? "LEFT" : onlySign === "+" ? "RIGHT" : null;
  return { lines: withoutBlankEnds(lines.map((line) => line.replace(pattern, ""))), side };
}

const isSigned = (line: string) => line.startsWith("+") || line.startsWith("-");

/** How an answer of ours ends a line that is too long to be shown: the quote then holds the beginning of that line. */
const cutNote = /(?:… \[\d+ more characters of this line\]| \[\.\.\. \d+ more characters\])$/;

/** A line of a quote with its white space squeezed; of a `cut` one there is more in the file. */
interface QuotedLine {
  text: string;
  cut: boolean;
}

/** A longer line is squeezed in pieces: every space found takes memory, and a line of millions more than there is. */
const PIECE = 64 * 1024;

/** White space of any kind and length as one space, and none at the ends. */
export function squeeze(line: string): string {
  if (line.length <= PIECE) return line.replace(/\s+/g, " ").trim();
  const pieces: string[] = [];
  let isAfterSpace = true;
  for (let at = 0; at < line.length; at += PIECE) {
    const piece = line.slice(at, at + PIECE).replace(/\s+/g, " ");
    pieces.push(isAfterSpace && piece.startsWith(" ") ? piece.slice(1) : piece);
    isAfterSpace = piece.endsWith(" ");
  }
  return pieces.join("").trimEnd();
}

function quotedLine(line: string): QuotedLine {
  const text = squeeze(line.trimEnd().replace(cutNote, ""));
  return { text, cut: text !== "" && cutNote.test(line.trimEnd()) };
}

export interface QuoteSearch {
  stated: LineRange;
  /** Asked in file order. Default: every place is. */
  allowed?(place: LineRange): boolean;
  /** Which one of two that are equally near. Default: the first. */
  preferred?(place: LineRange): boolean;
}

/**
 * Where the quote stands in `lines`: at the place that agrees with the stated lines, or else at the nearest one. Lines match
 * whole but for white space. A single line may also match in part: where no line matches whole, and on a stated line before
 * whole matches elsewhere, for quote and number agree there.
 */
export function findQuote(
  lines: readonly string[],
  quote: readonly string[],
  search: QuoteSearch,
): LineRange | undefined {
  const wanted = quote.map(quotedLine);
  const [first] = wanted;
  if (first === undefined || wanted.every(({ text }) => text === "")) return undefined;
  const best = nearest(wanted.length === 1 ? linesWith(lines, first) : runsOf(lines, wanted), search);
  return best && { start: best.start, end: best.end };
}

interface Match extends LineRange {
  whole: boolean;
}

function* linesWith(lines: readonly string[], { text, cut }: QuotedLine): Generator<Match> {
  // White space aside, a line that holds the text holds its longest word: most lines need not be squeezed.
  const word = text.split(" ").reduce((longest, one) => (one.length > longest.length ? one : longest));
  for (const [index, line] of lines.entries()) {
    if (!line.includes(word)) continue;
    const squeezed = squeeze(line);
    const whole = cut ? squeezed.startsWith(text) : squeezed === text;
    if (whole || squeezed.includes(text)) yield { start: index + 1, end: index + 1, whole };
  }
}

/** Every run of lines that are the quote's, by Knuth, Morris and Pratt: files may repeat one line a million times. */
function* runsOf(lines: readonly string[], wanted: readonly QuotedLine[]): Generator<Match> {
  const idOf = recognizer(wanted);
  const ids = wanted.map(({ text }) => wanted.findIndex((one) => one.text === text));
  const fallback = fallbacks(ids);
  let matched = 0;
  for (const [index, line] of lines.entries()) {
    const id = idOf(line);
    while (matched > 0 && ids[matched] !== id) matched = fallback[matched - 1] ?? 0;
    if (ids[matched] === id) matched++;
    if (matched < ids.length) continue;
    yield { start: index + 2 - ids.length, end: index + 1, whole: true };
    matched = fallback[matched - 1] ?? 0;
  }
}

/** Tells which line of the quote a line of the file is: the number of the first one with its text, -1 for none. */
function recognizer(wanted: readonly QuotedLine[]): (line: string) => number {
  const whole = new Map<string, number>();
  const beginnings = new Set<string>();
  for (const [index, { text }] of wanted.entries()) {
    if (!whole.has(text)) whole.set(text, index);
    beginnings.add(text.charAt(0));
  }
  const cut = wanted.filter((one) => one.cut);
  return (line) => {
    if (!beginnings.has(line.charAt(line.search(/\S/)))) return -1;
    const squeezed = squeeze(line);
    const known = whole.get(squeezed);
    if (known !== undefined) return known;
    const beginning = cut.find(({ text }) => squeezed.startsWith(text));
    return beginning === undefined ? -1 : (whole.get(beginning.text) ?? -1);
  };
}

/** For each beginning of the pattern, how long the longest other beginning is with which it ends. */
function fallbacks(pattern: readonly number[]): number[] {
  const lengths = [0];
  for (let at = 1, length = 0; at < pattern.length; at++) {
    while (length > 0 && pattern[at] !== pattern[length]) length = lengths[length - 1] ?? 0;
    if (pattern[at] === pattern[length]) length++;
    lengths.push(length);
  }
  return lengths;
}

/** The first of the best matches. One that only reaches into the stated lines comes after those that agree with them. */
function nearest(matches: Iterable<Match>, { stated, allowed, preferred }: QuoteSearch): Match | undefined {
  let best: { match: Match; rank: number[] } | undefined;
  for (const match of matches) {
    if (allowed && !allowed(match)) continue;
    const agrees = confirms(match, stated);
    const gap = Math.max(0, stated.start - match.end, match.start - stated.end);
    const kind = (agrees ? 0 : 2) + (match.whole ? 0 : 1);
    const rank = [kind, agrees ? 0 : gap, preferred?.(match) === false ? 1 : 0];
    if (best === undefined || isBetter(rank, best.rank)) best = { match, rank };
  }
  return best?.match;
}

function isBetter(rank: readonly number[], than: readonly number[]): boolean {
  const at = rank.findIndex((one, index) => one !== than[index]);
  return at >= 0 && (rank[at] ?? 0) < (than[at] ?? 0);
}
