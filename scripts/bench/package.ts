import { execFile } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import { GitRepo } from "../../test/support/git-repo.ts";
import { runCli } from "../../test/support/run-cli.ts";
import { timed } from "./measure.ts";
import { addTinyChange } from "./repositories.ts";
import { type Bench, plainRow } from "./row.ts";

const root = join(import.meta.dirname, "../..");
const LATER_RUNS = 3;

/**
 * The package as users get it: packed, installed into an empty folder from npm's cache or registry, and run there for the first time on a
 * small repository without a model.
 */
export async function benchPackage(bench: Bench): Promise<void> {
  bench.say(
    "building, packing and installing the package; what is not in npm's cache comes from its registry",
  );
  const folder = join(bench.temp, "installed");
  const packed = await packInto(join(bench.temp, "packed"));
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  await npm(folder, "install", "--omit=dev", "--prefer-offline", packed);
  bench.add(plainRow("installed package, on the disk", megabytesOf(folder), "MB", 150));

  const entry = join(folder, "node_modules/hunkwise/dist/cli.js");
  const repo = addTinyChange(GitRepo.create({ dir: join(bench.temp, "small-repository") }), 100);
  repo.git("checkout", "--quiet", "topic");
  const review = () => timed(() => reviewOffline(entry, repo.dir, bench.temp));
  const first = await review();
  bench.add(plainRow("its first review, of a small repository, offline", first / 1_000, "s", 3));
  const later: number[] = [];
  for (let run = 0; run < LATER_RUNS; run++) later.push(await review());
  bench.add(plainRow("  later reviews, the slowest", Math.max(...later) / 1_000, "s", null));
}

/** Builds and packs it; resolves to the path of the archive. */
async function packInto(folder: string): Promise<string> {
  mkdirSync(folder);
  await npm(root, "pack", "--pack-destination", folder);
  const [archive] = readdirSync(folder);
  if (archive === undefined) throw new Error("npm pack wrote no archive");
  return join(folder, archive);
}

async function npm(cwd: string, ...args: string[]): Promise<void> {
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier"];
  await promisify(execFile)("npm", [...args, ...quiet], { cwd, maxBuffer: 100_000_000 });
}

/** As `du` counts it: whole blocks, and links themselves instead of their targets. */
function megabytesOf(folder: string): number {
  const blocks = readdirSync(folder, { recursive: true, encoding: "utf8" }).map(
    (path) => lstatSync(join(folder, path)).blocks,
  );
  return (blocks.reduce((sum, one) => sum + one, 0) * 512) / 1024 ** 2;
}

async function reviewOffline(entry: string, repo: string, temp: string): Promise<void> {
  const args = ["review", "--repo", repo, "--base", "main", "--format", "json"];
  // Its compiled code is its own, as after any installation.
  const env = {
    TMPDIR: temp,
    HUNKWISE_DATA_DIR: join(temp, "installed-data"),
    NODE_COMPILE_CACHE: undefined,
  };
  const { code, stdout, stderr } = await runCli(args, { entry, env });
  if (code !== 0) throw new Error(`The installed program ended with ${code}: ${stderr}`);
  const { mode, coverage } = JSON.parse(stdout) as ReviewResult;
  if (mode !== "offline" || coverage.hunks_total === 0)
    throw new Error(`The installed program did not review offline: ${stdout.slice(0, 500)}`);
}
