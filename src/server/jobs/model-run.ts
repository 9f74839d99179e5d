import type { z } from "zod";
import { eachRole, factsOf, type Model, type Models } from "../../agent/llm/model.ts";
import type { LoopEntry, TrajectoryEntry } from "../../agent/record/trajectory.ts";
import type { EffectiveConfig, RepoConfig } from "../../config/repo-config.ts";
import { AppError } from "../../core/errors.ts";
import type { PullRequest } from "../../pull/github/pull-request-api.ts";
import type { RevisionPlace } from "../../repo/git/workspace.ts";
import { type Limits, limitsOf } from "../../tasks/shapes/review-input.ts";
import type { ProgressEvent } from "../../tasks/shapes/review-result.ts";
import { type ClaimedJob, maxAttempts, type RepositoryRef } from "../queue/job.ts";
import { type JobLog, type JobTools, jobFields } from "../queue/run-job.ts";
import { pinPromptContext, recordedMasks, recordedTurns } from "./attempts.ts";
import { budgetOf, withinBudget } from "./budgets.ts";
import type { JobDependencies } from "./job-dependencies.ts";

export function watchModels(models: Models) {
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
  return {
    models: eachRole(models, watch),
    /** The fault that decides the next step, even if other loops get answers later. */
    lastFault: () => fault,
  };
}

/** A spent budget is final; a passing fault is worth a retry. */
function weightOf(fault: AppError | undefined): number {
  if (fault === undefined) return 0;
  return fault.code === "budget_spent" ? 3 : fault.retryable ? 2 : 1;
}

/**
 * The error that ends a job's attempt because the model failed; undefined if there is something to publish. The next attempt continues from
 * the trajectory. After the last one, the findings are published, from the model or, if it never answered, from the analyzers.
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

export function processOptions(
  { job, place, recorded, turns }: Reading,
  { signal, record }: Pick<JobTools, "signal" | "record">,
  { log }: Pick<JobDependencies, "log">,
) {
  return {
    place,
    signal,
    replay: turns,
    masks: recordedMasks(recorded),
    trajectory: { append: record },
    onProgress: (event: ProgressEvent) => logProgress(event, job, log),
  };
}

/** A checkout that a job reads, and what earlier attempts recorded. */
interface Reading {
  job: ClaimedJob;
  place: RevisionPlace;
  recorded: readonly TrajectoryEntry[];
  turns: readonly LoopEntry[];
}

/** Faults of ours and of the model's provider are logged in full. */
function logProgress(event: ProgressEvent, job: ClaimedJob, log: JobLog): void {
  if (event.type === "crash") log.error({ ...jobFields(job), ...event }, `Error in ${event.where}`);
  if (event.type === "model_failed") log.warn(jobFields(job), `The model failed: ${event.error}`);
}

type PullJob = ClaimedJob & { task: { repository: RepositoryRef; pull: number } };

export interface CommandReading {
  pull: PullRequest;
  place: RevisionPlace;
  /** Of the base branch, with its folders. */
  config: EffectiveConfig;
  models: Models;
  recorded: readonly TrajectoryEntry[];
  /** Limits of the command, within the repository's limits for a review. */
  most: Pick<Limits, "turns" | "tokens" | "milliseconds">;
}

/** Begins the run of a command with models, or continues that of an earlier attempt. Rejects with `budget_spent` before anything is paid. */
export async function beginRun(
  { job, tools, deps }: { job: PullJob; tools: JobTools; deps: JobDependencies },
  { pull, place, config, models, recorded, most }: CommandReading,
) {
  const { headSha: head, baseSha: base, baseRef, number, title, body } = pull;
  const budget = budgetOf(job, config, deps);
  const turns = recordedTurns(recorded, head);
  await tools.record({ kind: "began", head });
  if (turns.length === 0) await budget.require();
  await deps.models.ready(tools.signal);
  const watched = watchModels(eachRole(models, (model) => budget.meter(model)));
  const about = { head, base, after: null, private: [...config.paths.private] };
  return {
    process: { ...processOptions({ job, place, recorded, turns }, tools, deps), models: watched.models },
    input: { targetBranch: baseRef, config, models: eachRole(models, factsOf) },
    /** What all commands pin. */
    common: async () => ({
      pull: { number, title, body },
      limits: withinBudget(limitsWithin(most, config), await budget.left(), turns),
    }),
    /** Pins the other parts of the input, so that each attempt pays for the same turns. */
    pin: <T>(shape: z.ZodType<T>, read: () => Promise<T>) =>
      pinPromptContext({ about, shape, recorded, turns }, tools, read),
    /** Rejects with the fault of the models, if the queue tries again after it: then there is no result yet. */
    throwIfPassing() {
      const fault = watched.lastFault();
      if (fault?.retryable && job.attempt < maxAttempts) throw fault;
    },
    lastFault: watched.lastFault,
    recordResult: (result: unknown) => tools.record({ kind: "result", head, base, result }),
  };
}

function limitsWithin(most: CommandReading["most"], config: RepoConfig): Limits {
  const { turns, tokens, costUsd, milliseconds } = limitsOf(config);
  return {
    turns: Math.min(turns, most.turns),
    tokens: Math.min(tokens, most.tokens),
    milliseconds: Math.min(milliseconds, most.milliseconds),
    costUsd,
  };
}
