import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import {
  isLoopEntry,
  type LoopEntry,
  type MasksEntry,
  type PostedComment,
  type StartEntry,
  type ToldEntry,
  type TrajectoryEntry,
} from "../../agent/record/trajectory.ts";
import { AppError, type ErrorCode, errorLine } from "../../core/errors.ts";
import type { Ledger } from "../../core/ledger/entry.ts";
import { markerIn } from "../../core/ledger/marker.ts";
import type {
  PullRequest,
  PullRequestApi,
  PullState,
  RepositoryApi,
} from "../../pull/github/pull-request-api.ts";
import { baseOf, closeCheckRun } from "../../pull/publish/check-run.ts";
import { cancelledConclusion } from "../../pull/publish/conclusions.ts";
import { checkRunKey, type ReviewKey } from "../../pull/publish/existing.ts";
import type { RevisionPlace } from "../../repo/git/workspace.ts";
import { ProveInput, type RecordedTest } from "../../tasks/prove/prove-input.ts";
import { ReviewResult } from "../../tasks/shapes/review-result.ts";
import type { ReviewTask } from "../queue/job.ts";
import type { JobTools } from "../queue/run-job.ts";

/* State that an attempt at a job takes over from earlier attempts, which may have worked on another head. */

/** Identifies a review, with the head. An event's trigger includes the base branch: another branch means another diff. */
export function triggerOf(
  { trigger, requestedBy }: Pick<ReviewTask, "trigger" | "requestedBy">,
  { baseRef }: Pick<PullRequest, "baseRef">,
): string {
  // A person may ask again for an event's check run of another branch.
  const isOfEvent = requestedBy === null || trigger.startsWith("event#");
  return isOfEvent ? `${trigger.split("@")[0]}@${baseRef}` : trigger;
}

/** The trigger of a job. A command's check that is re-run for another base branch becomes the event's: the old one keeps its conclusion. */
export async function triggerFor(
  task: Pick<ReviewTask, "trigger" | "requestedBy" | "again">,
  pull: PullState,
  api: Pick<RepositoryApi, "checkRuns">,
): Promise<string> {
  const trigger = triggerOf(task, pull);
  if (!task.again || trigger.startsWith("event#")) return trigger;
  const key = checkRunKey({ head: pull.headSha, trigger });
  const run = (await api.checkRuns(pull.headSha)).find(({ externalId }) => externalId === key);
  const base = run && baseOf(run);
  return base === undefined || base === pull.baseRef ? trigger : `event#${pull.number}@${pull.baseRef}`;
}

/** The last result that an earlier attempt recorded, and its head; undefined if it has another shape. */
export function lastResult<T>(
  shape: z.ZodType<T>,
  recorded: readonly TrajectoryEntry[],
): { result: T; head: string } | undefined {
  const last = recorded.findLast((entry) => entry.kind === "result");
  const { data } = shape.safeParse(last?.result);
  return last && data !== undefined ? { result: data, head: last.head } : undefined;
}

/** A pull request as an attempt finds it. */
export interface FoundPull {
  /** Without a base if GitHub refuses to show the pull request. */
  pull: PullState & Partial<Pick<PullRequest, "baseSha">>;
  trigger: string;
}

/** Closes the check runs that earlier attempts opened for other heads and triggers, or for this one when nothing will be reviewed. */
export async function closeEarlierChecks(
  recorded: readonly TrajectoryEntry[],
  { pull, trigger: present }: FoundPull,
  api: RepositoryApi,
  warn: (notice: string) => void,
): Promise<void> {
  const { headSha, state } = pull;
  const opened = recorded.filter((entry) => entry.kind === "check_opened");
  const left = new Map(
    opened
      .filter(({ head, trigger }) => head !== headSha || trigger !== present || state === "closed")
      .map((one) => [`${one.head} ${one.trigger}`, one]),
  );
  for (const { head, trigger } of left.values()) {
    const reason = whyLeft(head, pull);
    try {
      await closeCheckRun(api, { head, trigger }, pull, cancelledConclusion(reason));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      warn(`The check run of ${head} was not closed: ${errorLine(error)}`);
    }
  }
}

function whyLeft(head: string, { headSha, state }: PullState): string {
  if (state === "closed") return "The pull request is closed.";
  return head === headSha ? "A new review has started." : `The head is now ${headSha}.`;
}

const refusals = new Set<ErrorCode>(["github_forbidden", "github_not_found", "github_invalid"]);

/** Whether GitHub refused one request for good. */
export function isRefusal(error: unknown): boolean {
  return error instanceof AppError && !error.retryable && refusals.has(error.code);
}

/** Whether GitHub failed to answer one request. It may answer the next, and this one later. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof AppError && error.code === "github_failed";
}

export const publishedReview = ({ sticky }: Pick<Ledger, "sticky">) =>
  sticky === null ? undefined : markerIn(sticky.body, "summary");

/**
 * Whether the summary comment says that the review of this head and trigger was published. Used if we may not have check runs; otherwise each
 * further event would review and pay for the head again.
 */
export const wasPublished = (review: ReviewKey, ledger: Pick<Ledger, "sticky">): boolean =>
  publishedName(ledger) === reviewName(review);

