import type { Message, ModelTurn } from "../llm/model.ts";

/**
 * One line of a run's record, in the order in which things happened. `loop` names the loop within a run ("review"), `turn`
 * counts from 1. A turn is appended before it is acted on, so that a crash never pays for it twice.
 */
export type TrajectoryEntry =
  | { kind: "messages"; loop: string; messages: Message[] }
  | { kind: "turn"; loop: string; turn: number; model: ModelTurn }
  | {
      kind: "tool_results";
      loop: string;
      turn: number;
      results: { callId: string; tool: string; text: string }[];
    }
  | { kind: "stopped"; loop: string; reason: string };

/** Append-only. Resolves when the entry is durable. */
export interface Trajectory {
  append(entry: TrajectoryEntry): Promise<void>;
}
