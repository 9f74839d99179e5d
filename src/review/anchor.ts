import type { Side } from "../finding.ts";
import { showPath } from "../tools/show.ts";
import type { ReportedFinding } from "../tools/tool.ts";
import {
  confirms,
  findQuote,
  type LineRange,
  nearest,
  quoteLines,
  similarLines,
  undecorated,
  within,
} from "./quote.ts";

/** A file as both sides of the change show it. `null` where it does not exist on that side. */
export interface AnchorFile {
  path: string;
  /** Every path that `lines` come from: a renamed file has two. */
  paths: readonly string[];
  /** False for a file that the change leaves alone: nothing of it can carry a comment. */
  inChange: boolean;
  lines: Record<Side, readonly string[] | null>;
  /** Number of the `-U3` hunk that shows a line, undefined outside every hunk. */
  hunkAt(side: Side, line: number): number | undefined;
  /** True for lines that the change removed. */
  isRemoved(oldLine: number): boolean;
}

export interface Anchor {
  side: Side;
  line: number;
  start_line: number | null;
  /** The anchored lines as they really stand in the file. */
  quote: string;
  /** Says how the anchor differs from what was asked for; null when it does not. */
  note: string | null;
  /** False when a suggestion may have been written for other lines than the anchored ones: it must not replace these. */
  asStated: boolean;
}

type Wanted = Pick<ReportedFinding, "side" | "line" | "start_line" | "quote">;

/**
 * Finds the lines a finding means. The quote decides, the stated lines choose among several places that match, and stand
 * where the quote agrees with them; the other side is tried where the quote does not stand on the given one. Rejects in
 * words that help to correct the call.
 */
export function resolveAnchor(
  file: AnchorFile,
  wanted: Wanted,
): { ok: true; anchor: Anchor } | { ok: false; reason: string } {
  const quote = quoteLines(wanted.quote);
  if (quote.length === 0)
    return { ok: false, reason: "`quote` is empty: give the exact code of the line the finding is about" };
  for (const lines of [quote, undecorated(quote)]) {
    for (const side of sidesToTry(wanted.side)) {
      const place = bestPlace(file, side, lines, statedRange(wanted));
      if (place) return { ok: true, anchor: anchorAt(file, side, place, wanted) };
    }
  }
  return { ok: false, reason: notFound(file, wanted, quote) };
}

const sidesToTry = (side: Side): Side[] => (side === "RIGHT" ? ["RIGHT", "LEFT"] : ["LEFT", "RIGHT"]);

const statedRange = ({ start_line, line }: Wanted): LineRange => ({ start: start_line ?? line, end: line });

function bestPlace(file: AnchorFile, side: Side, quote: string[], stated: LineRange): LineRange | undefined {
  const lines = file.lines[side];
  if (!lines) return undefined;
  // A line that both sides show belongs on RIGHT, where people read; LEFT is for what the change removed.
  const allowed = (place: LineRange) => side === "RIGHT" || file.isRemoved(place.end);
  const places = findQuote(lines, quote, stated, allowed);
  return nearest(places, stated, (place) => file.hunkAt(side, place.end) !== undefined);
}

function anchorAt(file: AnchorFile, side: Side, place: LineRange, wanted: Wanted): Anchor {
  const lines = file.lines[side] ?? [];
  const stated = statedRange(wanted);
  const anchored = confirms(place, stated)
    ? { start: stated.start, end: Math.min(stated.end, lines.length) }
    : movedTo(place, stated);
  const unmoved = side === wanted.side && anchored.start === stated.start && anchored.end === stated.end;
  return {
    side,
    line: anchored.end,
    start_line: anchored.start < anchored.end ? anchored.start : null,
    quote: lines.slice(anchored.start - 1, anchored.end).join("\n"),
    note: unmoved ? null : difference(anchored, side, place, wanted),
    // A single line moves with its quote, which then is all that a suggestion was written for.
    asStated: stated.start === stated.end ? within(place, anchored) : unmoved,
  };
}

/** As many lines as were stated, ending with the quote. */
function movedTo(place: LineRange, stated: LineRange): LineRange {
  return { start: Math.max(1, place.end - (stated.end - stated.start)), end: place.end };
}

function difference(anchored: LineRange, side: Side, place: LineRange, wanted: Wanted): string {
  const there = `anchored at ${inWords(anchored)}`;
  if (side !== wanted.side) return `the quote stands on side ${side}, ${inWords(place)}; ${there}`;
  const stated = statedRange(wanted);
  if (confirms(place, stated)) return `the file ends at line ${anchored.end}; ${there}`;
  return `the quote stands on ${inWords(place)}, not on ${inWords(stated)}; ${there}`;
}

const inWords = ({ start, end }: LineRange) => (start < end ? `lines ${start}-${end}` : `line ${end}`);

function notFound(file: AnchorFile, wanted: Wanted, quote: string[]): string {
  const side = file.lines[wanted.side] ? wanted.side : sidesToTry(wanted.side)[1];
  const lines = (side && file.lines[side]) ?? [];
  const near = similarLines(lines, quote, wanted.line);
  const candidates = near.length > 0 ? near : around(wanted.line, lines.length);
  const shown = candidates.map((number) => `${number}| ${lines[number - 1] ?? ""}`).join("\n");
  return `the quote does not stand in ${showPath(file.path)} on either side of the change. Quote one line exactly. Nearest lines on ${side}:\n${shown}`;
}

function around(line: number, count: number): number[] {
  const middle = Math.min(Math.max(line, 1), count);
  return [middle - 1, middle, middle + 1].filter((number) => number >= 1 && number <= count);
}
