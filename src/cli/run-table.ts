import { dollars, thousands } from "../reporters/outcome.ts";
import { createStyle, plainLine, type Style } from "../reporters/terminal-style.ts";
import { clip, columns } from "../reporters/terminal-wrap.ts";
import type { RunRow } from "./run-sources.ts";

const GAP = "  ";

/** Runs as a table for people at a terminal; what is long gives way to what fits. */
export function renderRuns(
  rows: readonly RunRow[],
  { colour, width }: { colour: boolean; width: number },
): string {
  if (rows.length === 0) return "No run is on record.\n";
  const style = createStyle(colour, width);
  const head = ["RUN", "BEGAN (UTC)", "TASK", "OF", "ENDED", "FOUND", "TOKENS", "COST"];
  const table = [head, ...rows.map(cellsOf)];
  const widths = head.map((_, column) => Math.max(...table.map((cells) => columns(cells[column] ?? ""))));
  const used = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (head.length - 1);
  // What a run is about is the longest, and its end tells most.
  widths[OF] = Math.max(12, (widths[OF] ?? 0) - Math.max(0, used - width));
  const lines = table.map((cells, index) =>
    rowLine(cells, widths, index === 0 ? style.dim : paintOf(cells, style)),
  );
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}

const OF = 3;
const ENDED = 4;
const numeric = new Set([5, 6, 7]);
/** Ids are told apart by this much. */
const ID_CHARACTERS = 22;

function cellsOf(row: RunRow): string[] {
  const of = row.pull === null ? (row.range ?? row.repository) : `${row.repository}#${row.pull}`;
  const number = (value: number | null) => (value === null ? "" : thousands(value));
  return [
    row.source === "local" ? row.id : row.id.slice(0, ID_CHARACTERS - 9),
    row.began_at.slice(0, 16).replace("T", " "),
    plainLine(row.task),
    plainLine(of),
    row.state,
    number(row.findings),
    number(row.tokens),
    row.cost_usd === null ? "" : dollars(row.cost_usd),
  ];
}

function rowLine(
  cells: readonly string[],
  widths: readonly number[],
  paint: (text: string) => string,
): string {
  const padded = cells.map((cell, column) => {
    const width = widths[column] ?? 0;
    const text = clip(cell, width);
    const space = " ".repeat(Math.max(0, width - columns(text)));
    return numeric.has(column) ? space + text : text + space;
  });
  return paint(padded.join(GAP).trimEnd());
}

function paintOf(cells: readonly string[], style: Style): (text: string) => string {
  return cells[ENDED] === "failed" ? style.alarm : String;
}
