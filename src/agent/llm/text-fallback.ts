import { setImmediate as nextTurn } from "node:timers/promises";
import { isObject, type LenientOptions, readAt, readLenient, readLenientObject } from "./lenient-json.ts";
import {
  type Message,
  type Model,
  type ModelRequest,
  type ModelTurn,
  type ToolCall,
  type ToolDefinition,
  withoutThinking,
} from "./model.ts";
import { freeId, idsOf } from "./request.ts";

/**
 * A model that calls tools with JSON in its text: requests carry no `tools`, and JSON in the answer becomes calls, or an answer of nothing but
 * calls in another spelling. What repeats a text that the model was shown is no call.
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
 * A conversation with tools as text. Each message always becomes the same text, so that a provider's cache holds. All between two turns of the
 * model is one message, because many chat templates require alternating turns.
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

/* Calls in the text of an answer. A model may repeat a diff that holds such a text: what it was shown is never a call. */

/** Tools that only read, or report what people judge. */
export const callableInText: ReadonlySet<string> = new Set([
  ...["changed_files", "get_commit_messages", "diff_file", "diff_files", "list_files", "search_in_files"],
  ...["read_file_part", "read_definition", "find_callers", "graph_rag_query", "report_finding"],
]);

/** A model that sometimes writes calls as text although its API takes tools. Only an answer that is nothing but calls of certain tools is read so. */
export const withCallsInText = (model: Model): Pick<Model, "respond"> => ({
  async respond(request, signal) {
    const turn = await model.respond(request, signal);
    const isCut = turn.finishReason === "length" || turn.finishReason === "content_filter";
    if (turn.toolCalls.length > 0 || isCut) return turn;
    const calls = await wholeCallsIn(withoutThinking(turn.content), request);
    if (calls.length === 0 || !calls.every(({ name }) => callableInText.has(name))) return turn;
    const taken = idsOf(request);
    const toolCalls = calls.map((call) => ({ id: freeId(`${request.messages.length}`, taken), ...call }));
    return { ...turn, content: "", toolCalls, finishReason: "tool_calls" };
  },
});

/** The calls of an answer that is nothing else, in any spelling; none if one names no tool, or repeats what the model was shown. */
export async function wholeCallsIn(
  text: string,
  { messages, tools }: Pick<ModelRequest, "messages" | "tools">,
): Promise<TextCall[]> {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const json = callsIn(text, new Set(byName.keys()), {});
  const spelled = [markedCalls(text), pythonCalls(text)].find((calls) => calls.length > 0) ?? [];
  const [calls, sources] = json.isWhole
    ? [json.calls, json.sources]
    : [spelled.map((one) => typed(one, byName.get(one.name))), spelled.flatMap((one) => one.sources)];
  return calls.every(({ name }) => byName.has(name)) && !(await areShown(messages, calls, sources))
    ? calls
    : [];
}

/** Shorter arguments are in many texts by chance. */
const LEAST_SOURCE = 40;
/** What begins a line that we show: its number, and the sign of a diff. */
const LINE_START = /^[ \t]*\d{0,7}[ \t]*[-+]?/gm;
const withoutSpace = (text: string) => text.replaceAll(/\s+/g, "");

/**
 * Whether the model was shown one of these calls: its text, whatever the indentation and line numbers; or, if the call does more than read,
 * its name close to all of its words, in any spelling.
 */
async function areShown(
  messages: readonly Message[],
  calls: readonly TextCall[],
  sources: readonly string[],
): Promise<boolean> {
  const wanted = sources.map(withoutSpace);
  const words = calls
    .filter(({ name }) => name === "report_finding" || !callableInText.has(name))
    .map(wordsOf);
  for (const { role, content } of messages) {
    if (role === "assistant" || calls.length === 0) continue;
    const plain = content.replaceAll(LINE_START, "");
    const shown = [content, plain].map(withoutSpace);
    if (wanted.some((text) => shown.some((one) => one.includes(text)))) return true;
    const letters = words.length > 0 ? lettersOf(plain) : "";
    if (words.some((one) => standTogether(one, letters))) return true;
    // A conversation may have megabytes.
    await nextTurn();
  }
  return false;
}

