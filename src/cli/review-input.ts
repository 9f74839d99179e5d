import type { EffectiveConfig } from "../config/repo-config.ts";
import { eachRole, factsOf, type Models } from "../llm/model.ts";
import { limitsOf, type ReviewInput } from "../review/review-input.ts";

/** A local range as the review takes it: nobody wrote a description, and the limits are the repository's own. */
export function inputOf(targetBranch: string, config: EffectiveConfig, models: Models | null): ReviewInput {
  return {
    targetBranch,
    pull: null,
    history: null,
    config,
    limits: limitsOf(config),
    models: models && eachRole(models, factsOf),
  };
}
