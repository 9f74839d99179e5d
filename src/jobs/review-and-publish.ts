import type { TrajectoryEntry } from "../agent/trajectory.ts";
import type { loadRepoConfig } from "../config/load-repo-config.ts";
import { AppError, errorLine, publicLine } from "../errors.ts";
import type { CheckoutPlace } from "../git/checkout-place.ts";
import type { PullRequest, PullRequestApi } from "../github/pull-request-api.ts";
import { factsOf, forAllRoles } from "../llm/model.ts";
import type { ProgressEvent } from "../process/messages.ts";
import { runReviewProcess } from "../process/run-review-process.ts";
import { type ClaimedJob, maxAttempts, type Outcome, type ReviewTask } from "../queue/job.ts";
import { type JobTools, jobFields } from "../queue/run-job.ts";
import { type CheckRun, failedConclusion } from "../reporters/check-run.ts";
import { publishReview } from "../reporters/github-review.ts";
import { limitsOf } from "../review/limits.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { recordedResult, recordedTurns } from "./attempts.ts";
import type { JobDependencies, JobLog } from "./job-dependencies.ts";
import { modelOutage, watchModel } from "./watched-model.ts";

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
    // Where the job is tried again the check is opened again; where it is not, nobody else would close it.
    const isOurs = !tools.signal.aborted && !(error instanceof AppError && error.code === "lease_lost");
    if (isOurs) await check.conclude(failedConclusion(publicLine(error))).catch(() => {});
    throw error;
  }
}

async function review(subject: Subject, tools: JobTools, deps: JobDependencies) {
  const { job, pull, loaded } = subject;
  const { repository } = job.task;
  const { number, headSha: head, baseSha: base, baseRef } = pull;
  const checkout = await deps.checkout({
    ...{ repository, pull: number, head, base, baseRef },
    signal: tools.signal,
  });
  try {
    const result = await reviewIn(checkout.place, subject, tools, deps);
    const warnings = [...loaded.problems.map(configWarning), ...result.warnings];
    return { result: { ...result, warnings }, tidy: checkout.tidy };
  } finally {
    await checkout.release();
  }
}

async function reviewIn(
  place: CheckoutPlace,
  { job, pull, loaded, recorded }: Subject,
  { record, signal }: JobTools,
  deps: JobDependencies,
): Promise<ReviewResult> {
  const { number, title, body, author, baseRef } = pull;
  const watched = deps.model && watchModel(deps.model);
  const result = await runReviewProcess({
    place,
    input: {
      targetBranch: baseRef,
      pull: { number, title, body, author, issues: [], checks: [], earlier: [] },
      config: loaded.config,
      limits: limitsOf(loaded.config),
      models: deps.model && forAllRoles(factsOf(deps.model)),
    },
    models: watched && forAllRoles(watched.model),
    trajectory: { append: record },
    replay: recordedTurns(recorded),
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