/** Letters and digits, which are the same in all spellings of a call. */
const lettersOf = (text: string) =>
  text
    .replaceAll(/\\+u([\da-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\\+[bfnrt]|&#?\w{1,8};/g, "")
    .replaceAll(/[^\p{L}\p{N}]+/gu, "")
    .toLowerCase();

/** The name of a call, and its texts. */
function wordsOf({ name, arguments: json }: TextCall): string[] {
  const texts: string[] = [];
  JSON.stringify(readLenientObject(json), (_, value) => {
    if (typeof value === "string") texts.push(lettersOf(value));
    return value;
  });
  return [lettersOf(name), ...texts];
}

function standTogether([name = "", ...texts]: readonly string[], shown: string): boolean {
  const letters = texts.join("").length;
  if (letters < LEAST_WORDS) return false;
  const reach = 2 * letters + 400;
  for (let at = shown.indexOf(name); at >= 0; at = shown.indexOf(name, at + reach)) {
    const around = shown.slice(Math.max(0, at - reach), at + 2 * reach);
    if (texts.every((text) => around.includes(text))) return true;
  }
  return false;
}

/** In letters. Fewer may be near the name of a tool by chance. */
const LEAST_WORDS = 20;

/** What stands around calls and says nothing. */
const WRAPPERS =
  /<\/?(?:\w{1,20}:)?(?:tool_calls?|function_calls?)>|\[\/?TOOL_CALLS\]|<\|[^<>|\s]{1,40}\|>|<\/s>|```\w*/g;
const isBare = (text: string) => text.replaceAll(WRAPPERS, "").trim() === "";

/** A call in another spelling than JSON. Values between marks are texts, whatever they mean. */
interface SpelledCall {
  name: string;
  values: (readonly [string, unknown])[];
  sources: string[];
}

/** `<function=name>` of Qwen, `<invoke name="name">` of Claude and others, and the bare name of GLM. */
const CALL =
  /<(?:\w{1,20}:)?(?:function=|invoke\s{1,9}name=)"?([\w.-]{1,64})"?\s{0,9}>|([\w.-]{1,64})\s{0,9}(?=<arg_key>|$)/;
const CALL_END = /<\/(?:\w{1,20}:)?(?:function|invoke|tool_call)>/;
const VALUE =
  /^\s*(?:<(?:\w{1,20}:)?parameter(?:=|\s{1,9}name=)"?([\w.-]{1,64})"?[^<>]{0,80}>|<arg_key>([\w.-]{1,64})<\/arg_key>\s*<arg_value>)\n?([\s\S]*?)\n?$/;
const VALUE_END = /<\/(?:\w{1,20}:)?(?:parameter|arg_value)>/;

function markedCalls(text: string): SpelledCall[] {
  const calls: SpelledCall[] = [];
  for (const part of text.split(CALL_END)) {
    const found = CALL.exec(part);
    const before = part.slice(0, found?.index);
    if (!isBare(before)) return [];
    if (!found) continue;
    const [start, named, bare] = found;
    if (bare !== undefined && !before.includes("<tool_call>")) return [];
    const given = part.slice(found.index + start.length);
    const pieces = given.split(VALUE_END);
    const values = pieces.slice(0, -1).map((piece) => VALUE.exec(piece));
    if (pieces.at(-1)?.trim() !== "" || values.includes(null)) return [];
    calls.push({
      name: named ?? bare ?? "",
      values: values.map((value) => [value?.[1] ?? value?.[2] ?? "", value?.[3]]),
      sources: [part.slice(found.index), ...(given.length < LEAST_SOURCE ? [] : [given])],
    });
  }
  return calls;
}

const PYTHON = /\s*(?:([a-zA-Z_][\w.]{0,63})\(|([a-zA-Z_]\w{0,63})\s{0,9}=|[[\]),])\s*/y;

/** `[name(key="value", other=1)]`, as Llama and others write calls. */
function pythonCalls(text: string): SpelledCall[] {
  const list = text.slice(text.indexOf("["), text.lastIndexOf("]") + 1);
  const calls: (SpelledCall & { start: number })[] = [];
  if (!/^\[\s*[a-zA-Z_][\w.]*\(/.test(list) || !isBare(text.replace(list, () => ""))) return [];
  for (let at = 0, end = 0; at < list.length; at = end) {
    PYTHON.lastIndex = at;
    const [token = "", name, key] = PYTHON.exec(list) ?? [];
    const read = key === undefined ? null : readAt(list, at + token.length);
    end = read?.end ?? at + token.length;
    if (end === at || (read && read.value === undefined)) return [];
    if (name !== undefined) calls.push({ name, values: [], sources: [], start: at });
    if (key !== undefined) calls.at(-1)?.values.push([key, read?.value]);
  }
  return calls.map((call, index) => {
    const end = list.lastIndexOf(")", calls[index + 1]?.start) + 1;
    return { ...call, sources: [list.slice(call.start, end)] };
  });
}

/** A call with its arguments as JSON. A text for an argument that is no text is read as a value. */
function typed({ name, values }: SpelledCall, tool: ToolDefinition | undefined): TextCall {
  const properties = isObject(tool?.parameters.properties) ? tool.parameters.properties : {};
  const isText = (schema: unknown) =>
    !isObject(schema) || JSON.stringify([schema.type, schema.anyOf]).includes('"string"');
  const read = ([key, value]: readonly [string, unknown]) =>
    typeof value === "string" && !isText(properties[key]) ? (readLenient(value) ?? value) : value;
  return { name, arguments: JSON.stringify(Object.fromEntries(values.map((one) => [one[0], read(one)]))) };
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
 * The calls that an answer has as JSON, the text around them, whether it is nothing but calls, and each text that is a call or its arguments.
 * Outside of a list of calls, an object is a call only if it names one of `tools`.
 */
export function callsIn(text: string, tools: ReadonlySet<string>, options: LenientOptions) {
  const { found, prose } = scan(text, options);
  const calls = found.flatMap(({ value }) => callsOf(value, tools));
  const given = new Set(calls.map((call) => call.arguments));
  const isSource = ({ value, source }: Found) =>
    callsOf(value, tools).length > 0 || (source.length >= LEAST_SOURCE && given.has(JSON.stringify(value)));
  const sources =
    calls.length === 0
      ? []
      : nested(found)
          .filter(isSource)
          .map(({ source }) => source);
  const isWhole =
    isBare(prose) && found.flatMap(({ value }) => entriesOf(value).entries).length === calls.length;
  return { calls, prose: calls.length > 0 ? prose : text, isWhole, sources };
}

/** The values and those within them: a call in a list, and its arguments. */
function nested(found: readonly Found[], depth = 4): Found[] {
  if (depth === 0) return [];
  return found.flatMap((one) => [one, ...nested(scan(one.source.slice(1), {}).found, depth - 1)]);
}

function callsOf(value: unknown, tools: ReadonlySet<string>): TextCall[] {
  const { entries, isListed } = entriesOf(value);
  return entries.flatMap((one) => callOf(one, tools, isListed));
}

function entriesOf(value: unknown): { entries: unknown[]; isListed: boolean } {
  if (!isObject(value)) return { entries: [value].flat(), isListed: false };
  const listed = value.calls ?? value.tool_calls;
  const isListed = isObject(listed) || Array.isArray(listed);
  return { entries: [isListed ? listed : value].flat(), isListed };
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

interface Found {
  value: unknown;
  source: string;
}

/** The JSON objects and arrays of objects in a model's answer, in order, repaired like in `readLenient`; and the text around them. */
export function scan(text: string, options: LenientOptions): { found: Found[]; prose: string } {
  const found: Found[] = [];
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
      found.push({ value, source: text.slice(start, end) });
      prose += text.slice(done, start);
      done = end;
      starts.lastIndex = end;
    } else if (LIST_START.test(text.slice(start, start + 40))) {
      // If a list cannot be read as a whole, no part of it is used: the other calls would be lost silently.
      break;
    }
  }
  return { found, prose: withoutFences(prose + text.slice(done)) };
}

const LIST_START = /^\{\s*["']?(calls|tool_calls)\b/;

const withoutFences = (text: string) => text.replaceAll(/^```\w*\s*$/gm, "").trim();
