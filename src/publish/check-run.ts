import { AppError, type ErrorCode, errorLine } from "../errors.ts";
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
import { checkRunKey } from "./existing.ts";
import { isAmbiguous, postOnce, type Sleep } from "./post-once.ts";
import { publicPlain, publicText } from "./public-text.ts";

type CheckApi = Pick<RepositoryApi, "checkRuns" | "createCheckRun" | "updateCheckRun" | "pullState">;

/** The check run of one review. */
export interface CheckRun {
  /** Undefined where GitHub lets us have none. */
  readonly id: number | undefined;
  /** An earlier attempt opened it, and may have left something in it. */
  readonly takenUp: boolean;
  /** Why GitHub shows none, as a sentence for people; undefined while all is well. */
  readonly problem: string | undefined;
  /** A review of this head and trigger ended with a conclusion before: there is nothing left to do. */
  readonly reviewed: boolean;
  /** What the newest review of this head for this branch had come to when this one began; null where there was none. */
  readonly before: Own | null;
  /** What it says while the review goes on. */
  readonly goingOn: CheckRunUpdate;
  /** May be called again: the last one counts. */
  conclude(update: CheckRunUpdate): Promise<void>;
}

export interface OpenOptions {
  /** Somebody asked for this check run once more: it is taken up although it says how a review ended. */
  again?: boolean;
  sleep?: Sleep | undefined;
}

/**
 * Opens the check run of a head and trigger, or takes up the one that an earlier attempt opened. Without the permission
 * the review goes on without a check, and `problem` says so.
 */
export async function openCheckRun(
  api: CheckApi,
  pull: PullState,
  trigger: string,
  { again = false, sleep }: OpenOptions = {},
): Promise<CheckRun> {
  const { headSha } = pull;
  const externalId = checkRunKey({ head: headSha, trigger });
  const begun = goingOn(inProgress, pull);
  const keep = again ? () => false : isReviewed;
  const opened = await upsert(api, { headSha, trigger }, async () => begun, sleep, keep);
  let problem = opened.problem;
  // One that is taken up is not the newest: another one is shown, which shall not pass what is being read.
  if (opened.found && !opened.kept && problem === undefined)
    problem = await withoutPermission(() => settle(api, headSha, pull, sleep));
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
        await repeatUpdate(api, id, concluded(update, pull, commit, externalId), sleep);
        await settle(api, headSha, pull, sleep);
      });
    },
  };
}

/** Has all check runs of a commit say what they have to, once a pull request is there or gone. */
const settle = (api: CheckApi, headSha: string, pull: PullState, sleep?: Sleep) =>
  settleCommit(api, headSha, pull, (id, update) => repeatUpdate(api, id, update, sleep));

/** The same where GitHub may refuse. Resolves to what went wrong. */
export const settleChecks = (api: CheckApi, headSha: string, pull: PullState): Promise<string | undefined> =>
  withoutPermission(() => settle(api, headSha, pull));

/** Whether a check run says how a review ended, whatever it shows. */
export const isReviewed = (run: OwnCheckRun): boolean => isReview(ownOf(run));

/**
 * Concludes a check run that nobody waited in: of a skipped pull request. One that says how a review ended stays as it is. Resolves
 * to what went wrong.
 */
export async function concludeAtOnce(
  api: CheckApi,
  pull: PullState,
  trigger: string,
  update: CheckRunUpdate,
  sleep?: Sleep,
): Promise<string | undefined> {
  const { headSha } = pull;
  const externalId = checkRunKey({ head: headSha, trigger });
  const shown = async () => concluded(update, pull, await readCommit(api, headSha, pull), externalId);
  const { problem } = await upsert(api, { headSha, trigger }, shown, sleep, isReviewed);
  return problem ?? (await withoutPermission(() => settle(api, headSha, pull, sleep)));
}

/** The same for a commit of a merge queue, which is the head of no pull request. */
export async function concludeQueued(
  api: CheckApi,
  headSha: string,
  update: CheckRunUpdate,
  sleep?: Sleep,
): Promise<string | undefined> {
  const key = { headSha, trigger: "merge_group" };
  return (await upsert(api, key, async () => update, sleep, isReviewed)).problem;
}

