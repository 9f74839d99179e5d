import { z } from "zod";
import { Message, ModelTurn, modelRoles } from "../agent/llm/model.ts";
import { LoopEntry, MasksEntry, TestedEntry, UnitEntry } from "../agent/record/trajectory.ts";
import { RevisionPlace } from "../repo/git/workspace.ts";
import { Sandbox } from "../sandbox/bubblewrap.ts";
import { RecordedTest } from "../tasks/prove/prove-input.ts";
import { ProgressEvent } from "../tasks/shapes/review-result.ts";
import { taskNames } from "../tasks/tasks.ts";

// The messages between the two processes. Each side parses what the other sends: the review process has read hostile bytes, and the parent
// holds every secret.

const ModelRequest = z.strictObject({
  messages: z.array(Message),
  tools: z.array(
    z.strictObject({
      name: z.string(),
      description: z.string(),
      parameters: z.record(z.string(), z.unknown()),
    }),
  ),
  maxOutputTokens: z.int(),
});

const Failure = z.strictObject({ code: z.string(), message: z.string(), remedy: z.string().nullable() });

/** A sandbox for the commands of a fix and the tests of a proof, and their memory limit. */
export const CommandSandbox = z.strictObject({ sandbox: Sandbox, memoryMb: z.int().min(1) });
export type CommandSandbox = z.infer<typeof CommandSandbox>;

export const TestPlace = z.strictObject({
  sandbox: CommandSandbox,
  /** Absolute path of the prepared environment; null if the configuration prepares none. */
  environment: z.string().nullable(),
});
export type TestPlace = z.infer<typeof TestPlace>;

export const ToChild = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("start"),
    place: RevisionPlace,
    task: z.enum(taskNames),
    /** Parsed by the task's own schema, as its result is. */
    input: z.unknown(),
    replay: z.array(LoopEntry),
    /** The recorded masks of the same run, oldest first. */
    masks: z.array(MasksEntry),
    /** Whether the parent accepts notes for people. */
    takesNotes: z.boolean(),
    /** Absolute path of the index of the repository's graph, read-only; null if there is none. */
    graphIndex: z.string().nullable(),
    /** For the configured commands; null if none can run. */
    sandbox: CommandSandbox.nullable(),
    /** Where tests of findings run; null if none can run. */
    testPlace: TestPlace.nullable(),
    /** Runs of tests that the record holds. */
    tested: z.array(RecordedTest),
  }),
  z.strictObject({ type: z.literal("turn"), number: z.int(), turn: ModelTurn }),
  z.strictObject({ type: z.literal("turn_failed"), number: z.int(), error: Failure }),
  z.strictObject({ type: z.literal("recorded"), number: z.int() }),
  z.strictObject({ type: z.literal("noted"), number: z.int(), answer: z.string() }),
]);
export type ToChild = z.infer<typeof ToChild>;

export const FromChild = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ready") }),
  z.strictObject({ type: z.literal("progress"), event: ProgressEvent }),
  z.strictObject({
    type: z.literal("request_turn"),
    number: z.int(),
    role: z.enum(modelRoles),
    model: ModelRequest,
  }),
  z.strictObject({ type: z.literal("note"), number: z.int(), page: z.string(), content: z.string() }),
  z.strictObject({
    type: z.literal("record"),
    number: z.int(),
    entry: z.union([LoopEntry, UnitEntry, MasksEntry, TestedEntry]),
  }),
  z.strictObject({ type: z.literal("result"), result: z.unknown() }),
  z.strictObject({ type: z.literal("failed"), error: Failure.extend({ retryable: z.boolean() }) }),
]);
export type FromChild = z.infer<typeof FromChild>;
