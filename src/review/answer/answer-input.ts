import { z } from "zod";
import { stopReasons } from "../../agent/trajectory.ts";
import { EffectiveConfig } from "../../config/repo-config.ts";
import { PostedFinding } from "../../ledger/entry.ts";
import { Limits, ReviewInput } from "../review-input.ts";
import { TotalUsage } from "../review-result.ts";

/** A message in a thread: untrusted text, also ours, because a model wrote it. */
export const ThreadMessage = z.strictObject({ by: z.string(), body: z.string() });
export type ThreadMessage = z.infer<typeof ThreadMessage>;

/** The thread of our finding that contains the question. */
export const AskedThread = PostedFinding.pick({
  path: true,
  side: true,
  line: true,
  original_line: true,
}).extend({
  /** Text of our comment. */
  finding: z.string(),
  /** Later messages, oldest first, without the question. */
  conversation: z.array(ThreadMessage),
});
export type AskedThread = z.infer<typeof AskedThread>;

/** A person's question about a pull request, or the request to describe it. */
export const AnswerInput = z.strictObject({
  /** Default: an answer to the question. A description looks at the whole change, and the question is only the command. */
  wants: z.literal("description").optional(),
  targetBranch: z.string(),
  pull: z.strictObject({ number: z.int(), title: z.string(), body: z.string() }),
  question: ThreadMessage,
  /** Null if it was asked in the conversation. */
  thread: AskedThread.nullable(),
  config: EffectiveConfig,
  limits: Limits,
  models: ReviewInput.shape.models.unwrap(),
});
export type AnswerInput = z.infer<typeof AnswerInput>;

export const AnswerResult = z.strictObject({
  /** Markdown as the model wrote it: untrusted. Null if there is none; `stop_reason` says why. */
  text: z.string().nullable(),
  model: z.string(),
  stop_reason: z.enum(stopReasons),
  usage: TotalUsage,
});
export type AnswerResult = z.infer<typeof AnswerResult>;
