import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { openLocalRange } from "../../src/repo/git/range.ts";
import { checkedOut } from "../../test/support/checked-out.ts";
import { gitPath, testGitEnvironment } from "../../test/support/git-repo.ts";
import { timeOf } from "./bare-process.ts";
import { compare } from "./measure.ts";
import { type Bench, plainRow, ratioRow } from "./row.ts";
import type { SyntheticPull } from "./synthetic-pull.ts";

/** The report of `plan-process.ts`. */
export interface PlanReport {
  /** From opening the workspace to the finished plan. */
  milliseconds: number;
  /** The part of it that divides the change, once its files and their sizes are known. */
  ofPlanning: number;
  /** Peak resident size of the process. */
  megabytes: number;
  planned: number;
  left: number;
  units: number;
  /** The minimum number of units for the size of the diff. */
  leastUnits: number;
}

const CHANGED_FILES = 3_000;

/** A change of 3,000 files with 5 hunks of 8 changed lines each: 120,000 lines in total. */
export const hugeChange = { files: 4_000, changed: CHANGED_FILES, hunks: 5 };

/** That change on a server, from opening the workspace to the planned units. */
export async function benchPlanning({ repo, base, head }: SyntheticPull, bench: Bench): Promise<void> {
  await using range = await openLocalRange({ repo: repo.dir, base, head, gitPath, tempDir: bench.temp });
  const place = await checkedOut(range.place);
  const { mergeBase, head: headSha } = place.shas;
  const args = ["diff", "--raw", "--numstat", "--patch", "-M", "-l1000", mergeBase, headSha];

  bench.say("dividing it into units, against the git command that prints what has to be read for it");
  const reports: PlanReport[] = [];
  const comparison = await compare({
    repetitions: 5,
    async ours() {
      const report = await planOnce(JSON.stringify(place));
      reports.push(report);
      return report.milliseconds;
    },
    reference: () => timeOf({ program: gitPath, args, cwd: repo.dir, env: testGitEnvironment }),
  });
  const { units = 0, leastUnits = 1 } = reports[0] ?? {};
  const ofPlanning = Math.max(...reports.map((report) => report.ofPlanning));
  bench.add(plainRow("plan of 3,000 files, 120,000 lines", comparison.ours / 1_000, "s", 3));
  bench.add(ratioRow("plan of 3,000 files / git diff --raw --numstat --patch", comparison, 3));
  bench.add(
    plainRow("plan of 3,000 files, peak memory", Math.max(...reports.map((one) => one.megabytes)), "MB", 400),
  );
  bench.add(
    plainRow("plan of 3,000 files, units / as many as their bytes fill", units / leastUnits, "x", 1.3),
  );
  bench.add(plainRow("  of the time, dividing alone", ofPlanning, "ms", null));
}

async function planOnce(place: string): Promise<PlanReport> {
  const script = join(import.meta.dirname, "plan-process.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [script, place], {
    env: testGitEnvironment,
  });
  const report = JSON.parse(stdout) as PlanReport;
  if (report.planned !== CHANGED_FILES || report.left > 0)
    throw new Error(`Not everything was planned: ${stdout}`);
  return report;
}
