import { z } from "zod";
import { stopReasons } from "../../agent/trajectory.ts";
import { EffectiveConfig } from "../../config/repo-config.ts";
import { AskedThread } from "../answer/answer-input.ts";
import { Limits, ReviewInput } from "../review-input.ts";
import { TotalUsage } from "../review-result.ts";

/** A finding that is to be repaired, as it was posted. */
export const FixTarget = AskedThread.extend({
  /** By which its repair is told: the id of its comment, or of the finding where it has none. */
  id: z.string(),
  title: z.string(),
  symbol: z.string().nullable(),
  /** The rule that found it, or "model"; null if that is not known. */
  source: z.string().nullable().default(null),
  /** Other files that were named as evidence; they may be changed too. */
  files: z.array(z.string()),
});
export type FixTarget = z.infer<typeof FixTarget>;

/** What is to be repaired in a change. */
export const FixInput = z.strictObject({
  targetBranch: z.string(),
  /** Null for a local range. */
  pull: z.strictObject({ number: z.int(), title: z.string(), body: z.string() }).nullable(),
  targets: z.array(FixTarget).min(1),
  config: EffectiveConfig,
  limits: Limits,
  models: ReviewInput.shape.models.unwrap(),
});
export type FixInput = z.infer<typeof FixInput>;

/** What became of one finding. */
export const Repair = z.strictObject({
  id: z.string(),
  /** Whether the model says that its edits repair it. */
  repaired: z.boolean(),
  /** One sentence: what was done, or why nothing was. Untrusted text. */
  note: z.string(),
  /** What a second look at the edited code found; null where none was made. */
  check: z.strictObject({ state: z.enum(["fixed", "present", "unsure"]), reason: z.string() }).nullable(),
});
export type Repair = z.infer<typeof Repair>;

/** A command that was run on exactly the files that a fix hands over. */
export const CommandRun = z.strictObject({
  /** As a shell takes it, with the variables that it was given in front. */
  command: z.string(),
  /** A folder of the repository; "." is its root. */
  folder: z.string(),
  /** 128 + number where a signal ended it. */
  exit_code: z.int(),
  /** Which limit ended it before its time; null when it came to an end by itself. */
  ended: z.enum(["timeout", "memory", "files", "output"]).nullable(),
});
export type CommandRun = z.infer<typeof CommandRun>;

/** How a fix was tried out. */
export const TriedOut = z.strictObject({
  /** Each command once, as it ended last. */
  commands: z.array(CommandRun),
  /** Why there is none, in words; null where there is one. */
  why_none: z.string().nullable(),
});
export type TriedOut = z.infer<typeof TriedOut>;

/** A file as a fix leaves it. */
export const EditedFile = z.strictObject({
  path: z.string(),
  /** Null for a file that goes. */
  after: z.strictObject({ mode: z.enum(["100644", "100755"]), base64: z.base64() }).nullable(),
});
export type EditedFile = z.infer<typeof EditedFile>;

export const FixResult = z.strictObject({
  /** One for each target, in their order. */
  repairs: z.array(Repair),
  /** What the edits do, as the message of a commit would say it. Untrusted text; empty without edits. */
  summary: z.string(),
  edits: z.array(EditedFile),
  /** Files that the model was kept from changing, and why. */
  refused: z.array(z.strictObject({ path: z.string().nullable(), reason: z.string() })),
  tried_out: TriedOut,
  /** How often the model said that it was done; a second time where a second look had found a fault still there. 0: never. */
  rounds: z.int(),
  model: z.string(),
  stop_reason: z.enum(stopReasons),
  usage: TotalUsage,
});
export type FixResult = z.infer<typeof FixResult>;