/** Names the review of the summary comment; null if there is none. */
export function publishedName(ledger: Pick<Ledger, "sticky">): string | null {
  const review = publishedReview(ledger);
  return review ? reviewName(review) : null;
}

const reviewName = ({ head, trigger }: ReviewKey) => `${head} ${trigger}`;

/** The recorded result of this change, unless another job has published since: its result is newer. */
export function recordedResult(
  recorded: readonly TrajectoryEntry[],
  { pull: { headSha: head, baseSha: base }, trigger, ledger }: ReviewOf,
): ReviewResult | undefined {
  const last = recorded.findLast((one) => one.kind === "result" && one.head === head && one.base === base);
  if (last?.kind !== "result") return undefined;
  const [now, own] = [publishedName(ledger), reviewName({ head, trigger })];
  const isNewest = last.after === undefined || now === last.after || now === own;
  return isNewest ? ReviewResult.safeParse(last.result).data : undefined;
}

interface ReviewOf {
  pull: Pick<PullRequest, "headSha" | "baseSha">;
  trigger: string;
  ledger: Pick<Ledger, "sticky">;
}

/** The turns and tool results of earlier attempts at this head. */
export function recordedTurns(recorded: readonly TrajectoryEntry[], head: string): LoopEntry[] {
  let present = head;
  return recorded.filter((entry): entry is LoopEntry => {
    if (entry.kind === "began") present = entry.head;
    return isLoopEntry(entry) && present === head;
  });
}

/** The numbers of the masks of secrets in this run, for all of its heads. */
export const recordedMasks = (recorded: readonly TrajectoryEntry[]): MasksEntry[] =>
  recorded.filter((entry) => entry.kind === "masks");

/** Records the input of a model's run, once for all attempts with the same input. */
export async function recordStart(
  start: StartEntry,
  recorded: readonly TrajectoryEntry[],
  { record }: Pick<JobTools, "record">,
): Promise<void> {
  const written = JSON.stringify(start);
  if (!recorded.some((entry) => entry.kind === "run" && JSON.stringify(entry) === written))
    await record(start);
}

export const recordedTests = (recorded: readonly TrajectoryEntry[]): RecordedTest[] =>
  recorded.flatMap((entry) => (entry.kind === "tested" ? [{ key: entry.key, end: entry.end }] : []));

/** Records the input of proofs, or returns that of an earlier attempt if only the limits differ: with others, its turns would end elsewhere. */
export async function startProofs(
  wanted: ProveInput,
  { shas }: Pick<RevisionPlace, "shas">,
  recorded: readonly TrajectoryEntry[],
  { record }: Pick<JobTools, "record">,
): Promise<ProveInput> {
  const withoutLimits = (shown: StartEntry["shas"], { limits: _, ...rest }: ProveInput) =>
    JSON.stringify([shown.head, shown.mergeBase, rest]);
  for (const entry of recorded.toReversed()) {
    if (entry.kind !== "run" || entry.what !== "prove") continue;
    const { data } = ProveInput.safeParse(entry.input);
    if (data && withoutLimits(entry.shas, data) === withoutLimits(shas, ProveInput.parse(wanted)))
      return data;
  }
  await record({ kind: "run", what: "prove", shas, input: wanted });
  return wanted;
}

interface PromptSource<T> {
  /** Identifies the change: pinned context is only used again if all of it is equal. */
  about: ToldEntry["about"];
  shape: z.ZodType<T>;
  recorded: readonly TrajectoryEntry[];
  turns: readonly LoopEntry[];
}

/** Pins the parts of the prompt other than the code, and the limits: while a job waits, they change, and its turns would be paid again. */
export async function pinPromptContext<T>(
  { about, shape, recorded, turns }: PromptSource<T>,
  { record }: Pick<JobTools, "record">,
  read: () => Promise<T>,
): Promise<T> {
  const isPaid = turns.some(({ kind }) => kind === "turn");
  const last = recorded.findLast((entry) => entry.kind === "told" && isDeepStrictEqual(entry.about, about));
  const known = isPaid && last?.kind === "told" ? shape.safeParse(last.told) : undefined;
  if (known?.success) return known.data;
  const context = await read();
  await record({ kind: "told", about, told: context });
  return context;
}

/** Records which comment holds which finding, also of an attempt that died before: GitHub returns only the review's id. */
export async function recordPosted(
  api: Pick<PullRequestApi, "ownReviewComments">,
  { head_sha: head, findings }: ReviewResult,
  recorded: readonly TrajectoryEntry[],
  { record }: Pick<JobTools, "record">,
): Promise<PostedComment[]> {
  const before = recorded.flatMap((entry) => (entry.kind === "posted" ? entry.comments : []));
  const known = new Set(before.map(({ id }) => id));
  const found = new Set(findings.map(({ finding }) => finding.id));
  const comments = (await api.ownReviewComments()).flatMap(({ id, url, body }) => {
    const marker = markerIn(body, "finding");
    const isOfIt = marker?.head === head && found.has(marker.id);
    return isOfIt && !known.has(id) ? [{ finding: marker.id, id, url }] : [];
  });
  if (comments.length > 0) await record({ kind: "posted", comments });
  return [...before, ...comments];
}
