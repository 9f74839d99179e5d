import { z } from "zod";
import { stopReasons } from "../agent/trajectory.ts";
import { Effort } from "../config/repo-config.ts";
import { isUnreadable } from "../diff/filter.ts";
import type { AppError, ErrorCode } from "../errors.ts";
import { Finding } from "../finding.ts";
import { Reviewed } from "../ledger/reviewed.ts";

/** Why a review ended; "finished" alone means that the model said it had read everything. */
export const StopReason = z.enum(stopReasons);
export type StopReason = z.infer<typeof StopReason>;

/** Where a finding is published, and why not on its line when it is not. */
export const Placement = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("inline") }),
  z.strictObject({ kind: z.literal("file"), reason: z.string() }),
  z.strictObject({ kind: z.literal("summary"), reason: z.string() }),
]);
export type Placement = z.infer<typeof Placement>;

export const PlacedFinding = z.strictObject({ finding: Finding, placement: Placement });
export type PlacedFinding = z.infer<typeof PlacedFinding>;

/** Counted in `-U3` hunks of reviewable files. Offline, nothing is served to a model and `hunks_served` is 0. */
export const Coverage = z.strictObject({
  hunks_total: z.int(),
  hunks_served: z.int(),
  /** Reviewable files with hunks that were never served, each with how many. */
  unserved: z.array(z.strictObject({ path: z.string(), hunks: z.int() })),
  files_total: z.int(),
  files_skipped: z.array(z.strictObject({ path: z.string(), reason: z.string() })),
});
export type Coverage = z.infer<typeof Coverage>;

