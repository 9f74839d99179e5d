import type { ReviewResult, TotalUsage } from "../../src/review/review-result.ts";
import type { CaseResult, Settings } from "./case-result.ts";
import type { Judge } from "./judge.ts";
import type { EvalCase } from "./load-cases.ts";
import { matchFindings } from "./match-findings.ts";

const noUsage: TotalUsage = {
  requests: 0,
  prompt_tokens: 0,
  cached_tokens: 0,
  completion_tokens: 0,
  cost_usd: 0,
};

/** Compares a review's findings with the known issues. Every finding that would be posted counts. */
export async function scoreCase(
  one: EvalCase,
  review: ReviewResult,
  settings: Settings,
  judge: Judge | null,
): Promise<CaseResult> {
  const found = review.findings.map(({ finding }) => finding);
  const { known, acceptable } = one;
  const matching = await matchFindings({ known, acceptable, findings: found, judge: judge?.judge ?? null });
  const { hunks_total, hunks_served } = review.coverage;
  return {
    case: one.name,
    digest: one.digest,
    settings,
    known: matching.known.map((match, index) => {
      const issue = known[index];
      return { file: issue?.file ?? "", line: issue?.lines[0] ?? 0, ...match };
    }),
    findings: found.map((finding, index) => {
      const { path, side, line, start_line, severity, category, title, body } = finding;
      const { confidence, verification, source } = finding;
      return {
        ...{ path, side, line, start_line, severity, category, title, body },
        ...{ confidence, verification, source },
        verdict: matching.findings[index] ?? "other",
      };
    }),
    judged: matching.judged,
    dropped: review.dropped.length,
    stop_reason: review.stop_reason,
    coverage: { hunks_total, hunks_served },
    usage: review.usage,
    judge_usage: judge?.usage() ?? noUsage,
    unjudged: matching.unjudged,
    duration_ms: review.duration_ms,
  };
}
