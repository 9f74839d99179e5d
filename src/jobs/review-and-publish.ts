import { z } from "zod";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError, type ErrorCode, errorLine } from "../errors.ts";
import type { Severity } from "../finding.ts";
import type { CheckoutPlace } from "../git/workspace.ts";
import type { PullRequest, PullRequestApi } from "../github/pull-request-api.ts";
import { createJournal } from "../journal/journal.ts";
import { isStanding, type Ledger } from "../ledger/entry.ts";
import { eachRole, factsOf } from "../llm/model.ts";
import type { ProgressEvent } from "../process/messages.ts";
import { runReviewProcess } from "../process/run-review-process.ts";
import { type ClaimedJob, maxAttempts, type Outcome, type ReviewTask } from "../queue/job.ts";
import { nextTry } from "../queue/next-try.ts";
import { type JobTools, jobFields } from "../queue/run-job.ts";
import type { CheckRun } from "../reporters/check-run.ts";
import { failedConclusion, limitConclusion, withheldConclusion } from "../reporters/conclusions.ts";
import { type PublishOptions, publishReview } from "../reporters/github-review.ts";
import { limitsOf } from "../review/limits.ts";
import { type History, Limits, PullText, type ReviewInput } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { publishedReview, recordedMasks, recordedResult, recordedTurns } from "./attempts.ts";
import { DayBudget, withinDay } from "./day-budget.ts";
import { earlierFindings, historyOf } from "./history.ts";
import type { JobDependencies, JobLog } from "./job-dependencies.ts";
import { orRefused, type ReviewConfig, withFolders } from "./load-config.ts";
import { pullTextOf } from "./pull-text.ts";
import { recordPosted } from "./record-posted.ts";
import { recordStart } from "./record-start.ts";
import { indexTask, reviewIndex } from "./review-index.ts";
import { timed } from "./timed.ts";
import { toldOnce } from "./told.ts";
import { modelOutage, watchModels } from "./watched-model.ts";

export type ReviewJob = ClaimedJob & { task: ReviewTask };

/** What is known once GitHub was asked: the pull request as it is now, what its base branch configures, and what was said. */
export interface Subject {
  job: ReviewJob;
  api: PullRequestApi;
  pull: PullRequest;
  trigger: string;
  loaded: ReviewConfig;
  /** As it was when the job began. */
  ledger: Ledger;
  recorded: readonly TrajectoryEntry[];
}

/** One whose check run is open. */
export interface OpenSubject extends Subject {
  check: CheckRun;
}

/** Reviews, or takes over what an attempt before came to, and publishes it. Rejects with the check run concluded as failed, or left open. */
export async function reviewAndPublish(
  subject: OpenSubject,
  tools: JobTools,
  deps: JobDependencies,
): Promise<Outcome> {
  try {
    const { result, tidy } = await resultOf(subject, tools, deps);
    const outcome = await publish(subject, result, tools, deps);
    await tidy();
    return outcome;
  } catch (error) {
    if (error instanceof AppError && error.code === "budget_spent") return withhold(subject, error, deps);
    // Where the job is tried again the check is opened again; where it is not, nobody else would close it.
    const isOpen = error instanceof AppError && leftOpen.has(error.code);
    if (!tools.signal.aborted && !isOpen) {
      const { check, ledger, loaded } = subject;
      const held = { open: openFindings(ledger), policy: loaded.config.check };
      const update = failedConclusion(error, held);
      await check.conclude(update).catch(() => {});
    }
    throw error;
  }
}

/**
 * Where the check run is another worker's by now, or was called off already; and where the job only waits for its turn, which may
 * take an hour.
 */
const leftOpen = new Set<ErrorCode>(["lease_lost", "superseded", "github_rate_limited", "model_unavailable"]);

/**
 * What a review of the subject comes to, without anything on GitHub that shows it: a dry run is this, and whatever is made of the
 * result. It goes on record, so that another attempt takes it over instead of paying for it again; what was thought on the way
 * is replayed. Rejects with `budget_spent` where nothing may be spent on it.
 */
export async function reviewUnseen(
  subject: Subject,
  tools: JobTools,
  deps: JobDependencies,
): Promise<ReviewResult> {
  const { result, tidy } = await resultOf(subject, tools, deps);
  await tidy();
  return result;
}

/** `tidy` is for the end, and never rejects: what was published stays published, whatever becomes of the mirror. */
async function resultOf(subject: Subject, tools: JobTools, deps: JobDependencies) {
  const { job, pull, recorded, ledger } = subject;
  const known = recordedResult(recorded, subject);
  // What a model read before the configuration was refused is not concluded under the default policy.
  const isOfNow = subject.loaded.refused === null || known?.refused !== null;
  if (known && isOfNow) return { result: known, tidy: async () => {} };
  const { headSha: head, baseSha: base } = pull;
  await tools.record({ kind: "began", head });
  const { result, tidy } = await review(subject, tools, deps);
  // What a dry run comes to is shown beside whatever was published meanwhile.
  const after = job.task.mode === "dry_run" ? {} : { after: publishedReview(ledger) };
  await tools.record({ kind: "result", head, base, result, ...after });
  const tidyOrTell = () =>
    tidy(tools.signal).catch((err: unknown) => {
      deps.log.warn({ ...jobFields(job), err }, `The mirror was not tidied: ${errorLine(err)}`);
    });
  return { result, tidy: tidyOrTell };
}

