import { rmSync } from "node:fs";
import { join } from "node:path";
import { GitRepo } from "../../test/support/git-repo.ts";
import { type InstantModel, startInstantModel } from "../bench/instant-model.ts";
import { reviewLocally } from "../bench/local-review.ts";
import { median } from "../bench/measure.ts";
import { checkOut, reportedFile } from "../bench/repositories.ts";
import { editedFile, fileOf, numbersUpTo } from "../bench/source-text.ts";
import { watchCommand } from "../bench/watch-command.ts";
import type { Measured, Measuring } from "./dimension.ts";
import { addMemory, reviewTwice } from "./reviewing-server.ts";

/** Lines of each file: about two kilobytes. */
const LINES = 40;
const CHANGED = 50;
const PUSHED = 10;
/** Makes the edits of the second push differ from those of the first. */
const PUSH_SEED = 1_000_000;
/** Files of one import, so that not all texts are in memory. */
const A_BATCH = 20_000;
const LOCAL_RUNS = 3;

/** The same change of 50 files in repositories of different sizes. */
export const files: Measured = {
  title: "Files of the repository",
  axis: "files",
  sizes: [1_000, 10_000, 30_000, 100_000],
  diskGigabytes: 4,
  async measure(sizes, measuring) {
    using model = await startInstantModel();
    for (const size of sizes) await measureOne(size, model, measuring);
  },
};

async function measureOne(size: number, model: InstantModel, measuring: Measuring): Promise<void> {
  measuring.say(`  making a repository of ${size} files`);
  const dir = join(measuring.temp, `files-${size}.git`);
  const git = createRepository(dir, size);
  const numbers = changedOf(size, PUSHED, CHANGED);
  const push = Object.fromEntries(numbers.map((number) => changeOf(number, PUSH_SEED)));
  await reviewTwice({ size, git, push }, measuring);

  measuring.say("  the same pull request in a clone of a person");
  const clone = join(measuring.temp, `files-${size}`);
  git.git("clone", "--quiet", "--no-checkout", dir, clone);
  const work = GitRepo.at(clone);
  await checkOut(work, "topic");
  const runs = [];
  for (let run = 0; run < LOCAL_RUNS; run++) {
    runs.push(await reviewLocally({ repo: clone, head: "topic", model, temp: measuring.temp, findings: 1 }));
  }
  measuring.add("local, review", "s", size, median(runs.map(({ seconds }) => seconds)));
  measuring.add("local, first line", "s", size, median(runs.map(({ firstLine }) => firstLine)));
  addMemory(measuring, "command", size, {
    parent: Math.max(...runs.map(({ peaks }) => peaks.parent)),
    child: Math.max(...runs.map(({ peaks }) => peaks.child)),
  });
  await askGraph(clone, size, measuring);
  for (const folder of [dir, clone]) rmSync(folder, { recursive: true, force: true });
}

/** The first question to the graph, which indexes the repository, and the second. */
async function askGraph(repo: string, size: number, measuring: Measuring): Promise<void> {
  measuring.say("  the first question to its graph");
  const args = ["graph", "where is the invoice of a bill?", "--repo", repo];
  const ask = () => watchCommand(args, { HUNKWISE_DATA_DIR: join(measuring.temp, `graph-${size}`) });
  const first = await ask();
  measuring.add("local, first graph question", "s", size, first.seconds);
  measuring.add("memory, first graph question", "MB", size, first.peaks.parent);
  measuring.add("local, second graph question", "s", size, (await ask()).seconds);
}

/** A bare repository of that many files; `topic` changes 50 of them and adds the file with the finding. */
function createRepository(dir: string, size: number): GitRepo {
  const repo = GitRepo.create({ dir, bare: true });
  for (let from = 0; from < size; from += A_BATCH) {
    const numbers = numbersUpTo(Math.min(A_BATCH, size - from), from);
    repo.importCommits([{ branch: "main", files: numbers.map((number) => fileOf(number, LINES)) }]);
  }
  const change = changedOf(size, CHANGED, 0).map((number) => changeOf(number, 0));
  repo.importCommits([
    { branch: "topic", parents: ["main"], files: [...change, reportedFile] },
    { branch: "main", files: [["README.md", "Moved on.\n"]] },
  ]);
  return repo;
}

/** Numbers of files from all parts of the repository. */
function changedOf(size: number, count: number, from: number): number[] {
  const all = numbersUpTo(count, from).map((at) => Math.floor((at * size) / (CHANGED + PUSHED)));
  return [...new Set(all)];
}

const changeOf = (number: number, seed: number) => editedFile(number, LINES, 3, seed + number);
