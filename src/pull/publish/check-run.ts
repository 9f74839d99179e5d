import { AppError, type ErrorCode, errorLine } from "../../core/errors.ts";
import type { CheckRunUpdate, OwnCheckRun, PullState, RepositoryApi } from "../github/pull-request-api.ts";
import {
  concluded,
  goingOn,
  isConclusion,
  isReview,
  type Own,
  ownOf,
  readCommit,
  reviewedAs,
  settleCommit,
} from "./commit-check.ts";
import { checkRunKey, type ReviewKey } from "./existing.ts";
import { isAmbiguous, postOnce, repeat } from "./post-once.ts";
import { publicPlain, publicText } from "./public-text.ts";

type CheckApi = Pick<
  RepositoryApi,
  "checkRuns" | "createCheckRun" | "updateCheckRun" | "pullState" | "pause"
>;

/** The check run of one review. */
export interface CheckRun {
  /** Undefined if GitHub refuses us check runs. */
  readonly id: number | undefined;
  /** An earlier attempt opened it, and may have added annotations. */
  readonly takenUp: boolean;
  /** Why there is no check run, as a sentence for people; undefined if there is one. */
  readonly problem: string | undefined;
  /** A review of this head and trigger has ended with a conclusion: there is nothing to do. */
  readonly reviewed: boolean;
  /** The conclusion of the newest review of this head and branch when this one began; null if there was none. */
  readonly before: Own | null;
  /** The content while the review runs. */
  readonly goingOn: CheckRunUpdate;
  /** May be called again; the last call counts. */
  conclude(update: CheckRunUpdate): Promise<void>;
}

/**
 * Opens the check run of a head and trigger, or takes over that of an earlier attempt.
 *
 * @param again a person asked for this check run again: it is reopened even if a review has concluded it
 */
export async function openCheckRun(
  api: CheckApi,
  pull: PullState,
  trigger: string,
  again = false,
): Promise<CheckRun> {
  const { headSha } = pull;
  const externalId = checkRunKey({ head: headSha, trigger });
  const begun = goingOn(inProgress, pull);
  const keep = again ? () => false : isReviewed;
  const opened = await upsert(api, { head: headSha, trigger }, async () => begun, keep);
  let problem = opened.problem;
  // A check run that is taken over is not the newest: GitHub shows another one, which must not be green during the review.
  if (opened.found && !opened.kept && problem === undefined)
    problem = await withoutPermission(() => settle(api, headSha, pull));
  return {
    id: opened.id,
    takenUp: opened.found,
    get problem() {
      return problem;
    },
    reviewed: opened.kept,
    before: reviewedAs(pull, opened.before),
    goingOn: begun,
    async conclude(update) {
      const { id } = opened;
      if (id === undefined) return;
      problem = await withoutPermission(async () => {
        const commit = await readCommit(api, headSha, pull);
        await repeatUpdate(api, id, concluded(update, pull, commit, externalId));
        await settle(api, headSha, pull);
      });
    },
  };
}

/** Updates all check runs of a commit after it became, or is no longer, a pull request's head. */
const settle = (api: CheckApi, headSha: string, pull: PullState) =>
  settleCommit(api, headSha, pull, (id, update) => repeatUpdate(api, id, update));

/** The same, but resolves to a notice if GitHub refuses. */
export const settleChecks = (api: CheckApi, headSha: string, pull: PullState): Promise<string | undefined> =>
  withoutPermission(() => settle(api, headSha, pull));

/** Whether a check run holds the conclusion of a review, whatever it shows. */
const isReviewed = (run: OwnCheckRun): boolean => isReview(ownOf(run));

/** Creates a concluded check run for a skipped pull request, unless a review has concluded it. Resolves to a notice if GitHub refused. */
export async function concludeAtOnce(
  api: CheckApi,
  pull: PullState,
  trigger: string,
  update: CheckRunUpdate,
): Promise<string | undefined> {
  const { headSha } = pull;
  const externalId = checkRunKey({ head: headSha, trigger });
  const shown = async () => concluded(update, pull, await readCommit(api, headSha, pull), externalId);
  const { problem } = await upsert(api, { head: headSha, trigger }, shown, isReviewed);
  return problem ?? (await withoutPermission(() => settle(api, headSha, pull)));
}

