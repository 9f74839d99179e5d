/**
 * Measures how the cost of reviews grows, one dimension at a time, with real servers and processes. Writes the figures to
 * `docs/figures/scale.json`; `npm run docs` then makes the tables of docs/performance.md.
 *
 *     npm run scale                      all dimensions, about half an hour on two idle cores
 *     npm run scale -- files history     only these; the figures of the others stay
 *     npm run scale -- --small           a hundredth of each size, to try the script; writes to a temporary folder
 */
import { chmodSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pc from "picocolors";
import { TempFolder } from "../test/support/git-repo.ts";
import { describeMachine } from "./bench/machine.ts";
import {
  type Curve,
  type Dimension,
  RecordedScale,
  readFigures,
  scaleFile,
  today,
  writeFigures,
} from "./figures.ts";
import { changes } from "./scale/changes.ts";
import type { Measured } from "./scale/dimension.ts";
import { files } from "./scale/files.ts";
import { history } from "./scale/history.ts";
import { waiting } from "./scale/waiting.ts";

const dimensions: Record<string, Measured> = { files, history, changes, waiting };
const aHundredth = (size: number) => Math.max(1, Math.round(size / 100));

const start = performance.now();
const say = (text: string) =>
  console.log(pc.dim(`${((performance.now() - start) / 1_000).toFixed(0).padStart(4)} s  ${text}`));

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { small: { type: "boolean", default: false } },
  });
  const unknown = positionals.find((name) => !(name in dimensions));
  if (unknown !== undefined) {
    console.error(`There is no '${unknown}'; there are ${Object.keys(dimensions).join(", ")}`);
    return 2;
  }
  const file = values.small ? join(new TempFolder("scale-tried").path, "scale.json") : scaleFile;
  console.log(`${describeMachine()}\n`);
  for (const name of positionals.length > 0 ? positionals : Object.keys(dimensions)) {
    const dimension = await measure(name, values.small);
    // Each is written at once, so that a failure of the next one loses nothing.
    writeFigures(file, inOrder({ ...readFigures(file, RecordedScale), [name]: dimension }));
  }
  console.log(`\n${file}`);
  return 0;
}

const inOrder = (recorded: RecordedScale): RecordedScale =>
  Object.fromEntries(
    Object.keys(dimensions).flatMap((name) => (recorded[name] ? [[name, recorded[name]]] : [])),
  );

async function measure(name: string, isSmall: boolean): Promise<Dimension> {
  const measured = dimensions[name];
  if (!measured) throw new Error(`There is no dimension '${name}'`);
  const sizes = isSmall ? [...new Set(measured.sizes.map(aHundredth))] : measured.sizes;
  if (!isSmall) requireDisk(measured.diskGigabytes);
  const machine = describeMachine();
  using temp = new TempFolder("scale");
  // Everything that this process and its children make is below one folder, which also goes away if it is stopped. For root, Postgres runs
  // as another user, who must be able to enter it.
  chmodSync(temp.path, 0o711);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = temp.path;
  const stop = () => {
    temp.dispose();
    process.exit(130);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const curves = new Map<string, Curve>();
  say(`${measured.title}: ${sizes.map((size) => size.toLocaleString("en")).join(", ")} ${measured.axis}`);
  try {
    await measured.measure(sizes, {
      temp: temp.path,
      say,
      add(curve, unit, size, value) {
        const known: Curve = curves.get(curve) ?? { name: curve, unit, points: [] };
        curves.set(curve, known);
        known.points.push([size, Number(value.toPrecision(4))]);
        say(`  ${size.toLocaleString("en")}: ${curve}, ${value.toFixed(value < 10 ? 2 : 0)} ${unit}`);
      },
    });
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
  const { title, axis } = measured;
  return { date: today(), machine, title, axis, curves: [...curves.values()] };
}

function requireDisk(gigabytes: number): void {
  const { bavail, bsize } = statfsSync(tmpdir());
  const free = (bavail * bsize) / 1e9;
  if (free >= gigabytes) return;
  throw new Error(
    `${tmpdir()} has ${free.toFixed(1)} GB left, and this needs ${gigabytes}: set TMPDIR to a folder with more room`,
  );
}

process.exitCode = await main(process.argv.slice(2));
