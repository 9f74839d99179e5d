import { z } from "zod";
import { AppError } from "../errors.ts";
import { excerpt, type HideKey } from "./endpoint.ts";
import { readLenientObject, readStrict } from "./lenient-json.ts";
import type { Extras, FinishReason, ModelTurn, ToolCall, Usage } from "./model.ts";

/**
 * Fields of an answer's message that its provider requires in later requests: `reasoning_content` of DeepSeek and Kimi (which refuse a
 * conversation whose calls lack theirs, even an empty one), `reasoning_details` of OpenRouter.
 */
const messageExtras = ["reasoning_content", "reasoning_details"] as const;
/** Fields of a call: Gemini's thought signature is in `extra_content.google.thought_signature`. */
const callExtras = ["extra_content"] as const;

export const extraNames: readonly string[] = [...messageExtras, ...callExtras];

/** Characters of JSON; a whole answer's thinking fits. Longer ones are left out, because they would be paid for in every turn. */
const MAX_EXTRAS = 200_000;

function extrasIn(from: Readonly<Record<string, unknown>>, names: readonly string[]): Extras | undefined {
  const present = names.filter((name) => from[name] !== undefined && from[name] !== null);
  if (present.length === 0) return undefined;
  const extras = Object.fromEntries(present.map((name) => [name, from[name]]));
  return JSON.stringify(extras).length <= MAX_EXTRAS ? extras : undefined;
}

/** Servers omit, rename and retype almost everything: only necessary fields are required. */
const Part = z.union([z.string(), z.looseObject({ text: z.string().catch("") })]);
const Content = z.union([z.string(), z.array(Part)]).nullish();

/** Characters of one answer. No request allows as many, and each of them is read a few times. */
const MAX_WRITTEN = 1_000_000;
/** Calls in one answer. Models make a few at a time, and each one is answered. */
const MAX_CALLS = 2_000;

const Call = z.looseObject({
  id: z.string().nullish().catch(null),
  function: z.looseObject({ name: z.string().catch(""), arguments: z.unknown() }),
});

const AnswerMessage = z.looseObject({
  content: Content,
  refusal: z.string().nullish().catch(null),
  // Counted before any is read.
  tool_calls: z.array(z.unknown()).max(MAX_CALLS).pipe(z.array(Call)).nullish(),
  /** The form before `tool_calls`, which some servers still use. */
  function_call: Call.shape.function.nullish().catch(null),
});

const Choice = z.looseObject({ message: AnswerMessage, finish_reason: z.string().nullish().catch(null) });

const Count = z.number().min(0).nullish().catch(null);
const AnswerUsage = z
  .looseObject({
    prompt_tokens: Count,
    completion_tokens: Count,
    prompt_tokens_details: z.looseObject({ cached_tokens: Count }).nullish().catch(null),
    /** DeepSeek and Moonshot. */
    prompt_cache_hit_tokens: Count,
    cached_tokens: Count,
  })
  .nullish()
  .catch(null);

const Answer = z.looseObject({ choices: z.array(Choice).min(1), usage: AnswerUsage });
type Choice = z.infer<typeof Choice>;

/** An answer in neutral terms, without its price. */
type ParsedTurn = Omit<ModelTurn, "usage"> & { usage: Omit<Usage, "costUsd"> };

/**
 * Reads the body of a response with status 200. Throws `model_failed` with the beginning of the body if it is not an answer. `takenIds` are
 * the call ids of the conversation so far; usage is estimated from `promptCharacters` if the server reports none.
 */
export function readAnswer(
  raw: unknown,
  takenIds: ReadonlySet<string>,
  promptCharacters: number,
  hideKey: HideKey,
): ParsedTurn {
  const answer = Answer.safeParse(typeof raw === "string" ? readStrict(raw) : raw);
  if (!answer.success) {
    if (answer.error.issues.some(({ code }) => code === "too_big")) throw tooMuch(`over ${MAX_CALLS} calls`);
    throw noAnswer(raw, hideKey);
  }
  const { choices, usage } = answer.data;
  const [first] = choices as [Choice, ...Choice[]];
  // No alternatives were requested: several choices are one answer in pieces, text in one and calls in another.
  const content = choices.map(textOf).find((text) => text !== "") ?? "";
  const calling = choices.find((choice) => callsOf(choice).length > 0) ?? first;
  const found = callsOf(calling);
  // Providers require thinking together with the calls that follow it; one model refuses it without calls.
  const extras = found.length > 0 ? extrasIn(calling.message, messageExtras) : undefined;
  const length = JSON.stringify({ content, found, extras }).length;
  if (length > MAX_WRITTEN) throw tooMuch(`${length} characters`);
  const reason = finishReason(calling.finish_reason ?? null, found.length > 0);
  const toolCalls = withUniqueIds(found, takenIds).map((call) => repaired(call, reason === "length"));
  const written = content.length + toolCalls.reduce((sum, call) => sum + call.arguments.length, 0);
  return {
    content,
    toolCalls,
    finishReason: reason,
    usage: readUsage(usage, promptCharacters, written),
    ...(extras ? { extras } : {}),
  };
}

