import type { TotalUsage } from "../../src/review/review-result.ts";
import type { CaseResult } from "./case-result.ts";

/** Figures of one case or of several together. */
export interface Figures {
  cases: number;
  known: number;
  found: number;
  /** The part of `found` that a finding reports at another place. */
  elsewhere: number;
  findings: number;
  hits: number;
  duplicates: number;
  acceptable: number;
  /** Null if there was nothing to find. */
  recall: number | null;
  /** Null if no counted finding was reported. */
  precision: number | null;
  f1: number | null;
  findings_per_case: number;
  usage: TotalUsage;
  judge_usage: TotalUsage;
  unjudged: number;
  /** Duration of the reviews, without the judge; reviews of several cases run concurrently. */
  duration_ms: number;
}

/** Sums over all cases, so a case with many findings weighs more than one with few. */
export function figuresOf(results: readonly CaseResult[]): Figures {
  const known = results.flatMap((one) => one.known);
  const findings = results.flatMap((one) => one.findings);
  const count = (verdict: CaseResult["findings"][number]["verdict"]) =>
    findings.filter((one) => one.verdict === verdict).length;
  const found = known.filter((one) => one.found !== "missed").length;
  const [hits, acceptable] = [count("hit"), count("acceptable")];
  const recall = ratio(found, known.length);
  const precision = ratio(hits, findings.length - acceptable);
  return {
    cases: results.length,
    known: known.length,
    found,
    elsewhere: known.filter((one) => one.found === "elsewhere").length,
    findings: findings.length,
    ...{ hits, acceptable, duplicates: count("duplicate") },
    ...{ recall, precision, f1: harmonicMean(recall, precision) },
    findings_per_case: results.length === 0 ? 0 : findings.length / results.length,
    usage: sumOf(results.map((one) => one.usage)),
    judge_usage: sumOf(results.map((one) => one.judge_usage)),
    unjudged: results.reduce((sum, one) => sum + one.unjudged, 0),
    duration_ms: results.reduce((sum, one) => sum + one.duration_ms, 0),
  };
}

const ratio = (part: number, whole: number) => (whole === 0 ? null : part / whole);

/** A review without findings has no precision, but finding nothing still gives a figure. */
function harmonicMean(recall: number | null, precision: number | null): number | null {
  if (recall === null) return null;
  if (recall === 0 || precision === null) return 0;
  return precision === 0 ? 0 : (2 * recall * precision) / (recall + precision);
}

function sumOf(usages: readonly TotalUsage[]): TotalUsage {
  const sum = (pick: (usage: TotalUsage) => number) =>
    usages.reduce((total, usage) => total + pick(usage), 0);
  return {
    requests: sum((usage) => usage.requests),
    prompt_tokens: sum((usage) => usage.prompt_tokens),
    cached_tokens: sum((usage) => usage.cached_tokens),
    completion_tokens: sum((usage) => usage.completion_tokens),
    cost_usd: usages.some((usage) => usage.cost_usd === null) ? null : sum((usage) => usage.cost_usd ?? 0),
  };
}
