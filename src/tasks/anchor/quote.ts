import { distance } from "fastest-levenshtein";
import type { Side } from "../../core/finding.ts";
import { cutLine } from "../../core/text/cut.ts";
import type { DiffLine, Hunk } from "../../repo/diff/file-diff.ts";

/** Finds quoted code in the lines of a file. Pure, and linear in the size of the file for any quote. */

/** Lines of a file: 1-indexed, inclusive. */
export interface LineRange {
  start: number;
  end: number;
}

export const within = (inner: LineRange, outer: LineRange) =>
  outer.start <= inner.start && inner.end <= outer.end;

/** Whether a match agrees with the stated lines: one range contains the other. */
export const confirms = (place: LineRange, stated: LineRange) =>
  within(place, stated) || within(stated, place);

/** Of a longer quote only the first lines are compared. */
const MAX_QUOTE_LINES = 200;

export function quoteLines(quote: string): string[] {
  return withoutBlankEnds(quote.split(/\r?\n/));
}

function withoutBlankEnds(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  const last = lines.findLastIndex((line) => line.trim() !== "");
  return first < 0 ? [] : lines.slice(first, Math.min(last + 1, first + MAX_QUOTE_LINES));
}

/** `12 +code`, `12| code`, `12:code` and `12-code` of our listings, `+code` of a diff. */
const decoration = /^\s*(?:\d+(?:[|:-]|\s([+\- ])?)|([+-]))\s?/;
const diffSign = /^([+\- ])/;
const notOfTheFile = /^(?:@@ -\d.*|\\ No newline at end of file)$/;

/** The quote without the decoration of a diff or listing, and the side that its signs name; null if there are none, or both. */
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

/** The note at the end of a line that a tool has cut: the quote then holds only the line's beginning. */
const cutNote = /(?:… \[\d+ more characters of this line\]| \[\.\.\. \d+ more characters\])$/;

/** A line of a quote with normalized white space; if `cut`, the line in the file is longer. */
interface QuotedLine {
  text: string;
  cut: boolean;
}

/** Longer lines are compared in part: each run of white space in a line takes memory. */
const MAX_CHARACTERS = 1_000_000;

/** White space of any kind and length as one space, and none at the ends. */
export const squeeze = (line: string): string => line.slice(0, MAX_CHARACTERS).replace(/\s+/g, " ").trim();

function quotedLine(line: string): QuotedLine {
  const text = squeeze(line.trimEnd().replace(cutNote, ""));
  return { text, cut: text !== "" && cutNote.test(line.trimEnd()) };
}

export interface QuoteSearch {
  stated: LineRange;
  /** Called in file order. Default: all matches are. */
  allowed?(place: LineRange): boolean;
  /** Decides between two matches at the same distance. Default: the first. */
  preferred?(place: LineRange): boolean;
}

/**
 * Finds the quote in `lines`: the match that agrees with the stated lines, or else the nearest one. White space is ignored. A
 * single line may match a part of a line: if no line matches as a whole, and on a stated line before whole matches elsewhere.
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
  // A matching line contains the text's longest word, so most lines need no normalization.
  const word = text.split(" ").reduce((longest, one) => (one.length > longest.length ? one : longest));
  for (const [index, line] of lines.entries()) {
    if (!line.includes(word)) continue;
    const squeezed = squeeze(line);
    const whole = cut ? squeezed.startsWith(text) : squeezed === text;
    if (whole || squeezed.includes(text)) yield { start: index + 1, end: index + 1, whole };
  }
}

/** All matches of several lines, by Knuth-Morris-Pratt: a file may repeat one line a million times. */
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

/** Maps a line of the file to the first line of the quote with the same text, -1 if there is none. */
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

/** The failure function of Knuth-Morris-Pratt. */
function fallbacks(pattern: readonly number[]): number[] {
  const lengths = [0];
  for (let at = 1, length = 0; at < pattern.length; at++) {
    while (length > 0 && pattern[at] !== pattern[length]) length = lengths[length - 1] ?? 0;
    if (pattern[at] === pattern[length]) length++;
    lengths.push(length);
  }
  return lengths;
}

/** The first of the best matches. Partial overlap with the stated lines ranks below agreement. */
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

