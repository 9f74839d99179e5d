import { z } from "zod";
import { Effort } from "../../src/config/repo-config.ts";
import { Finding } from "../../src/finding.ts";
import { StopReason, TotalUsage } from "../../src/review/review-result.ts";
import { Verdict } from "./judge.ts";
import { findingVerdicts, foundAt } from "./match-findings.ts";

/** Settings of a measurement: only results with the same settings are compared or reused. */
export const Settings = z.strictObject({
  /** Null: only the built-in analyzers. */
  model: z.string().nullable(),
  /** Null: the effort in each repository's configuration. */
  effort: Effort.nullable(),
  /** Null: findings are matched only by place. */
  judge: z.string().nullable(),
});
export type Settings = z.infer<typeof Settings>;

/** The result of one case's review; one line of the results file. */
export const CaseResult = z.strictObject({
  case: z.string(),
  /** Digest of the case's own files. */
  digest: z.string(),
  settings: Settings,
  known: z.array(
    z.strictObject({
      file: z.string(),
      line: z.int(),
      found: z.enum(foundAt),
      /** Index of the finding that counts for it. */
      finding: z.int().nullable(),
      /** The judge's confidence. */
      confidence: z.number().nullable(),
    }),
  ),
  findings: z.array(
    z.strictObject({
      ...Finding.pick({
        ...{ path: true, side: true, line: true, start_line: true, severity: true, category: true },
        ...{ title: true, body: true, confidence: true, verification: true, source: true },
      }).shape,
      verdict: z.enum(findingVerdicts),
    }),
  ),
  /** The judge's verdicts on pairs of known issues (`known` by index) and findings. */
  judged: z.array(z.strictObject({ known: z.int(), finding: z.int(), ...Verdict.shape })),
  dropped: z.int(),
  stop_reason: StopReason,
  coverage: z.strictObject({ hunks_total: z.int(), hunks_served: z.int() }),
  usage: TotalUsage,
  judge_usage: TotalUsage,
  unjudged: z.int(),
  duration_ms: z.number(),
});
export type CaseResult = z.infer<typeof CaseResult>;
