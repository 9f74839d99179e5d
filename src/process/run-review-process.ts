import type { Models } from "../llm/model.ts";
import type { ReviewInput } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { type ProcessOptions, runInProcess } from "./run-in-process.ts";

export interface ReviewProcessOptions extends ProcessOptions {
  input: ReviewInput;
}

/**
 * Runs one review in a child process without a secret and answers its model turns. Rejects with `child_died`
 * (retryable) when the process ends without a result, `aborted` when the signal fires.
 */
export async function runReviewProcess({ input, ...options }: ReviewProcessOptions): Promise<ReviewResult> {
  const result = await runInProcess(
    {
      assignment: { kind: "review", input },
      resultOf: (outcome) => (outcome.type === "result" ? outcome.result : undefined),
    },
    options,
  );
  return priced(result, options.models);
}

/** Prices are known on this side alone. What a provider's cache saves is left out: nobody knows it beforehand. */
function priced(result: ReviewResult, models: Models | null): ReviewResult {
  const { predicted } = result;
  if (!predicted || !models) return result;
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = predicted;
  const cost = models.review.costOf?.({ promptTokens, completionTokens, cachedTokens: 0 }) ?? null;
  return { ...result, predicted: { ...predicted, cost_usd: cost } };
}
