import type { Message, ModelTurn, Usage } from "../llm/model.ts";
import type { ToolResult } from "../tools/tool.ts";

/**
 * One line of a run's record, in the order in which things happened. `loop` names the loop within a run ("review"), `turn`
 * counts from 1. A turn is appended before it is acted on, so that a crash never pays for it twice.
 */
export type LoopEntry =
  | { kind: "messages"; loop: string; messages: Message[] }
  | { kind: "turn"; loop: string; turn: number; model: ModelTurn }
  | {
      kind: "tool_results";
      loop: string;
      turn: number;
      results: { callId: string; tool: string; text: string }[];
      /** How many turns a limit left after this one, where it was near: what the loop does next hangs on it. */
      limitNear?: number | undefined;
    }
  | {
      kind: "stopped";
      loop: string;
      reason: string;
      /** Of a model that failed. */
      fault?: { code: string; message: string } | undefined;
    };

/**
 * A unit of a review whose loop finished: of which head, which changes it read (by their content hashes), what it found, and
 * what it said of the unit as a whole.
 * Where a push replaces the review before it is published, the next one carries this on.
 */
export interface UnitEntry {
  kind: "unit";
  head: string;
  loop: string;
  hashes: string[];
  /** What the rest of the change held, which this unit was read beside: it is missed when it goes. Left out by older versions. */
  beside?: string[] | undefined;
  findings: unknown[];
  /** Left out by older versions. */
  summary?: string | undefined;
}

/**
 * Which numbers were given to the masks of secrets, by salted hashes of the values: noted before the first request that shows them
 * leaves. Whoever goes on with the run reads by it what its recorded turns quote.
 */
export interface MasksEntry {
  kind: "masks";
  /** Each piece of work of a run, and each head, counts by itself. */
  work: "review" | "answer" | "fix";
  head: string;
  salt: string;
  numbers: Record<string, number>;
}

/** What a review notes down while it runs. */
export type RunEntry = LoopEntry | UnitEntry | MasksEntry;

/** What a model was told beside the code, and with which limits. It is good for another attempt while `about` is the same. */
export interface ToldEntry {
  kind: "told";
  about: {
    head: string;
    base: string;
    /** The review that the summary comment spoke of: a newer one has said more. */
    after: string | null;
    /** Patterns of what is kept from the model. */
    private: string[];
  };
  told: unknown;
}

/** What a review, an answer or a fix was started with: with this and its turns it can be played back. */
export interface StartEntry {
  kind: "run";
  /** Left out of a review. */
  what?: "answer" | "fix";
  /** Full object names. */
  shas: { head: string; base: string; mergeBase: string };
  /** The input of the review process. */
  input: unknown;
}

/** A note for people that the run left, and what was answered to whoever left it. */
export interface NoteEntry {
  kind: "note";
  page: string;
  content: string;
  answer: string;
}

/** Which comments of a review, on lines and files, hold which findings. */
interface PostedEntry {
  kind: "posted";
  /** Ids and pages are GitHub's, of the comments. */
  comments: { finding: string; id: number; url: string }[];
}

/** Something that GitHub took from a job: posted, changed, removed or pushed. */
interface WroteEntry {
  kind: "wrote";
  /** "POST /repos/octo/shop/pulls/1/reviews", "resolveReviewThread PRRT_1", "push octo/shop topic" */
  request: string;
  /** GitHub's; null where it answers none. */
  id: number | null;
  /** Its page; null where it has none. */
  url: string | null;
}

/** How a run ended: the last entry of a record that stands by itself. Of a job the queue knows it. */
interface EndedEntry {
  kind: "ended";
  outcome: string;
  reason: string;
}

/**
 * What a job notes about itself between two attempts: which head it opened a check run for, of which head the turns are that
 * follow, what was told beside the code, and what the review of a head came to. A result is stored before it is published, so that a fault of the far side
 * does not pay for the review again; `after` names the summary comment that the review knew of, and is left out where none
 * will follow from it, and by older versions.
 */
type JobEntry =
  | ToldEntry
  | StartEntry
  | NoteEntry
  | WroteEntry
  | PostedEntry
  | EndedEntry
  | { kind: "check_opened"; head: string; trigger: string }
  | { kind: "began"; head: string }
  | { kind: "result"; head: string; base: string; result: unknown; after?: string | null };

export type TrajectoryEntry = RunEntry | JobEntry;

/** Whether an entry is a step of a loop. */
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
  "no_model",
] as const;
export type StopReason = (typeof stopReasons)[number];

/** Everything that happens in a loop, for progress displays, logs and tests alike. */
export type AgentEvent =
  | { type: "turn_started"; turn: number }
  | { type: "turn_finished"; turn: number; model: ModelTurn; total: Usage }
  | { type: "tool_started"; turn: number; callId: string; tool: string; arguments: string }
  | { type: "tool_finished"; turn: number; callId: string; tool: string; result: ToolResult }
  /** A tool threw something other than a ToolError: a bug of ours. The model gets a neutral answer. */
  | { type: "tool_crashed"; turn: number; tool: string; error: string }
  | { type: "stopped"; reason: StopReason };
