import { atLeast, type Severity } from "../finding.ts";
import { outcomeOf } from "../reporters/outcome.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { exitCodes } from "./command.ts";

type ReviewExit = (typeof exitCodes)["clean" | "found" | "incomplete"];

/** Why a review ends with its exit code, for programs. */
export function exitReasonOf(
  code: ReviewExit,
  { findings }: Pick<ReviewResult, "findings">,
): "clean" | "below_threshold" | "findings" | "incomplete" {
  if (code === exitCodes.found) return "findings";
  if (code === exitCodes.incomplete) return "incomplete";
  return findings.length === 0 ? "clean" : "below_threshold";
}

/**
 * The exit code of a review. A finding counts also if the review is only partial: what was found is true. A rule match that no model
 * judged is no finding yet.
 *
 * @param requireModel a change that no model has read counts as not reviewed
 */
export function exitCodeOf(
  result: ReviewResult,
  threshold: Severity | "never",
  requireModel = false,
): ReviewExit {
  const reached = result.findings.some(
    ({ finding: { severity, verification } }) =>
      threshold !== "never" && verification !== "not_judged" && atLeast(severity, threshold),
  );
  if (reached) return exitCodes.found;
  const unread = requireModel && result.usage.requests === 0 && result.coverage.hunks_total > 0;
  return unread || outcomeOf(result) === "partial" ? exitCodes.incomplete : exitCodes.clean;
}
