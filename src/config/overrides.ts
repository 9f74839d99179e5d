import { z } from "zod";
import { atLeast, Severity } from "../core/finding.ts";
import { type EffectiveConfig, Effort, isEnforced, mostGuidance } from "./repo-config.ts";

/**
 * What the person who starts a review asks for. It is trusted like the configuration, and goes before the repository's files, but not before what the
 * organization enforces.
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

/** The configuration of one review. It may report more and cost less than the organization enforces, and change nothing else of that. */
export function withOverrides(config: EffectiveConfig, overrides: Overrides): EffectiveConfig {
  const { effort, minimumSeverity, maxCostUsd, only = [], guidance = "", prove } = overrides;
  const { severity_by_path, ...rest } = config;
  const { minimum_severity, budget } = config;
  const may = (key: string) => !isEnforced(config, key);
  const reports =
    minimumSeverity !== undefined && (may("minimum_severity") || atLeast(minimum_severity, minimumSeverity));
  const costs =
    maxCostUsd !== undefined &&
    (may("budget.cost_usd") || maxCostUsd <= (budget.cost_usd ?? Number.POSITIVE_INFINITY));
  return {
    ...(reports ? { ...rest, minimum_severity: minimumSeverity } : config),
    ...(effort && may("effort") && { effort }),
    ...(costs && { budget: { ...budget, cost_usd: maxCostUsd } }),
    // A selection leaves files out, as patterns to ignore do.
    ...(only.length > 0 && may("paths.ignore") && { paths: { ...config.paths, only: only.map(fromRoot) } }),
    ...(guidance.trim() !== "" && may("instructions") && { guidance }),
    ...(prove !== undefined && may("prove.enabled") && { prove: { ...config.prove, enabled: prove } }),
  };
}

/** In a pattern, `./src` would match nothing. */
const fromRoot = (pattern: string) => pattern.replace(/^(!?)\.\//, "$1/");

/** Whether patterns can select no file, because each of them only takes files away. */
export const selectsNothing = (patterns: readonly string[]): boolean =>
  patterns.length > 0 && patterns.every((pattern) => pattern.startsWith("!"));
