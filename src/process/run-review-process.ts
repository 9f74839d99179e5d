import type { Trajectory } from "../agent/trajectory.ts";
import type { CheckoutPlace } from "../git/checkout-place.ts";
import type { Model } from "../llm/model.ts";
import type { ReviewInput } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import type { ProgressEvent } from "./messages.ts";

export interface ReviewProcessOptions {
  place: CheckoutPlace;
  input: ReviewInput;
  /** Null reviews with the analyzers alone; must agree with `input.model`. */
  model: Model | null;
  trajectory: Trajectory;
  onProgress: (event: ProgressEvent) => void;
  signal: AbortSignal;
  /** Heap limit of the review process in megabytes. */
  memoryMb?: number;
}

/**
 * Runs one review in a child process with an empty environment and answers its model turns. Rejects with `child_died`
 * (retryable) when the process ends without a result, `aborted` when the signal fires.
 */
export async function runReviewProcess(_options: ReviewProcessOptions): Promise<ReviewResult> {
  throw new Error("being written");
}