/** The same for a commit of a merge queue, which is not the head of a pull request. */
export async function concludeQueued(
  api: CheckApi,
  headSha: string,
  update: CheckRunUpdate,
): Promise<string | undefined> {
  const key = { head: headSha, trigger: "merge_group" };
  return (await upsert(api, key, async () => update, isReviewed)).problem;
}

/** Concludes a check run that an earlier attempt left open, if there is one. */
export async function closeCheckRun(
  api: CheckApi,
  key: ReviewKey,
  pull: PullState,
  update: CheckRunUpdate,
): Promise<void> {
  const externalId = checkRunKey(key);
  const existing = runsOf(await api.checkRuns(key.head), externalId);
  const open = existing.filter((run) => ownOf(run) === null);
  if (open.length === 0) return;
  const commit = await readCommit(api, key.head, pull);
  for (const { id } of open) await api.updateCheckRun(id, concluded(update, pull, commit, externalId));
  await settleCommit(api, key.head, pull);
}

/** The check runs of one review, oldest first; more than one if workers did not know about each other. */
const runsOf = (runs: readonly OwnCheckRun[], externalId: string) =>
  runs.filter((run) => run.externalId === externalId);

/** Closes duplicates of a review's check run. They show its conclusion, or "Called off" until it has one. */
export async function closeDoubledChecks(api: CheckApi, headSha: string, externalId: string): Promise<void> {
  const [existing, ...doubles] = runsOf(await api.checkRuns(headSha), externalId);
  if (existing === undefined) return;
  const { completed, conclusion, title } = existing;
  const isKnown = completed && isConclusion(conclusion);
  const shown = isKnown ? { conclusion, title: publicPlain(title ?? "") } : calledOff;
  const update = { status: "completed", ...shown, summary: doubled } as const;
  for (const { id, completed } of doubles) if (!completed) await api.updateCheckRun(id, update);
}

const calledOff = { conclusion: "cancelled", title: publicPlain("Called off") } as const;
const doubled = publicText("Another worker of Hunkwise is reviewing this change. See its check run.");

export const inProgress: CheckRunUpdate = {
  status: "in_progress",
  title: publicPlain("Reviewing"),
  summary: publicText("Hunkwise is reading this change."),
};

interface Upserted {
  id: number | undefined;
  found: boolean;
  kept: boolean;
  before: readonly OwnCheckRun[];
  problem: string | undefined;
}

async function upsert(
  api: CheckApi,
  key: ReviewKey,
  content: () => Promise<CheckRunUpdate>,
  keep: (run: OwnCheckRun) => boolean,
): Promise<Upserted> {
  const { head } = key;
  let before: readonly OwnCheckRun[] | undefined;
  const externalId = checkRunKey(key);
  let id: number | undefined;
  let [found, kept] = [false, false];
  let update: CheckRunUpdate | undefined;
  let isCurrent = false;
  const find = async () => {
    const runs = await api.checkRuns(head);
    before ??= runs;
    const [existing, ...doubles] = runsOf(runs, externalId);
    id = existing?.id;
    found = existing !== undefined;
    kept = existing !== undefined && keep(existing);
    // A late worker must not reopen what was concluded meanwhile.
    isCurrent =
      kept || (existing?.completed === false && update?.status === "in_progress" && ownOf(existing) === null);
    if (kept && doubles.some(({ completed }) => !completed)) await closeDoubledChecks(api, head, externalId);
    return found;
  };
  const problem = await withoutPermission(async () => {
    const wanted = await content();
    update = wanted;
    if (await find()) return isCurrent ? undefined : repeatUpdate(api, id, wanted);
    const create = async () => {
      id = await api.createCheckRun(head, externalId, wanted);
    };
    await postOnce(api, create, find);
  });
  return { id, found, kept, before: before ?? [], problem };
}

async function repeatUpdate(api: CheckApi, id: number | undefined, update: CheckRunUpdate): Promise<void> {
  if (id !== undefined) await repeat(api, () => api.updateCheckRun(id, update));
}

/** Errors that end the whole job. */
const ofTheJob = new Set<ErrorCode>(["aborted", "lease_lost", "superseded", "github_unauthorized"]);

/** Resolves to a notice if GitHub refuses for good; other failures reject. */
async function withoutPermission(action: () => Promise<void>): Promise<string | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    const isFinal = error instanceof AppError && !error.retryable && !isAmbiguous(error);
    if (!isFinal || ofTheJob.has(error.code)) throw error;
    return `No check run: ${errorLine(error)}`;
  }
}
