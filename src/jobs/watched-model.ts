import { AppError } from "../errors.ts";
import { eachRole, factsOf, type Model, type Models } from "../llm/model.ts";

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
 * The error to end a job's attempt with because the model failed it; undefined if there is something to publish. While the job is
 * tried again, nothing is published: the next attempt goes on from the trajectory. Once it is not, what was found is published, by
 * the model or, if it never answered, by the analyzers.
 *
 * @param isTriedAgain whether the queue would try the job again after this error
 */
export function modelOutage(
  fault: AppError | undefined,
  isTriedAgain: (outage: AppError) => boolean,
): AppError | undefined {
  if (fault?.retryable !== true) return undefined;
  // The provider's own words are for the log; people are told the kind of fault.
  const outage = new AppError(fault.code, "The model could not be reached or did not answer", {
    retryable: true,
    ...(fault.retryAfterMs === undefined ? {} : { retryAfterMs: fault.retryAfterMs }),
    cause: fault,
  });
  return isTriedAgain(outage) ? outage : undefined;
}
