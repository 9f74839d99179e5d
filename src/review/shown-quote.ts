import type { DiffLine, Hunk } from "../diff/file-diff.ts";
import type { Side } from "../finding.ts";
import { findQuote, type LineRange } from "./quote.ts";

/**
 * Where a quote stands that was copied as the diff shows it, removed and added lines below each other: on neither side do
 * they follow each other. The lines of the quote that are on the given side are its place, from the first to the last with
 * anything on it.
 */
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
      // Hunks do not follow each other in the file.
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
