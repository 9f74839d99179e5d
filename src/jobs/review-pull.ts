import { loadRepoConfig } from "../config/load-repo-config.ts";
import { AppError, errorLine } from "../errors.ts";
import type { PullRequest, PullRequestApi } from "../github/pull-request-api.ts";
import { runReviewProcess } from "../process/run-review-process.ts";
import type { ClaimedJob, Outcome, Task } from "../queue/job.ts";
import { type JobTools, jobFields } from "../queue/run-job.ts";
import {
  type CheckRun,
  cancelledConclusion,
  checkRunKey,
  concludeAtOnce,
  failedConclusion,
  openCheckRun,
  skippedConclusion,
} from "../reporters/check-run.ts";
import { publishReview } from "../reporters/github-review.ts";
import { limitsOf } from "../review/limits.ts";
import type { ReviewResult } from "../review/review-result.ts";
import type { JobDependencies } from "./job-dependencies.ts";
import { skipReason } from "./skip-reason.ts";

type ReviewTask = Extract<Task, { kind: "review" }>;
type ReviewJob = ClaimedJob & { task: ReviewTask };
type LoadedConfig = Awaited<ReturnType<typeof loadRepoConfig>>;

/** What is known once GitHub was asked: the pull request as it is now, and what its base branch configures. */
interface Subject {
  job: ReviewJob;
  api: PullRequestApi;
  pull: PullRequest;
  loaded: LoadedConfig;
  check: CheckRun;
}

/**
 * One review of a pull request, from asking GitHub what it is now to what people see. May be run again after a crash at any
 * point: what stands on GitHub is recognised and not done twice.
 */
export async function reviewPull(job: ReviewJob, tools: JobTools, deps: JobDependencies): Promise<Outcome> {
  const { task } = job;
  const api = await deps.github.pull(task.repository, task.pull, tools.signal);
  const refused = await refuseStranger(task, api);
  if (refused) return refused;
  const pull = await api.pull();
  await closeOlderCheck(task, pull, api);
  if (pull.state === "closed") return { kind: "skipped", reason: "the pull request is closed" };
  const loaded = await loadRepoConfig((path) => api.fileAt(path, pull.baseSha));
  const skip = task.trigger === "event" ? skipReason(loaded.config, pull) : undefined;
  if (skip) {
    await concludeAtOnce(api, pull.headSha, task.trigger, skippedConclusion(`Not reviewed: ${skip}.`));
    return { kind: "skipped", reason: skip };
  }
  const check = await openCheckRun(api, pull.headSha, task.trigger);
  if (check.reviewed) return { kind: "skipped", reason: `${pull.headSha} was reviewed already` };
  const subject: Subject = { job, api, pull, loaded, check };
  try {
    return await publish(subject, await review(subject, tools, deps), tools, deps);
  } catch (error) {
    // Where the job is tried again the check is opened again; where it is not, nobody else would close it.
    if (!tools.signal.aborted) await check.conclude(failedConclusion(errorLine(error))).catch(() => {});
    throw error;
  }
}

/** An earlier attempt may have died after it opened a check run, and the head may have moved on since. */
async function closeOlderCheck({ headSha, trigger }: ReviewTask, pull: PullRequest, api: PullRequestApi) {
  if (headSha === null || headSha === pull.headSha) return;
  const older = await api.findCheckRun(headSha, checkRunKey(headSha, trigger));
  if (older && !older.completed) {
    await api.updateCheckRun(older.id, cancelledConclusion(`The head moved on to ${pull.headSha}.`));
  }
}

const mayCommand = new Set(["admin", "write"]);

/** Commands are for people who can write to the repository; everybody else is left without an answer, and costs nothing. */
async function refuseStranger(task: ReviewTask, api: PullRequestApi): Promise<Outcome | undefined> {
  if (task.requestedBy === null) return undefined;
  if (!mayCommand.has(await api.permissionOf(task.requestedBy))) {
    return { kind: "skipped", reason: `${task.requestedBy} has no write access` };
  }
  // Courtesy alone: a reaction that GitHub refuses stops nothing.
  if (task.commentId !== null) await api.react(task.commentId, "eyes").catch(() => {});
  return undefined;
}

async function review(
  { job, pull, loaded }: Subject,
  tools: JobTools,
  { checkout, model, log }: JobDependencies,
): Promise<ReviewResult> {
  const { repository } = job.task;
  const { number, title, body, author, headSha: head, baseSha: base, baseRef } = pull;
  const place = await checkout({ repository, pull: number, head, base, baseRef, signal: tools.signal });
  try {
    const result = await runReviewProcess({
      place: place.place,
      input: {
        targetBranch: baseRef,
        pull: { number, title, body, author },
        config: loaded.config,
        limits: limitsOf(loaded.config),
        model: model && { name: model.name, contextTokens: model.contextTokens },
      },
      model,
      trajectory: { append: tools.record },
      onProgress(event) {
        if (event.type === "crash") log.error({ ...jobFields(job), ...event }, `Fault in ${event.where}`);
      },
      signal: tools.signal,
    });
    return { ...result, warnings: [...loaded.problems.map(configWarning), ...result.warnings] };
  } finally {
    await place.release();
  }
}

function configWarning({ line, message }: LoadedConfig["problems"][number]): string {
  return `The repository configuration, line ${line}: ${message}`;
}

async function publish(
  { job, api, loaded, check }: Subject,
  result: ReviewResult,
  tools: JobTools,
  { webUrl, version, log }: JobDependencies,
): Promise<Outcome> {
  if (!(await tools.stillOurs())) throw new AppError("lease_lost", "another worker has this job now");
  const { owner, name } = job.task.repository;
  const outcome = await publishReview({
    result,
    api,
    trigger: job.task.trigger,
    repositoryUrl: `${webUrl}/${owner}/${name}`,
    version,
    maxComments: loaded.config.max_comments,
    checkPolicy: loaded.config.check,
    check,
  });
  if (outcome.kind !== "published") return { kind: "superseded", reason: outcome.reason };
  for (const notice of outcome.notices) log.warn(jobFields(job), notice);
  const { posted, listed, standing } = outcome;
  return { kind: "done", reason: `${posted} posted, ${listed} in the summary, ${standing} standing` };
}
