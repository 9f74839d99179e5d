import type { RepoConfig } from "../../config/repo-config.ts";
import type { OwnThread } from "../../github/pull-request-api.ts";
import type { ProgressEvent } from "../../process/messages.ts";
import { jobFields } from "../../queue/run-job.ts";
import { type Limits, limitsOf } from "../../review/review-input.ts";
import { isRefusal } from "../attempts.ts";
import { DayBudget } from "../day-budget.ts";
import type { Asked } from "./asked.ts";

/** Faults of ours and of the model's provider are for whoever operates this, in full. */
export function logProgress(event: ProgressEvent, { job, deps: { log } }: Asked): void {
  if (event.type === "crash") log.error({ ...jobFields(job), ...event }, `Fault in ${event.where}`);
  if (event.type === "model_failed") log.warn(jobFields(job), `The model failed: ${event.error}`);
}

/** The threads of our comments; none where GitHub does not show them. */
export async function ownThreads({ api }: Asked): Promise<OwnThread[]> {
  try {
    return await api.ownThreads();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return [];
  }
}

/** What may still be spent today, of the pull request and of its installation. */
export function budgetOf({ job, deps }: Asked, { budget }: RepoConfig): DayBudget {
  const { repository, pull } = job.task;
  return new DayBudget({
    ...{ spending: deps.spending, now: deps.now },
    by: { installation: repository.installation, repository: repository.id, pull },
    ofPull: { tokens: budget.day.tokens, costUsd: budget.day.cost_usd },
    ofInstallation: deps.dailyBudget,
  });
}

/** The limits of a command, within what the repository allows for a review. */
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
