import { z } from "zod";
import { ProofTest } from "../../core/finding.ts";
import { PostedFinding } from "../../core/ledger/entry.ts";
import { AskedThread } from "../answer/answer-input.ts";
import { defineTask, NamedFindings } from "../define-task.ts";
import { WorkInput } from "../shapes/review-input.ts";
import { WorkResult } from "../shapes/review-result.ts";

export const FixTarget = AskedThread.extend({
  ...PostedFinding.pick({ id: true, title: true, symbol: true, source: true, files: true }).shape,
  /** The test that shows the finding, if the repair is to have it: it must pass, and is committed as it is. */
  test: ProofTest.optional(),
});
export type FixTarget = z.infer<typeof FixTarget>;

export const FixInput = WorkInput.extend({ targets: z.array(FixTarget).min(1) });
export type FixInput = z.infer<typeof FixInput>;

export const Repair = z.strictObject({
  id: z.string(),
  /** Whether the model says that its edits repair it. */
  repaired: z.boolean(),
  /** One sentence: the change, or why there is none. Untrusted text. */
  note: z.string(),
  /** The result of verifying the edited code; null if it was not verified. */
  check: z.strictObject({ state: z.enum(["fixed", "present", "unsure"]), reason: z.string() }).nullable(),
  /** Of its own test on the edited code; omitted if none was wanted or nothing was repaired. `not_run`: no part of the repair. */
  test: z.strictObject({ state: z.enum(["passes", "fails", "not_run"]), reason: z.string() }).optional(),
});
export type Repair = z.infer<typeof Repair>;

/** A command that ran on exactly the files of the fix. */
export const CommandRun = z.strictObject({
  /** The shell command line, with its environment variables in front. */
  command: z.string(),
  /** A folder of the repository; "." is its root. */
  folder: z.string(),
  /** 128 + signal number if a signal ended it. */
  exit_code: z.int(),
  /** The limit that ended it; null if it ended by itself. */
  ended: z.enum(["timeout", "memory", "files", "output"]).nullable(),
});
export type CommandRun = z.infer<typeof CommandRun>;

export const TriedOut = z.strictObject({
  commands: z.array(CommandRun),
  /** Why there is none, in words; null if there is one. */
  why_none: z.string().nullable(),
});
export type TriedOut = z.infer<typeof TriedOut>;

export const EditedFile = z.strictObject({
  path: z.string(),
  after: z.strictObject({ mode: z.enum(["100644", "100755"]), base64: z.base64() }).nullable(),
});
export type EditedFile = z.infer<typeof EditedFile>;

export const FixResult = WorkResult.extend({
  /** One for each target, in their order. */
  repairs: z.array(Repair),
  /** What the edits do, worded like a commit message. Untrusted text; empty without edits. */
  summary: z.string(),
  edits: z.array(EditedFile),
  refused: z.array(z.strictObject({ path: z.string().nullable(), reason: z.string() })),
  tried_out: TriedOut,
  /** How often the model finished: twice if verification had sent it back once, 0 if never. */
  rounds: z.int(),
});
export type FixResult = z.infer<typeof FixResult>;

/** Repairs findings. Writes nothing: the result holds edited files, which a hostile model may have written. */
export const fixTask = defineTask({
  name: "fix",
  input: FixInput,
  result: FixResult,
  most: { turns: 60, tokens: 1_500_000, milliseconds: 30 * 60_000 },
  /** The edits stay as they are, because a redacted file must not be committed; `refusalsOf` rejects an edit that adds a secret. */
  redact: async ({ edits, ...said }, clean) => ({ ...(await clean(said)), edits }),
  asked: NamedFindings,
  /** Without the content of the edited files. */
  summary: ({ summary, repairs, tried_out, stop_reason, usage, edits }) => ({
    edits: edits.map(({ path, after }) => ({ path, change: after === null ? "removed" : "changed" })),
    summary,
    repairs,
    tried_out,
    stop_reason,
    usage,
  }),
});
