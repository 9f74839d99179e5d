import type { TrajectoryEntry } from "../../agent/record/trajectory.ts";
import { checkPolicy } from "../../config/named-rules.ts";
import type { RepoConfig } from "../../config/repo-config.ts";
import { AppError } from "../../core/errors.ts";
import { type Ledger, openFindings } from "../../core/ledger/entry.ts";
import type { PullRequest, PullRequestApi, RepositoryApi } from "../../pull/github/pull-request-api.ts";
import { hasWriteAccess, isSamePerson } from "../../pull/ledger/authority.ts";
import { concludeAtOnce, openCheckRun, settleChecks } from "../../pull/publish/check-run.ts";
import { withheldConclusion } from "../../pull/publish/conclusions.ts";
import { currentLedger } from "../../pull/publish/existing.ts";
import { createPathMatcher } from "../../repo/diff/paths.ts";
import { countFindings, figuresOfLedger, pullKey } from "../figures/pull-figures.ts";
import type { JobOutcome, ReviewTask } from "../queue/job.ts";
import { type JobTools, jobFields } from "../queue/run-job.ts";
import { closeEarlierChecks, publishedReview, recordedResult, triggerFor, wasPublished } from "./attempts.ts";
import { announceEnd, announceReview } from "./events.ts";
import type { JobDependencies } from "./job-dependencies.ts";
import { reviewConfig } from "./load-config.ts";
import {
  headLagMs,
  type ReviewJob,
  reviewAndPublish,
  reviewFigures,
  type Subject,
} from "./review-and-publish.ts";

/**
 * One review of a pull request, from reading its present state to publishing. May be run again after a crash at any point. The head gets a
 * concluded check run, here or when the job is given up.
 *
 * @param isAdmitted a person asked for it whose permission is checked; the rules for events (drafts, labels, a pause) do not apply
 */
export async function reviewPull(
  job: ReviewJob,
  tools: JobTools,
  deps: JobDependencies,
  isAdmitted = false,
): Promise<JobOutcome> {
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
  const key = pullKey(task);
  if (pull.state === "closed") {
    await settleLeft(pull.headSha, pull, api, warn);
    if (await deps.record.figures.knows(key))
      await countFindings(figuresOfLedger(key, pull, await currentLedger(api)), job, deps);
    return { kind: "skipped", reason: "the pull request is closed" };
  }

  const loaded = await reviewConfig({ api, pull, repository: task.repository }, deps, tools.signal);
  const ledger = await currentLedger(api);
  if (ledger.entries.length > 0 || (await deps.record.figures.knows(key)))
    await countFindings(figuresOfLedger(key, pull, ledger), job, deps);
  const before = publishedReview(ledger);
  if (before && before.head !== pull.headSha) await settleLeft(before.head, pull, api, warn);
  const subject = { job, api, pull, trigger, loaded, ledger, recorded };
  const isAskedFor = isAdmitted || task.requestedBy !== null;
  const skip = isAskedFor ? undefined : ((await skipOf(loaded.config, pull, api)) ?? pauseOf(ledger));
  return skip === undefined ? reviewOnce(subject, tools, deps) : skipReview(subject, skip, deps);
}

async function reviewOnce(subject: Subject, tools: JobTools, deps: JobDependencies): Promise<JobOutcome> {
  const { job, api, pull, trigger, ledger } = subject;
  const { headSha: head } = pull;
  const { again } = job.task;
  await tools.record({ kind: "check_opened", head, trigger });
  const check = await openCheckRun(api, pull, trigger, again);
  // If we may not have check runs, only the summary shows that this head was reviewed.
  const isPublished = check.problem !== undefined && !again && wasPublished({ head, trigger }, ledger);
  if (check.reviewed || isPublished) {
    await settleLeft(head, pull, api, (notice) => deps.log.warn(jobFields(job), notice));
    // An earlier attempt may have died before it announced the review.
    const published = recordedResult(subject.recorded, subject);
    if (!published) return { kind: "skipped", reason: `${head} was already reviewed` };
    await announceReview(subject, published, deps);
    return { kind: "done", reason: "an earlier attempt published it", figures: reviewFigures(published) };
  }
  return reviewAndPublish({ ...subject, check }, tools, deps);
}

