import type { LoopEntry, TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError, type ErrorCode, errorLine } from "../errors.ts";
import type { PullRequest, RepositoryApi } from "../github/pull-request-api.ts";
import type { Ledger } from "../ledger/entry.ts";
import { parseMarker } from "../ledger/marker.ts";
import type { ReviewTask } from "../queue/job.ts";
import { closeCheckRun } from "../reporters/check-run.ts";
import { cancelledConclusion } from "../reporters/conclusions.ts";
import { ReviewResult } from "../review/review-result.ts";

/*
 * What an attempt at a job takes over from the ones before it. A job may have begun on another head: a push that comes
 * while it waits becomes its task, and its trajectory stays.
 */

/**
 * What a review is made once for, beside its head. An event's is the branch as well that the pull request is to be merged
 * into: another one means another diff, of which nobody may have read a line.
 */
export function triggerOf(
  { trigger, requestedBy }: Pick<ReviewTask, "trigger" | "requestedBy">,
  { baseRef }: Pick<PullRequest, "baseRef">,
): string {
  // A person may have an event's check run made again: all of a suite without a branch, a single one with the branch it has.
  const isOfEvent = requestedBy === null || trigger.startsWith("event#");
  return isOfEvent && !trigger.includes("@") ? `${trigger}@${baseRef}` : trigger;
}

/** A pull request as an attempt meets it. */
export interface Met extends Pick<PullRequest, "headSha" | "state"> {
  trigger: string;
}

/**
 * Closes the check runs that earlier attempts opened for other heads and triggers, or for this one when nothing will be
 * reviewed. Where GitHub refuses that, `warn` is told, and the review goes on: it is about another check run.
 */
export async function closeEarlierChecks(
  recorded: readonly TrajectoryEntry[],
  { headSha, state, trigger: present }: Met,
  api: RepositoryApi,
  warn: (notice: string) => void,
): Promise<void> {
  const opened = recorded.filter((entry) => entry.kind === "check_opened");
  const left = new Map(
    opened
      .filter(({ head, trigger }) => head !== headSha || trigger !== present || state === "closed")
      .map((one) => [`${one.head} ${one.trigger}`, one]),
  );
  for (const { head, trigger } of left.values()) {
    const reason = whyLeft(head, { headSha, state });
    try {
      await closeCheckRun(api, head, trigger, cancelledConclusion(reason));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      warn(`The check run of ${head} was not closed: ${errorLine(error)}`);
    }
  }
}

function whyLeft(head: string, { headSha, state }: Omit<Met, "trigger">): string {
  if (state === "closed") return "The pull request was closed.";
  return head === headSha ? "It is reviewed anew." : `The head moved on to ${headSha}.`;
}

const refusals = new Set<ErrorCode>(["github_forbidden", "github_not_found", "github_invalid"]);

/** GitHub's no to one request, which will stay one. */
export function isRefusal(error: unknown): boolean {
  return error instanceof AppError && !error.retryable && refusals.has(error.code);
}

/**
 * Whether the summary comment says that the review of this head and trigger was published. Asked where no check run can say
 * it: without the permission, every further event would have the head reviewed and paid for again.
 */
export function wasPublished(
  { head, trigger }: { head: string; trigger: string },
  { sticky }: Pick<Ledger, "sticky">,
): boolean {
  const marker = sticky === null ? undefined : parseMarker(sticky.body);
  return marker?.kind === "summary" && marker.head === head && marker.trigger === trigger;
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
  return recorded.filter((entry) => "loop" in entry && entry.kind !== "unit");
}
