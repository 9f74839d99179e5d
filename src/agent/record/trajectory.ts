import { z } from "zod";
import { HASH_CHARACTERS } from "../../core/ledger/state.ts";
import { Message, ModelTurn, type ToolCall, type Usage } from "../llm/model.ts";
import type { ToolResult } from "../tools/tool.ts";
import { TestEnd } from "./test-end.ts";

/** One line of a run's record. `turn` counts from 1. A turn is appended before it is acted on, so that a crash never pays for it twice. */
export const LoopEntry = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("messages"), loop: z.string(), messages: z.array(Message) }),
  z.strictObject({ kind: z.literal("turn"), loop: z.string(), turn: z.int(), model: ModelTurn }),
  z.strictObject({
    kind: z.literal("tool_results"),
    loop: z.string(),
    turn: z.int(),
    results: z.array(z.strictObject({ callId: z.string(), tool: z.string(), text: z.string() })),
    /** Turns left after this one, if a limit was near; the next step of the loop depends on it. */
    limitNear: z.int().optional(),
  }),
  z.strictObject({
    kind: z.literal("stopped"),
    loop: z.string(),
    reason: z.string(),
    fault: z.strictObject({ code: z.string(), message: z.string() }).optional(),
  }),
]);
export type LoopEntry = z.infer<typeof LoopEntry>;

/** A complete unit of a review. If a push replaces the review before it is published, the next review reuses this. */
export const UnitEntry = z.strictObject({
  kind: z.literal("unit"),
  head: z.string(),
  loop: z.string(),
  hashes: z.array(z.string().length(HASH_CHARACTERS)),
  /** Hashes of the rest of the change, whose loss must be noticed later. Omitted by older versions. */
  beside: z.array(z.string().length(HASH_CHARACTERS)).optional(),
  /** Parsed when they are read again. */
  findings: z.array(z.unknown()),
  summary: z.string().optional(),
});
export type UnitEntry = z.infer<typeof UnitEntry>;

/**
 * The numbers of masks, by salted hashes of the values. Recorded before the first request that shows them, so that a resumed run can resolve
 * them.
 */
export const MasksEntry = z.strictObject({
  kind: z.literal("masks"),
  /** The name of the task: masks are numbered for each task and each head. */
  work: z.string(),
  head: z.string(),
  salt: z.string(),
  numbers: z.record(z.string(), z.int().min(1)),
});
export type MasksEntry = z.infer<typeof MasksEntry>;

/** A run of a test of a proof. Another attempt finds it by its key and does not run it again. */
export const TestedEntry = z.strictObject({ kind: z.literal("tested"), key: z.string(), end: TestEnd });
export type TestedEntry = z.infer<typeof TestedEntry>;

export type RunEntry = LoopEntry | UnitEntry | MasksEntry | TestedEntry;

/** The prompt context and limits of a review. Another attempt reuses it while `about` is the same. */
export interface ToldEntry {
  kind: "told";
  about: {
    head: string;
    base: string;
    /** The review in the summary comment; a newer one would change the context. */
    after: string | null;
    private: string[];
  };
  told: unknown;
}

export interface StartEntry {
  kind: "run";
  /** The name of the task. Omitted for a review. */
  what?: string | undefined;
  /** Full object names. */
  shas: { head: string; base: string; mergeBase: string; headTree?: string | undefined };
  input: unknown;
}

export interface NoteEntry {
  kind: "note";
  page: string;
  content: string;
  answer: string;
}

/** A comment of a review. Its id and page are GitHub's. */
export interface PostedComment {
  finding: string;
  id: number;
  url: string;
}

/**
 * What a job records for its next attempt. A result is stored before it is published, so that a failure of GitHub does not cost another
 * review; `after` names the summary comment that the review knew, omitted if no follow-up is needed.
 */
type JobEntry =
  | ToldEntry
  | StartEntry
  | NoteEntry
  /**
   * A write to GitHub: posted, changed, removed or pushed. `request`: "POST /repos/octo/shop/pulls/1/reviews", "resolveReviewThread PRRT_1",
   * "push octo/shop topic". GitHub's `id` is null if there is none.
   */
  | { kind: "wrote"; request: string; id: number | null; url: string | null }
  /** The comments of a review, on lines and files, with their findings. */
  | { kind: "posted"; comments: PostedComment[] }
  /** How a local run ended: the last entry of its record. For a job, the queue knows it. */
  | { kind: "ended"; outcome: string; reason: string }
  /** A pull request whose findings were counted. */
  | { kind: "counted"; pull: number }
  | { kind: "check_opened"; head: string; trigger: string }
  | { kind: "began"; head: string }
  | { kind: "result"; head: string; base: string; result: unknown; after?: string | null };

export type TrajectoryEntry = RunEntry | JobEntry;

export const isLoopEntry = (entry: TrajectoryEntry): entry is LoopEntry =>
  "loop" in entry && entry.kind !== "unit";

/** Append-only. Resolves when the entry is durable. */
export interface Trajectory {
  append(entry: RunEntry): Promise<void>;
}

/** Why a loop ended. Limits are values, never exceptions. */
export const stopReasons = [
  "finished",
  "no_tool_calls",
  "repeated_calls",
  "turn_limit",
  "token_limit",
  "cost_limit",
  "time_limit",
  "aborted",
  "model_error",
  "content_refused",
  "too_long",
  "no_model",
] as const;
export type StopReason = (typeof stopReasons)[number];

/** Everything that happens in a loop, for progress displays, logs and tests alike. */
export type AgentEvent =
  | { type: "turn_started"; turn: number }
  | { type: "turn_finished"; turn: number; model: ModelTurn; total: Usage }
  | { type: "tool_started"; turn: number; callId: string; tool: string; arguments: string }
  /** `isWithheld`: it was not executed on purpose, and there is nothing to correct. */
  | { type: "tool_finished"; turn: number; call: ToolCall; result: ToolResult; isWithheld: boolean }
  /** A tool threw something other than a ToolError: a bug of ours. The model gets a neutral answer. */
  | { type: "tool_crashed"; turn: number; tool: string; error: string }
  | { type: "stopped"; reason: StopReason };