/** Concludes a check run that an earlier attempt left open; does nothing where there is none. */
export async function closeCheckRun(
  api: CheckApi,
  { headSha, trigger }: CheckKey,
  pull: PullState,
  update: CheckRunUpdate,
): Promise<void> {
  const externalId = checkRunKey({ head: headSha, trigger });
  const standing = standingRun(await api.checkRuns(headSha), externalId);
  const open = standing.filter((run) => ownOf(run) === null);
  if (open.length === 0) return;
  const commit = await readCommit(api, headSha, pull);
  for (const { id } of open) await api.updateCheckRun(id, concluded(update, pull, commit, externalId));
  await settleCommit(api, headSha, pull);
}

interface CheckKey {
  headSha: string;
  trigger: string;
}

/** The check runs of one review, the oldest first: workers that could not know of each other made the others. */
const standingRun = (runs: readonly OwnCheckRun[], externalId: string) =>
  runs.filter((run) => run.externalId === externalId);

/**
 * Closes check runs that were made beside the one of a review. They say what that one says, or that they were called off, until
 * it is concluded and they with it.
 */
export async function closeDoubledChecks(api: CheckApi, headSha: string, externalId: string): Promise<void> {
  const [standing, ...doubles] = standingRun(await api.checkRuns(headSha), externalId);
  if (standing === undefined) return;
  const { completed, conclusion, title } = standing;
  const isKnown = completed && isConclusion(conclusion);
  const said = isKnown ? { conclusion, title: publicPlain(title ?? "") } : calledOff;
  const update = { status: "completed", ...said, summary: doubled } as const;
  for (const { id, completed } of doubles) if (!completed) await api.updateCheckRun(id, update);
}

const calledOff = { conclusion: "cancelled", title: publicPlain("Called off") } as const;
const doubled = publicText("Another worker of Hunkwise reviews this: its check run tells more.");

/** What it says while the review goes on. */
export const inProgress: CheckRunUpdate = {
  status: "in_progress",
  title: publicPlain("Reviewing"),
  summary: publicText("Hunkwise is reading this change."),
};

interface Upserted {
  id: number | undefined;
  found: boolean;
  kept: boolean;
  /** The check runs of the commit as they were. */
  before: readonly OwnCheckRun[];
  problem: string | undefined;
}

async function upsert(
  api: CheckApi,
  key: CheckKey,
  say: () => Promise<CheckRunUpdate>,
  sleep: Sleep | undefined,
  keep: (standing: OwnCheckRun) => boolean,
): Promise<Upserted> {
  const { headSha, trigger } = key;
  let before: readonly OwnCheckRun[] | undefined;
  const externalId = checkRunKey({ head: headSha, trigger });
  let id: number | undefined;
  let [found, kept] = [false, false];
  let update: CheckRunUpdate | undefined;
  let isSaid = false;
  const find = async () => {
    const runs = await api.checkRuns(headSha);
    before ??= runs;
    const [standing, ...doubles] = standingRun(runs, externalId);
    id = standing?.id;
    found = standing !== undefined;
    kept = standing !== undefined && keep(standing);
    // A worker that is late must not open again what was concluded meanwhile.
    isSaid =
      kept || (standing?.completed === false && update?.status === "in_progress" && ownOf(standing) === null);
    if (kept && doubles.some(({ completed }) => !completed))
      await closeDoubledChecks(api, headSha, externalId);
    return found;
  };
  const problem = await withoutPermission(async () => {
    const said = await say();
    update = said;
    if (await find()) return isSaid ? undefined : repeatUpdate(api, id, said, sleep);
    const create = async () => {
      id = await api.createCheckRun(headSha, externalId, said);
    };
    await postOnce(create, find, sleep);
  });
  return { id, found, kept, before: before ?? [], problem };
}

/** An update says the same however often it is sent, so it only has to arrive. */
async function repeatUpdate(
  api: CheckApi,
  id: number | undefined,
  update: CheckRunUpdate,
  sleep?: Sleep,
): Promise<void> {
  if (id !== undefined)
    await postOnce(
      () => api.updateCheckRun(id, update),
      async () => false,
      sleep,
    );
}

/** What ends the job, whatever it was about to write. */
const ofTheJob = new Set<ErrorCode>(["aborted", "lease_lost", "superseded", "github_unauthorized"]);

/** The sentence on a refusal that will stay one; other failures are the job's. */
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
