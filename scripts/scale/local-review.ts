import type { ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import { runCli } from "../../test/support/run-cli.ts";
import type { InstantModel } from "../bench/instant-model.ts";
import { type Peaks, watchMemory } from "../bench/memory.ts";

export interface LocalReview {
  /** From the start of the process to its end. */
  seconds: number;
  /** Seconds from the start of the process to its first output. */
  firstLine: number;
  peaks: Peaks;
}

/** `hunkwise review` against `main`. Throws if the review is not whole. */
export async function reviewLocally(asked: {
  repo: string;
  head: string;
  model: InstantModel;
  temp: string;
}): Promise<LocalReview> {
  const began = performance.now();
  const since = () => (performance.now() - began) / 1_000;
  let firstLine = Number.NaN;
  let peaks: () => Peaks = () => ({ parent: 0, child: 0 });
  const { code, stdout, stderr } = await runCli(
    ["review", "--repo", asked.repo, "--base", "main", "--head", asked.head, "--format", "json"],
    {
      env: { TMPDIR: asked.temp, ...asked.model.env },
      onStart(child) {
        child.stderr?.once("data", () => {
          firstLine = since();
        });
        peaks = watchMemory(child.pid ?? 0);
      },
    },
  );
  const seconds = since();
  const watched = peaks();
  if (code !== 0) throw new Error(`hunkwise review ended with ${code}: ${stderr}`);
  const { stop_reason, coverage } = JSON.parse(stdout) as ReviewResult;
  if (stop_reason !== "finished" || coverage.hunks_served !== coverage.hunks_total)
    throw new Error(`The review was not whole: ${stop_reason}, ${JSON.stringify(coverage).slice(0, 500)}`);
  return { seconds, firstLine, peaks: watched };
}
