/**
 * Measures the project's targets for its own speed and size, each against a reference that is measured in the same run.
 * `npm run bench -- tools checkout` runs only these parts. Exits with 1 if a limit is exceeded. `npm run bench -- --record` also writes the
 * rows to `docs/figures/bench.json`, from which `npm run docs` makes the table of docs/performance.md.
 *
 * Whole commands (`review`) are measured with the program as `npm run build` makes it from the current sources, `package` with what npm
 * installs of it; the other parts call the sources in this process.
 */
import { join } from "node:path";
import pc from "picocolors";
import { TempFolder } from "../test/support/git-repo.ts";
import { benchAnswers } from "./bench/answers.ts";
import { benchChangedFiles } from "./bench/changed-files.ts";
import { benchCheckout } from "./bench/checkout.ts";
import { benchDiffFile } from "./bench/diff-file.ts";
import { benchGraph } from "./bench/graph.ts";
import { openLargeChange } from "./bench/large-change.ts";
import { describeMachine } from "./bench/machine.ts";
import { timed } from "./bench/measure.ts";
import { benchPackage } from "./bench/package.ts";
import { benchPlanning, hugeChange } from "./bench/planning.ts";
import { benchQueue } from "./bench/queue.ts";
import { benchReview } from "./bench/review.ts";
import { type Bench, isOver, type Row, renderTable, renderValue } from "./bench/row.ts";
import { benchSanitizers } from "./bench/sanitizers.ts";
import { benchSearch } from "./bench/search-in-files.ts";
import { syntheticPull } from "./bench/synthetic-pull.ts";
import { benchBudget, benchTokens } from "./bench/tokens.ts";
import { benchFile, today, writeFigures } from "./figures.ts";

const groups: Record<string, (bench: Bench) => Promise<void>> = {
  // First, because a process that has grown starts programs more slowly, and a checkout starts ten.
  checkout: benchCheckout,
  async tools(bench) {
    bench.say("making a repository of 5,000 files and a change of 1,000");
    await using change = await openLargeChange(bench.temp);
    await benchChangedFiles(change, bench);
    await benchDiffFile(change, bench);
    await benchSearch(change, bench);
  },
  async planning(bench) {
    bench.say("making a repository of 4,000 files and a change of 3,000 files and 120,000 lines");
    const pull = syntheticPull(join(bench.temp, "huge-change"), hugeChange);
    await benchPlanning(pull, bench);
    await benchBudget(pull, bench);
  },
  tokens: benchTokens,
  graph: benchGraph,
  queue: benchQueue,
  review: benchReview,
  package: benchPackage,
  sanitizers: benchSanitizers,
  answers: benchAnswers,
};

/** A bench that prints its progress. */
function createBench(temp: string, rows: Row[]): Bench {
  const start = performance.now();
  const say = (text: string) =>
    console.log(pc.dim(`${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s  ${text}`));
  return {
    temp,
    say,
    add(row) {
      rows.push(row);
      say(`  ${renderValue(row)}  ${row.what}`);
    },
  };
}

async function main(args: readonly string[]): Promise<number> {
  const names = args.filter((name) => name !== "--record");
  const records = args.includes("--record");
  if (records && names.length > 0) {
    console.error("Only a run of all parts is recorded, so that its rows are comparable: omit their names");
    return 2;
  }
  const unknown = names.find((name) => !(name in groups));
  if (unknown !== undefined) {
    console.error(`There is no '${unknown}'; there are ${Object.keys(groups).join(", ")}`);
    return 2;
  }
  const machine = describeMachine();
  console.log(`${machine}\nreviews run the program as 'npm run build' makes it from the current sources\n`);
  using temp = new TempFolder("bench");
  const dispose = () => {
    temp.dispose();
    process.exit(130);
  };
  process.once("SIGINT", dispose).once("SIGTERM", dispose);
  const rows: Row[] = [];
  const bench = createBench(temp.path, rows);
  const seconds: Record<string, number> = {};
  for (const [name, measure] of Object.entries(groups)) {
    if (names.length > 0 && !names.includes(name)) continue;
    seconds[name] = (await timed(() => measure(bench))) / 1_000;
  }
  console.log(`\n${renderTable(rows)}`);
  const parts = Object.entries(seconds).map(([name, took]) => `${name} ${took.toFixed(0)} s`);
  console.log(pc.dim(`\n${parts.join(", ")}`));
  if (records) writeFigures(benchFile, { date: today(), machine, rows });
  const over = rows.filter(isOver).length;
  if (over > 0) console.log(`\n${over} of ${rows.length} over the limit`);
  return over > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
