import { z } from "zod";
import { atLeast, Severity } from "../finding.ts";
import { type EffectiveConfig, Effort, isEnforced, mostGuidance } from "./repo-config.ts";

/**
 * What whoever starts a review asks for in this one review. It is trusted like the configuration, and goes before the repository's files and
 * those of its folders, but not before what the organisation enforces. What is omitted stays as it is configured.
 */
export const Overrides = z.strictObject({
  effort: Effort.optional(),
  minimumSeverity: Severity.optional(),
  /** Maximum cost of the review in US dollars. */
  maxCostUsd: z.number().positive().optional(),
  /** gitignore-style patterns: no other files are reviewed. */
  only: z.array(z.string().min(1)).optional(),
  /** Follows the instructions of the configuration. */
  guidance: z.string().max(mostGuidance).optional(),
  /** Whether tests are written for findings (`prove.enabled`). */
  prove: z.boolean().optional(),
});
export type Overrides = z.infer<typeof Overrides>;

/** The configuration of one review. */
export function withOverrides(config: EffectiveConfig, overrides: Overrides): EffectiveConfig {
  const {
    effort,
    minimumSeverity,
    maxCostUsd,
    only = [],
    guidance = "",
    prove,
  } = withinPolicy(overrides, config);
  const { severity_by_path, ...rest } = config;
  return {
    ...(minimumSeverity === undefined ? config : { ...rest, minimum_severity: minimumSeverity }),
    ...(effort && { effort }),
    ...(maxCostUsd !== undefined && { budget: { ...config.budget, cost_usd: maxCostUsd } }),
    ...(only.length > 0 && { paths: { ...config.paths, only: only.map(fromRoot) } }),
    ...(guidance.trim() !== "" && { guidance }),
    ...(prove !== undefined && { prove: { ...config.prove, enabled: prove } }),
  };
}

/** What the policy leaves: a review may report more and cost less than the organisation enforces. */
function withinPolicy(overrides: Overrides, config: EffectiveConfig): Overrides {
  const { minimumSeverity, maxCostUsd } = overrides;
  const { minimum_severity, budget } = config;
  const isStricter = {
    effort: false,
    minimum_severity: minimumSeverity !== undefined && atLeast(minimum_severity, minimumSeverity),
    "budget.cost_usd":
      maxCostUsd !== undefined && maxCostUsd <= (budget.cost_usd ?? Number.POSITIVE_INFINITY),
    // A selection leaves files out, as patterns to ignore do.
    "paths.ignore": false,
    instructions: false,
    "prove.enabled": false,
  };
  const may = (key: keyof typeof isStricter) => isStricter[key] || !isEnforced(config, key);
  return {
    ...(may("effort") && { effort: overrides.effort }),
    ...(may("minimum_severity") && { minimumSeverity }),
    ...(may("budget.cost_usd") && { maxCostUsd }),
    ...(may("paths.ignore") && { only: overrides.only }),
    ...(may("instructions") && { guidance: overrides.guidance }),
    ...(may("prove.enabled") && { prove: overrides.prove }),
  };
}

/** In a pattern, `./src` would match nothing. */
const fromRoot = (pattern: string) => pattern.replace(/^(!?)\.\//, "$1/");

/** Whether patterns can select no file, because each of them only takes files away. */
export const selectsNothing = (patterns: readonly string[]): boolean =>
  patterns.length > 0 && patterns.every((pattern) => pattern.startsWith("!"));
