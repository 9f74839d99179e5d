import type { RepoConfig } from "../config/repo-config.ts";
import { createPathMatcher } from "../diff/path-matcher.ts";
import type { PullRequest, RepositoryApi, PullRequestApi } from "../github/pull-request-api.ts";
import { isSamePerson, hasWriteAccess } from "../ledger/authority.ts";
import type { Ledger } from "../ledger/entry.ts";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import type { Outcome, ReviewTask } from "../queue/job.ts";
import { type JobTools, jobFields } from "../queue/run-job.ts";
import { concludeAtOnce, openCheckRun, settleChecks } from "../publish/check-run.ts";
import { withheldConclusion } from "../publish/conclusions.ts";
import { currentLedger } from "../publish/existing.ts";
import { closeEarlierChecks, publishedHead, triggerFor, wasPublished } from "./attempts.ts";
import type { JobDependencies } from "./job-dependencies.ts";
import { loadConfig, orRefused } from "./load-config.ts";
import { openFindings, type ReviewJob, reviewAndPublish, type Subject } from "./review-and-publish.ts";

/**
 * Why an event starts no review of this pull request, in words that people read; undefined if it does. GitHub is asked only
 * about the pull request of an author who is ignored; rejects if it cannot be asked.
 */
export async function skipReason(
  { review }: RepoConfig,
  pull: PullRequest,
  api: Pick<RepositoryApi, "pushers">,
): Promise<string | undefined> {
  if (!review.enabled) return "reviews by themselves are switched off in this repository";
  if (pull.draft && !review.drafts) return "it is a draft";
  if (review.base_branches.length > 0 && !createPathMatcher(review.base_branches)(pull.baseRef).matched) {
    return `its base branch ${pull.baseRef} is not among the configured ones`;
  }
  if (await isOfIgnored(review.ignore_authors, pull, api))
    return `pull requests of ${pull.author} are not reviewed`;
  const has = (name: string) => pull.labels.some((one) => sameWord(one, name));
  if (review.labels.length > 0 && !review.labels.some(has))
    return `it has none of the labels ${review.labels.join(", ")}`;
  const label = review.ignore_labels.find(has);
  if (label) return `it has the label ${label}`;
  const word = review.ignore_titles.find((one) => hasWords(pull.title, one));
  return word === undefined ? undefined : `its title contains "${word}"`;
}

/** The same for a pull request whose reviews somebody has paused. */
function pauseReason({ state: { paused } }: Pick<Ledger, "state">): string | undefined {
  return paused === null ? undefined : `paused by ${paused.by}`;
}

/**
 * Whether ignored people opened it and pushed all of it. A branch of a bot is open to everybody with write access, and what they
 * push there is reviewed. Who pushed to a fork is not known here.
 */
async function isOfIgnored(
  ignored: readonly string[],
  { author, source, headSha }: PullRequest,
  api: Pick<RepositoryApi, "pushers">,
): Promise<boolean> {
  const isIgnored = (login: string) => ignored.some((one) => isSamePerson(one, login));
  if (!isIgnored(author) || source === null || source.isFork) return false;
  const pushers = await api.pushers(source.branch, headSha);
  return pushers?.every(isIgnored) ?? false;
}

const sameWord = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

/** Whether a text has these words as whole words, in any case: "wip" is in "[WIP] Pay" and not in "Add swipe". */
function hasWords(text: string, words: string): boolean {
  const wanted = words.trim();
  if (wanted === "") return false;
  const before = /^[\p{L}\p{M}\p{N}_]/u.test(wanted) ? "(?<![\\p{L}\\p{M}\\p{N}_])" : "";
  const after = /[\p{L}\p{M}\p{N}_]$/u.test(wanted) ? "(?![\\p{L}\\p{M}\\p{N}_])" : "";
  const literal = wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(before + literal + after, "iu").test(text);
}

interface ReviewPullOptions {
  /**
   * Somebody asked for it who was found to be allowed to, by whatever rule holds for what they asked: nobody is asked about
   * them again, and what holds for events alone (drafts, labels, a pause) does not hold.
   */
  isAdmitted?: boolean;
}

/**
 * One review of a pull request, from asking GitHub what it is now to what people see. May be run again after a crash at any
 * point: what stands on GitHub is recognised and not done twice, and turns that were paid for are not paid again.
 *
 * Whatever it comes to, the head has a concluded check run: here, or when the job is given up. What rejects before there is
 * one is told by the job's end as well. A configuration that is refused is no such reason: the analyzers review without it.
 *
 * A job that did something else first and ends in a review (a pause that is over, a finding that was dismissed) hands itself on
 * with a review task of its own making: mode `new`, trigger "comment:<id>", `commentId` null.
 */
