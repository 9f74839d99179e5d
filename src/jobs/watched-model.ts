import { AppError } from "../errors.ts";
import { eachRole, factsOf, type Model, type Models } from "../llm/model.ts";
import type { ReviewResult } from "../review/review-result.ts";

/** The models of a review, and the fault because of which something of it is missing. */
export interface WatchedModels {
  models: Models;
  /** A loop ends with its fault, whatever is answered to others after it. Of several, the one that decides what is to be done. */
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

/** Nothing helps against a budget that is spent, and another try against what passes. */
function weightOf(fault: AppError | undefined): number {
  if (fault === undefined) return 0;
  return fault.code === "budget_spent" ? 3 : fault.retryable ? 2 : 1;
}

/**
 * The error to end a job's attempt with when the model failed it: one that may pass is tried again from the trajectory, and
 * a model that never answered has reviewed nothing. Undefined when there is something to publish.
 */
export function modelOutage(
  { stop_reason, usage }: ReviewResult,
  fault: AppError | undefined,
  isLastAttempt: boolean,
): AppError | undefined {
  const isUnheard = stop_reason === "model_error";
  // Where the model was lost after the reading, second looks are missing: worth another try, which pays for nothing twice.
  if (!isUnheard && (fault?.retryable !== true || isLastAttempt)) return undefined;
  // What was found before the day's budget ran out is published; where nothing was, there is no review.
  if (fault?.code === "budget_spent") return usage.requests > 0 ? undefined : fault;
  const passes = fault?.retryable === true && !isLastAttempt;
  if (!passes && usage.requests > 0) return undefined;
  // The provider's own words are for the log; people are told the kind of fault.
  return new AppError(fault?.code ?? "model_failed", "The model could not be reached or did not answer", {
    retryable: fault?.retryable ?? false,
    ...(fault?.retryAfterMs === undefined ? {} : { retryAfterMs: fault.retryAfterMs }),
    ...(fault ? { cause: fault } : {}),
  });
}