/** Finds a quote copied from the diff, with removed and added lines, and returns its lines on the given side. */
export function findShownQuote(
  hunks: readonly Hunk[],
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): LineRange | undefined {
  if (quote.length < 2) return undefined;
  const rows = hunks.flatMap((hunk, number) => hunk.lines.map((line) => ({ line, number })));
  const rowOf = (wanted: number) =>
    1 +
    rows.findIndex(({ line }, index) => index === rows.length - 1 || (numberOn(side, line) ?? 0) >= wanted);
  const run = findQuote(
    rows.map(({ line }) => line.text),
    quote,
    {
      stated: { start: rowOf(stated.start), end: rowOf(stated.end) },
      // Hunks are not adjacent in the file.
      allowed: ({ start, end }) => rows[start - 1]?.number === rows[end - 1]?.number,
    },
  );
  if (!run) return undefined;
  const numbers = rows
    .slice(run.start - 1, run.end)
    .flatMap(({ line }) => (line.text.trim() === "" ? [] : (numberOn(side, line) ?? [])));
  const [start, end] = [numbers[0], numbers.at(-1)];
  return start === undefined || end === undefined ? undefined : { start, end };
}

function numberOn(side: Side, line: DiffLine): number | undefined {
  if (side === "RIGHT") return line.kind === "removed" ? undefined : line.newLine;
  return line.kind === "added" ? undefined : line.oldLine;
}

/** Lines that are searched around the stated one, and characters of each that are compared. */
const SEARCHED_LINES = 10_000;
const COMPARED_CHARACTERS = 240;
/** Lines that differ more are not shown, nor those that differ this much more than the nearest. */
const MOST_DIFFERENT = 0.6;
const MUCH_MORE = 0.2;
/** Lines in an answer, and bytes of each. */
const SHOWN = 5;
const MAX_LINE_BYTES = 300;

interface NearLine {
  /** 1-indexed. */
  number: number;
  /** 0 for the same text, 1 for nothing in common. White space is ignored. */
  difference: number;
}

interface Sides {
  lines: Record<Side, readonly string[] | null>;
  isRemoved(oldLine: number): boolean;
}

/** Helps the model to correct a quote that was not found: the most similar lines, or those around the stated line if there are none. */
export function showNearLines(file: Sides, side: Side, line: number, quote: readonly string[]): string {
  const text = missingLine(file.lines[side] ?? [], quote) ?? quote.at(-1) ?? "";
  const near = (["RIGHT", "LEFT"] as const)
    .flatMap((on) => {
      const accepts = on === "LEFT" ? file.isRemoved : undefined;
      return nearLines(file.lines[on] ?? [], text, line, accepts).map((one) => ({ ...one, side: on }));
    })
    .toSorted((a, b) => a.difference - b.difference || Number(b.side === side) - Number(a.side === side))
    .filter(({ difference }, _, [nearest]) => difference <= (nearest?.difference ?? 0) + MUCH_MORE)
    .slice(0, SHOWN);
  const shown = near.length > 0 ? near : around(line, file.lines[side]?.length ?? 0, side);
  const show = ({ number, side }: { number: number; side: Side }) =>
    `${number}| ${cutLine(file.lines[side]?.[number - 1] ?? "", MAX_LINE_BYTES)}`;
  return [...Map.groupBy(shown, (one) => one.side)]
    .map(([on, lines]) => [`Nearest lines on ${on}:`, ...lines.map(show)].join("\n"))
    .join("\n");
}

/** The first line of a longer quote that the file does not have. */
function missingLine(lines: readonly string[], quote: readonly string[]): string | undefined {
  if (quote.length < 2) return undefined;
  const missing = new Set(quote.map(squeeze));
  for (const line of lines) missing.delete(squeeze(line));
  return quote.find((line) => missing.has(squeeze(line)));
}

function around(line: number, count: number, side: Side): { number: number; side: Side }[] {
  const middle = Math.min(Math.max(line, 1), count);
  return [middle - 1, middle, middle + 1]
    .filter((number) => number >= 1 && number <= count)
    .map((number) => ({ number, side }));
}

const compared = (line: string) => squeeze(line.trimStart().slice(0, COMPARED_CHARACTERS));

/** The most similar lines, best first; at equal similarity the one nearer to `line`. */
function nearLines(
  lines: readonly string[],
  text: string,
  line: number,
  accepts: (line: number) => boolean = () => true,
): NearLine[] {
  const wanted = compared(text);
  const first = Math.max(0, Math.min(line, lines.length) - SEARCHED_LINES / 2);
  const away = ({ number }: NearLine) => Math.abs(number - line);
  return lines
    .slice(first, first + SEARCHED_LINES)
    .map((one, at) => ({ number: first + at + 1, difference: differenceOf(wanted, compared(one)) }))
    .filter(({ number, difference }) => difference <= MOST_DIFFERENT && accepts(number))
    .toSorted((a, b) => a.difference - b.difference || away(a) - away(b))
    .slice(0, SHOWN);
}

const differenceOf = (one: string, other: string) =>
  distance(one, other) / Math.max(one.length, other.length, 1);
