import type { ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import type { InstantModel } from "./instant-model.ts";
import { type WatchedCommand, watchCommand } from "./watch-command.ts";

export interface LocalReview {
  repo: string;
  head: string;
  model: InstantModel;
  temp: string;
  /** The fewest findings of a review that does all that the model asks for. */
  findings: number;
}

/** `hunkwise review` against `main`. Throws if the review is not whole. */
export async function reviewLocally(
  { repo, head, model, temp, findings }: LocalReview,
  env: Record<string, string> = {},
): Promise<WatchedCommand> {
  const args = ["review", "--repo", repo, "--base", "main", "--head", head, "--format", "json"];
  const watched = await watchCommand(args, { TMPDIR: temp, ...model.env, ...env });
  requireWhole(JSON.parse(watched.stdout) as ReviewResult, findings);
  return watched;
}

export function requireWhole({ stop_reason, findings, coverage }: ReviewResult, fewest: number): void {
  const isWhole = stop_reason === "finished" && coverage.hunks_served === coverage.hunks_total;
  if (isWhole && findings.length >= fewest) return;
  const found = JSON.stringify({ stop_reason, coverage, findings: findings.length });
  throw new Error(`The review was not whole: ${found.slice(0, 500)}`);
}
