import { z } from "zod";
import { stopReasons } from "../../agent/record/trajectory.ts";
import { Effort } from "../../config/repo-config.ts";
import type { AppError, ErrorCode } from "../../core/errors.ts";
import { atLeast, Category, Finding, Severity, toolOf } from "../../core/finding.ts";
import { Reviewed } from "../../core/ledger/state.ts";
import { accounts } from "../../repo/diff/filter.ts";

const Usage = z.strictObject({
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  costUsd: z.number().nullable(),
});

/** The phases of a run, in order. Without a model, only the first two and "placing". */
const phases = [
  "context",
  "analyzers",
  "planning",
  "review",
  "merging",
  "verifying",
  "placing",
  "proving",
] as const;

/** Progress of a run. `target` is the file or pattern of a call: repository text, to be escaped for display. */
export const ProgressEvent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("phase"), phase: z.enum(phases) }),
  z.strictObject({ type: z.literal("turn"), turn: z.int(), total: Usage }),
  z.strictObject({
    type: z.literal("tool"),
    tool: z.string(),
    target: z.string().nullable(),
    status: z.enum(["started", "success", "error", "timeout"]),
  }),
  z.strictObject({ type: z.literal("unit"), done: z.int(), total: z.int() }),
  z.strictObject({ type: z.literal("verdict"), done: z.int(), total: z.int() }),
  z.strictObject({ type: z.literal("proof"), done: z.int(), total: z.int() }),
  z.strictObject({ type: z.literal("coverage"), served: z.int(), total: z.int() }),
  z.strictObject({
    type: z.literal("finding"),
    severity: z.string(),
    path: z.string(),
    line: z.int(),
    title: z.string(),
  }),
  /** The full error of the model: for the operator, never for the public. */
  z.strictObject({ type: z.literal("model_failed"), error: z.string() }),
  z.strictObject({ type: z.literal("crash"), where: z.string(), error: z.string() }),
]);
export type ProgressEvent = z.infer<typeof ProgressEvent>;

/** Why a review ended. Only "finished" means that the model finished by itself. */
export const StopReason = z.enum(stopReasons);
export type StopReason = z.infer<typeof StopReason>;

/**
 * For people, as the end of a sentence: "The review was not finished: ...". The gravest come first: if several loops ended differently, the
 * review has the most serious reason. What the change can cause hides behind no fault of ours.
 */
export const whyStopped: Readonly<Record<StopReason, string>> = {
  aborted: "it was aborted",
  content_refused: "the provider of the model refused the content",
  too_long: "it does not fit into the window of the model",
  model_error: "the model could not be reached or failed",
  cost_limit: "the cost limit was reached",
  token_limit: "the token limit was reached",
  time_limit: "the time limit was reached",
  turn_limit: "the limit of model turns was reached",
  repeated_calls: "the model kept repeating one call",
  no_tool_calls: "the model stopped without ending it",
  no_model: "no model took part",
  finished: "the model ended it early",
};

export const worstStop = (reasons: readonly StopReason[]): StopReason =>
  (Object.keys(whyStopped) as StopReason[]).find((reason) => reasons.includes(reason)) ?? "finished";

/** The place where a finding is published; `reason` says why it is not on its line. */
export const Placement = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("inline") }),
  z.strictObject({ kind: z.literal("file"), reason: z.string() }),
  z.strictObject({ kind: z.literal("summary"), reason: z.string() }),
]);
export type Placement = z.infer<typeof Placement>;

/** Which new findings become comments, by their ids: a choice over all of them side by side. */
export interface Choice {
  asked: readonly string[];
  comments: readonly string[];
}

export const PlacedFinding = z.strictObject({ finding: Finding, placement: Placement });
export type PlacedFinding = z.infer<typeof PlacedFinding>;

/** A changed file that no model reads, and what accounts for it. */
const SkippedFile = z.strictObject({
  path: z.string(),
  reason: z.string(),
  account: z
    .enum(accounts)
    .default("unread")
    .describe(
      "`left_out`: the base branch or whoever asked for the review does not want it read. `parsed`: a program that knows its format has read all of it. `neutral` and `unread`: nobody has read it; `neutral` never makes a check red.",
    ),
});
type SkippedFile = z.infer<typeof SkippedFile>;

/** Counted in `-U3` hunks of reviewable files. Offline, nothing is served to a model and `hunks_served` is 0. */
export const Coverage = z.strictObject({
  hunks_total: z.int(),
  hunks_served: z.int(),
  /** Reviewable files with uncovered hunks, and their number. */
  unserved: z.array(z.strictObject({ path: z.string(), hunks: z.int() })),
  files_total: z.int(),
  files_skipped: z.array(SkippedFile),
  without_rules: z
    .array(z.string())
    .optional()
    .describe(
      "Reviewed files for whose language there is no rule. Omitted if a model was to read the change.",
    ),
});
export type Coverage = z.infer<typeof Coverage>;

