import { z } from "zod";
import { RepoConfig } from "../config/repo-config.ts";
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

export const EarlierFinding = z.strictObject({
  path: z.string(),
  line: z.int().nullable(),
  title: z.string(),
  /** open: its thread is. resolved: somebody closed it. outdated: its line has changed since. */
  state: z.enum(["open", "resolved", "outdated"]),
  /** What people answered. */
  replies: z.array(z.string()),
});
export type EarlierFinding = z.infer<typeof EarlierFinding>;

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
  earlier: z.array(EarlierFinding),
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

export const ReviewInput = z.strictObject({
  targetBranch: z.string(),
  pull: PullText.nullable(),
  config: RepoConfig,
  limits: Limits,
  /** Null reviews with the analyzers alone. */
  models: z.strictObject({ review: ModelFacts, verify: ModelFacts, summarize: ModelFacts }).nullable(),
});
export type ReviewInput = z.infer<typeof ReviewInput>;
