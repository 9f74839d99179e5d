import { z } from "zod";
import type { Models } from "../agent/llm/model.ts";
import { redactStrings } from "../core/secrets/redact.ts";
import type { Limits, ReviewInput } from "./shapes/review-input.ts";

/** What the input of every task holds. */
export type TaskInput = Pick<ReviewInput, "targetBranch" | "config" | "limits" | "models">;

/** What both processes need to know of a task: everything but its work, which only the review process loads. */
export interface Task<Input extends TaskInput, Result> {
  readonly name: string;
  /** The input, which is recorded: it names nothing of the machine. */
  readonly input: z.ZodType<Input>;
  readonly result: z.ZodType<Result>;
  /** In the review process, before masks are removed: the result without quotes of code that holds a secret. */
  unquoted(result: Result, holdsSecret: (text: string) => boolean): Result;
  /** In the parent: the result without secrets, neither those of this process nor others. */
  redact(result: Result): Promise<Result>;
  /** In the parent, which alone knows prices. */
  priced(result: Result, models: Models | null): Result;
}

type Most = Pick<Limits, "turns" | "tokens" | "milliseconds">;
type Clean = <Value>(value: Value) => Promise<Value>;
type UrlOf = (finding: string) => string | null;

interface Definition<Name extends string, Input extends TaskInput, Result, Asked, Summary>
  extends Partial<Omit<Task<Input, Result>, "redact">> {
  name: Name;
  input: z.ZodType<Input>;
  result: z.ZodType<Result>;
  /** Most that one such task may use, within the repository's limits for a review. Default: those limits. */
  most?: Most;
  /** What else its redaction needs than to `clean` all strings of the result. */
  redact?(result: Result, clean: Clean): Promise<Result>;
  /** Reads from a recorded input what people asked for. Looks at nothing else, because the rest differs between versions. */
  asked: z.ZodType<Asked>;
  /** The result as the record of a run shows it. Snake case: it leaves the process. */
  summary(result: Result, urlOf: UrlOf): Summary;
}

const unlimited: Most = { turns: Infinity, tokens: Infinity, milliseconds: Infinity };

/** Fields that stay as they are: paths, fingerprints, object names, content hashes, names of rules. */
const kept = new Set([
  ...["path", "id", "finding", "hashes", "head_sha", "base_sha", "merge_base_sha", "source", "rule"],
  ...["model", "stop_reason", "mode", "kind", "severity", "category", "side", "verdict", "verification"],
]);

const clean: Clean = (value) => redactStrings(value, kept);

/** Declares a task once; messages, dispatch, redaction, records and their summaries are derived from the same object. */
export function defineTask<Name extends string, Input extends TaskInput, Result, Asked, Summary>(
  task: Definition<Name, Input, Result, Asked, Summary>,
) {
  const { most = unlimited, redact = clean } = task;
  return {
    unquoted: (result: Result) => result,
    priced: (result: Result) => result,
    ...task,
    most,
    redact: (result: Result) => redact(result, clean),
    askedIn(input: unknown): ({ what: Name } & Asked) | null {
      const { data } = task.asked.safeParse(input);
      return data === undefined ? null : { what: task.name, ...data };
    },
    /** Null if the result is another task's, or of a version that this one cannot read. */
    summaryOf(result: unknown, urlOf: UrlOf): ({ what: Name } & Summary) | null {
      const { data } = task.result.safeParse(result);
      return data === undefined ? null : { what: task.name, ...task.summary(data, urlOf) };
    },
  };
}

export const NamedFindings = z.object({
  targets: z.array(
    z.object({ id: z.string(), path: z.string(), line: z.int().nullable(), title: z.string() }),
  ),
});
