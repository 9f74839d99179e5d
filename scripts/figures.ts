/** Figures that were measured and written to `docs/figures`, and the tables of docs/performance.md that show them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { cellsOf } from "./bench/row.ts";
import { markdownTable } from "./table.ts";

const folder = join(import.meta.dirname, "../docs/figures");
export const benchFile = join(folder, "bench.json");
export const scaleFile = join(folder, "scale.json");

const origin = {
  /** ISO date. */
  date: z.string(),
  machine: z.string(),
};

/** One whole run of `npm run bench`. */
export const RecordedBench = z.strictObject({
  ...origin,
  rows: z.array(
    z.strictObject({
      what: z.string(),
      ours: z.string(),
      reference: z.string(),
      value: z.number(),
      unit: z.enum(["x", "s", "MB", "ms"]),
      limit: z.number().nullable(),
    }),
  ),
});
export type RecordedBench = z.infer<typeof RecordedBench>;

/** One measured quantity at several sizes. */
const Curve = z.strictObject({
  name: z.string(),
  unit: z.enum(["s", "MB"]),
  /** Size and value, by size. */
  points: z.array(z.tuple([z.number(), z.number()])),
});
export type Curve = z.infer<typeof Curve>;

/** The growth of all costs with one size. */
const Dimension = z.strictObject({
  ...origin,
  title: z.string(),
  /** The size, with its unit. */
  axis: z.string(),
  curves: z.array(Curve),
});
export type Dimension = z.infer<typeof Dimension>;

/** The figures of `npm run scale`, by the name of the dimension. */
export const RecordedScale = z.record(z.string(), Dimension);
export type RecordedScale = z.infer<typeof RecordedScale>;

/** Null if nothing was recorded yet. */
export function readFigures<Figures>(file: string, shape: z.ZodType<Figures>): Figures | null {
  return existsSync(file) ? shape.parse(JSON.parse(readFileSync(file, "utf8"))) : null;
}

export function writeFigures(file: string, figures: RecordedBench | RecordedScale): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
}

export const today = () => new Date().toISOString().slice(0, 10);

const NOTHING = "**Not measured yet.**";

/** The rows of a recorded bench with their limits. */
export function benchTable(): string {
  const recorded = readFigures(benchFile, RecordedBench);
  if (recorded === null) return NOTHING;
  const { rows } = recorded;
  const cells = rows.map((row) => {
    const [what = "", ...rest] = cellsOf(row);
    return [what.trim(), ...rest.map((cell) => (cell === "over" ? "**over**" : cell))];
  });
  return [
    originLine(recorded),
    markdownTable(["what", "ours", "reference", "measured", "limit", ""], cells),
  ].join("\n\n");
}

/** A table for each dimension of the recorded scale. */
export function scaleTables(): string {
  const recorded = readFigures(scaleFile, RecordedScale);
  if (recorded === null) return NOTHING;
  return Object.values(recorded).map(scaleTable).join("\n\n");
}

function scaleTable(dimension: Dimension): string {
  const { title, axis, curves } = dimension;
  const sizes = [...new Set(curves.flatMap(({ points }) => points.map(([size]) => size)))];
  const cells = curves.map(({ name, unit, points }) => {
    const values = new Map(points);
    return [name, ...sizes.map((size) => amountAt(values.get(size), unit))];
  });
  const head = [axis, ...sizes.map((size) => size.toLocaleString("en"))];
  return [`**${title}**`, markdownTable(head, cells), originLine(dimension)].join("\n\n");
}

function amountAt(value: number | undefined, unit: Curve["unit"]): string {
  if (value === undefined) return "";
  return unit === "s" ? `${value.toFixed(value < 10 ? 1 : 0)} s` : `${value.toFixed(0)} MB`;
}

const originLine = ({ date, machine }: { date: string; machine: string }) =>
  `Measured ${date}: ${machine.split("\n").join("; ")}.`;