export async function reviewPull(
  job: ReviewJob,
  tools: JobTools,
  deps: JobDependencies,
  { isAdmitted = false }: ReviewPullOptions = {},
): Promise<Outcome> {
  const { task } = job;
  const warn = (notice: string) => deps.log.warn(jobFields(job), notice);
  const api = await deps.github.pull(task.repository, task.pull, tools.signal);
  const recorded = await tools.recorded();
  const refused = isAdmitted ? undefined : await refuseStranger(task, recorded, api);
  if (refused) return refused;
  const pull = await api.pull();
  awaitHead(job, pull);
  const trigger = await triggerFor(task, pull, api);
  await closeEarlierChecks(recorded, { pull, trigger }, api, warn);
  if (pull.state === "closed") {
    await settleLeft(pull.headSha, pull, api, warn);
    return { kind: "skipped", reason: "the pull request is closed" };
  }

  const loading = loadConfig({ api, pull, repository: task.repository }, deps, tools.signal);
  const loaded = await orRefused(loading);
  const ledger = await currentLedger(api);
  const before = publishedHead(ledger);
  if (before !== null && before !== pull.headSha) await settleLeft(before, pull, api, warn);
  const subject = { job, api, pull, trigger, loaded, ledger, recorded };
  const isAskedFor = isAdmitted || task.requestedBy !== null;
  const skip = isAskedFor ? undefined : ((await skipReason(loaded.config, pull, api)) ?? pauseReason(ledger));
  return skip === undefined ? reviewOnce(subject, tools, deps) : skipReview(subject, skip, warn);
}

/** Reviews a head for a trigger, unless that was done: a check run that is asked for again is the exception. */
async function reviewOnce(subject: Subject, tools: JobTools, deps: JobDependencies): Promise<Outcome> {
  const { job, api, pull, trigger, ledger } = subject;
  const { headSha: head } = pull;
  const { again } = job.task;
  await tools.record({ kind: "check_opened", head, trigger });
  const check = await openCheckRun(api, pull, trigger, { again });
  const isPublished = check.problem !== undefined && !again && wasPublished({ head, trigger }, ledger);
  if (check.reviewed || isPublished) {
    await settleLeft(head, pull, api, (notice) => deps.log.warn(jobFields(job), notice));
    return { kind: "skipped", reason: `${head} was reviewed already` };
  }
  return reviewAndPublish({ ...subject, check }, tools, deps);
}

/** Other pull requests may have a commit as their head that this one left, or is for another branch with. */
async function settleLeft(
  headSha: string,
  pull: PullRequest,
  api: PullRequestApi,
  warn: (notice: string) => void,
): Promise<void> {
  const problem = await settleChecks(api, headSha, pull);
  if (problem) warn(problem);
}

/** What is open from earlier reviews stays red: whoever may turn a pull request into a draft shall not turn a check by that. */
async function skipReview(
  { api, pull, trigger, ledger, loaded }: Subject,
  reason: string,
  warn: (notice: string) => void,
): Promise<Outcome> {
  const { check } = loaded.config;
  const update = withheldConclusion(`Not reviewed: ${reason}.`, openFindings(ledger), check, "skipped");
  const problem = await concludeAtOnce(api, pull, trigger, update);
  if (problem) warn(problem);
  return { kind: "skipped", reason };
}

/**
 * Commands are for people who can write to the repository; everybody else is left without an answer, and costs nothing. Who
 * was let in by an attempt before is not asked again: its check run has to be concluded.
 */
async function refuseStranger(
  task: ReviewTask,
  recorded: readonly TrajectoryEntry[],
  api: PullRequestApi,
): Promise<Outcome | undefined> {
  const wasLetIn = recorded.some(({ kind }) => kind === "check_opened");
  if (task.requestedBy === null || wasLetIn) return undefined;
  if (!(await hasWriteAccess(api, task.requestedBy))) {
    return { kind: "skipped", reason: `${task.requestedBy} has no write access` };
  }
  // Courtesy alone: a reaction that GitHub refuses stops nothing.
  if (task.commentId !== null)
    await api.react({ id: task.commentId, thread: task.thread }, "eyes").catch(() => {});
  return undefined;
}

/** GitHub's copies lag behind its events by seconds at times. */
const headLagMs = 5_000;

/**
 * A pull request that is not at the head which the event was about has moved on, or is told of as it was before the push:
 * the head before would pass for reviewed, and the new one never be. The job comes back once.
 */
function awaitHead({ task, attempt }: ReviewJob, { headSha, state }: PullRequest): void {
  const isExpected = task.headSha === null || task.headSha === headSha;
  if (isExpected || state === "closed" || attempt > 1) return;
  throw new AppError(
    "stale_head",
    `GitHub shows the head ${headSha}, and the event was about ${task.headSha}`,
    {
      retryable: true,
      retryAfterMs: headLagMs,
    },
  );
}
