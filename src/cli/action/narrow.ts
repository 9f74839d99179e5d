import type { ActionEnv } from "../../config/action-env.ts";
import { withOverrides } from "../../config/overrides.ts";
import type { EffectiveConfig } from "../../config/repo-config.ts";
import { type Severity, severities } from "../../finding.ts";

/**
 * The configuration of the base branch within the inputs of the workflow. The author of a pull request chooses the base among all branches,
 * old ones too, so a base can make a review cheaper and its check stricter, never more expensive or laxer.
 */
export function narrowed(config: EffectiveConfig, inputs: ActionEnv["inputs"]): EffectiveConfig {
  const { effort, maxCost, maxTokens, minimumSeverity, failOn, paths, instructions } = inputs;
  const { budget, check } = config;
  const most = [maxCost, budget.cost_usd].filter((one) => one !== null);
  const within: EffectiveConfig = {
    ...config,
    budget: { ...budget, tokens: Math.min(maxTokens, budget.tokens) },
    check:
      failOn === "never"
        ? check
        : { ...check, threshold: lower(failOn, check.threshold), fail: true, limit: "failure" },
  };
  // Otherwise a base could leave out what the workflow wants to fail for.
  const mildest =
    minimumSeverity ?? (failOn === "never" ? undefined : lower(failOn, config.minimum_severity));
  return withOverrides(within, {
    effort: effort ?? undefined,
    minimumSeverity: mildest,
    maxCostUsd: most.length === 0 ? undefined : Math.min(...most),
    only: [...paths],
    guidance: instructions,
  });
}

/** The threshold that more findings reach. */
function lower(one: Severity, other: Severity | "never"): Severity {
  if (other === "never") return one;
  // From the worst to the mildest.
  return severities.indexOf(one) > severities.indexOf(other) ? one : other;
}
