import { z } from "zod";
import { Severity } from "../finding.ts";
import { type EffectiveConfig, Effort, mostGuidance } from "./repo-config.ts";

/**
 * What whoever starts a review asks for in this one review. It is trusted like the configuration, and goes before the repository's files and
 * those of its folders. What is omitted stays as it is configured.
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
});
export type Overrides = z.infer<typeof Overrides>;

/** The configuration of one review. */
export function withOverrides(config: EffectiveConfig, overrides: Overrides): EffectiveConfig {
  const { effort, minimumSeverity, maxCostUsd, only = [], guidance = "" } = overrides;
  const { severity_by_path, ...rest } = config;
  return {
    ...(minimumSeverity === undefined ? config : { ...rest, minimum_severity: minimumSeverity }),
    ...(effort && { effort }),
    ...(maxCostUsd !== undefined && { budget: { ...config.budget, cost_usd: maxCostUsd } }),
    ...(only.length > 0 && { paths: { ...config.paths, only: only.map(fromRoot) } }),
    ...(guidance.trim() !== "" && { guidance }),
  };
}

/** In a pattern, `./src` would match nothing. */
const fromRoot = (pattern: string) => pattern.replace(/^(!?)\.\//, "$1/");

/** Whether patterns can select no file, because each of them only takes files away. */
export const selectsNothing = (patterns: readonly string[]): boolean =>
  patterns.length > 0 && patterns.every((pattern) => pattern.startsWith("!"));
