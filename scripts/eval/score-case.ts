import pMap from "p-map";
import type { EvalCase } from "./case-format.ts";
import type { CaseResult, Settings } from "./case-result.ts";
import { isUnweighed, totalUsage } from "./figures.ts";
import type { Judge } from "./judge.ts";
import { matchFindings } from "./match-findings.ts";
import type { OpenCase, Reviewed } from "./open-case.ts";

/** Compares a review's findings with the known issues. Every finding that would be published counts. */
export async function scoreCase(
  one: EvalCase,
  { result: review, channels }: Reviewed,
  settings: Settings,
  judge: Judge | null,
): Promise<CaseResult> {
  const found = review.findings.map(({ finding }) => finding);
  const { known, acceptable } = one;
  const matching = await matchFindings({
    known,
    acceptable,
    findings: found,
    judge: judge?.compare ?? null,
  });
  const { hunks_total, hunks_served } = review.coverage;
  return {
    case: one.name,
    digest: one.digest,
    settings,
    known: matching.known.map((match, index) => {
      const { place = null, description = "", severity = null } = known[index] ?? {};
      return {
        ...{ file: place?.file ?? null, line: place?.lines[0] ?? null },
        ...{ description, severity },
        ...match,
      };
    }),
    findings: found.map((finding, index) => {
      const { path, side, line, start_line, severity, category, title, body } = finding;
      const { confidence, verification, source } = finding;
      return {
        ...{ path, side, line, start_line, severity, category, title, body },
        ...{ confidence, verification, source },
        verdict: matching.findings[index] ?? "other",
        judgement: null,
        channel: channels[index] ?? "summary",
      };
    }),
    judged: matching.judged,
    dropped: review.dropped.length,
    stop_reason: review.stop_reason,
    coverage: { hunks_total, hunks_served },
    usage: review.usage,
    judge_usage: judge?.usage() ?? totalUsage([]),
    unjudged: matching.unjudged,
    duration_ms: review.duration_ms,
  };
}

/** Concurrent requests to the judge. */
const CONCURRENCY = 4;

/** The result with the judge's opinion of each finding that names no known issue and has none yet, and with all that this judge used. */
export async function weighFindings(
  { title, body }: EvalCase,
  result: CaseResult,
  { judge, codeOf }: Pick<OpenCase, "codeOf"> & { judge: Judge },
): Promise<CaseResult> {
  const findings = await pMap(
    result.findings,
    async (finding) => {
      if (!isUnweighed(finding)) return finding;
      const judgement = await judge.weigh({ pull: { title, body }, finding, code: await codeOf(finding) });
      return { ...finding, judgement };
    },
    { concurrency: CONCURRENCY },
  );
  return { ...result, findings, judge_usage: totalUsage([result.judge_usage, judge.usage()]) };
}
