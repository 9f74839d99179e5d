import type { TrajectoryEntry } from "../agent/trajectory.ts";
import type { loadRepoConfig } from "../config/load-repo-config.ts";
import { AppError, errorLine, publicLine } from "../errors.ts";
import type { CheckoutPlace } from "../git/checkout-place.ts";
import type { PullRequest, PullRequestApi } from "../github/pull-request-api.ts";
import { eachRole, factsOf } from "../llm/model.ts";
import type { ProgressEvent } from "../process/messages.ts";
import { runReviewProcess } from "../process/run-review-process.ts";
import { type ClaimedJob, maxAttempts, type Outcome, type ReviewTask } from "../queue/job.ts";
import { type JobTools, jobFields } from "../queue/run-job.ts";
import { type CheckRun, failedConclusion, withheldConclusion } from "../reporters/check-run.ts";
import { publishReview } from "../reporters/github-review.ts";
import { limitsOf } from "../review/limits.ts";
import type { PullText } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { recordedResult, recordedTurns } from "./attempts.ts";
import { DayBudget, withinDay } from "./day-budget.ts";
import type { JobDependencies, JobLog } from "./job-dependencies.ts";
import { pullTextOf } from "./pull-text.ts";
import { modelOutage, watchModels } from "./watched-model.ts";

export type ReviewJob = ClaimedJob & { task: ReviewTask };
type LoadedConfig = Awaited<ReturnType<typeof loadRepoConfig>>;

/** What is known once GitHub was asked: the pull request as it is now, and what its base branch configures. */
export interface Subject {
  job: ReviewJob;
  api: PullRequestApi;
  pull: PullRequest;
  trigger: string;
  loaded: LoadedConfig;
  check: CheckRun;
  recorded: readonly TrajectoryEntry[];
}

/** Reviews, or takes over what an attempt before came to, and publishes it. Rejects with the check run concluded as failed. */
export async function reviewAndPublish(
  subject: Subject,
  tools: JobTools,
  deps: JobDependencies,
): Promise<Outcome> {
  const { pull, check, recorded } = subject;
  try {
    const known = recordedResult(recorded, pull);
    if (known) return await publish(subject, known, tools, deps);
    const { result, tidy } = await review(subject, tools, deps);
    const { headSha: head, baseSha: base } = pull;
    await tools.record({ kind: "result", head, base, result });
    const outcome = await publish(subject, result, tools, deps);
    // What was published stays published, whatever becomes of the mirror.
    await tidy(tools.signal).catch((err: unknown) => {
      deps.log.warn({ ...jobFields(subject.job), err }, `The mirror was not tidied: ${errorLine(err)}`);
    });
    return outcome;
  } catch (error) {
    if (error instanceof AppError && error.code === "budget_spent") return withhold(subject, error, deps);
    // Where the job is tried again the check is opened again; where it is not, nobody else would close it.
    const isOurs = !tools.signal.aborted && !(error instanceof AppError && error.code === "lease_lost");
    if (isOurs) await check.conclude(failedConclusion(publicLine(error))).catch(() => {});
    throw error;
  }
}

/** Nothing may be spent any more: that is no failure, and the check run says so. */
async function withhold({ job, check }: Subject, { message }: AppError, { log }: JobDependencies) {
  await check.conclude(withheldConclusion(`Not reviewed: ${message}.`));
  if (check.problem) log.warn(jobFields(job), check.problem);
  return { kind: "skipped", reason: message } as const;
}

async function review(subject: Subject, tools: JobTools, deps: JobDependencies) {
  const { job, pull, loaded } = subject;
  await openBudget(subject, deps);
  // GitHub is asked while git fetches.
  const text = pullText(subject, deps);
  const { repository } = job.task;
  const { number, headSha: head, baseSha: base, baseRef } = pull;
  const checkout = await deps.checkout({
    ...{ repository, pull: number, head, base, baseRef },
    signal: tools.signal,
  });
  try {
    const result = await reviewIn({ place: checkout.place, text: await text }, subject, tools, deps);
    const warnings = [...loaded.problems.map(configWarning), ...result.warnings];
    return { result: { ...result, warnings }, tidy: checkout.tidy };
  } finally {
    await checkout.release();
  }
}

/** Never rejects. Without a model nobody would read what stands around the change. */
async function pullText({ job, api, pull, loaded }: Subject, { models, webUrl, log }: JobDependencies) {
  const { number, title, body, author } = pull;
  if (!models) return { ...{ number, title, body, author }, issues: [], checks: [], earlier: [] };
  const warn = (notice: string) => log.warn(jobFields(job), notice);
  return pullTextOf({ api, pull, repository: job.task.repository, webUrl, config: loaded.config, warn });
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
  if (models && recordedTurns(recorded).length === 0) await budget.require();
  return budget;
}

async function reviewIn(
  { place, text }: { place: CheckoutPlace; text: PullText },
  subject: Subject,
  { record, signal }: JobTools,
  deps: JobDependencies,
): Promise<ReviewResult> {
  const { job, pull, loaded, recorded } = subject;
  // Other reviews have spent from it while this one was fetched.
  const budget = await openBudget(subject, deps);
  const turns = recordedTurns(recorded);
  await deps.modelsReady(signal);
  const watched = deps.models && watchModels(eachRole(deps.models, (model) => budget.meter(model)));
  const result = await runReviewProcess({
    place,
    input: {
      targetBranch: pull.baseRef,
      pull: text,
      history: null,
      config: loaded.config,
      limits: withinDay(limitsOf(loaded.config), await budget.left(), turns),
      models: deps.models && eachRole(deps.models, factsOf),
    },
    models: watched?.models ?? null,
    trajectory: { append: record },
    replay: turns,
    onProgress: (event) => logProgress(event, job, deps.log),
    signal,
  });
  const outage = modelOutage(result, watched?.lastFault(), job.attempt >= maxAttempts);
  if (outage) throw outage;
  return result;
}

/** Faults of ours and of the model's provider are for whoever operates this, in full. */
function logProgress(event: ProgressEvent, job: ReviewJob, log: JobLog): void {
  if (event.type === "crash") log.error({ ...jobFields(job), ...event }, `Fault in ${event.where}`);
  if (event.type === "model_failed") log.warn({ ...jobFields(job) }, `The model failed: ${event.error}`);
}

function configWarning({ line, key, message }: LoadedConfig["problems"][number]): string {
  const place = [line === null ? "" : `line ${line}`, key ?? ""].filter((part) => part !== "").join(", ");
  return `The repository configuration${place && ` (${place})`}: ${message}`;
}

async function publish(
  { job, api, pull, trigger, loaded, check }: Subject,
  result: ReviewResult,
  tools: JobTools,
  { webUrl, version, log }: JobDependencies,
): Promise<Outcome> {
  if (!(await tools.stillOurs())) throw new AppError("lease_lost", "another worker has this job now");
  const { owner, name } = job.task.repository;
  const outcome = await publishReview({
    result,
    api,
    trigger,
    baseRef: pull.baseRef,
    repositoryUrl: `${webUrl}/${owner}/${name}`,
    version,
    maxComments: loaded.config.max_comments,
    checkPolicy: loaded.config.check,
    check,
  });
  if (outcome.kind !== "published") return { kind: "superseded", reason: outcome.reason };
  for (const notice of outcome.notices) log.warn(jobFields(job), notice);
  const { posted, annotated, listed, standing } = outcome;
  const places = [`${posted} posted`, `${annotated} annotated`, `${listed} in the summary`];
  return { kind: "done", reason: [...places, `${standing} standing`].join(", ") };
}
