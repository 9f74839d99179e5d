import { dollars, thousands } from "../reporters/outcome.ts";
import { createStyle, plainLine } from "../reporters/terminal-style.ts";
import { clip, columns } from "../reporters/terminal-wrap.ts";
import type { RunRow } from "./run-sources.ts";

interface Column {
  name: string;
  /** Numbers stand on the right. */
  isNumber?: true;
  cell(row: RunRow): string;
}

const number = (value: number | null) => (value === null ? "" : thousands(value));

/** Of the id of a server's run; the beginning tells them apart. */
const ID_CHARACTERS = 13;
const GAP = "  ";

const run: Column = {
  name: "RUN",
  cell: ({ id, source }) => (source === "local" ? id : id.slice(0, ID_CHARACTERS)),
};
const began: Column = { name: "BEGAN (UTC)", cell: (row) => row.began_at.slice(0, 16).replace("T", " ") };
const task: Column = { name: "TASK", cell: (row) => plainLine(row.task) };
const of: Column = {
  name: "OF",
  cell: ({ pull, range, repository }) =>
    plainLine(pull === null ? (range ?? repository) : `${repository}#${pull}`),
};
const state: Column = { name: "ENDED", cell: (row) => row.state };
const found: Column = { name: "FOUND", isNumber: true, cell: (row) => number(row.findings) };
const tokens: Column = { name: "TOKENS", isNumber: true, cell: (row) => number(row.tokens) };
const cost: Column = {
  name: "COST",
  isNumber: true,
  cell: (row) => (row.cost_usd === null ? "" : dollars(row.cost_usd)),
};

/** What gives way on a narrow terminal, first to last; an id of a local run tells when it began. */
const dispensable = [began, tokens, cost];
const alarming = new Set(["failed", "unreadable"]);
/** What a run is about may be cut down to this. */
const LEAST_OF = 16;

/** Runs as a table for people at a terminal. */
export function renderRuns(
  rows: readonly RunRow[],
  { colour, width }: { colour: boolean; width: number },
): string {
  if (rows.length === 0) return "No run is on record.\n";
  const style = createStyle(colour, width);
  const widthOf = (column: Column) =>
    Math.max(column.name.length, ...rows.map((row) => columns(column.cell(row))));
  const shown = [run, began, task, of, state, found, tokens, cost].filter(
    (column) => !column.isNumber || rows.some((row) => column.cell(row) !== ""),
  );
  const besideOf = () =>
    shown.reduce((sum, column) => sum + (column === of ? 0 : widthOf(column) + GAP.length), 0);
  for (const column of dispensable) {
    if (besideOf() + Math.min(widthOf(of), LEAST_OF) <= width) break;
    if (shown.includes(column)) shown.splice(shown.indexOf(column), 1);
  }
  const ofWidth = Math.min(widthOf(of), Math.max(LEAST_OF, width - besideOf()));
  const line = (cellOf: (column: Column) => string) =>
    shown
      .map((column) => padded(cellOf(column), column === of ? ofWidth : widthOf(column), column.isNumber))
      .join(GAP)
      .trimEnd();
  const lines = rows.map((row) => {
    const text = line((column) => column.cell(row));
    return alarming.has(row.state) ? style.alarm(text) : text;
  });
  return `${[style.dim(line(({ name }) => name)), ...lines].join("\n")}\n`;
}

function padded(cell: string, width: number, isNumber = false): string {
  const text = clip(cell, width);
  const space = " ".repeat(Math.max(0, width - columns(text)));
  return isNumber ? space + text : text + space;
}
