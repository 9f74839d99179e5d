import { z } from "zod";
import { ModelFacts } from "../../agent/llm/model.ts";
import { EffectiveConfig, type RepoConfig } from "../../config/repo-config.ts";
import { PostedFinding } from "../../core/ledger/entry.ts";
import { CarriedFinding, Reviewed } from "../../core/ledger/state.ts";
import { ToolResult } from "./tool-result.ts";

export const LinkedIssue = z.strictObject({ number: z.int(), title: z.string(), body: z.string() });
export type LinkedIssue = z.infer<typeof LinkedIssue>;

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

/** What people wrote about the change: untrusted text. Null for a local range. */
export const PullText = z.strictObject({
  number: z.int(),
  title: z.string(),
  body: z.string(),
  author: z.string(),
  /** Issues of the repository that the description links. */
  issues: z.array(LinkedIssue),
  checks: z.array(FailedCheck),
  /** Findings of earlier reviews of this pull request, with their state. */
  earlier: z.array(PostedFinding),
});
export type PullText = z.infer<typeof PullText>;

/** Hard limits of one review, checked before each request. */
export const Limits = z.strictObject({
  turns: z.int().min(1),
  tokens: z.int().min(1),
  costUsd: z.number().positive().nullable(),
  milliseconds: z.int().min(1),
});
export type Limits = z.infer<typeof Limits>;

/** What the next review of a pull request knows about earlier ones. */
export const History = z.strictObject({
  /** Secret key of this pull request, for the hashes of reviewed changes: without it, no one can compute them. */
  key: z.string(),
  /** If null, everything is read. */
  reviewed: Reviewed.nullable(),
  carried: z.array(CarriedFinding),
  /** Summary of the last review; empty if there was none. */
  summary: z.string(),
});
export type History = z.infer<typeof History>;

export const ReviewInput = z.strictObject({
  targetBranch: z.string(),
  pull: PullText.nullable(),
  /** Null for a local range: nothing is remembered. */
  history: History.nullable(),
  config: EffectiveConfig,
  /** Why the configuration was refused; omitted if it was not. Then no model is asked, and only certain findings count. */
  refused: z.string().optional(),
  graph: z.boolean().optional(),
  limits: Limits,
  /** Results of other tools, which a model judges like matches of rules. Omitted: none. */
  results: z.array(ToolResult).optional(),
  /** If null, only the analyzers review. */
  models: z.strictObject({ review: ModelFacts, verify: ModelFacts }).nullable(),
});
export type ReviewInput = z.infer<typeof ReviewInput>;

/** The input of work that is no review: an answer, a fix or proofs. */
export const WorkInput = z.strictObject({
  targetBranch: z.string(),
  /** Null for a local range. */
  pull: z.strictObject({ number: z.int(), title: z.string(), body: z.string() }).nullable(),
  config: EffectiveConfig,
  limits: Limits,
  models: ReviewInput.shape.models.unwrap(),
});

/** The budget of a repository as the limits of one review. */
export function limitsOf({ budget }: RepoConfig): Limits {
  const { turns, tokens, cost_usd, minutes } = budget;
  return { turns, tokens, costUsd: cost_usd, milliseconds: Math.ceil(minutes * 60_000) };
}