/** Nothing may be spent any more: that is no failure, and the check run says so. */
async function withhold(
  { job, check, ledger, loaded }: OpenSubject,
  { message }: AppError,
  { log }: JobDependencies,
) {
  const { check: policy } = loaded.config;
  // What this head came to for this very branch stands, and nobody has to be kept from merging it.
  const isPassed = check.before !== null && check.before.conclusion !== "failure";
  const otherwise = isPassed ? "neutral" : limitConclusion(policy);
  await check.conclude(
    withheldConclusion(`Not reviewed: ${message}.`, openFindings(ledger), policy, otherwise),
  );
  if (check.problem) log.warn(jobFields(job), check.problem);
  return { kind: "skipped", reason: message } as const;
}

/** What earlier reviews found and nobody has settled, as far as it was published. */
export function openFindings({ entries, state }: Ledger): { severity: Severity }[] {
  const listed = state.carried.filter(({ standing }) => standing !== "unpublished");
  return [...entries.filter(isStanding), ...listed.map(({ finding }) => finding)];
}

async function review(subject: Subject, tools: JobTools, deps: JobDependencies) {
  const { job, pull } = subject;
  await openBudget(subject, modelsOf(subject.loaded, deps));
  const { repository } = job.task;
  const { number, headSha: head, baseSha: base, baseRef } = pull;
  await deps.usage.requireReview({ id: job.id, repository, pull: number, head, author: pull.author });
  const wanted = { repository, pull: number, head, base, baseRef, signal: tools.signal };
  const checkout = await timed("fetch", deps, () => deps.checkout(wanted));
  try {
    const { place } = checkout;
    const { config, refused } = subject.loaded;
    const loaded = refused === null ? await orRefused(withFolders(config, place), config) : subject.loaded;
    const allowed = modelsOf(loaded, deps);
    const result = await reviewIn(place, { ...subject, loaded }, tools, allowed);
    const tidy = async (signal: AbortSignal) => {
      await checkout.tidy(signal);
      if (allowed.models) deps.indexes?.update(indexTask(place, loaded.config.paths.private));
    };
    return { result, tidy };
  } finally {
    await checkout.release();
  }
}

/** Without the models if the configuration is refused: it may keep anything from them. */
const modelsOf = ({ refused }: ReviewConfig, deps: JobDependencies): JobDependencies =>
  refused === null ? deps : { ...deps, models: null };

/** Never rejects. Without a model nobody would read what stands around the change. */
async function pullText(
  { job, api, pull, loaded, ledger }: Subject,
  { models, webUrl, log }: JobDependencies,
): Promise<PullText> {
  const { config } = loaded;
  const { number, title, body, author } = pull;
  const earlier = earlierFindings(ledger, config.paths.private);
  if (!models) return { ...{ number, title, body, author }, issues: [], checks: [], earlier };
  const warn = (notice: string) => log.warn(jobFields(job), notice);
  const { repository } = job.task;
  return { ...(await pullTextOf({ api, pull, repository, webUrl, config, warn })), earlier };
}

function historyFor(
  { job, pull, loaded, ledger, recorded }: Subject,
  { contentKey }: JobDependencies,
): History {
  return historyOf({
    key: contentKey(job.task.repository, pull.number),
    state: ledger.state,
    mode: job.task.mode,
    recorded,
    head: pull.headSha,
    privatePaths: loaded.config.paths.private,
  });
}

/** Rejects with `budget_spent` before anything was paid; what an earlier attempt paid for is made use of, whatever is left. */
async function openBudget(
  { job, pull, loaded, recorded }: Subject,
  { models, spending, dailyBudget, now }: JobDependencies,
): Promise<DayBudget> {
  const { installation, id: repository } = job.task.repository;
  const { tokens, cost_usd: costUsd } = loaded.config.budget.day;
  const budget = new DayBudget({
    ...{ spending, now, by: { installation, repository, pull: pull.number } },
    ...{ ofPull: { tokens, costUsd }, ofInstallation: dailyBudget },
  });
  if (models && recordedTurns(recorded, pull.headSha).length === 0) await budget.require();
  return budget;
}

/** How long after a review the queue may take to settle its job. */
const settlingMs = 30_000;

const Told = z.strictObject({ text: PullText, limits: Limits });

