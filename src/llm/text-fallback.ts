import { areShown, callsIn, wholeCallsIn } from "./calls-in-text.ts";
import { isObject, readLenientObject } from "./lenient-json.ts";
import {
  type Message,
  type Model,
  type ModelRequest,
  type ModelTurn,
  type ToolCall,
  type ToolDefinition,
  withoutThinking,
} from "./model.ts";

/**
 * A model that calls tools with JSON in its text, for an API that does not accept tools: requests carry no `tools`, and JSON in the answer
 * becomes calls, or an answer of nothing but calls in another spelling. An answer without a call, or with one that repeats what the model
 * was shown, does not change.
 */
export function withTextProtocol(model: Model): Model {
  return {
    name: model.name,
    contextTokens: model.contextTokens,
    protocol: "text",
    async respond(request, signal) {
      if (request.tools.length === 0) return model.respond(request, signal);
      const messages = plainConversation(request.messages, textRule(request.tools));
      const turn = await model.respond({ ...request, messages, tools: [] }, signal);
      return turn.finishReason === "content_filter" ? turn : withCalls(turn, request);
    },
  };
}

async function withCalls(
  { content, finishReason, usage }: ModelTurn,
  { messages, tools }: ModelRequest,
): Promise<ModelTurn> {
  const names = new Set(tools.map(({ name }) => name));
  const isCut = finishReason === "length";
  const text = withoutThinking(content);
  let { calls, prose, sources } = callsIn(text, names, { isCut });
  if (calls.length === 0 && !isCut) {
    calls = await wholeCallsIn(text, { messages, tools });
    if (calls.length > 0) prose = "";
  } else if (await areShown(messages, calls, sources)) [calls, prose] = [[], text];
  return {
    content: prose,
    // A conversation only grows, so no earlier call has such an id.
    toolCalls: calls.map((call, index) => ({ id: `text_${messages.length}_${index}`, ...call })),
    finishReason: calls.length > 0 && finishReason === "stop" ? "tool_calls" : finishReason,
    usage,
  };
}

/** The instructions for a model that cannot use tools in any other way. */
function textRule(tools: readonly ToolDefinition[]): string {
  return [
    "# Tools",
    'You use tools by answering with one JSON object and nothing else: {"calls": [{"name": "...", "arguments": {...}}]}. ' +
      "It may hold several calls. The next message has their answers. Never write an answer of a tool yourself.",
    ...tools.map(
      ({ name, description, parameters }) =>
        `## ${name}\n${description}\nArguments: ${shortSchema(parameters)}`,
    ),
  ].join("\n\n");
}

/** JSON Schema of arguments on one line, without parts that make no difference here. */
function shortSchema(schema: Record<string, unknown>): string {
  return JSON.stringify(schema, (key, value) => {
    if (key === "additionalProperties" || key === "$schema") return undefined;
    // To every tool, null means the same as a missing value.
    if (key === "type" && Array.isArray(value) && value.length === 2 && value[1] === "null") return value[0];
    return isObject(value) && isOrNull(value) ? value.anyOf[0] : value;
  });
}

const isOrNull = (value: Record<string, unknown>): value is { anyOf: [unknown, unknown] } =>
  Array.isArray(value.anyOf) && value.anyOf.length === 2 && value.anyOf[1]?.type === "null";

/**
 * Converts a conversation with tools to text, with the rule at the end of its system message. Each message always becomes the same text, so
 * that each request begins with the previous one, and a provider's cache holds. Everything between two turns of the model is one message:
 * many chat templates require alternating turns.
 */
function plainConversation(messages: readonly Message[], rule: string): Message[] {
  const plain: Message[] = [];
  const headings = new Map<string, string>();
  const addUser = (text: string) => {
    const before = plain.at(-1);
    if (before?.role === "user") before.content += `\n\n${text}`;
    else plain.push({ role: "user", content: text });
  };
  for (const message of withRule(messages, rule)) {
    if (message.role === "system") plain.push(message);
    else if (message.role === "user") addUser(message.content);
    else if (message.role === "tool")
      addUser(`${headings.get(message.callId) ?? "Answer"}:\n${message.content}`);
    else {
      for (const [index, { id, name }] of message.toolCalls.entries())
        headings.set(id, `Answer to call ${index + 1}, ${name}`);
      const parts = [message.content, writtenCalls(message.toolCalls)].filter((part) => part !== "");
      plain.push({ role: "assistant", content: parts.join("\n\n"), toolCalls: [] });
    }
  }
  return plain;
}

function withRule(messages: readonly Message[], rule: string): Message[] {
  const [first, ...others] = messages;
  if (first?.role !== "system") return [{ role: "system", content: rule }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${rule}` }, ...others];
}

/** Calls in the form of the rule; empty for none. */
function writtenCalls(toolCalls: readonly ToolCall[]): string {
  if (toolCalls.length === 0) return "";
  const calls = toolCalls.map(({ name, arguments: json }) => ({
    name,
    arguments: readLenientObject(json) ?? json,
  }));
  return JSON.stringify({ calls });
}
