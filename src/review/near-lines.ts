import { distance } from "fastest-levenshtein";
import type { Side } from "../finding.ts";
import { cutLine } from "../text/cut.ts";
import { squeeze } from "./quote.ts";

/** Most lines that are looked at: those around the stated one. */
const MAX_LINES = 200_000;
/** How much of a line is compared. */
const MAX_CHARACTERS = 240;
/** Lines that share most pairs of characters with the text, whose edit distance is then counted. */
const SHORTLIST = 32;
/** Lines that differ more are no help, nor are those that differ by so much more than the nearest. */
const MOST_DIFFERENT = 0.6;
const MUCH_MORE = 0.2;
/** How many lines an answer shows, and how much of each. */
const SHOWN = 5;
const MAX_LINE_BYTES = 300;

/** A line that may be the one that was meant. */
export interface NearLine {
  /** 1-indexed. */
  number: number;
  /** 0 for the same text, 1 for one that has nothing of it. White space does not count. */
  difference: number;
}

/** Both sides of a file, of which LEFT counts where lines were removed. */
interface Sides {
  lines: Record<Side, readonly string[] | null>;
  isRemoved(oldLine: number): boolean;
}

/**
 * For an answer that helps to correct a quote that stands nowhere: the lines that are most like it, with their sides and
 * numbers, or those around the stated line where none is.
 */
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

/** The first of several lines of the quote that no line of the file is. */
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

const compared = (line: string) => squeeze(line.slice(0, MAX_CHARACTERS));

/**
 * The lines whose text is nearest to `text`, the nearest first; of equally near ones those nearer to `line`. Comparing is
 * bounded: in a file of any size it takes a moment.
 *
 * @param accepts which line numbers count; all when left out
 */
export function nearLines(
  lines: readonly string[],
  text: string,
  line: number,
  accepts: (line: number) => boolean = () => true,
): NearLine[] {
  const wanted = compared(text);
  const pairs = createPairs(wanted);
  const byShared = (a: Alike, b: Alike) => b.shared - a.shared || away(a, line) - away(b, line);
  const first = Math.max(0, Math.min(line, lines.length) - MAX_LINES / 2);
  const shortlist: Alike[] = [];
  let needed = 1 - MOST_DIFFERENT;
  for (let index = first; index < Math.min(first + MAX_LINES, lines.length); index++) {
    const line = (lines[index] ?? "").trimStart().slice(0, MAX_CHARACTERS);
    const [number, shared] = [index + 1, pairs.sharedWith(line)];
    if (shared < needed || !accepts(number)) continue;
    shortlist.push({ number, text: compared(line), shared });
    if (shortlist.length < SHORTLIST * 8) continue;
    shortlist.sort(byShared).splice(SHORTLIST);
    needed = shortlist.at(-1)?.shared ?? needed;
  }
  return shortlist
    .toSorted(byShared)
    .slice(0, SHORTLIST)
    .map((one) => ({ number: one.number, difference: differenceOf(wanted, one.text) }))
    .filter(({ difference }) => difference <= MOST_DIFFERENT)
    .toSorted((a, b) => a.difference - b.difference || away(a, line) - away(b, line));
}

interface Alike {
  number: number;
  text: string;
  shared: number;
}

const away = ({ number }: { number: number }, line: number) => Math.abs(number - line);

const differenceOf = (one: string, other: string) =>
  distance(one, other) / Math.max(one.length, other.length, 1);

/** How many neighbouring characters a text has in common with this one, 0 to 1: quick, and seldom too low. */
function createPairs(text: string): { sharedWith(other: string): number } {
  const known = new Set<number>();
  for (let at = 1; at < text.length; at++) known.add(pairAt(text, at));
  return {
    sharedWith(other) {
      let shared = 0;
      for (let at = 1; at < other.length; at++) if (known.has(pairAt(other, at))) shared++;
      return shared / Math.max(text.length - 1, other.length - 1, 1);
    },
  };
}

const pairAt = (text: string, at: number) => text.charCodeAt(at - 1) * 65_536 + text.charCodeAt(at);
