import type { Side } from "../finding.ts";
import type { ReportedFinding } from "../tools/tool.ts";
import { findQuote, nearest, type QuotePlace, quoteLines, similarLines, undecorated } from "./quote.ts";

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
}

type Wanted = Pick<ReportedFinding, "side" | "line" | "start_line" | "quote">;

/**
 * Finds the lines a finding means. The quote decides, the number only chooses among several places that match; the other
 * side is tried where the quote does not stand on the given one. Rejects in words that help to correct the call.
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
      const place = bestPlace(file, side, lines, wanted.line);
      if (place) return { ok: true, anchor: anchorAt(file, side, place, wanted) };
    }
  }
  return { ok: false, reason: notFound(file, wanted, quote) };
}

const sidesToTry = (side: Side): Side[] => (side === "RIGHT" ? ["RIGHT", "LEFT"] : ["LEFT", "RIGHT"]);

function bestPlace(file: AnchorFile, side: Side, quote: string[], line: number): QuotePlace | undefined {
  const lines = file.lines[side];
  if (!lines) return undefined;
  const places = findQuote(lines, quote);
  // A line that both sides show belongs on RIGHT, where people read; LEFT is for what the change removed.
  const shown = side === "LEFT" ? places.filter((place) => file.isRemoved(place.end)) : places;
  return nearest(shown, line, (place) => file.hunkAt(side, place.end) !== undefined);
}

function anchorAt(file: AnchorFile, side: Side, place: QuotePlace, wanted: Wanted): Anchor {
  const end = rangeEnd(place, wanted);
  const start = wanted.start_line === null ? null : Math.max(1, end - (wanted.line - wanted.start_line));
  const start_line = start !== null && start < end ? start : null;
  const lines = file.lines[side] ?? [];
  return {
    side,
    line: end,
    start_line,
    quote: lines.slice((start_line ?? end) - 1, end).join("\n"),
    note: difference(side, end, wanted),
  };
}

/** A quote of the range's first line anchors the range at its start; any other quote is its end. */
function rangeEnd(place: QuotePlace, { line, start_line }: Wanted): number {
  const quotedStart = start_line !== null && start_line < line && place.end === start_line;
  return quotedStart ? line : place.end;
}

function difference(side: Side, line: number, wanted: Wanted): string | null {
  if (side !== wanted.side) return `the quote stands on side ${side}, line ${line}; anchored there`;
  if (line !== wanted.line) return `the quote stands on line ${line}, not ${wanted.line}; anchored there`;
  return null;
}

function notFound(file: AnchorFile, wanted: Wanted, quote: string[]): string {
  const side = file.lines[wanted.side] ? wanted.side : sidesToTry(wanted.side)[1];
  const lines = (side && file.lines[side]) ?? [];
  const near = similarLines(lines, quote, wanted.line);
  const candidates = near.length > 0 ? near : around(wanted.line, lines.length);
  const shown = candidates.map((number) => `${number}| ${lines[number - 1] ?? ""}`).join("\n");
  return `the quote does not stand in ${file.path} on either side of the change. Quote one line exactly. Nearest lines on ${side}:\n${shown}`;
}

function around(line: number, count: number): number[] {
  const middle = Math.min(Math.max(line, 1), count);
  return [middle - 1, middle, middle + 1].filter((number) => number >= 1 && number <= count);
}