/** Its configuration says what the folders keep from a model. */
async function reviewIn(
  place: CheckoutPlace,
  subject: Subject,
  tools: JobTools,
  deps: JobDependencies,
): Promise<ReviewResult> {
  const { job, pull, loaded, recorded, ledger } = subject;
  const { record, signal } = tools;
  const { headSha: head, baseSha: base } = pull;
  // Other reviews have spent from it while this one was fetched.
  const budget = await openBudget(subject, deps);
  const turns = recordedTurns(recorded, head);
  if (deps.models) await deps.modelsReady(signal);
  const watched = deps.models && watchModels(eachRole(deps.models, (model) => budget.meter(model)));
  const about = { head, base, after: publishedReview(ledger), private: [...loaded.config.paths.private] };
  const tell = async () => ({
    text: await pullText(subject, deps),
    limits: withinDay(limitsOf(loaded.config), await budget.left(), turns),
  });
  const telling = { about, shape: Told, recorded, turns };
  const { text, limits } = await (watched ? toldOnce(telling, tools, tell) : tell());
  const graphIndex = deps.models && deps.indexes ? reviewIndex(place, recorded, turns.length > 0) : null;
  const input: ReviewInput = {
    targetBranch: pull.baseRef,
    pull: text,
    history: historyFor(subject, deps),
    config: loaded.config,
    ...(loaded.refused !== null && { refused: loaded.refused }),
    ...(graphIndex !== null && { graph: true }),
    limits,
    models: deps.models && eachRole(deps.models, factsOf),
  };
  await recordStart({ kind: "run", shas: place.shas, input }, recorded, tools);
  const result = await timed("review", deps, () =>
    runReviewProcess({
      ...{ place, input, models: watched?.models ?? null, replay: turns, signal },
      masks: recordedMasks(recorded),
      ...{ graphIndex, started: deps.startProcess?.(place.root) },
      trajectory: { append: record },
      journal: journalFor(subject, tools, deps),
      onProgress: (event) => logProgress(event, job, deps.log),
    }),
  );
  // The queue decides a moment later than this: what it may not try again by then is published now.
  const clock = { now: () => deps.now() + settlingMs, random: () => 0 };
  const outage = modelOutage(watched?.lastFault(), (error) => nextTry(job, error, clock) !== undefined);
  if (outage) throw outage;
  return result;
}

/** Undefined where no notes are taken: then the record of the run has all there is. */
function journalFor({ job, recorded }: Subject, { record }: JobTools, { vault, log }: JobDependencies) {
  if (!vault) return undefined;
  const { repository, pull } = job.task;
  return createJournal({
    ...{ about: `${repository.owner}/${repository.name}#${pull}`, vault, record },
    earlier: recorded.filter((entry) => entry.kind === "note"),
    warn: (text) => log.warn(jobFields(job), text),
  });
}

/** Faults of ours and of the model's provider are for whoever operates this, in full. */
function logProgress(event: ProgressEvent, job: ReviewJob, log: JobLog): void {
  if (event.type === "crash") log.error({ ...jobFields(job), ...event }, `Fault in ${event.where}`);
  if (event.type === "model_failed") log.warn({ ...jobFields(job) }, `The model failed: ${event.error}`);
}

/** Events lag behind GitHub's copies by seconds at times: what they bring is joined with this job while it waits. */
const headLagMs = 5_000;

async function publish(
  { job, api, pull, trigger, loaded, check, recorded }: OpenSubject,
  result: ReviewResult,
  tools: JobTools,
  deps: JobDependencies,
): Promise<Outcome> {
  const { webUrl, version, log } = deps;
  if (!(await tools.stillOurs())) throw new AppError("lease_lost", "another worker has this job now");
  const { owner, name } = job.task.repository;
  const options: PublishOptions = {
    ...{ result, api, trigger, version, check },
    again: job.task.again ? job.id : null,
    baseRef: pull.baseRef,
    repositoryUrl: `${webUrl}/${owner}/${name}`,
    maxComments: loaded.config.max_comments,
    checkPolicy: loaded.config.check,
  };
  const outcome = await timed("publish", deps, () => publishReview(options));
  const { kind } = outcome;
  // Taken up by the same job, which has the record of what was read; whoever else is told of the new head finds it reviewed.
  if (kind === "stale_head" && job.attempt < maxAttempts)
    throw new AppError("superseded", outcome.reason, { retryable: true, retryAfterMs: headLagMs });
  if (kind !== "published") return { kind: "superseded", reason: outcome.reason };
  for (const notice of outcome.notices) log.warn(jobFields(job), notice);
  const { posted, annotated, listed, standing, dismissed, fixed } = outcome;
  if (posted > 0) {
    await recordPosted(api, result, recorded, tools).catch((err: unknown) => {
      // It stands: nothing may be done as if it did not.
      log.warn({ ...jobFields(job), err }, `Posted, and not on record where: ${errorLine(err)}`);
    });
  }
  const places = [`${posted} posted`, `${annotated} annotated`, `${listed} in the summary`];
  const others = [`${standing} standing`, `${dismissed} dismissed`, `${fixed} fixed`];
  return { kind: "done", reason: [...places, ...others].join(", ") };
}
