import { type Hunk, lineAtHead } from "../../diff/file-diff.ts";
import type { Side } from "../../finding.ts";
import { cutBytes } from "../../text/cut.ts";
import { showPath } from "../../tools/show.ts";
import type { ReportedFinding } from "../../tools/tool.ts";
import {
  confirms,
  findQuote,
  findShownQuote,
  type LineRange,
  quoteLines,
  showNearLines,
  undecorated,
  within,
} from "./quote.ts";

/** A file that is searched for quotes. */
interface QuotableFile {
  /** `null` if the file does not exist on that side, or is not text. */
  lines: Record<Side, readonly string[] | null>;
  /** Its `-U3` hunks; empty if they could not be read. */
  hunks: readonly Hunk[];
  /** Number of the hunk that shows a line; undefined outside of hunks, and if GitHub shows no diff. */
  hunkAt(side: Side, line: number): number | undefined;
  /** True for lines that the change removed. */
  isRemoved(oldLine: number): boolean;
}

/** The place of a quote, and the stated lines by their numbers on that side. */
interface QuoteMatch {
  side: Side;
  place: LineRange;
  stated: LineRange;
}

const otherSide = (side: Side): Side => (side === "RIGHT" ? "LEFT" : "RIGHT");

/**
 * Finds a quote: as given; without the line numbers and signs of our renderings; or across both sides as the diff shows them.
 * The given side is tried first, then the other one.
 */
function locateQuote(
  file: QuotableFile,
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): QuoteMatch | undefined {
  const plain = undecorated(quote);
  return (
    onEitherSide(file, quote, side, stated) ??
    onEitherSide(file, plain.lines, plain.side ?? side, stated) ??
    amongShown(file, quote, side, stated) ??
    amongShown(file, plain.lines, side, stated) ??
    betweenAdded(file, quote, stated) ??
    betweenAdded(file, plain.lines, stated)
  );
}

function onEitherSide(
  file: QuotableFile,
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): QuoteMatch | undefined {
  const place = findPlace(file, side, quote, stated);
  if (place) return { side, place, stated };
  const there = side === "LEFT" ? atHead(file, quote, stated) : stated;
  const elsewhere = findPlace(file, otherSide(side), quote, there);
  return elsewhere && { side: otherSide(side), place: elsewhere, stated: there };
}

function findPlace(
  file: QuotableFile,
  side: Side,
  quote: readonly string[],
  stated: LineRange,
): LineRange | undefined {
  return findQuote(file.lines[side] ?? [], quote, {
    stated,
    // An unchanged line belongs on RIGHT, where people read; LEFT is for removed lines.
    ...(side === "LEFT" ? { allowed: createRemovalCheck(file) } : {}),
    preferred: (place) => file.hunkAt(side, place.end) !== undefined,
  });
}

/** Whether a range holds a removed line. Ranges come in file order, so each line is checked once. */
function createRemovalCheck(file: QuotableFile): (place: LineRange) => boolean {
  let next = 1;
  return ({ start, end }) => {
    next = Math.max(next, start);
    while (next <= end && !file.isRemoved(next)) next++;
    return next <= end;
  };
}

/** Translates stated line numbers from the merge base to head. */
function atHead(file: QuotableFile, quote: readonly string[], stated: LineRange): LineRange {
  const allowed = (place: LineRange) => confirms(place, stated);
  const { end } = findQuote(file.lines.LEFT ?? [], quote, { stated, allowed }) ?? stated;
  const shift = lineAtHead(file.hunks, end) - end;
  return { start: Math.max(1, stated.start + shift), end: Math.max(1, stated.end + shift) };
}

function amongShown(
  file: QuotableFile,
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): QuoteMatch | undefined {
  for (const one of [side, otherSide(side)]) {
    const place = findShownQuote(file.hunks, quote, one, stated);
    if (place) return { side: one, place, stated };
  }
  return undefined;
}

/** Finds unchanged lines that the change has separated by added ones: they are adjacent only at the merge base. */
function betweenAdded(
  file: QuotableFile,
  quote: readonly string[],
  stated: LineRange,
): QuoteMatch | undefined {
  const place = findQuote(file.lines.LEFT ?? [], quote, { stated });
  return place && { side: "LEFT", place, stated };
}

/** A file with both sides of the change. */
export interface AnchorFile extends QuotableFile {
  path: string;
  /** Every path of `lines`: a renamed file has two. */
  paths: readonly string[];
  /** False for an unchanged file: it cannot have a comment. */
  inChange: boolean;
  /** Why no line of a changed file can have a comment; null if the lines of its hunks can. */
  hidden: string | null;
}

export interface Anchor {
  side: Side;
  line: number;
  start_line: number | null;
  /** The anchored lines as they are in the file, cut if very long. */
  quote: string;
  /** How the anchor differs from the stated lines; null if it does not. */
  note: string | null;
  /** False if a suggestion may be meant for other lines than the anchored ones: it must not replace these. */
  asStated: boolean;
}

type Wanted = Pick<ReportedFinding, "side" | "line" | "start_line" | "quote">;

/** A longer range is not a useful anchor; its quote is. */
const MAX_RANGE_LINES = 500;
/** Findings are sent between processes, and a file may be a single line. */
const MAX_QUOTE_BYTES = 32 * 1024;

/**
 * Finds the lines a finding means. The quote decides; the stated lines choose among several matches, and are kept if the quote
 * agrees with them. If the quote is not on the given side, the other side is searched. A range must be in one hunk, or outside of
 * all: it is clipped to the part with the quote. A refusal helps the model to correct the call.
 */
