import type { Side } from "../finding.ts";
import { cutBytes } from "../text/cut.ts";
import { showPath } from "../tools/show.ts";
import type { ReportedFinding } from "../tools/tool.ts";
import { type Found, locateQuote, otherSide, type SearchedFile } from "./locate-quote.ts";
import { showNearLines } from "./near-lines.ts";
import { confirms, type LineRange, quoteLines, within } from "./quote.ts";

/** A file as both sides of the change show it. */
export interface AnchorFile extends SearchedFile {
  path: string;
  /** Every path that `lines` come from: a renamed file has two. */
  paths: readonly string[];
  /** False for a file that the change leaves alone: nothing of it can carry a comment. */
  inChange: boolean;
  /** Why no line can carry a comment although the change has the file; null where those of its hunks can. */
  hidden: string | null;
}

export interface Anchor {
  side: Side;
  line: number;
  start_line: number | null;
  /** The anchored lines as they really stand in the file; of very long ones the beginning. */
  quote: string;
  /** Says how the anchor differs from what was asked for; null when it does not. */
  note: string | null;
  /** False when a suggestion may have been written for other lines than the anchored ones: it must not replace these. */
  asStated: boolean;
}

type Wanted = Pick<ReportedFinding, "side" | "line" | "start_line" | "quote">;

/** A longer range points at nothing: its quote does. */
const MAX_RANGE_LINES = 500;
/** Findings travel between processes, and a file may be a single line. */
const MAX_QUOTE_BYTES = 32 * 1024;

/**
 * Finds the lines a finding means. The quote decides, the stated lines choose among several places that match, and stand
 * where the quote agrees with them; the other side is tried where the quote does not stand on the given one. A range lies
 * in one hunk, or outside of all: it is clipped to the part of it that holds the quote. Rejects in words that help to
 * correct the call.
 */
export function resolveAnchor(
  file: AnchorFile,
  wanted: Wanted,
): { ok: true; anchor: Anchor } | { ok: false; reason: string } {
  const quote = quoteLines(wanted.quote);
  if (quote.length === 0)
    return { ok: false, reason: "`quote` is empty: give the exact code of the line the finding is about" };
  const found = locateQuote(file, quote, wanted.side, statedRange(wanted));
  if (!found) return { ok: false, reason: notFound(file, wanted, quote) };
  return { ok: true, anchor: anchorAt(file, found, wanted) };
}

const statedRange = ({ start_line, line }: Wanted): LineRange => ({ start: start_line ?? line, end: line });

function anchorAt(file: AnchorFile, { side, place, stated }: Found, wanted: Wanted): Anchor {
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
    // A single line moves with its quote, which then is all that a suggestion was written for.
    asStated: stated.start === stated.end ? within(place, anchored) : unmoved,
  };
}

/** The stated lines where the quote agrees with them, else as many lines, ending with the quote. */
function meantBy(place: LineRange, stated: LineRange, lines: readonly string[]): LineRange {
  if (confirms(place, stated) && !isBlank(stated, lines))
    return { start: stated.start, end: Math.min(stated.end, lines.length) };
  return { start: Math.max(1, place.end - (stated.end - stated.start)), end: place.end };
}

/** Of lines with nothing on them nothing can be said; what was meant is another line of the quote. */
const isBlank = ({ start, end }: LineRange, lines: readonly string[]) =>
  lines.slice(start - 1, end).every((line) => line.trim() === "");

/** What two ranges that overlap have in common. */
const overlap = (one: LineRange, two: LineRange): LineRange => ({
  start: Math.max(one.start, two.start),
  end: Math.min(one.end, two.end),
});

function shortened(range: LineRange, place: LineRange): LineRange {
  return range.end - range.start < MAX_RANGE_LINES ? range : overlap(range, place);
}

/** The part of a range around the quote that lies in one hunk; outside of all where no line of the quote is in one. */
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
  { side, place, stated }: Found,
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
