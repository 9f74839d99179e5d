import { renderDryRun } from "../../publish/command-answers.ts";
import { currentLedger } from "../../publish/existing.ts";
import type { JobOutcome, ReviewTask } from "../../queue/job.ts";
import type { JobTools } from "../../queue/run-job.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { loadConfig, orRefused } from "../load-config.ts";
import { type ReviewJob, reviewUnseen } from "../review-and-publish.ts";
import {
  ANSWERED,
  answeredWithError,
  type CommandContext,
  isAnswered,
  mayWrite,
  react,
  say,
} from "./command-context.ts";

/** Reviews the whole change and shows the result in one comment, without a review, a summary or a check run. */
export async function dryRun(job: ReviewJob, tools: JobTools, deps: JobDependencies): Promise<JobOutcome> {
  const context = await dryRunContext(job, tools, deps);
  if (context === null) return { kind: "skipped", reason: "no one requested it" };
  if (!(await mayWrite(context))) return { kind: "skipped", reason: `${context.by} has no write access` };
  await react(context);
  if (await isAnswered(context)) return { kind: "done", reason: ANSWERED };
  const { api } = context;
  const pull = await api.pull();
  if (pull.state === "closed") return { kind: "skipped", reason: "the pull request is closed" };
  try {
    const loading = loadConfig({ api, pull, repository: job.task.repository }, deps, tools.signal);
    const loaded = await orRefused(loading);
    const ledger = await currentLedger(api);
    const subject = {
      job,
      api,
      pull,
      trigger: job.task.trigger,
      loaded,
      ledger,
      recorded: await tools.recorded(),
    };
    const result = await reviewUnseen(subject, tools, deps);
    await say(context, (maxBytes) => renderDryRun(result, maxBytes));
    return { kind: "done", reason: `${result.findings.length} would be posted` };
  } catch (error) {
    return answeredWithError(context, "Not reviewed", error);
  }
}

/** Null for a dry run that no person asked for in a comment. */
export async function dryRunContext(
  job: ReviewJob,
  tools: JobTools,
  deps: JobDependencies,
): Promise<CommandContext<ReviewTask> | null> {
  const { repository, pull, commentId, thread, requestedBy } = job.task;
  if (commentId === null || requestedBy === null) return null;
  const api = await deps.github.pull(repository, pull, tools.signal);
  return { job, comment: { id: commentId, thread }, by: requestedBy, api, tools, deps };
}
