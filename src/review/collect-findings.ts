import { mildestMinimum } from "../config/repo-config.ts";
import { createFindingCollector, type FindingCollector } from "./finding-collector.ts";
import type { ReviewRun } from "./review-run.ts";

/**
 * Takes what one loop of a review reports.
 *
 * @param refuseToFinish why the loop may not end yet, for the model; null when it may
 */
export function collectFindings(
  { anchorFile, input, deps, known, isFirst }: ReviewRun,
  refuseToFinish: () => string | null,
): FindingCollector {
  return createFindingCollector({
    anchorFile,
    refuseToFinish,
    // The second look sets the severity: what seems mild now may turn out not to be.
    minimumSeverity: input.config.effort === "low" ? mildestMinimum(input.config) : "low",
    isPrivate: deps.isPrivate,
    ...(isFirst ? {} : { isReadBefore: known.isKnownLine }),
    onFinding: ({ severity, path, line, title }) =>
      deps.progress({ type: "finding", severity, path, line, title }),
  });
}
