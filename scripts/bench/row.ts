import pc from "picocolors";
import { textTable } from "../table.ts";
import type { Comparison } from "./measure.ts";

/** One row of the final table. */
export interface Row {
  what: string;
  ours: string;
  reference: string;
  value: number;
  unit: "x" | "s" | "MB" | "ms";
  /** Null if there is no target: informational. */
  limit: number | null;
}

/** The context of a group of rows. */
export interface Bench {
  /** A folder that is removed at the end. */
  temp: string;
  /** Prints progress. */
  say(text: string): void;
  /** Adds a result. */
  add(row: Row): void;
}

const milliseconds = (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;

/** Duration as a multiple of the reference. */
export function ratioRow(what: string, { ours, reference }: Comparison, limit: number | null): Row {
  return {
    what,
    ours: milliseconds(ours),
    reference: milliseconds(reference),
    value: ours / reference,
    unit: "x",
    limit,
  };
}

/** Seconds more than the reference. */
export function extraRow(what: string, { ours, reference }: Comparison, limit: number | null): Row {
  return {
    what,
    ours: milliseconds(ours),
    reference: milliseconds(reference),
    value: (ours - reference) / 1000,
    unit: "s",
    limit,
  };
}

/** A count, and the most that it may be. */
export function countRow(what: string, count: number, most: number): Row {
  const [ours, reference] = [String(count), String(most)];
  return { what: `${what}, of ${most}`, ours, reference, value: count / most, unit: "x", limit: 1 };
}

/** A value with no reference except its limit. */
export function plainRow(what: string, value: number, unit: Row["unit"], limit: number | null): Row {
  return { what, ours: renderAmount(value, unit), reference: "", value, unit, limit };
}

export const isOver = ({ value, limit }: Pick<Row, "value" | "limit">) => limit !== null && value > limit;

/** What a table says about a row. */
export function cellsOf(row: Row): string[] {
  const { what, ours, reference, value, unit, limit } = row;
  const most = limit === null ? "" : renderAmount(limit, unit);
  const end = limit === null ? "for information" : isOver(row) ? "over" : "holds";
  return [what, ours, reference, renderAmount(value, unit), most, end];
}

export function renderTable(rows: readonly Row[]): string {
  const titles = ["", ">ours", ">reference", ">measured", ">limit", ""];
  const [heading = "", rule = "", ...lines] = textTable(titles, rows.map(cellsOf)).split("\n");
  return [pc.bold(heading), rule, ...lines.map((line, at) => colored(line, rows[at]))].join("\n");
}

function colored(line: string, row: Row | undefined): string {
  if (row === undefined || row.limit === null) return pc.dim(line);
  return isOver(row) ? pc.red(line) : line;
}

/** "1.04 x (at most 1.30 x)" */
export function renderValue({ value, unit, limit }: Row): string {
  return limit === null
    ? renderAmount(value, unit)
    : `${renderAmount(value, unit)} (at most ${renderAmount(limit, unit)})`;
}

/** "1.04 x" */
export function renderAmount(value: number, unit: Row["unit"]): string {
  const digits = unit === "x" || unit === "s" ? 2 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}
