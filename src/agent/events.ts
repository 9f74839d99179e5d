import type { ModelTurn, Usage } from "../llm/model.ts";
import type { ToolResult } from "../tools/tool.ts";

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
  /** A tool threw something that is no ToolError: a fault of ours that the model is answered neutrally. */
  | { type: "tool_crashed"; turn: number; tool: string; error: string }
  | { type: "stopped"; reason: StopReason };
