import type { RepoConfig } from "../config/repo-config.ts";
import { AppError } from "../errors.ts";
import { eachRole, factsOf, type Model, type Models } from "../llm/model.ts";
import type { ClaimedJob, RepositoryRef } from "../queue/job.ts";
import { jobFields } from "../queue/run-job.ts";
import { type Limits, limitsOf } from "../review/review-input.ts";
import type { ProgressEvent } from "../review/review-result.ts";
import { Budget } from "./budgets.ts";
import type { JobDependencies, JobLog } from "./job-dependencies.ts";

/** The models of a run, and the fault that made it incomplete. */
interface WatchedModels {
  models: Models;
  /** A loop ends with its fault, even if other loops get answers later. If there are several faults, the one that decides the next step. */
  lastFault(): AppError | undefined;
}

export function watchModels(models: Models): WatchedModels {
  let fault: AppError | undefined;
  const watch = (model: Model): Model => ({
    ...factsOf(model),
    costOf: (usage) => model.costOf?.(usage) ?? null,
    async respond(request, signal) {
      try {
        return await model.respond(request, signal);
      } catch (error) {
        if (error instanceof AppError && weightOf(error) >= weightOf(fault)) fault = error;
        throw error;
      }
    },
  });
  return { lastFault: () => fault, models: eachRole(models, watch) };
}

/** A spent budget is final; a passing fault is worth a retry. */
function weightOf(fault: AppError | undefined): number {
  if (fault === undefined) return 0;
  return fault.code === "budget_spent" ? 3 : fault.retryable ? 2 : 1;
}

/**
 * The error that ends a job's attempt because the model failed; undefined if there is something to publish. While the job is retried,
 * nothing is published: the next attempt continues from the trajectory. After that, the findings are published, from the model or, if it
 * never answered, from the analyzers.
 *
 * @param isTriedAgain whether the queue would try the job again after this error
 */
export function modelOutage(
  fault: AppError | undefined,
  isTriedAgain: (outage: AppError) => boolean,
): AppError | undefined {
  if (fault?.retryable !== true) return undefined;
  // The provider's own words are for the log; people see the kind of fault.
  const outage = new AppError(fault.code, "The model could not be reached or did not answer", {
    retryable: true,
    ...(fault.retryAfterMs === undefined ? {} : { retryAfterMs: fault.retryAfterMs }),
    cause: fault,
  });
  return isTriedAgain(outage) ? outage : undefined;
}

/** Faults of ours and of the model's provider are logged in full. */
export function logProgress(event: ProgressEvent, job: ClaimedJob, log: JobLog): void {
  if (event.type === "crash") log.error({ ...jobFields(job), ...event }, `Error in ${event.where}`);
  if (event.type === "model_failed") log.warn(jobFields(job), `The model failed: ${event.error}`);
}

/** The daily budgets of a pull request and of its installation, and the monthly one of its organisation. */
export function budgetOf(
  { id, task: { repository, pull } }: { id: string; task: { repository: RepositoryRef; pull: number } },
  { budget, policy }: RepoConfig,
  { spending, now, dailyBudget }: Pick<JobDependencies, "spending" | "now" | "dailyBudget">,
): Budget {
  return new Budget({
    ...{ spending, now },
    by: { job: id, installation: repository.installation, repository: repository.id, pull },
    ofPull: { tokens: budget.day.tokens, costUsd: budget.day.cost_usd },
    ofInstallation: dailyBudget,
    ofMonth: { tokens: policy?.month.tokens ?? null, costUsd: policy?.month.cost_usd ?? null },
  });
}

/** The limits of a command, within the repository's limits for a review. */
export function limitsWithin(
  most: Pick<Limits, "turns" | "tokens" | "milliseconds">,
  config: RepoConfig,
): Limits {
  const { turns, tokens, costUsd, milliseconds } = limitsOf(config);
  return {
    turns: Math.min(turns, most.turns),
    tokens: Math.min(tokens, most.tokens),
    milliseconds: Math.min(milliseconds, most.milliseconds),
    costUsd,
  };
}
