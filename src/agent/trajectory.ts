import type { Message, ModelTurn } from "../llm/model.ts";

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
    }
  | { kind: "stopped"; loop: string; reason: string };

/**
 * What a job notes about itself between two attempts: which head it opened a check run for, and what the review of a head
 * came to. A result is stored before it is published, so that a fault of the far side does not pay for the review again.
 */
export type JobEntry =
  | { kind: "check_opened"; head: string; trigger: string }
  | { kind: "result"; head: string; base: string; result: unknown };

export type TrajectoryEntry = LoopEntry | JobEntry;

/** Append-only. Resolves when the entry is durable. */
export interface Trajectory {
  append(entry: LoopEntry): Promise<void>;
}
