import { z } from "zod";
import { Evidence, Finding, Place } from "../finding.ts";
import {
  Coverage,
  DroppedFinding,
  Prediction,
  ReviewResult,
  StopReason,
  TotalUsage,
} from "../review/review-result.ts";
import { escapeUnseen } from "../text/escape-unseen.ts";
import { noteOf } from "./second-look.ts";

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
      /** As everywhere in this report, code is named and not quoted. */
      places: z.array(Place.omit({ quote: true })),
      evidence: z.array(Evidence),
    }),
  ),
  coverage: Coverage.pick({ hunks_total: true, hunks_served: true, files_skipped: true }),
  usage: TotalUsage,
  stop_reason: StopReason,
  warnings: z.array(z.string()),
  effort: ReviewResult.shape.effort,
  dropped: z.array(DroppedFinding),
  predicted: Prediction.nullable(),
});
export type ReviewJson = z.infer<typeof ReviewJson>;

/** The result as the documented JSON value. */
export function toReviewJson(result: ReviewResult): ReviewJson {
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
    predicted: result.predicted,
  };
}

/** The JSON text, indented, with a final line break; invisible characters are written as `\uXXXX`. */
export function renderJson(result: ReviewResult): string {
  return `${escapeUnseen(JSON.stringify(toReviewJson(result), null, 2))}\n`;
}
