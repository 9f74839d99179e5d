import type { Model, ModelRequest, ModelTurn, Protocol, ToolCall, Usage } from "../../src/agent/llm/model.ts";
import { AppError } from "../../src/core/errors.ts";

/** A turn with only the fields that matter to a script; the others get defaults. Arguments may be given as a value. */
export interface ScriptedTurn {
  content?: string;
  toolCalls?: { id?: string; name: string; arguments?: Record<string, unknown> | string }[];
  finishReason?: ModelTurn["finishReason"];
  usage?: Partial<Usage>;
}

export interface ScriptedModel extends Model {
  /** Every request, as deep copies: later changes to the conversation do not show in them. */
  readonly requests: ModelRequest[];
}

export interface ScriptedOptions {
  name?: string;
  contextTokens?: number;
  protocol?: Protocol;
}

/**
 * A model that replays turns in order, or calls a function for the answer to request `n` (from 0). A turn that is an error is thrown.
 * Rejects with `model_failed` after the last turn of the script.
 */
export function scriptedModel(
  script: readonly (ScriptedTurn | Error)[] | ((request: ModelRequest, n: number) => ScriptedTurn | Error),
  options: ScriptedOptions = {},
): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    name: options.name ?? "scripted",
    contextTokens: options.contextTokens ?? 128_000,
    protocol: options.protocol ?? "native",
    requests,
    async respond(request, signal) {
      if (signal.aborted) throw new AppError("aborted", "The model call was aborted");
      const n = requests.push(structuredClone(request)) - 1;
      const turn = typeof script === "function" ? script(request, n) : script[n];
      if (turn === undefined) throw new AppError("model_failed", `The script ended before request ${n + 1}`);
      if (turn instanceof Error) throw turn;
      return complete(turn, n);
    },
  };
}

function complete(turn: ScriptedTurn, n: number): ModelTurn {
  const toolCalls = (turn.toolCalls ?? []).map(
    (call, index): ToolCall => ({
      id: call.id ?? `call_${n}_${index}`,
      name: call.name,
      arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {}),
    }),
  );
  return {
    content: turn.content ?? "",
    toolCalls,
    finishReason: turn.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop"),
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0, costUsd: null, ...turn.usage },
  };
}
