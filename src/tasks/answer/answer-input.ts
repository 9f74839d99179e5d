import { z } from "zod";
import { PostedFinding } from "../../core/ledger/entry.ts";
import { defineTask } from "../define-task.ts";
import { WorkInput } from "../shapes/review-input.ts";
import { WorkResult } from "../shapes/review-result.ts";

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
export const AnswerInput = WorkInput.extend({
  pull: WorkInput.shape.pull.unwrap(),
  /** Default: an answer to the question. A description looks at the whole change, and the question is only the command. */
  wants: z.literal("description").optional(),
  question: ThreadMessage,
  /** Null if it was asked in the conversation. */
  thread: AskedThread.nullable(),
});
export type AnswerInput = z.infer<typeof AnswerInput>;

export const AnswerResult = WorkResult.extend({
  /** Markdown as the model wrote it: untrusted. Null if there is none; `stop_reason` says why. */
  text: z.string().nullable(),
});
export type AnswerResult = z.infer<typeof AnswerResult>;

export const answerTask = defineTask({
  name: "answer",
  input: AnswerInput,
  result: AnswerResult,
  most: { turns: 20, tokens: 300_000, milliseconds: 5 * 60_000 },
  asked: z
    .object(AnswerInput.pick({ question: true, thread: true }).shape)
    .transform(({ question, thread }) => ({
      by: question.by,
      path: thread?.path ?? null,
      question: question.body,
    })),
  summary: (answer) => answer,
});
