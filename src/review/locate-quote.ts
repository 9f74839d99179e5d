import { type Hunk, lineAtHead } from "../diff/file-diff.ts";
import type { Side } from "../finding.ts";
import { confirms, findQuote, type LineRange, undecorated } from "./quote.ts";
import { findShownQuote } from "./shown-quote.ts";

/** A file as quotes are looked for in it. */
export interface SearchedFile {
  /** `null` where the file does not exist on that side, or is no text. */
  lines: Record<Side, readonly string[] | null>;
  /** Its `-U3` hunks; none where they could not be read. */
  hunks: readonly Hunk[];
  /** Number of the hunk that shows a line, undefined outside every hunk and where GitHub shows none. */
  hunkAt(side: Side, line: number): number | undefined;
  /** True for lines that the change removed. */
  isRemoved(oldLine: number): boolean;
}

/** Where a quote stands, and which lines were stated, by their numbers on that side. */
export interface Found {
  side: Side;
  place: LineRange;
  stated: LineRange;
}

export const otherSide = (side: Side): Side => (side === "RIGHT" ? "LEFT" : "RIGHT");

/**
 * Where a quote stands: as it was given; without the numbers and signs of our own renderings; or as the diff shows both
 * sides together. On the other side than the given one where it does not stand on that.
 */
export function locateQuote(
  file: SearchedFile,
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): Found | undefined {
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
  file: SearchedFile,
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): Found | undefined {
  const place = findPlace(file, side, quote, stated);
  if (place) return { side, place, stated };
  const there = side === "LEFT" ? atHead(file, quote, stated) : stated;
  const elsewhere = findPlace(file, otherSide(side), quote, there);
  return elsewhere && { side: otherSide(side), place: elsewhere, stated: there };
}

function findPlace(
  file: SearchedFile,
  side: Side,
  quote: readonly string[],
  stated: LineRange,
): LineRange | undefined {
  return findQuote(file.lines[side] ?? [], quote, {
    stated,
    // A line that both sides show belongs on RIGHT, where people read; LEFT is for what the change removed.
    ...(side === "LEFT" ? { allowed: createRemovalCheck(file) } : {}),
    preferred: (place) => file.hunkAt(side, place.end) !== undefined,
  });
}

/** Whether a place holds a removed line; places come in file order, so that each line is looked at once. */
function createRemovalCheck(file: SearchedFile): (place: LineRange) => boolean {
  let next = 1;
  return ({ start, end }) => {
    next = Math.max(next, start);
    while (next <= end && !file.isRemoved(next)) next++;
    return next <= end;
  };
}

/** Lines that were stated by their numbers at the merge base, by those at head: as they are where the quote agrees with them. */
function atHead(file: SearchedFile, quote: readonly string[], stated: LineRange): LineRange {
  const allowed = (place: LineRange) => confirms(place, stated);
  const { end } = findQuote(file.lines.LEFT ?? [], quote, { stated, allowed }) ?? stated;
  const shift = lineAtHead(file.hunks, end) - end;
  return { start: Math.max(1, stated.start + shift), end: Math.max(1, stated.end + shift) };
}

function amongShown(
  file: SearchedFile,
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): Found | undefined {
  for (const one of [side, otherSide(side)]) {
    const place = findShownQuote(file.hunks, quote, one, stated);
    if (place) return { side: one, place, stated };
  }
  return undefined;
}

/** Unchanged lines between which the change added some: only at the merge base do they follow each other. */
function betweenAdded(file: SearchedFile, quote: readonly string[], stated: LineRange): Found | undefined {
  const place = findQuote(file.lines.LEFT ?? [], quote, { stated });
  return place && { side: "LEFT", place, stated };
}
