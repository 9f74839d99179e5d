import { z } from "zod";
import {
  CodeLocation,
  Evidence,
  Finding,
  holdsSecret,
  Proof,
  ruleNameOf,
  severities,
} from "../core/finding.ts";
import { escapeUnseen } from "../core/text/escape-invisible.ts";
import {
  Coverage,
  DroppedFinding,
  MaskedLine,
  Prediction,
  ReviewResult,
  RuleReport,
  StopReason,
  TotalUsage,
  Unplaced,
} from "../tasks/shapes/review-result.ts";
import { noteOf, proofPart } from "./finding-words.ts";
import { outcomeOf } from "./outcome.ts";

/** Increases when a field is renamed or removed, which needs a major version. */
const SCHEMA_VERSION = 1;

const Exit = z.strictObject({
  code: z.int(),
  reason: z.enum(["clean", "below_threshold", "findings", "incomplete"]),
  threshold: z.enum([...severities, "never"]).describe("The severity from which findings count."),
});

const unchanged = Finding.pick({
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
  reached: true,
  verification: true,
});
const unchangedPart = unchanged.strip();

/** The output of `review --format json`. The shape is a contract: minor versions may add fields; only a major version changes others. */
export const ReviewJson = z.strictObject({
  /** Null if uncommitted changes were reviewed. */
  head_sha: z.string().nullable(),
  /** The tree of uncommitted changes that were reviewed; null if the head is a commit. */
  head_tree: z.string().nullable(),
  base_sha: z.string(),
  merge_base_sha: z.string(),
  mode: z.enum(["model", "offline"]),
  summary: z.string(),
  findings: z.array(
    unchanged.extend({
      placement: z.enum(["inline", "file", "summary"]),
      verification_note: z
        .string()
        .nullable()
        .describe("The note of the second look; null for a secret, which the note may repeat."),
      /** Without quotes of their code. */
      places: z.array(CodeLocation.omit({ quote: true })),
      evidence: z.array(Evidence),
      rule: z
        .string()
        .nullable()
        .describe(
          "The analyzer and its rule, or the named rule of the configuration that it breaks, as in SARIF and on the terminal; null if a model found it and it breaks no rule.",
        ),
      proof: Proof.optional().describe(
        "What a test that was written for the finding says, decided by runs of it: `regression` (it passes before the change and fails with it), `reproduced` (it fails, and passes with the suggestion), `ran_right` (it passes) or `not_shown`, which does not mean that the finding is wrong. `before` is what happens before the change (for `reproduced`: with the suggestion), `now` what happens with it. Text and output are untrusted. Omitted if no test was to be written.",
      ),
      quote: z.string().nullable().describe("The code that the finding is about; null for a secret."),
    }),
  ),
  coverage: Coverage.pick({
    hunks_total: true,
    hunks_served: true,
    files_skipped: true,
    without_rules: true,
  }),
  usage: TotalUsage,
  stop_reason: StopReason,
  warnings: z.array(z.string()),
  effort: ReviewResult.shape.effort,
  dropped: z.array(DroppedFinding),
  masked: z
    .array(MaskedLine)
    .describe(
      "Changed lines with a value that looks like a secret and was hidden from the model, if no finding reports it.",
    ),
  unplaced: Unplaced.pick({ texts: true, total: true }).describe(
    "Reports of the model that were refused and that it did not repeat: the first five, and how many there are. With one, the review is partial.",
  ),
  predicted: Prediction.nullable(),
  rules: RuleReport.optional().describe(
    "The named rules of the configuration: those with changed files in their scope, and the number of the others. Omitted if there are none.",
  ),
  schema_version: z.literal(SCHEMA_VERSION),
  tool_version: z.string(),
  outcome: z
    .enum(["complete", "offline", "partial"])
    .describe("How far the review got. `offline`: only analyzers looked. `partial`: something was not done."),
  model: z.string().nullable().describe("Names of the models that answered; null if no model was used."),
  exit: Exit.nullable().describe("Null if no command ends with the report, as over MCP."),
});
export type ReviewJson = z.infer<typeof ReviewJson>;

/** The JSON Schema of the report with this `schema_version`. */
export const reviewJsonSchema = () =>
  publishedSchema(ReviewJson, {
    title: "Hunkwise review",
    description: `The output of hunkwise review --format json, schema_version ${SCHEMA_VERSION}.`,
  });

/** The JSON Schema of a shape that we publish. Unlike the code, it accepts more fields: minor versions may add some. */
export function publishedSchema(
  shape: z.ZodType,
  { title, description }: { title: string; description: string },
): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(shape, {
    target: "draft-7",
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return { $schema, title, description, ...schema };
}

export interface JsonContext {
  version: string;
  exit: ReviewJson["exit"];
}

/** The result as the documented JSON value. */
export function toReviewJson(result: ReviewResult, { version, exit }: JsonContext): ReviewJson {
  const { unserved, files_total, ...coverage } = result.coverage;
  return {
    head_sha: result.head_tree === null ? result.head_sha : null,
    head_tree: result.head_tree,
    base_sha: result.base_sha,
    merge_base_sha: result.merge_base_sha,
    mode: result.mode,
    summary: result.summary,
    findings: result.findings.map(({ finding, placement }) => ({
      ...unchangedPart.parse(finding),
      placement: placement.kind,
      verification_note: noteOf(finding),
      places: finding.places.map(({ quote, ...place }) => place),
      evidence: finding.evidence,
      rule: ruleNameOf(finding),
      ...proofPart(finding),
      quote: holdsSecret(finding) ? null : finding.quote,
    })),
    coverage,
    usage: result.usage,
    stop_reason: result.stop_reason,
    warnings: result.warnings,
    effort: result.effort,
    dropped: result.dropped,
    masked: result.masked,
    unplaced: { texts: result.unplaced.texts, total: result.unplaced.total },
    predicted: result.predicted,
    ...(result.rules && { rules: result.rules }),
    schema_version: SCHEMA_VERSION,
    tool_version: version,
    outcome: outcomeOf(result),
    model: result.model,
    exit,
  };
}

/** The JSON text, indented, with a final line break; invisible characters are written as `\uXXXX`. */
export function renderJson(result: ReviewResult, context: JsonContext): string {
  return `${escapeUnseen(JSON.stringify(toReviewJson(result, context), null, 2))}\n`;
}
