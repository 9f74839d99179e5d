import type { StopReason } from "../agent/events.ts";
import type { Totals } from "../agent/totals.ts";
import type { Finding } from "../finding.ts";
import { createFindingCollector } from "./finding-collector.ts";
import { gather } from "./merge/gather.ts";
import { mergePass } from "./merge/merge-pass.ts";
import { publicFault } from "./model-fault.ts";
import type { DroppedFinding, Prediction, TotalUsage } from "./review-result.ts";
import type { ReviewRun } from "./review-run.ts";
import { type Passes, reviewUnits } from "./review-units.ts";
import { whyUnfinished, worstStop } from "./stop-reasons.ts";
import { verifyFindings } from "./verify/verify-findings.ts";

/** What a review found, whoever made it, before findings are placed. */
export interface ModelReview {
  findings: readonly Finding[];
  dropped: readonly DroppedFinding[];
  /** What it was expected to take; null when no model is asked. */
  predicted: Omit<Prediction, "cost_usd"> | null;
  summary: string;
  usage: TotalUsage;
  stopReason: StopReason;
  warnings: string[];
}

/**
 * Lets the model review the change: part by part, then what the parts found as one list, then each finding once more by a
 * sceptic. What was found stands, whatever stopped any of the loops.
 */
export async function reviewWithModel(run: ReviewRun): Promise<ModelReview> {
  run.deps.progress({ type: "phase", phase: "planning" });
  const passes = await reviewUnits(run);
  const found = gathered(run, passes);
  const stopReason = worstStop(passes.reviews.map(({ loop }) => loop.stopReason).concat(passes.stops));
  // A model that cannot be asked any more would fail each further loop after all its retries.
  const isOver = stopReason === "model_error" || stopReason === "aborted";
  const merged = isOver ? unmerged(passes, found) : await merge(run, passes, found);
  const verified = isOver ? { findings: merged.findings, dropped: [] } : await verify(run, merged.findings);
  return {
    ...verified,
    predicted: passes.predicted,
    summary: merged.summary ?? unfinishedSummary(stopReason),
    usage: totals(run.account.usage),
    stopReason,
    warnings: warningsOf(run, passes),
  };
}

async function verify(run: ReviewRun, findings: readonly Finding[]) {
  if (run.input.config.effort === "low" || findings.length === 0) return { findings, dropped: [] };
  run.deps.progress({ type: "phase", phase: "verifying" });
  return verifyFindings(run, findings);
}

function gathered(run: ReviewRun, { reviews }: Passes): Finding[] {
  const firstNames = new Map(run.files.map(({ change }) => [change.path, change.oldPath ?? change.path]));
  return gather(
    reviews.map(({ findings }) => findings),
    (path) => firstNames.get(path) ?? path,
  );
}

/** One list and one summary; a model is asked where there is something to join, or where parts were read apart. */
async function merge(run: ReviewRun, passes: Passes, findings: readonly Finding[]) {
  const { reviews, units } = passes;
  const apart = unmerged(passes, findings);
  const { effort } = run.input.config;
  const isNeeded = units.length > 1 || (findings.length > 1 && (effort !== "low" || reviews.length > 1));
  if (!isNeeded) return apart;
  run.deps.progress({ type: "phase", phase: "merging" });
  const collector = collectorFor(run);
  const parts = reviews.flatMap(({ name, files, summary }) =>
    summary === null ? [] : [{ name, paths: files.map(({ change }) => change.path), summary }],
  );
  const merged = await mergePass(run, findings, units.length > 1 ? parts : [], {
    report: collector,
    found: collector.findings,
  });
  return { findings: merged.findings, summary: merged.summary ?? apart.summary };
}

/** Without a pass that merges: parts keep their summaries, and several looks at the same have one. */
function unmerged({ reviews, units }: Passes, findings: readonly Finding[]) {
  const summaries = reviews.flatMap(({ summary }) => (summary === null ? [] : [summary]));
  const shown = units.length > 1 ? summaries : summaries.slice(0, 1);
  return { findings, summary: shown.length > 0 ? shown.join("\n\n") : null };
}

function collectorFor({ anchorFile, input, deps }: ReviewRun) {
  return createFindingCollector({
    anchorFile,
    refuseToFinish: () => null,
    minimumSeverity: input.config.effort === "low" ? input.config.minimum_severity : "low",
    isPrivate: deps.isPrivate,
    onFinding: ({ severity, path, line, title }) =>
      deps.progress({ type: "finding", severity, path, line, title }),
  });
}

function warningsOf({ account, input }: ReviewRun, { reviews, unplanned }: Passes): string[] {
  const { usage } = account;
  const faults = reviews.flatMap(({ loop }) => (loop.modelError ? [publicFault(loop.modelError)] : []));
  const unpriced = input.limits.costUsd !== null && usage.requests > 0 && usage.costUsd === null;
  return [
    ...new Set(faults),
    ...(unpriced ? ["The cost limit could not be kept: the price of the model is not known."] : []),
    ...(unplanned > 0
      ? [
          `The budget had no room for ${unplanned === 1 ? "1 file" : `${unplanned} files`}: those of least risk were not read.`,
        ]
      : []),
  ];
}

const unfinishedSummary = (stopReason: StopReason) =>
  `The review was not finished: ${whyUnfinished(stopReason)}. What was found until then is reported.`;

function totals(usage: Totals): TotalUsage {
  return {
    requests: usage.requests,
    prompt_tokens: usage.promptTokens,
    cached_tokens: usage.cachedTokens,
    completion_tokens: usage.completionTokens,
    cost_usd: usage.costUsd,
  };
}
