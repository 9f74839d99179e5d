import type { RepoConfig } from "../config/repo-config.ts";
import type { Model } from "../llm/model.ts";
import type { ReviewInput } from "../review/review-input.ts";

/** A local range as the review takes it: nobody wrote a description, and the limits are the repository's own. */
export function inputOf(targetBranch: string, config: RepoConfig, model: Model | null): ReviewInput {
  const { turns, tokens, cost_usd, minutes } = config.budget;
  return {
    targetBranch,
    pull: null,
    config,
    limits: { turns, tokens, costUsd: cost_usd, milliseconds: Math.ceil(minutes * 60_000) },
    model: model && { name: model.name, contextTokens: model.contextTokens },
  };
}
