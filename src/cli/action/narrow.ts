import type { ActionEnv } from "../../config/action-env.ts";
import type { RepoConfig } from "../../config/repo-config.ts";
import { type Severity, severities } from "../../finding.ts";

/**
 * The configuration of the base branch within the inputs of the workflow. The author of a pull request chooses the base among all branches,
 * old ones too, so a base can make a review cheaper and its check stricter, never more expensive or laxer.
 */
export function narrowed<Config extends RepoConfig>(config: Config, inputs: ActionEnv["inputs"]): Config {
  const { effort, maxCost, maxTokens, minimumSeverity, failOn, instructions } = inputs;
  const { budget, check } = config;
  const cost = budget.cost_usd;
  return {
    ...config,
    effort: effort ?? config.effort,
    minimum_severity: minimumSeverity ?? config.minimum_severity,
    ...("severity_by_path" in config && minimumSeverity !== null && { severity_by_path: [] }),
    instructions:
      instructions === "" ? config.instructions : [...config.instructions, { path: "*", text: instructions }],
    budget: {
      ...budget,
      tokens: Math.min(maxTokens, budget.tokens),
      cost_usd: maxCost === null ? cost : Math.min(maxCost, cost ?? maxCost),
    },
    check: failOn === "never" ? check : { ...check, threshold: lower(failOn, check.threshold), fail: true },
  };
}

/** The threshold that more findings reach. */
function lower(one: Severity, other: Severity | "never"): Severity {
  if (other === "never") return one;
  // From the worst to the mildest.
  return severities.indexOf(one) > severities.indexOf(other) ? one : other;
}
