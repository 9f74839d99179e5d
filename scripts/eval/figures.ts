import { type Severity, severities } from "../../src/core/finding.ts";
import { sumOfUsage, type TotalUsage } from "../../src/tasks/shapes/review-result.ts";
import { type CaseResult, type Channel, channels } from "./case-result.ts";
import { type Worth, worths } from "./judge.ts";
import { type FindingVerdict, findingVerdicts } from "./match-findings.ts";

/** A share of a count, with the bounds of its 95 % interval; all three from 0 to 1. */
export interface Share {
  part: number;
  /** At least 1. */
  whole: number;
  share: number;
  low: number;
  high: number;
}

/** Issues and findings of one severity. */
export interface SeverityFigures {
  /** Known issues that people gave this severity, and those of them that were found. */
  known: number;
  found: number;
  /** Findings that the review gave this severity. */
  findings: number;
  channels: Record<Channel, number>;
  verdicts: Record<FindingVerdict, number>;
  worths: Record<Worth, number>;
}

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
  /** Findings that name no known issue, by the judge's opinion. */
  worths: Record<Worth, number>;
  /** Findings that name no known issue and that no judge was asked about. */
  unweighed: number;
  /** Findings by the place at which the App would publish them. */
  channels: Record<Channel, number>;
  /** Null if there was nothing to find. */
  recall: Share | null;
  /** Findings that name a known issue: a lower bound. Null if no counted finding was reported. */
  precision: Share | null;
  /** Findings that are true by the judge. Null also if it was not asked about all. */
  truth: Share | null;
  /** Findings that are useful or worth fixing by the judge. Null as for `truth`. */
  usefulness: Share | null;
  f1: number | null;
  findings_per_case: number;
  comments_per_case: number;
  severities: Record<Severity, SeverityFigures>;
  usage: TotalUsage;
  judge_usage: TotalUsage;
  unjudged: number;
  /** Duration of the reviews, without the judge; reviews of several cases run concurrently. */
  duration_ms: number;
}

type ScoredFinding = CaseResult["findings"][number];

/** Sums over all cases, so a case with many findings weighs more than one with few. */
export function figuresOf(results: readonly CaseResult[]): Figures {
  const known = results.flatMap((one) => one.known);
  const findings = results.flatMap((one) => one.findings);
  const found = known.filter(isFound).length;
  const verdicts = verdictsOf(findings);
  const { hit: hits, duplicate: duplicates, acceptable } = verdicts;
  const weighed = worthsOf(findings);
  const unweighed = findings.filter(isUnweighed).length;
  const placed = channelsOf(findings);
  const recall = shareOf(found, known.length);
  const precision = shareOf(hits, findings.length - acceptable);
  // What is acceptable counts neither way, and what the judge cannot know neither.
  const decided = unweighed > 0 ? 0 : findings.length - acceptable - weighed.unknown;
  const useful = hits + weighed.worth_fixing + weighed.useful;
  const perCase = (count: number) => (results.length === 0 ? 0 : count / results.length);
  return {
    cases: results.length,
    known: known.length,
    found,
    elsewhere: known.filter((one) => one.found === "elsewhere").length,
    findings: findings.length,
    ...{ hits, duplicates, acceptable, worths: weighed, unweighed, channels: placed },
    ...{ recall, precision },
    truth: shareOf(useful + duplicates + weighed.noise, decided),
    usefulness: shareOf(useful, decided),
    f1: harmonicMean(recall, precision),
    findings_per_case: perCase(findings.length),
    comments_per_case: perCase(placed.line),
    severities: recordOf(severities, (severity) => {
      const issues = known.filter((one) => one.severity === severity);
      const reported = findings.filter((one) => one.severity === severity);
      return {
        ...{ known: issues.length, found: issues.filter(isFound).length, findings: reported.length },
        ...{ channels: channelsOf(reported), verdicts: verdictsOf(reported), worths: worthsOf(reported) },
      };
    }),
    usage: totalUsage(results.map((one) => one.usage)),
    judge_usage: totalUsage(results.map((one) => one.judge_usage)),
    unjudged: results.reduce((sum, one) => sum + one.unjudged, 0),
    duration_ms: results.reduce((sum, one) => sum + one.duration_ms, 0),
  };
}

const isFound = ({ found }: CaseResult["known"][number]) => found !== "missed";

/** Whether a finding names no known issue and is still to be judged. */
export const isUnweighed = ({ verdict, judgement }: ScoredFinding) =>
  verdict === "other" && judgement === null;

const worthsOf = (findings: readonly ScoredFinding[]) =>
  recordOf(worths, (worth) => findings.filter(({ judgement }) => judgement?.worth === worth).length);
const channelsOf = (findings: readonly ScoredFinding[]) =>
  recordOf(channels, (channel) => findings.filter((one) => one.channel === channel).length);
const verdictsOf = (findings: readonly ScoredFinding[]) =>
  recordOf(findingVerdicts, (verdict) => findings.filter((one) => one.verdict === verdict).length);

function recordOf<Key extends string, Value>(
  keys: readonly Key[],
  make: (key: Key) => Value,
): Record<Key, Value> {
  return Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<Key, Value>;
}

/** The quantile of the normal distribution that leaves 2.5 % above it. */
const Z = 1.959964;

/**
 * A share with Wilson's score interval, which stays within 0 and 1 and is good for small counts (E. B. Wilson, "Probable inference, the
 * law of succession, and statistical inference", 1927). Null of nothing.
 */
export function shareOf(part: number, whole: number): Share | null {
  if (whole <= 0) return null;
  const share = part / whole;
  const squared = Z ** 2 / whole;
  const middle = (share + squared / 2) / (1 + squared);
  const half = (Z * Math.sqrt((share * (1 - share)) / whole + squared / whole / 4)) / (1 + squared);
  // At the ends the bound is exactly the share, up to rounding.
  const low = part === 0 ? 0 : middle - half;
  const high = part === whole ? 1 : middle + half;
  return { part, whole, share, low, high };
}

/** A review without findings has no precision, but finding nothing still gives a figure. */
function harmonicMean(recall: Share | null, precision: Share | null): number | null {
  if (recall === null) return null;
  if (recall.part === 0 || precision === null || precision.part === 0) return 0;
  return (2 * recall.share * precision.share) / (recall.share + precision.share);
}

const noUsage: TotalUsage = {
  ...{ requests: 0, prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0 },
  cost_usd: 0,
};

export const totalUsage = (usages: readonly TotalUsage[]): TotalUsage => usages.reduce(sumOfUsage, noUsage);
