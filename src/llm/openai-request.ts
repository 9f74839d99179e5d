import type OpenAI from "openai";
import { isObject, readStrict } from "./lenient-json.ts";
import type { Message, ModelRequest, ToolCall } from "./model.ts";
import { withToldTurns } from "./told-turns.ts";

/** What a server turned out to take. Learned from its refusals, once for each model. */
export interface Dialect {
  /** OpenAI's reasoning models refuse `max_tokens`, many local servers know nothing else. */
  tokenParameter: "max_tokens" | "max_completion_tokens";
  /** True once the other one was tried: there is no third. */
  tokenParameterSwitched: boolean;
  /** False once the server refused `parallel_tool_calls`. */
  parallelToolCalls: boolean;
  /** Greatest answer the server lets itself be asked for, in tokens. */
  maxOutputTokens: number;
  /** How long a reasoning model thinks; null where nobody asked for it, or once the server refused to be told. */
  reasoningEffort: ReasoningEffort | null;
  /** False once the server refused what another one gave with its answers. */
  extras: boolean;
  /** True once the server refused calls of another model, for want of what it gives with its own. */
  tellsOthersTurns: boolean;
}

export const reasoningEfforts = ["minimal", "low", "medium", "high"] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

export function toRequestBody(model: string, request: ModelRequest, dialect: Dialect): Body {
  const shown = dialect.tellsOthersTurns ? withToldTurns(request.messages) : request.messages;
  const body: Body = {
    model,
    messages: shown.map((message) => toWireMessage(message, dialect)),
    [dialect.tokenParameter]: Math.min(request.maxOutputTokens, dialect.maxOutputTokens),
    ...(dialect.reasoningEffort ? { reasoning_effort: dialect.reasoningEffort } : {}),
  };
  if (request.tools.length === 0) return body;
  return {
    ...body,
    tools: request.tools.map((tool) => ({ type: "function", function: { ...tool } })),
    ...(dialect.parallelToolCalls ? { parallel_tool_calls: true } : {}),
  };
}

function toWireMessage(message: Message, { extras }: Dialect): OpenAI.ChatCompletionMessageParam {
  // A lone surrogate would make the body invalid UTF-8, which servers refuse as a whole.
  const content = message.content.toWellFormed();
  if (message.role === "tool") return { role: "tool", tool_call_id: message.callId, content };
  if (message.role !== "assistant") return { role: message.role, content };
  // Several servers refuse an assistant's message without any content.
  if (message.toolCalls.length === 0) return { role: "assistant", content: content || "(no answer)" };
  const calls = message.toolCalls.map((call) => ({ ...(extras ? call.extras : {}), ...toWireCall(call) }));
  const given = extras ? message.extras : {};
  return { ...given, role: "assistant", content: content || null, tool_calls: calls };
}

/**
 * A call goes back as the model made it, as far as servers take that: they refuse odd names, and several parse the
 * arguments of past calls and fail on broken JSON.
 */
function toWireCall(call: ToolCall): OpenAI.ChatCompletionMessageFunctionToolCall {
  const name = call.name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed";
  const text = call.arguments.toWellFormed();
  return {
    id: call.id,
    type: "function",
    function: { name, arguments: isJsonObject(text) ? text : JSON.stringify({ not_json: text }) },
  };
}

const isJsonObject = (text: string): boolean => isObject(readStrict(text));
