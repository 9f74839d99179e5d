import type { Models } from "../llm/model.ts";
import type { FixInput, FixResult } from "../review/fix/fix-input.ts";
import type { FixSandbox } from "./fix-sandbox.ts";
import { type ProcessOptions, runInProcess } from "./run-in-process.ts";

export interface FixProcessOptions extends ProcessOptions {
  input: FixInput;
  models: Models;
  /** In which its commands are run; null runs none. */
  sandbox: FixSandbox | null;
}

/**
 * Has findings repaired in a process of its own, with the same promises as a review. It holds nothing that could write: what it
 * hands back are files as they should be, which a hostile model may have made.
 */
export function runFixProcess({ input, sandbox, ...options }: FixProcessOptions): Promise<FixResult> {
  return runInProcess(
    {
      assignment: { kind: "fix", input, sandbox },
      resultOf: (outcome) => (outcome.type === "fix" ? outcome.fix : undefined),
    },
    options,
  );
}