/** Updates the check runs of a commit that this pull request left, which another one may have as its head. */
async function settleLeft(
  headSha: string,
  pull: PullRequest,
  api: PullRequestApi,
  warn: (notice: string) => void,
): Promise<void> {
  const problem = await settleChecks(api, headSha, pull);
  if (problem) warn(problem);
}

/** Open findings of earlier reviews keep the check red. It waits while the author alone keeps a required review from being made. */
async function skipReview(
  { job, api, pull, trigger, ledger, loaded }: Subject,
  { reason, byAuthor }: Skip,
  deps: JobDependencies,
): Promise<JobOutcome> {
  const policy = checkPolicy(loaded.config);
  const waits = byAuthor && policy.limit === "failure";
  const way =
    "The check waits until the pull request is ready for review, or someone with write access comments `/review`.";
  const text = `Not reviewed: ${reason}.${waits ? ` ${way}` : ""}`;
  const update = withheldConclusion(text, openFindings(ledger), policy, waits ? "waits" : "skipped");
  const problem = await concludeAtOnce(api, pull, trigger, update);
  if (problem) deps.log.warn(jobFields(job), problem);
  await announceEnd("review.skipped", { job, head: pull.headSha, reason }, deps);
  return { kind: "skipped", reason };
}

/** Why the person gets no review. If an earlier attempt opened a check run, it must be concluded, so the permission is not checked again. */
async function refuseStranger(
  task: ReviewTask,
  recorded: readonly TrajectoryEntry[],
  api: PullRequestApi,
): Promise<JobOutcome | undefined> {
  const wasLetIn = recorded.some(({ kind }) => kind === "check_opened");
  if (task.requestedBy === null || wasLetIn) return undefined;
  if (!(await hasWriteAccess(api, task.requestedBy))) {
    return { kind: "skipped", reason: `${task.requestedBy} has no write access` };
  }
  // A refused reaction stops nothing.
  if (task.commentId !== null)
    await api.react({ id: task.commentId, thread: task.thread }, "eyes").catch(() => {});
  return undefined;
}

/** GitHub may still show the state before the push: the old head would be reviewed and the new one never. The job is retried once. */
function awaitHead({ task, attempt }: ReviewJob, { headSha, state }: PullRequest): void {
  const isExpected = task.headSha === null || task.headSha === headSha;
  if (isExpected || state === "closed" || attempt > 1) return;
  throw new AppError(
    "stale_head",
    `the head on GitHub is ${headSha}, but the event was about ${task.headSha}`,
    { retryable: true, retryAfterMs: headLagMs },
  );
}

interface Skip {
  reason: string;
  /** The author alone decides when it ends. */
  byAuthor: boolean;
}

/** Why an event starts no review of this pull request; undefined if it starts one. */
export async function skipOf(
  { review }: RepoConfig,
  pull: PullRequest,
  api: Pick<RepositoryApi, "pushers">,
): Promise<Skip | undefined> {
  const skip = (reason: string, byAuthor = false): Skip => ({ reason, byAuthor });
  if (!review.enabled) return skip("automatic reviews are switched off in this repository");
  if (review.base_branches.length > 0 && !createPathMatcher(review.base_branches)(pull.baseRef).matched)
    return skip(`its base branch ${pull.baseRef} is not among the configured ones`);
  if (await isOfIgnored(review.ignore_authors, pull, api))
    return skip(`pull requests of ${pull.author} are not reviewed`);
  const has = (name: string) => pull.labels.some((one) => sameWord(one, name));
  if (review.labels.length > 0 && !review.labels.some(has))
    return skip(`it has none of the labels ${review.labels.join(", ")}`);
  const label = review.ignore_labels.find(has);
  if (label) return skip(`it has the label ${label}`);
  if (pull.draft && !review.drafts) return skip("it is a draft", true);
  const word = review.ignore_titles.find((one) => hasWords(pull.title, one));
  return word === undefined ? undefined : skip(`its title contains "${word}"`, true);
}

const pauseOf = ({ state: { paused } }: Pick<Ledger, "state">): Skip | undefined =>
  paused === null ? undefined : { reason: `paused by ${paused.by}`, byAuthor: false };

/** Whether ignored people opened it and pushed all of it: everyone with write access can push to a bot's branch. */
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
