import { AppError, errorLine } from "../errors.ts";
import type { CheckRunUpdate, RepositoryApi, StandingCheckRun } from "../github/pull-request-api.ts";
import { isNoReview } from "./conclusions.ts";
import { isAmbiguous, postOnce, type Sleep } from "./post-once.ts";
import { checkRunKey } from "./standing.ts";

type CheckApi = Pick<RepositoryApi, "findCheckRun" | "createCheckRun" | "updateCheckRun">;

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
  headSha: string,
  trigger: string,
  { again = false, sleep }: OpenOptions = {},
): Promise<CheckRun> {
  const keep = again ? () => false : isReview;
  const opened = await upsert(api, headSha, trigger, inProgress, sleep, keep);
  let problem = opened.problem;
  return {
    id: opened.id,
    takenUp: opened.found,
    get problem() {
      return problem;
    },
    reviewed: opened.kept,
    async conclude(update) {
      if (opened.id === undefined) return;
      problem = await withoutPermission(() => repeatUpdate(api, opened.id, update, sleep));
    },
  };
}

/** Whether a check run says how a review ended; a withheld, skipped, called off or failed one does not, and may be made good. */
function isReview({ completed, conclusion, title }: StandingCheckRun): boolean {
  return completed && conclusion !== null && reviewConclusions.has(conclusion) && !isNoReview(title ?? "");
}

const reviewConclusions = new Set(["success", "neutral", "failure"]);

/**
 * Concludes a check run that nobody waited in: a skipped pull request, a merge queue. One that says how a review ended
 * stays as it is. Resolves to what went wrong.
 */
export async function concludeAtOnce(
  api: CheckApi,
  headSha: string,
  trigger: string,
  update: CheckRunUpdate,
  sleep?: Sleep,
): Promise<string | undefined> {
  return (await upsert(api, headSha, trigger, update, sleep, isReview)).problem;
}

/** Concludes a check run that an earlier attempt left open; does nothing where there is none. */
export async function closeCheckRun(
  api: CheckApi,
  headSha: string,
  trigger: string,
  update: CheckRunUpdate,
): Promise<void> {
  const standing = await api.findCheckRun(headSha, checkRunKey({ head: headSha, trigger }));
  if (standing && !standing.completed) await api.updateCheckRun(standing.id, update);
}

/** What it says while the review goes on. */
export const inProgress: CheckRunUpdate = {
  status: "in_progress",
  title: "Reviewing",
  summary: "Hunkwise is reading this change.",
};

async function upsert(
  api: CheckApi,
  headSha: string,
  trigger: string,
  update: CheckRunUpdate,
  sleep?: Sleep,
  keep: (standing: StandingCheckRun) => boolean = () => false,
): Promise<{ id: number | undefined; found: boolean; kept: boolean; problem: string | undefined }> {
  const externalId = checkRunKey({ head: headSha, trigger });
  let id: number | undefined;
  let [found, kept] = [false, false];
  const find = async () => {
    const standing = await api.findCheckRun(headSha, externalId);
    id = standing?.id;
    found = standing !== undefined;
    kept = standing !== undefined && keep(standing);
    return found;
  };
  const problem = await withoutPermission(async () => {
    if (await find()) return kept ? undefined : repeatUpdate(api, id, update, sleep);
    const create = async () => {
      id = await api.createCheckRun(headSha, externalId, update);
    };
    await postOnce(create, find, sleep);
  });
  return { id, found, kept, problem };
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

/** The sentence on a refusal that will stay one; other failures are the job's. */
async function withoutPermission(action: () => Promise<void>): Promise<string | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    const isRefusal = error instanceof AppError && !error.retryable && !isAmbiguous(error);
    if (isRefusal && error.code !== "aborted" && error.code !== "github_unauthorized") {
      return `No check run: ${errorLine(error)}`;
    }
    throw error;
  }
}
