import { z } from "zod";
import { EffectiveConfig, type RepoConfig } from "../config/repo-config.ts";
import { Category, Severity, Side } from "../finding.ts";
import { Reviewed } from "../ledger/reviewed.ts";
import { CarriedFinding } from "../ledger/state.ts";
import { protocols } from "../llm/model.ts";

export const LinkedIssue = z.strictObject({ number: z.int(), title: z.string(), body: z.string() });
export type LinkedIssue = z.infer<typeof LinkedIssue>;

/** What continuous integration says of the head. */
export const FailedCheck = z.strictObject({
  name: z.string(),
  conclusion: z.string(),
  summary: z.string(),
  annotations: z.array(
    z.strictObject({
      path: z.string(),
      start_line: z.int(),
      end_line: z.int(),
      level: z.string(),
      message: z.string(),
    }),
  ),
});
export type FailedCheck = z.infer<typeof FailedCheck>;

/** A finding that an earlier review posted, as the ledger has it. */
export const PriorFinding = z.strictObject({
  /** Id of its comment; null for one that was deleted. */
  comment: z.int().nullable(),
  /** Of the finding. */
  id: z.string(),
  path: z.string(),
  side: Side,
  /** Where its lines are now; null on a file, and where their code has changed since. */
  line: z.int().nullable(),
  start_line: z.int().nullable(),
  /** Where its line was when it was posted. */
  original_line: z.int().nullable(),
  severity: Severity,
  category: Category.nullable(),
  symbol: z.string().nullable(),
  /** Hash of its code, by `codeHash`. */
  code: z.string().nullable(),
  /** The rule that found it, or "model"; null for a comment of an older version. */
  source: z.string().nullable().default(null),
  /** Other files that were named as evidence. */
  files: z.array(z.string()),
  title: z.string(),
  /** What its comment says. */
  text: z.string(),
  state: z.enum(["open", "fixed", "dismissed", "outdated"]),
  /** What people answered. */
  replies: z.array(z.string()),
});
export type PriorFinding = z.infer<typeof PriorFinding>;

/** What people wrote about the change. All of it is untrusted text. Null for a local range. */
export const PullText = z.strictObject({
  number: z.int(),
  title: z.string(),
  body: z.string(),
  author: z.string(),
  /** Issues of the same repository that the description names. */
  issues: z.array(LinkedIssue),
  /** Checks of the head that have ended without success. */
  checks: z.array(FailedCheck),
  /** What earlier reviews of this pull request found, and what became of it. */
  earlier: z.array(PriorFinding),
});
export type PullText = z.infer<typeof PullText>;

/** Hard limits of one review, checked before anything is spent. */
export const Limits = z.strictObject({
  turns: z.int().min(1),
  /** Prompt and completion tokens of all requests together. */
  tokens: z.int().min(1),
  costUsd: z.number().positive().nullable(),
  milliseconds: z.int().min(1),
});
export type Limits = z.infer<typeof Limits>;

const ModelFacts = z.strictObject({
  name: z.string(),
  contextTokens: z.int(),
  protocol: z.enum(protocols),
});

/** What earlier reviews of a pull request leave to the next one. */
export const History = z.strictObject({
  /** Secret of this pull request alone: what was read is remembered by hashes that nobody can make without it. */
  key: z.string(),
  /** Null reads everything. */
  reviewed: Reviewed.nullable(),
  carried: z.array(CarriedFinding),
  /** What the last review said of the change as a whole; empty where there was none. */
  summary: z.string(),
});
export type History = z.infer<typeof History>;

export const ReviewInput = z.strictObject({
  targetBranch: z.string(),
  pull: PullText.nullable(),
  /** Null where nothing is remembered: a local range. */
  history: History.nullable(),
  config: EffectiveConfig,
  /**
   * Why the configuration was refused, for people; left out if it was not. Then `config` is what is left without it, no model takes
   * part, and only what is certain is reported: what else is wanted nobody knows.
   */
  refused: z.string().optional(),
  /** It has the repository's graph; left out, it has none. */
  graph: z.boolean().optional(),
  limits: Limits,
  /** Null reviews with the analyzers alone. */
  models: z.strictObject({ review: ModelFacts, verify: ModelFacts, summarize: ModelFacts }).nullable(),
});
export type ReviewInput = z.infer<typeof ReviewInput>;

/** The budget of a repository as the limits of one review. */
export function limitsOf({ budget }: RepoConfig): Limits {
  const { turns, tokens, cost_usd, minutes } = budget;
  return { turns, tokens, costUsd: cost_usd, milliseconds: Math.ceil(minutes * 60_000) };
}
