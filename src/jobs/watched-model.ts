import { AppError } from "../errors.ts";
import { factsOf, type Model } from "../llm/model.ts";
import type { ReviewResult } from "../review/review-result.ts";

/** A model, and the fault that its last request ended with. */
export interface WatchedModel {
  model: Model;
  lastFault(): AppError | undefined;
}

export function watchModel(model: Model): WatchedModel {
  let fault: AppError | undefined;
  return {
    lastFault: () => fault,
    model: {
      ...factsOf(model),
      async respond(request, signal) {
        try {
          const turn = await model.respond(request, signal);
          fault = undefined;
          return turn;
        } catch (error) {
          fault = error instanceof AppError ? error : undefined;
          throw error;
        }
      },
    },
  };
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
  if (stop_reason !== "model_error") return undefined;
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
