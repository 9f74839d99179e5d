import type { Totals } from "../agent/totals.ts";
import type { TotalUsage } from "./review-result.ts";

/** What all loops of a run have used, as it leaves the process. */
export function totalUsage(usage: Totals): TotalUsage {
  return {
    requests: usage.requests,
    prompt_tokens: usage.promptTokens,
    cached_tokens: usage.cachedTokens,
    completion_tokens: usage.completionTokens,
    cost_usd: usage.costUsd,
  };
}
