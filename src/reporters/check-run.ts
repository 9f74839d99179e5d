import { AppError, type ErrorCode, errorLine } from "../errors.ts";
import type { CheckRunUpdate, RepositoryApi, StandingCheckRun } from "../github/pull-request-api.ts";
import { isNoReview } from "./conclusions.ts";
import { isAmbiguous, postOnce, type Sleep } from "./post-once.ts";
import { publicPlain, publicText } from "./public-text.ts";
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
      const { id } = opened;
      if (id === undefined) return;
      problem = await withoutPermission(async () => {
        await repeatUpdate(api, id, update, sleep);
        const standing = await api.findCheckRun(headSha, checkRunKey({ head: headSha, trigger }));
        for (const other of others(standing, id)) await repeatUpdate(api, other, update, sleep);
      });
    },
  };
}

/**
 * The other check runs of the same review, which a worker made that did not know of this one: GitHub shows the newest of all, so
 * all of them have to say the same.
 */
const others = (standing: StandingCheckRun | undefined, known: number) =>
  standing ? [standing.id, ...standing.doubles.map(({ id }) => id)].filter((id) => id !== known) : [];

/** Whether a check run says how a review ended; a withheld, skipped, called off or failed one does not, and may be made good. */
export function isReview({ completed, conclusion, title }: StandingCheckRun): boolean {
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
  for (const { id, completed } of standing ? [standing, ...standing.doubles] : [])
    if (!completed) await api.updateCheckRun(id, update);
}

/**
 * Closes check runs that were made beside the one of a review. They say what that one says, or that they were called off, until
 * it is concluded and they with it.
 */
export async function closeDoubledChecks(api: CheckApi, headSha: string, externalId: string): Promise<void> {
  const standing = await api.findCheckRun(headSha, externalId);
  if (standing === undefined) return;
  const { completed, conclusion, title } = standing;
  const isKnown = completed && conclusion !== null && conclusions.has(conclusion);
  const said = isKnown
    ? { conclusion: conclusion as Conclusion, title: publicPlain(title ?? "") }
    : calledOff;
  const update = { status: "completed", ...said, summary: doubled } as const;
  for (const { id, completed } of standing.doubles) if (!completed) await api.updateCheckRun(id, update);
}

type Conclusion = NonNullable<CheckRunUpdate["conclusion"]>;
const conclusions = new Set<string>([
  "success",
  "neutral",
  "failure",
  "skipped",
  "cancelled",
] satisfies Conclusion[]);
const calledOff = { conclusion: "cancelled", title: publicPlain("Called off") } as const;
const doubled = publicText("Another worker of Hunkwise reviews this: its check run tells more.");

/** What it says while the review goes on. */
export const inProgress: CheckRunUpdate = {
  status: "in_progress",
  title: publicPlain("Reviewing"),
  summary: publicText("Hunkwise is reading this change."),
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
  let [found, kept, isSaid] = [false, false, false];
  const find = async () => {
    const standing = await api.findCheckRun(headSha, externalId);
    id = standing?.id;
    found = standing !== undefined;
    kept = standing !== undefined && keep(standing);
    // A worker that is late must not open again what was concluded meanwhile.
    isSaid = kept || (standing?.completed === false && update.status === "in_progress");
    if (kept && standing?.doubles.some(({ completed }) => !completed))
      await closeDoubledChecks(api, headSha, externalId);
    return found;
  };
  const problem = await withoutPermission(async () => {
    if (await find()) return isSaid ? undefined : repeatUpdate(api, id, update, sleep);
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
