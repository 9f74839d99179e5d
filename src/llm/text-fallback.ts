import { isObject, type LenientOptions, readAt, readLenientObject } from "./lenient-json.ts";
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
 * becomes calls. An answer without a call does not change.
 */
export function withTextProtocol(model: Model): Model {
  return {
    name: model.name,
    contextTokens: model.contextTokens,
    protocol: "text",
    async respond(request, signal) {
      if (request.tools.length === 0) return model.respond(request, signal);
      const messages = plainConversation(request.messages, textRule(request.tools));
      return withCalls(await model.respond({ ...request, messages, tools: [] }, signal), request);
    },
  };
}

function withCalls(
  { content, finishReason, usage }: ModelTurn,
  { messages, tools }: ModelRequest,
): ModelTurn {
  const names = new Set(tools.map(({ name }) => name));
  const { calls, prose } = callsIn(withoutThinking(content), names, { isCut: finishReason === "length" });
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

/** A call in a text; `arguments` is JSON. */
interface TextCall {
  name: string;
  arguments: string;
}

const nameKeys = ["name", "tool", "tool_name", "function"] as const;
const argumentKeys = ["arguments", "parameters", "args", "params", "input"] as const;
/** Keys next to the arguments if these have no object of their own. */
const notArguments = new Set<string>([...nameKeys, "id", "type"]);

/**
 * The calls in a model's answer, in any of the usual spellings, and the text around them. Outside of a list of calls, an object is a call
 * only if it names one of `tools`: an answer may quote other JSON.
 */
export function callsIn(
  text: string,
  tools: ReadonlySet<string>,
  options: LenientOptions,
): { calls: TextCall[]; prose: string } {
  const { values, prose } = jsonIn(text, options);
  const calls = values.flatMap((value) => callsOf(value, tools));
  return { calls, prose: calls.length > 0 ? prose : text };
}

function callsOf(value: unknown, tools: ReadonlySet<string>): TextCall[] {
  if (Array.isArray(value)) return value.flatMap((one) => callOf(one, tools, false));
  if (!isObject(value)) return [];
  const listed = value.calls ?? value.tool_calls;
  if (Array.isArray(listed)) return listed.flatMap((one) => callOf(one, tools, true));
  return isObject(listed) ? callOf(listed, tools, true) : callOf(value, tools, false);
}

function callOf(value: unknown, tools: ReadonlySet<string>, isListed: boolean): TextCall[] {
  if (!isObject(value)) return [];
  // OpenAI's own form: {"type": "function", "function": {"name": ..., "arguments": ...}}.
  const call = isObject(value.function) ? value.function : value;
  const names = nameKeys.map((key) => call[key]).filter((name) => typeof name === "string");
  const name = names.find((one) => tools.has(one)) ?? names[0];
  if (name === undefined) return keyedCall(call, tools);
  return isListed || tools.has(name) ? [{ name, arguments: argumentsOf(call) }] : [];
}

/** {"diff_file": {"file_path": "a.ts"}} */
function keyedCall(value: Record<string, unknown>, tools: ReadonlySet<string>): TextCall[] {
  const [[name, given] = ["", null], ...others] = Object.entries(value);
  if (others.length > 0 || !tools.has(name) || !isObject(given)) return [];
  return [{ name, arguments: JSON.stringify(given) }];
}

function argumentsOf(call: Record<string, unknown>): string {
  const key = argumentKeys.find((one) => call[one] !== undefined);
  if (key === undefined) {
    const beside = Object.entries(call).filter(([name]) => !notArguments.has(name));
    return JSON.stringify(Object.fromEntries(beside));
  }
  const given = call[key] ?? {};
  if (typeof given !== "string") return JSON.stringify(given);
  const repaired = readLenientObject(given);
  return repaired ? JSON.stringify(repaired) : given;
}

/** Maximum number of brackets in a text at which to look for a value. */
const MAX_LOOKS = 100;
/** How often all looks together may read the text: each of them may read to its end. */
const MAX_READINGS = 3;

interface JsonInText {
  /** Objects and arrays, in order, not nested. */
  values: unknown[];
  /** The text around them, without code fences. */
  prose: string;
}

/** Finds the JSON objects and arrays of objects in a model's answer, repaired like in `readLenient`. */
export function jsonIn(text: string, options: LenientOptions): JsonInText {
  const values: unknown[] = [];
  let prose = "";
  let done = 0;
  let left = MAX_READINGS * text.length;
  const starts = /\{|\[(?=\s*\{)/g;
  for (let looks = 0; looks < MAX_LOOKS && left > 0; looks++) {
    const start = starts.exec(text)?.index;
    if (start === undefined) break;
    const { value, end } = readAt(text, start, options);
    left -= end - start;
    if (value !== undefined) {
      values.push(value);
      prose += text.slice(done, start);
      done = end;
      starts.lastIndex = end;
    } else if (WRAPPER.test(text.slice(start, start + 40))) {
      // If a list cannot be read as a whole, no part of it is used: the other calls would be lost silently.
      break;
    }
  }
  return { values, prose: withoutFences(prose + text.slice(done)) };
}

const WRAPPER = /^\{\s*["']?(calls|tool_calls)\b/;

const withoutFences = (text: string) => text.replaceAll(/^```\w*\s*$/gm, "").trim();
