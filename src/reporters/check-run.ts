import { AppError, errorLine } from "../errors.ts";
import { atLeast, type Severity } from "../finding.ts";
import type { CheckRunUpdate, RepositoryApi, StandingCheckRun } from "../github/pull-request-api.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { countBySeverity, outcomeOf, outcomeSentence, plural } from "./outcome.ts";
import { isAmbiguous, postOnce, type Sleep } from "./post-once.ts";
import { droppedSection, figures, skippedSection, unreadSection } from "./render-figures.ts";
import { details } from "./render-parts.ts";
import { untrustedBlock } from "./render-untrusted.ts";
import { checkRunKey } from "./standing.ts";

/** When findings keep the check from being green, and whether they turn it red. */
export interface CheckPolicy {
  threshold: Severity | "never";
  fail: boolean;
}

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

/**
 * Opens the check run of a head and trigger, or takes up the one that an earlier attempt opened. Without the permission
 * the review goes on without a check, and `problem` says so.
 */
export async function openCheckRun(
  api: CheckApi,
  headSha: string,
  trigger: string,
  sleep?: Sleep,
): Promise<CheckRun> {
  const opened = await upsert(api, headSha, trigger, inProgress, sleep, isReview);
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
  return completed && conclusion !== null && reviewConclusions.has(conclusion) && !noReview.has(title ?? "");
}

const reviewConclusions = new Set(["success", "neutral", "failure"]);
const nothingToReview = "Nothing to review";
const failedTitle = "The review failed";
const notReviewedTitle = "Not reviewed";
const noReview = new Set([failedTitle, notReviewedTitle]);

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

/** What a conclusion takes into account besides the result. */
export interface AroundConclusion {
  /** Stands below the figures: the summary, where it has no other place. */
  text?: string;
  /** Comments of earlier reviews that this one does not repeat and nobody has settled. */
  open?: readonly { severity: Severity }[];
}

/** What a finished review concludes with. */
export function reviewConclusion(
  result: ReviewResult,
  policy: CheckPolicy,
  { text = "", open: earlier = [] }: AroundConclusion = {},
): CheckRunUpdate {
  const found = result.findings.map(({ finding }) => finding);
  const { threshold } = policy;
  const counts = ({ severity }: { severity: Severity }) =>
    threshold !== "never" && atLeast(severity, threshold);
  const open = [...found, ...earlier].filter(counts);
  const outcome = outcomeOf(result);
  const isGreen = outcome === "complete" && open.length === 0;
  const conclusion = open.length > 0 && policy.fail ? "failure" : isGreen ? "success" : "neutral";
  const state = { complete: "", offline: "Analyzers only: ", partial: "Incomplete review: " }[outcome];
  const parts = [
    outcome === "complete" ? "" : `**${outcomeSentence(result)}.**`,
    open.length > 0 ? `${plural(open.length, "finding")} at or above the threshold "${threshold}".` : "",
    earlier.length > 0 ? `Open from earlier reviews: ${countBySeverity(earlier)}.` : "",
    ...figures(result).map(([name, words]) => `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${words}.`),
    ...droppedSection("", result).map((list) => details("Found, checked again and left out", list)),
    ...unreadSection("", result).map((list) => details("What was not read", list)),
    ...skippedSection("", result.coverage).map((list) => details("Files skipped, and why", list)),
  ];
  const title = `${state}${foundWords(result, found, earlier.length)}`;
  const update = completed(conclusion, title, parts.filter((part) => part !== "").join("\n\n"));
  return text === "" ? update : { ...update, text };
}

/** Green without a review: nothing here is to be judged. */
export function passedConclusion(reason: string): CheckRunUpdate {
  return completed("success", nothingToReview, said(reason));
}

export function skippedConclusion(reason: string): CheckRunUpdate {
  return completed("skipped", notReviewedTitle, said(reason));
}

/** Nothing may be spent on it. Whoever asks again when something may is served. */
export function withheldConclusion(reason: string): CheckRunUpdate {
  return completed("neutral", notReviewedTitle, said(reason));
}

/** The review could not be made. Never red: a fault of ours must not block a merge. */
export function failedConclusion(reason: string): CheckRunUpdate {
  return completed("neutral", failedTitle, said(`The review failed: ${reason}`));
}

export function cancelledConclusion(reason: string): CheckRunUpdate {
  return completed("cancelled", "Called off", said(reason));
}

/** A reason may name a label, a branch or what a model answered. */
const said = (reason: string) => untrustedBlock(reason, 4_000);

function completed(
  conclusion: NonNullable<CheckRunUpdate["conclusion"]>,
  title: string,
  summary: string,
): CheckRunUpdate {
  return { status: "completed", conclusion, title, summary };
}

function foundWords(result: ReviewResult, found: readonly { severity: Severity }[], earlier: number): string {
  const counted = countBySeverity(found);
  if (counted !== "") return `found ${counted}`;
  return earlier > 0 ? `Nothing new, ${earlier} open from earlier` : nothingFound(result);
}

/** Only a complete review may say that nothing is there. */
function nothingFound(result: ReviewResult): string {
  if (outcomeOf(result) !== "complete") return "nothing found in what was read";
  return result.coverage.hunks_total === 0 ? nothingToReview : "No problems found";
}

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
