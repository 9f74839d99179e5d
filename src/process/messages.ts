import { z } from "zod";
import { RevisionPlace } from "../git/workspace.ts";
import { HASH_CHARACTERS } from "../ledger/state.ts";
import { modelRoles } from "../llm/model.ts";
import { AnswerInput, AnswerResult } from "../review/answer/answer-input.ts";
import { FixInput, FixResult } from "../review/fix/fix-input.ts";
import { ProveInput, ProveResult, RecordedTest } from "../review/prove/prove-input.ts";
import { ReviewInput } from "../review/review-input.ts";
import { ProgressEvent, ReviewResult } from "../review/review-result.ts";
import { CommandSandbox, TestPlace } from "./command-sandbox.ts";

// The messages between the two processes. Each side parses what the other sends: the review process has read hostile bytes, and the parent
// holds every secret.

const Usage = z.strictObject({
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  costUsd: z.number().nullable(),
  answeredBy: z.string().optional(),
});

/** Opaque to both sides; the model adapter limits its size. */
const Extras = z.record(z.string(), z.unknown()).optional();

const ToolCall = z.strictObject({
  id: z.string(),
  name: z.string(),
  arguments: z.string(),
  extras: Extras,
});

const Message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content: z.string() }),
  z.strictObject({ role: z.literal("user"), content: z.string() }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.string(),
    toolCalls: z.array(ToolCall),
    extras: Extras,
  }),
  z.strictObject({ role: z.literal("tool"), callId: z.string(), content: z.string() }),
]);

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

const ModelTurn = z.strictObject({
  content: z.string(),
  toolCalls: z.array(ToolCall),
  finishReason: z.enum(["stop", "tool_calls", "length", "content_filter", "other"]),
  usage: Usage,
  extras: Extras,
});

export const LoopEntry = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("messages"), loop: z.string(), messages: z.array(Message) }),
  z.strictObject({ kind: z.literal("turn"), loop: z.string(), turn: z.int(), model: ModelTurn }),
  z.strictObject({
    kind: z.literal("tool_results"),
    loop: z.string(),
    turn: z.int(),
    results: z.array(z.strictObject({ callId: z.string(), tool: z.string(), text: z.string() })),
    limitNear: z.int().optional(),
  }),
  z.strictObject({
    kind: z.literal("stopped"),
    loop: z.string(),
    reason: z.string(),
    fault: z.strictObject({ code: z.string(), message: z.string() }).optional(),
  }),
]);

const UnitEntry = z.strictObject({
  kind: z.literal("unit"),
  head: z.string(),
  loop: z.string(),
  hashes: z.array(z.string().length(HASH_CHARACTERS)),
  beside: z.array(z.string().length(HASH_CHARACTERS)).optional(),
  /** Parsed when they are read again. */
  findings: z.array(z.unknown()),
  summary: z.string().optional(),
});

/** The numbers of masked secrets. */
export const MasksEntry = z.strictObject({
  kind: z.literal("masks"),
  work: z.enum(["review", "answer", "fix", "prove"]),
  head: z.string(),
  salt: z.string(),
  numbers: z.record(z.string(), z.int().min(1)),
});

const Failure = z.strictObject({ code: z.string(), message: z.string(), remedy: z.string().nullable() });

export type { ProgressEvent };

export const TestedEntry = RecordedTest.extend({ kind: z.literal("tested") });

/** The work of one review process. */
const Assignment = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("review"), input: ReviewInput }),
  z.strictObject({ kind: z.literal("answer"), input: AnswerInput }),
  z.strictObject({
    kind: z.literal("fix"),
    input: FixInput,
    sandbox: CommandSandbox.nullable(),
    /** Where the tests of its findings run; null if none has one. */
    where: TestPlace.nullable(),
    tested: z.array(RecordedTest),
  }),
  z.strictObject({
    kind: z.literal("prove"),
    input: ProveInput,
    where: TestPlace,
    /** Runs of tests that the record holds. */
    tested: z.array(RecordedTest),
  }),
]);
export type Assignment = z.infer<typeof Assignment>;

/** From the parent to the review process. */
export const ToChild = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("start"),
    place: RevisionPlace,
    assignment: Assignment,
    replay: z.array(LoopEntry),
    /** The recorded masks of the same run, oldest first. */
    masks: z.array(MasksEntry),
    /** Whether the parent accepts notes for people. */
    takesNotes: z.boolean(),
    /** Absolute path of the index of the repository's graph, read-only; null if there is none. */
    graphIndex: z.string().nullable(),
  }),
  z.strictObject({ type: z.literal("turn"), request: z.int(), turn: ModelTurn }),
  z.strictObject({ type: z.literal("turn_failed"), request: z.int(), error: Failure }),
  z.strictObject({ type: z.literal("recorded"), number: z.int() }),
  z.strictObject({ type: z.literal("noted"), number: z.int(), answer: z.string() }),
]);
export type ToChild = z.infer<typeof ToChild>;

/** From the review process to the parent. */
export const FromChild = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ready") }),
  z.strictObject({ type: z.literal("progress"), event: ProgressEvent }),
  z.strictObject({
    type: z.literal("request_turn"),
    request: z.int(),
    role: z.enum(modelRoles),
    model: ModelRequest,
  }),
  z.strictObject({ type: z.literal("note"), number: z.int(), page: z.string(), content: z.string() }),
  z.strictObject({
    type: z.literal("record"),
    number: z.int(),
    entry: z.union([LoopEntry, UnitEntry, MasksEntry, TestedEntry]),
  }),
  z.strictObject({ type: z.literal("result"), result: ReviewResult }),
  z.strictObject({ type: z.literal("answer"), answer: AnswerResult }),
  z.strictObject({ type: z.literal("fix"), fix: FixResult }),
  z.strictObject({ type: z.literal("prove"), prove: ProveResult }),
  z.strictObject({ type: z.literal("failed"), error: Failure.extend({ retryable: z.boolean() }) }),
]);
export type FromChild = z.infer<typeof FromChild>;

/** The result of an assignment. */
export type ChildResult = Extract<FromChild, { type: "result" | "answer" | "fix" | "prove" }>;