export function resolveAnchor(
  file: AnchorFile,
  wanted: Wanted,
): { ok: true; anchor: Anchor } | { ok: false; reason: string } {
  const quote = quoteLines(wanted.quote);
  if (quote.length === 0)
    return { ok: false, reason: "`quote` is empty: give the exact code of the line the finding is about" };
  const found = locateQuote(file, quote, wanted.side, statedRange(wanted));
  if (found) return { ok: true, anchor: anchorAt(file, found, wanted) };
  const plain = quoteLines(withoutEscapes(wanted.quote));
  const meant = plain.join() !== quote.join() && locateQuote(file, plain, wanted.side, statedRange(wanted));
  if (!meant) return { ok: false, reason: notFound(file, wanted, quote) };
  // A suggestion has the same escapes.
  return { ok: true, anchor: { ...anchorAt(file, meant, wanted), asStated: false } };
}

const entities: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
  apos: "'",
  amp: "&",
};

/** Code as it is, without the escapes of HTML and Markdown and the quotation marks of prose that some models write. */
const withoutEscapes = (quote: string) =>
  quote
    .replaceAll(/&(lt|gt|quot|#39|apos|amp);/g, (_, name: string) => entities[name] ?? "")
    .replaceAll(/\\(?=[_*`<>[\]#])/g, "")
    .replaceAll(/[\u201c\u201d]/g, '"')
    .replaceAll(/[\u2018\u2019]/g, "'");

const statedRange = ({ start_line, line }: Wanted): LineRange => ({ start: start_line ?? line, end: line });

function anchorAt(file: AnchorFile, { side, place, stated }: QuoteMatch, wanted: Wanted): Anchor {
  const lines = file.lines[side] ?? [];
  const anchored = withinOneHunk(file, side, shortened(meantBy(place, stated, lines), place), place);
  const asked = statedRange(wanted);
  const unmoved = side === wanted.side && within(anchored, asked) && within(asked, anchored);
  return {
    side,
    line: anchored.end,
    start_line: anchored.start < anchored.end ? anchored.start : null,
    quote: cutBytes(lines.slice(anchored.start - 1, anchored.end).join("\n"), MAX_QUOTE_BYTES),
    note: unmoved ? null : difference(anchored, { side, place, stated }, wanted, lines),
    // A single line moves with its quote, which is then exactly what the suggestion replaces.
    asStated: stated.start === stated.end ? within(place, anchored) : unmoved,
  };
}

/** The stated lines if the quote agrees with them, else the same number of lines, ending with the quote. */
function meantBy(place: LineRange, stated: LineRange, lines: readonly string[]): LineRange {
  if (confirms(place, stated) && !isBlank(stated, lines))
    return { start: stated.start, end: Math.min(stated.end, lines.length) };
  return { start: Math.max(1, place.end - (stated.end - stated.start)), end: place.end };
}

/** A blank line cannot be meant; another line of the quote is. */
const isBlank = ({ start, end }: LineRange, lines: readonly string[]) =>
  lines.slice(start - 1, end).every((line) => line.trim() === "");

/** The intersection of two ranges that overlap. */
const overlap = (one: LineRange, two: LineRange): LineRange => ({
  start: Math.max(one.start, two.start),
  end: Math.min(one.end, two.end),
});

function shortened(range: LineRange, place: LineRange): LineRange {
  return range.end - range.start < MAX_RANGE_LINES ? range : overlap(range, place);
}

/** The part of a range around the quote that is in one hunk, or outside of all hunks if no line of the quote is in one. */
function withinOneHunk(file: AnchorFile, side: Side, range: LineRange, place: LineRange): LineRange {
  const lines = file.lines[side] ?? [];
  const { start: first, end: last } = overlap(range, place);
  const quoted = Array.from({ length: last - first + 1 }, (_, index) => last - index);
  const says = (line: number) => !isBlank({ start: line, end: line }, lines);
  const isShown = (line: number) => file.hunkAt(side, line) !== undefined;
  const kept = quoted.find((line) => says(line) && isShown(line)) ?? quoted.find(says) ?? last;
  const hunk = file.hunkAt(side, kept);
  let [start, end] = [kept, kept];
  while (start > range.start && file.hunkAt(side, start - 1) === hunk) start--;
  while (end < range.end && file.hunkAt(side, end + 1) === hunk) end++;
  return { start, end };
}

function difference(
  anchored: LineRange,
  { side, place, stated }: QuoteMatch,
  wanted: Wanted,
  lines: readonly string[],
): string {
  const there = `anchored at ${inWords(anchored)}`;
  if (side !== wanted.side) return `the quote stands on side ${side}, ${inWords(place)}; ${there}`;
  if (!confirms(place, stated))
    return `the quote stands on ${inWords(place)}, not on ${inWords(stated)}; ${there}`;
  if (isBlank(stated, lines)) return `line ${stated.end} is blank; ${there}`;
  if (anchored.start === stated.start && anchored.end === lines.length)
    return `the file ends at line ${anchored.end}; ${there}`;
  return `a range lies in one hunk and has ${MAX_RANGE_LINES} lines at most; ${there}`;
}

const inWords = ({ start, end }: LineRange) => (start < end ? `lines ${start}-${end}` : `line ${end}`);

function notFound(file: AnchorFile, wanted: Wanted, quote: readonly string[]): string {
  const path = showPath(file.path);
  const side = file.lines[wanted.side] ? wanted.side : otherSide(wanted.side);
  const lines = file.lines[side];
  if (!lines) return `${path} is binary or too large: no line of it can be quoted`;
  if (lines.length === 0 && !file.lines[otherSide(side)]?.length)
    return `${path} is empty: no line of it can be quoted`;
  return `the quote does not stand in ${path} on either side of the change. Quote one line exactly. ${showNearLines(file, side, wanted.line, quote)}`;
}
