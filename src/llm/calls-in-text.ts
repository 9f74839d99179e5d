import { jsonIn } from "./json-in-text.ts";
import { isObject, type LenientOptions, readLenientObject } from "./lenient-json.ts";

/** A call as a text holds it; `arguments` is JSON. */
export interface TextCall {
  name: string;
  arguments: string;
}

const nameKeys = ["name", "tool", "tool_name", "function"] as const;
const argumentKeys = ["arguments", "parameters", "args", "params", "input"] as const;
/** What stands beside the arguments where they are not in an object of their own. */
const notArguments = new Set<string>([...nameKeys, "id", "type"]);

/**
 * The calls in a model's answer, in whatever of the usual spellings, and what it says around them. Outside of a list of
 * calls an object counts as one only when it names a tool of `tools`: an answer may quote JSON that means something else.
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
  const mended = readLenientObject(given);
  return mended ? JSON.stringify(mended) : given;
}
