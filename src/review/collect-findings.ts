import { mildestMinimum } from "../config/repo-config.ts";
import type { CandidateAnswers } from "./candidate-answers.ts";
import { createFindingCollector, type FindingCollector } from "./finding-collector.ts";
import type { ReviewRun } from "./review-run.ts";

/**
 * Takes what one loop of a review reports.
 *
 * @param answers takes the answers to rule matches; left out, the loop has none to answer
 * @param refuseToFinish why the loop may not end yet, for the model; null when it may
 */
export function collectFindings(
  { anchorFile, input, deps, known, isFirst }: ReviewRun,
  answers?: CandidateAnswers,
  refuseToFinish: () => string | null = () => null,
): FindingCollector {
  return createFindingCollector({
    ...{ anchorFile, refuseToFinish },
    ...(answers && { answers }),
    // The second look sets the severity: what seems mild now may turn out not to be.
    minimumSeverity: input.config.effort === "low" ? mildestMinimum(input.config) : "low",
    isPrivate: deps.isPrivate,
    ...(isFirst ? {} : { isReadBefore: known.isKnownLine }),
    onFinding: ({ severity, path, line, title }) =>
      deps.progress({ type: "finding", severity, path, line, title }),
  });
}
