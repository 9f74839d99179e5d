import type { Models } from "../llm/model.ts";
import type { AnswerInput, AnswerResult } from "../review/answer/answer-input.ts";
import { type ProcessOptions, runInProcess } from "./run-in-process.ts";

export interface AnswerProcessOptions extends ProcessOptions {
  input: AnswerInput;
  models: Models;
}

/** Has a question answered in a process of its own, with the same promises as a review. */
export function runAnswerProcess({ input, ...options }: AnswerProcessOptions): Promise<AnswerResult> {
  return runInProcess(
    {
      assignment: { kind: "answer", input },
      resultOf: (outcome) => (outcome.type === "answer" ? outcome.answer : undefined),
    },
    options,
  );
}
