import { z } from "zod";
import { Evidence, Finding, holdsSecret, Place, severities } from "../finding.ts";
import {
  Coverage,
  DroppedFinding,
  MaskedLine,
  Prediction,
  ReviewResult,
  StopReason,
  TotalUsage,
} from "../review/review-result.ts";
import { escapeUnseen } from "../text/escape-invisible.ts";
import { outcomeOf } from "./outcome.ts";
import { noteOf } from "./second-look.ts";

/** Counts up when a field is renamed or removed, which needs a major version. */
const SCHEMA_VERSION = 1;

/** How the command that prints a report ends. */
const Exit = z.strictObject({
  code: z.int(),
  reason: z.enum(["clean", "below_threshold", "findings", "incomplete"]),
  /** The severity from which findings count. */
  threshold: z.enum([...severities, "never"]),
});

/**
 * What `review --format json` prints. The shape is a contract: fields are added in a minor version at most, never renamed
 * or removed within a major one.
 */
export const ReviewJson = z.strictObject({
  head_sha: z.string(),
  base_sha: z.string(),
  merge_base_sha: z.string(),
  mode: z.enum(["model", "offline"]),
  summary: z.string(),
  findings: z.array(
    Finding.pick({
      id: true,
      path: true,
      side: true,
      line: true,
      start_line: true,
      severity: true,
      category: true,
      title: true,
      body: true,
      suggestion: true,
      confidence: true,
      verification: true,
    }).extend({
      placement: z.enum(["inline", "file", "summary"]),
      /** What the second look says; null for a secret, which it may repeat. */
      verification_note: z.string().nullable(),
      /** Their code is named and not quoted. */
      places: z.array(Place.omit({ quote: true })),
      evidence: z.array(Evidence),
      /** The analyzer and its rule, as SARIF and the terminal name it; null where a model found it. */
      rule: z.string().nullable(),
      /** The code that the finding is about; null for a secret. */
      quote: z.string().nullable(),
    }),
  ),
  coverage: Coverage.pick({ hunks_total: true, hunks_served: true, files_skipped: true }),
  usage: TotalUsage,
  stop_reason: StopReason,
  warnings: z.array(z.string()),
  effort: ReviewResult.shape.effort,
  dropped: z.array(DroppedFinding),
  /** Changed lines on which a value looks like a secret and was hidden from the model, where no finding tells of it. */
  masked: z.array(MaskedLine),
  predicted: Prediction.nullable(),
  schema_version: z.literal(SCHEMA_VERSION),
  tool_version: z.string(),
  /** How far the review got. `offline`: only analyzers looked. `partial`: something was left undone. */
  outcome: z.enum(["complete", "offline", "partial"]),
  /** Null where no command ends with the report, as over MCP. */
  exit: Exit.nullable(),
});
export type ReviewJson = z.infer<typeof ReviewJson>;

export interface JsonContext {
  /** This program's version. */
  version: string;
  exit: ReviewJson["exit"];
}

/** The result as the documented JSON value. */
export function toReviewJson(result: ReviewResult, { version, exit }: JsonContext): ReviewJson {
  return {
    head_sha: result.head_sha,
    base_sha: result.base_sha,
    merge_base_sha: result.merge_base_sha,
    mode: result.mode,
    summary: result.summary,
    findings: result.findings.map(({ finding, placement }) => ({
      id: finding.id,
      path: finding.path,
      side: finding.side,
      line: finding.line,
      start_line: finding.start_line,
      severity: finding.severity,
      category: finding.category,
      title: finding.title,
      body: finding.body,
      suggestion: finding.suggestion,
      confidence: finding.confidence,
      verification: finding.verification,
      placement: placement.kind,
      verification_note: noteOf(finding),
      places: finding.places.map(({ quote, ...place }) => place),
      evidence: finding.evidence,
      rule: finding.source === "model" ? null : finding.source,
      quote: holdsSecret(finding) ? null : finding.quote,
    })),
    coverage: {
      hunks_total: result.coverage.hunks_total,
      hunks_served: result.coverage.hunks_served,
      files_skipped: result.coverage.files_skipped,
    },
    usage: result.usage,
    stop_reason: result.stop_reason,
    warnings: result.warnings,
    effort: result.effort,
    dropped: result.dropped,
    masked: result.masked,
    predicted: result.predicted,
    schema_version: SCHEMA_VERSION,
    tool_version: version,
    outcome: outcomeOf(result),
    exit,
  };
}

/** The JSON text, indented, with a final line break; invisible characters are written as `\uXXXX`. */
export function renderJson(result: ReviewResult, context: JsonContext): string {
  return `${escapeUnseen(JSON.stringify(toReviewJson(result, context), null, 2))}\n`;
}
