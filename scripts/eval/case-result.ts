import { z } from "zod";
import { Effort } from "../../src/config/repo-config.ts";
import { Finding, Severity } from "../../src/core/finding.ts";
import { StopReason, TotalUsage } from "../../src/tasks/shapes/review-result.ts";
import { Judgement, Verdict } from "./judge.ts";
import { findingVerdicts, foundAt } from "./match-findings.ts";

/** Where the App would publish a finding: in a comment on its lines, in one on its file, or only in the summary. */
export const channels = ["line", "file", "summary"] as const;
export type Channel = (typeof channels)[number];

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
      /** Null if the case does not say where it is. */
      file: z.string().nullable(),
      line: z.int().nullable(),
      description: z.string(),
      /** By the people who found it. */
      severity: Severity.nullable(),
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
      /** Null if no judge was asked: the verdict says enough, or there is none. */
      judgement: Judgement.nullable(),
      channel: z.enum(channels),
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
