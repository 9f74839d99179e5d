import { callsIn, type TextCall } from "./calls-in-text.ts";
import { withoutThinking } from "./json-in-text.ts";
import { isObject, readLenientObject } from "./lenient-json.ts";
import type { Message, Model, ModelRequest, ModelTurn, ToolDefinition } from "./model.ts";
import { idsAfter, plainConversation } from "./plain-conversation.ts";

/**
 * A model that speaks of tools in its text, for one whose API takes none: requests carry no `tools`, and its JSON becomes
 * calls. An answer without a call stays one.
 */
export function withTextProtocol(model: Model): Model {
  return {
    name: model.name,
    contextTokens: model.contextTokens,
    protocol: "text",
    async respond(request, signal) {
      if (request.tools.length === 0) return model.respond(request, signal);
      return withCalls(await model.respond(asText(request), signal), request);
    },
  };
}

function asText(request: ModelRequest): ModelRequest {
  const messages = plainConversation(request.messages, {
    rule: textRule(request.tools),
    write: ({ content, toolCalls }) =>
      [content, writtenCalls(toolCalls)].filter((part) => part !== "").join("\n\n"),
    heading: ({ name }, number) => `Answer to call ${number}, ${name}`,
  });
  return { ...request, messages, tools: [] };
}

function withCalls(turn: ModelTurn, { messages, tools }: ModelRequest): ModelTurn {
  const names = new Set(tools.map(({ name }) => name));
  const { calls, prose } = callsIn(withoutThinking(turn.content), names, {
    isCut: turn.finishReason === "length",
  });
  return textTurn(turn, messages, calls, prose);
}

/** The turn with calls that were found in its text; `prose` is what remains of that. */
export function textTurn(
  { finishReason, usage }: ModelTurn,
  messages: readonly Message[],
  calls: readonly TextCall[],
  prose: string,
): ModelTurn {
  const id = idsAfter(messages);
  return {
    content: prose,
    toolCalls: calls.map((call, index) => ({ id: id(index), ...call })),
    finishReason: calls.length > 0 && finishReason === "stop" ? "tool_calls" : finishReason,
    usage,
  };
}

/** Calls in the form that the rule asks for; empty for none. */
export function writtenCalls(calls: readonly TextCall[]): string {
  if (calls.length === 0) return "";
  const written = calls.map(({ name, arguments: json }) => ({
    name,
    arguments: readLenientObject(json) ?? json,
  }));
  return JSON.stringify({ calls: written });
}

/** What a model is told that has no other way to use tools. */
export function textRule(tools: readonly ToolDefinition[]): string {
  return [
    "# Tools",
    'You use tools by answering with one JSON object and nothing else: {"calls": [{"name": "...", "arguments": {...}}]}. ' +
      "It may hold several calls. The next message has their answers. Never write an answer of a tool yourself.",
    ...tools.map(describe),
  ].join("\n\n");
}

const describe = ({ name, description, parameters }: ToolDefinition) =>
  `## ${name}\n${description}\nArguments: ${shortSchema(parameters)}`;

/** JSON Schema of arguments on one line, without what says nothing here. */
export function shortSchema(schema: Record<string, unknown>): string {
  return JSON.stringify(schema, (key, value) => {
    if (key === "additionalProperties" || key === "$schema") return undefined;
    // Left out and null are the same to every tool.
    if (key === "type" && Array.isArray(value) && value.length === 2 && value[1] === "null") return value[0];
    return isObject(value) && isOrNull(value) ? value.anyOf[0] : value;
  });
}

const isOrNull = (value: Record<string, unknown>): value is { anyOf: [unknown, unknown] } =>
  Array.isArray(value.anyOf) && value.anyOf.length === 2 && value.anyOf[1]?.type === "null";