export const TotalUsage = z.strictObject({
  requests: z.int(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  completion_tokens: z.int(),
  /** Null when the price of the model is not known. */
  cost_usd: z.number().nullable(),
});
export type TotalUsage = z.infer<typeof TotalUsage>;

/** What was found and is not reported after all: the second look's word on it stays on record. */
export const DroppedFinding = z.strictObject({
  id: z.string(),
  path: z.string(),
  line: z.int(),
  title: z.string(),
  /**
   * `read_before`: it is in code that an earlier review has read, and is not critical. `rejected`: a rule matched, and the model
   * says that the code is right.
   */
  verdict: z.enum(["refuted", "uncertain", "read_before", "rejected"]),
  reason: z.string(),
  /** The rule that matched: "ast-grep/py-mutable-default"; null if a model found it. */
  rule: z.string().nullable().default(null),
});
export type DroppedFinding = z.infer<typeof DroppedFinding>;

/** A changed line on which a value looks like a secret, so that the model was shown a mask. */
export const MaskedLine = z.strictObject({ path: z.string(), line: z.int() });
export type MaskedLine = z.infer<typeof MaskedLine>;

/** What a review was expected to take, told before it began. */
export const Prediction = z.strictObject({
  requests: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  /** Null when the price of a model is not known. */
  cost_usd: z.number().nullable(),
});
export type Prediction = z.infer<typeof Prediction>;

/** What became of an earlier finding whose code has changed. */
export const Resolution = z.strictObject({
  comment: z.int(),
  /** `withdrawn`: it is not reported any more, although the code has not changed. */
  state: z.enum(["fixed", "withdrawn", "present", "unsure"]),
  /** One sentence that people read. */
  reason: z.string(),
});
export type Resolution = z.infer<typeof Resolution>;

/** What a review adds to the ledger of its pull request. */
export const LedgerUpdate = z.strictObject({
  /** Of the hunks served, how many an earlier review has read. */
  known_hunks: z.int(),
  /** All that is read by now and still part of the change, and which looks at earlier findings are due. */
  reviewed: Reviewed,
  /** Findings, by id, that say what an earlier comment says. */
  repeats: z.array(z.strictObject({ finding: z.string(), comment: z.int().nullable() })),
  resolutions: z.array(Resolution),
  /** Of the findings, by id, those that came over from the state and keep the place they had. */
  carried: z.array(
    z.strictObject({ finding: z.string(), standing: z.enum(["listed", "annotated"]), reason: z.string() }),
  ),
  /** What was carried and is fixed. */
  settled: z.array(z.strictObject({ path: z.string(), title: z.string(), reason: z.string() })),
});
export type LedgerUpdate = z.infer<typeof LedgerUpdate>;

/** Everything a reporter needs; what a review hands from the review process to its parent. */
export const ReviewResult = z.strictObject({
  head_sha: z.string(),
  base_sha: z.string(),
  merge_base_sha: z.string(),
  /** How many commits could be the merge base: the change was read since one of them. */
  merge_bases: z.int().default(1),
  mode: z.enum(["model", "offline"]),
  /** Name of the model, or of all that answered; null offline. */
  model: z.string().nullable(),
  summary: z.string(),
  findings: z.array(PlacedFinding),
  coverage: Coverage,
  usage: TotalUsage,
  stop_reason: StopReason,
  duration_ms: z.number(),
  warnings: z.array(z.string()),
  effort: Effort,
  dropped: z.array(DroppedFinding),
  /** Those of which no finding tells; results of older versions have none. */
  masked: z.array(MaskedLine).default([]),
  /** Null where no model is asked. */
  predicted: Prediction.nullable(),
  /** Null where nothing is remembered: a local range. */
  ledger: LedgerUpdate.nullable(),
  /** What the change would change in the configuration of reviews, a sentence each. */
  config_changes: z.array(z.string()),
  /** Why the configuration was refused, so that no model read anything; null if it was not. */
  refused: z.string().nullable().default(null),
  /** Files that an analyzer of certain findings did not look at to the end: some may be missing. */
  unanalyzed: z.array(z.string()).default([]),
});
export type ReviewResult = z.infer<typeof ReviewResult>;

/** Files that nobody could read: for their size, because git takes them for binary, or because their change has no lines. */
export function unreadableFiles({ coverage }: ReviewResult): Coverage["files_skipped"] {
  return coverage.files_skipped.filter(({ reason }) => isUnreadable(reason));
}

/** Findings of rules that a model was to judge and never did. */
export function notJudged({ findings }: Pick<ReviewResult, "findings">): Finding[] {
  return findings.map(({ finding }) => finding).filter(({ verification }) => verification === "not_judged");
}

/** Whether a model answered at least once. */
export const wasAnswered = ({ usage }: Pick<ReviewResult, "usage">): boolean => usage.requests > 0;

/**
 * True if a model read every reviewable hunk and judged every rule match, no file was unreadable, the analyzers of certain findings
 * came to their end, it is clear since which commit the change is to be read, and the model ended the review itself. If there is no such hunk, nobody had to read anything.
 */
export function isComplete(result: ReviewResult): boolean {
  const { hunks_served, hunks_total } = result.coverage;
  return (
    (result.mode === "model" || hunks_total === 0) &&
    result.stop_reason === "finished" &&
    hunks_served === hunks_total &&
    notJudged(result).length === 0 &&
    result.unanalyzed.length === 0 &&
    result.merge_bases === 1 &&
    unreadableFiles(result).length === 0
  );
}

/** What outweighs what when several loops ended differently: the review as a whole ended for the gravest reason. */
const gravestFirst: readonly StopReason[] = [
  "aborted",
  "model_error",
  "cost_limit",
  "token_limit",
  "time_limit",
  "turn_limit",
  "repeated_calls",
  "no_tool_calls",
  "no_model",
  "finished",
];

export const worstStop = (reasons: readonly StopReason[]): StopReason =>
  gravestFirst.find((reason) => reasons.includes(reason)) ?? "finished";

const words: Partial<Record<StopReason, string>> = {
  no_tool_calls: "the model stopped without finishing it",
  repeated_calls: "the model made the same calls over and over",
  turn_limit: "the limit of model turns was reached",
  token_limit: "the limit of tokens was reached",
  cost_limit: "the limit of costs was reached",
  time_limit: "the time limit was reached",
  aborted: "it was aborted",
  model_error: "the model failed",
};

/** The summary of a review that has none of its own. */
export const unfinishedSummary = (reason: StopReason): string =>
  `The review was not finished: ${whyUnfinished(reason)}. What was found until then is reported.`;

/** As the end of a sentence: "The review was not finished: ...". */
export const whyUnfinished = (reason: StopReason): string => words[reason] ?? reason;

const sentences: Partial<Record<ErrorCode, string>> = {
  model_unauthorized: "its provider refused the key",
  model_rate_limited: "its provider limits the rate or the quota is used up",
  model_refused: "its provider refused the request",
  model_failed: "its provider could not be reached or gave no usable answer",
  model_unavailable: "its provider keeps failing, so requests to it are paused for a while",
  too_large: "the conversation is too large for it",
};

const FAILED = "The model failed: ";

/** Whether a warning of a review tells of a fault of the model. */
export const isModelErrorWarning = (warning: string): boolean => warning.startsWith(FAILED);

/**
 * What everybody may read of a fault of the model. The error's own text names the operator's endpoint and repeats what the
 * provider said; it goes to whoever operates this, as progress.
 */
export function publicModelError({ code }: AppError): string {
  if (code === "budget_spent")
    return "The model was not asked any more: today's budget of the pull request or its installation is used up.";
  return `${FAILED}${sentences[code] ?? "the log of its operator says why"}.`;
}