/** Repairs the JSON if that requires no guess: several servers fail on past arguments that they wrote themselves. */
function repaired(call: ToolCall, isCut: boolean): ToolCall {
  if (typeof readStrict(call.arguments) === "object") return call;
  const value = readLenientObject(call.arguments, { isCut });
  return value ? { ...call, arguments: JSON.stringify(value) } : call;
}

function textOf({ message }: Choice): string {
  const { content, refusal } = message;
  if (typeof content === "string" && content !== "") return content;
  if (Array.isArray(content))
    return content.map((part) => (typeof part === "string" ? part : part.text)).join("");
  return refusal ?? "";
}

interface FoundCall {
  id: string | null;
  name: string;
  arguments: string;
  extras?: Extras;
}

function callsOf({ message }: Choice): FoundCall[] {
  if (message.tool_calls?.length) {
    return message.tool_calls.map((call) => {
      const extras = extrasIn(call, callExtras);
      return { id: call.id ?? null, ...functionOf(call.function), ...(extras ? { extras } : {}) };
    });
  }
  return message.function_call ? [{ id: null, ...functionOf(message.function_call) }] : [];
}

function functionOf(called: z.infer<typeof Call>["function"]): { name: string; arguments: string } {
  const given = called.arguments ?? {};
  if (typeof given === "string") return { name: called.name, arguments: given.trim() === "" ? "{}" : given };
  return { name: called.name, arguments: JSON.stringify(given) };
}

/** Ids that every server accepts and that are unique in the conversation, so that every answer matches its call. */
function withUniqueIds(calls: readonly FoundCall[], takenIds: ReadonlySet<string>): ToolCall[] {
  const taken = new Set(takenIds);
  return calls.map((call) => {
    let id = call.id ?? "";
    for (let n = taken.size; !/^[\w-]{1,40}$/.test(id) || taken.has(id); n++) id = `call_${n}`;
    taken.add(id);
    return { ...call, id };
  });
}

function finishReason(reason: string | null, hasCalls: boolean): FinishReason {
  switch (reason?.toLowerCase()) {
    case "length":
    case "max_tokens":
      return "length";
    case "content_filter":
      return "content_filter";
    case "tool_calls":
    case "function_call":
    case "stop":
    case "":
    case undefined:
      return hasCalls ? "tool_calls" : "stop";
    default:
      return "other";
  }
}

/** Limits must also apply to servers that report no usage: then about four characters count as a token. */
function readUsage(usage: z.infer<typeof AnswerUsage>, prompt: number, written: number): ParsedTurn["usage"] {
  const promptTokens = usage?.prompt_tokens || Math.ceil(prompt / 4);
  const cached =
    usage?.prompt_tokens_details?.cached_tokens ??
    usage?.prompt_cache_hit_tokens ??
    usage?.cached_tokens ??
    0;
  return {
    promptTokens,
    cachedTokens: Math.min(cached, promptTokens),
    completionTokens: usage?.completion_tokens ?? Math.ceil(written / 4),
  };
}

function tooMuch(what: string): AppError {
  const message = `The model endpoint sent ${what} in one answer, more than any request asks for`;
  return new AppError("model_failed", message, { remedy: "Check which server answers at OPENAI_BASE_URL." });
}

function noAnswer(raw: unknown, hideKey: HideKey): AppError {
  const text = typeof raw === "string" ? raw : (JSON.stringify(raw) ?? "nothing");
  const said = excerpt(text, hideKey);
  if (/^\s*<(!doctype|html)/i.test(text)) {
    return new AppError("model_failed", `The model endpoint answered with a web page: ${said}`, {
      remedy: "Check OPENAI_BASE_URL: it must be the address of an API, and usually ends with /v1.",
    });
  }
  return new AppError("model_failed", `The model endpoint gave no usable answer: ${said}`, {
    remedy: "Check that the endpoint at OPENAI_BASE_URL supports OpenAI's Chat Completions.",
  });
}
