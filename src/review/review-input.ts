import { z } from "zod";
import { RepoConfig } from "../config/repo-config.ts";

/** What people wrote about the change. All of it is untrusted text. Null for a local range. */
export const PullText = z.strictObject({
  number: z.int(),
  title: z.string(),
  body: z.string(),
  author: z.string(),
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

export const ReviewInput = z.strictObject({
  targetBranch: z.string(),
  pull: PullText.nullable(),
  config: RepoConfig,
  limits: Limits,
  /** Null reviews with the analyzers alone. */
  model: z.strictObject({ name: z.string(), contextTokens: z.int() }).nullable(),
});
export type ReviewInput = z.infer<typeof ReviewInput>;
