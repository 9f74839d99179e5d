/**
 * Measures the project's targets for its own speed and size, each against a reference that is measured in the same run.
 * `npm run bench -- search checkout` runs only these parts. Exits with 1 if a limit is exceeded.
 */
import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { rgPath } from "@vscode/ripgrep";
import pc from "picocolors";
import { TempFolder } from "../test/support/git-repo.ts";
import { benchAnswers } from "./bench/answers.ts";
import { benchChangedFiles } from "./bench/changed-files.ts";
import { benchCheckout } from "./bench/checkout.ts";
import { benchDiffFile } from "./bench/diff-file.ts";
import { benchGraph } from "./bench/graph.ts";
import { openLargeChange } from "./bench/large-change.ts";
import { benchPlanning } from "./bench/planning.ts";
import { benchQueue } from "./bench/queue.ts";
import { benchReview } from "./bench/review.ts";
import { type Bench, isOver, type Row, renderTable, renderValue } from "./bench/row.ts";
import { benchSanitisers } from "./bench/sanitisers.ts";
import { benchSearch } from "./bench/search-in-files.ts";
import { benchBudget, benchTokens } from "./bench/tokens.ts";

const groups: Record<string, (bench: Bench) => Promise<void>> = {
  async tools(bench) {
    bench.say("making a repository of 5,000 files and a change of 1,000");
    await using change = await openLargeChange(bench.temp);
    await benchChangedFiles(change, bench);
    await benchDiffFile(change, bench);
    await benchSearch(change, bench);
  },
  planning: benchPlanning,
  tokens: benchTokens,
  budget: benchBudget,
  checkout: benchCheckout,
  graph: benchGraph,
  queue: benchQueue,
  review: benchReview,
  sanitisers: benchSanitisers,
  answers: benchAnswers,
};

function describeMachine(): string {
  const version = (program: string) =>
    /\d+(?:\.\d+)+/.exec(execFileSync(program, ["--version"], { encoding: "utf8" }))?.[0];
  const memory = `${(totalmem() / 1024 ** 3).toFixed(0)} GB`;
  return [
    `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${memory}, ${type()} ${release()}`,
    `node ${process.versions.node} · git ${version("git")} · ripgrep ${version(rgPath)}`,
    `load ${loadavg()[0]?.toFixed(1)}: ${isBusy() ? "something else is running here, which makes all of this less certain" : "the machine is idle"}`,
  ].join("\n");
}

const isBusy = () => (loadavg()[0] ?? 0) > availableParallelism() / 2;

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

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !(name in groups));
  if (unknown !== undefined) {
    console.error(`There is no '${unknown}'; there are ${Object.keys(groups).join(", ")}`);
    return 2;
  }
  console.log(`${describeMachine()}\n`);
  using temp = new TempFolder("bench");
  const dispose = () => {
    temp.dispose();
    process.exit(130);
  };
  process.once("SIGINT", dispose).once("SIGTERM", dispose);
  const rows: Row[] = [];
  const bench = createBench(temp.path, rows);
  for (const [name, measure] of Object.entries(groups)) {
    if (names.length === 0 || names.includes(name)) await measure(bench);
  }
  console.log(`\n${renderTable(rows)}`);
  const over = rows.filter(isOver).length;
  if (over > 0) console.log(`\n${over} of ${rows.length} over the limit`);
  return over > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
