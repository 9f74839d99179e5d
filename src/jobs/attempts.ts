import type { LoopEntry, TrajectoryEntry } from "../agent/trajectory.ts";
import type { PullRequest, RepositoryApi } from "../github/pull-request-api.ts";
import { cancelledConclusion, closeCheckRun } from "../reporters/check-run.ts";
import { ReviewResult } from "../review/review-result.ts";

/*
 * What an attempt at a job takes over from the ones before it. A job may have begun on another head: a push that comes
 * while it waits becomes its task, and its trajectory stays.
 */

/** Closes the check runs that earlier attempts opened on other heads, or on this one when nothing will be reviewed. */
export async function closeEarlierChecks(
  recorded: readonly TrajectoryEntry[],
  { headSha, state }: PullRequest,
  api: RepositoryApi,
): Promise<void> {
  const opened = recorded.filter((entry) => entry.kind === "check_opened");
  const left = new Map(
    opened
      .filter(({ head }) => head !== headSha || state === "closed")
      .map((one) => [`${one.head} ${one.trigger}`, one]),
  );
  const reason = state === "closed" ? "The pull request was closed." : `The head moved on to ${headSha}.`;
  for (const { head, trigger } of left.values()) {
    await closeCheckRun(api, head, trigger, cancelledConclusion(reason));
  }
}

/** What the review of this very change came to in an attempt that could not publish it; undefined when there was none. */
export function recordedResult(
  recorded: readonly TrajectoryEntry[],
  { headSha, baseSha }: PullRequest,
): ReviewResult | undefined {
  const same = recorded.filter(
    (entry) => entry.kind === "result" && entry.head === headSha && entry.base === baseSha,
  );
  const last = same.at(-1);
  return last?.kind === "result" ? ReviewResult.safeParse(last.result).data : undefined;
}

/** The turns and tool results of earlier attempts. Those of another conversation are told apart by its first messages. */
export function recordedTurns(recorded: readonly TrajectoryEntry[]): LoopEntry[] {
  return recorded.filter((entry) => "loop" in entry);
}