export const TotalUsage = z.strictObject({
  requests: z.int(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  completion_tokens: z.int(),
  cost_usd: z.number().nullable(),
});
export type TotalUsage = z.infer<typeof TotalUsage>;

/** The cost is null if one of them is. */
export function sumOfUsage(one: TotalUsage, other: TotalUsage): TotalUsage {
  return {
    requests: one.requests + other.requests,
    prompt_tokens: one.prompt_tokens + other.prompt_tokens,
    cached_tokens: one.cached_tokens + other.cached_tokens,
    completion_tokens: one.completion_tokens + other.completion_tokens,
    cost_usd: one.cost_usd === null || other.cost_usd === null ? null : one.cost_usd + other.cost_usd,
  };
}

/** What the result of work that is no review says of its models. */
export const WorkResult = z.strictObject({
  /** Names of the models that answered. */
  model: z.string(),
  stop_reason: StopReason,
  usage: TotalUsage,
});
export type WorkResult = z.infer<typeof WorkResult>;

/** A finding that is not reported, and why. */
export const DroppedFinding = z.strictObject({
  id: z.string(),
  path: z.string(),
  line: z.int(),
  title: z.string(),
  /** `read_before`: an earlier review read the code, and the finding is mild. `rejected`: a model says that the code is right. */
  verdict: z.enum(["refuted", "uncertain", "read_before", "rejected"]),
  reason: z.string(),
  /** The rule that matched, "ast-grep/py-mutable-default", or the named rule that a model named; null if neither. */
  rule: z.string().nullable().default(null),
  /** As it was found; null in results of older versions. */
  severity: Severity.nullable().default(null),
  category: Category.nullable().default(null),
});
export type DroppedFinding = z.infer<typeof DroppedFinding>;

export const RuleOutcome = z.strictObject({
  name: z.string(),
  severity: Severity,
  blocking: z.boolean(),
  /** Number of its findings in this result. */
  findings: z.int(),
  /** Changed files in its scope, at least one. */
  files: z.int(),
  /** How many of them no model has checked, or not in full. */
  unchecked: z.int(),
  /** Why not, for people; null if all were checked. */
  reason: z.string().nullable(),
});
export type RuleOutcome = z.infer<typeof RuleOutcome>;

/** The named rules of the configuration, and how this change keeps them. */
export const RuleReport = z.strictObject({
  applied: z.array(RuleOutcome),
  /** Number of rules without a changed file in their scope. */
  without_files: z.int(),
});
export type RuleReport = z.infer<typeof RuleReport>;

/** A changed line with a value that looks like a secret, which was masked for the model. */
export const MaskedLine = z.strictObject({ path: z.string(), line: z.int() });
export type MaskedLine = z.infer<typeof MaskedLine>;

/** Most reports of the model that a result shows. */
export const MAX_UNPLACED = 5;

/** Reports of the model that were refused and that it did not repeat. */
export const Unplaced = z.strictObject({
  /** What they say: untrusted text, the first {@link MAX_UNPLACED}. */
  texts: z.array(z.string()),
  total: z.int(),
  /** Hashes of the changes that they are about, which count as read once people have dismissed all of them; empty without a ledger. */
  hashes: z.array(z.string()),
});
export type Unplaced = z.infer<typeof Unplaced>;

export const Prediction = z.strictObject({
  requests: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  cost_usd: z.number().nullable(),
});
export type Prediction = z.infer<typeof Prediction>;

/** The new state of an earlier finding whose code has changed. */
export const Resolution = z.strictObject({
  comment: z.int(),
  /** `withdrawn`: no longer reported, although the code has not changed. */
  state: z.enum(["fixed", "withdrawn", "present", "unsure"]),
  reason: z.string(),
});
export type Resolution = z.infer<typeof Resolution>;

/** What a review adds to the pull request's ledger. */
export const LedgerUpdate = z.strictObject({
  /** How many of the served hunks an earlier review has read. */
  known_hunks: z.int(),
  /** Hashes of all reviewed changes that are still part of the pull request, and of files with due re-checks. */
  reviewed: Reviewed,
  /** Findings, by id, that repeat an earlier comment. */
  repeats: z.array(z.strictObject({ finding: z.string(), comment: z.int().nullable() })),
  resolutions: z.array(Resolution),
  /** Findings, by id, that were carried over from the state. */
  carried: z.array(
    z.strictObject({
      finding: z.string(),
      standing: z.enum(["listed", "annotated", "dismissed"]),
      reason: z.string(),
    }),
  ),
  settled: z.array(z.strictObject({ path: z.string(), title: z.string(), reason: z.string() })),
});
export type LedgerUpdate = z.infer<typeof LedgerUpdate>;

/** Everything a reporter needs. The review process sends it to its parent. */
export const ReviewResult = z.strictObject({
  /** Known only to this process if there is a `head_tree`. */
  head_sha: z.string(),
  /** The tree of uncommitted changes; null if the head is a commit of the repository. */
  head_tree: z.string().nullable().default(null),
  base_sha: z.string(),
  merge_base_sha: z.string(),
  /** Number of possible merge bases; the diff starts at one of them. */
  merge_bases: z.int().default(1),
  mode: z.enum(["model", "offline"]),
  /** Names of the models that answered; null offline. */
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
  /** Masked lines that no rule explains, so the review is partial; results of older versions have none. */
  masked: z.array(MaskedLine).default([]),
  unplaced: Unplaced.default({ texts: [], total: 0, hashes: [] }),
  predicted: Prediction.nullable(),
  ledger: LedgerUpdate.nullable(),
  /** Changes of the review configuration in this pull request, one sentence each. */
  config_changes: z.array(z.string()),
  /** Why the configuration was refused, so that no model was asked; null if it was accepted. */
  refused: z.string().nullable().default(null),
  /** Files on which an analyzer of certain findings did not finish: findings may be missing. */
  unanalyzed: z.array(z.string()).default([]),
  rules: RuleReport.optional(),
});
export type ReviewResult = z.infer<typeof ReviewResult>;

/** Files that nobody has read, those that count as a limit first. */
export function unreadFiles({ coverage }: Pick<ReviewResult, "coverage">): SkippedFile[] {
  const of = (wanted: string) => coverage.files_skipped.filter(({ account }) => account === wanted);
  return [...of("unread"), ...of("neutral")];
}

/** What the reports that could not be placed say, and how many more there are: untrusted text, a line each. */
export function unplacedTexts({ unplaced: { texts, total } }: Pick<ReviewResult, "unplaced">): string[] {
  const more = total - texts.length;
  return more > 0 ? [...texts, `${more} more ${more === 1 ? "report" : "reports"}`] : texts;
}

export const unplacedLines = (result: Pick<ReviewResult, "unplaced">): string[] =>
  unplacedTexts(result).map((text) => `reported by the model, and not placed: ${text}`);

/** Rule matches that the model should have judged and did not. What other tools report may stay without a judgment. */
export function notJudged({ findings }: Pick<ReviewResult, "findings">): Finding[] {
  return findings
    .map(({ finding }) => finding)
    .filter(({ verification, source }) => verification === "not_judged" && toolOf(source) === null);
}

export const rejectedMatches = ({ dropped }: Pick<ReviewResult, "dropped">): DroppedFinding[] =>
  dropped.filter(({ verdict }) => verdict === "rejected");

/** Those of them that people must not miss: a pull request can talk a model into a rejection. */
export const graveRejections = (result: Pick<ReviewResult, "dropped">): DroppedFinding[] =>
  rejectedMatches(result).filter(
    ({ category, severity }) => category === "security" && severity !== null && atLeast(severity, "high"),
  );

export const wasAnswered = ({ usage }: Pick<ReviewResult, "usage">): boolean => usage.requests > 0;

/**
 * True if a model read every reviewable hunk, judged every rule match and finished by itself, no report of it was lost, every other file
 * was read by a program that knows its format or left out by who may decide it, the analyzers of certain findings finished, no mask hid code, and there is exactly one merge base. Without a reviewable hunk, no model is needed.
 */
export function isComplete(result: ReviewResult): boolean {
  const { hunks_served, hunks_total } = result.coverage;
  return (
    (result.mode === "model" || hunks_total === 0) &&
    result.stop_reason === "finished" &&
    hunks_served === hunks_total &&
    notJudged(result).length === 0 &&
    result.unplaced.total === 0 &&
    result.unanalyzed.length === 0 &&
    result.masked.length === 0 &&
    result.merge_bases === 1 &&
    unreadFiles(result).length === 0
  );
}

/** Why a loop gave no result, as the end of a sentence; a loop that ended normally gave `none`. */
export const whyNoResult = (reason: StopReason, none: string): string =>
  reason === "finished" || reason === "no_tool_calls" ? none : whyStopped[reason];

export const unfinishedSummary = (reason: StopReason): string =>
  `The review was not finished: ${whyStopped[reason]}. The findings so far are reported.`;

const sentences: Partial<Record<ErrorCode, string>> = {
  model_unauthorized: "its provider refused the key",
  model_rate_limited: "its provider limits the request rate, or the quota is used up",
  model_refused: "its provider refused the request",
  model_failed: "its provider could not be reached or gave no usable answer",
  model_unavailable: "its provider keeps failing, so requests to it are paused",
  too_large: "the conversation is too long for it",
  content_refused: "its provider refused the content",
};

const FAILED = "The model failed: ";

/** Whether a warning of a review reports a failure of the model. */
export const isModelErrorWarning = (warning: string): boolean => warning.startsWith(FAILED);

/** A model error as the public may read it: its message names the endpoint and quotes the provider. */
export function publicModelError({ code }: AppError): string {
  if (code === "budget_spent")
    return "The model was not asked again, because a budget of the pull request, its installation or its organization is used up.";
  return `${FAILED}${sentences[code] ?? "see the log of this server"}.`;
}
