import { atLeast, type Severity } from "../finding.ts";
import { outcomeOf } from "../reporters/outcome.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { exitCodes } from "./command.ts";

/** The exit code of a review. A partial one is a failure whatever it found: nobody knows what it did not read. */
export function exitCodeOf(result: ReviewResult, threshold: Severity | "never"): number {
  if (outcomeOf(result) === "partial") return exitCodes.failed;
  if (threshold === "never") return exitCodes.clean;
  const reached = result.findings.some(({ finding }) => atLeast(finding.severity, threshold));
  return reached ? exitCodes.found : exitCodes.clean;
}
