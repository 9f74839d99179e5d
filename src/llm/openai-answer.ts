import { z } from "zod";
import { AppError } from "../errors.ts";
import { readLenientObject, readStrict } from "./lenient-json.ts";
import type { Extras, FinishReason, ModelTurn, ToolCall, Usage } from "./model.ts";
import { excerpt, type HideKey } from "./openai-errors.ts";
import { callExtras, messageExtras } from "./openai-extras.ts";

/** Servers that speak the dialect leave out, rename and retype almost everything: only what is needed is asked for. */
const Part = z.union([z.string(), z.looseObject({ text: z.string().catch("") })]);
const Content = z.union([z.string(), z.array(Part)]).nullish();

/** Characters that a model writes in one answer: no model is asked for as many. Each of them is looked at a few times. */
const MAX_WRITTEN = 1_000_000;
/** Calls in one answer: models make a few at a time. Of the first thousands each is answered, if only by a refusal. */
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
  /** The form before `tool_calls`, still spoken by some. */
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

/** An answer in neutral terms, but for its price. */
export type ParsedTurn = Omit<ModelTurn, "usage"> & { usage: Omit<Usage, "costUsd"> };

/**
 * Reads what came with status 200. Throws `model_failed` with the beginning of what came when it is no answer.
 * `takenIds` are the call ids of the conversation so far; `promptCharacters` is what usage is estimated from where the
 * server tells none.
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
  // We never ask for alternatives: several choices are one answer in pieces, text in one and calls in another.
  const content = choices.map(textOf).find((text) => text !== "") ?? "";
  const calling = choices.find((choice) => callsOf(choice).length > 0) ?? first;
  const found = callsOf(calling);
  // Thinking is wanted back with the calls that it led to; one model refuses it without any.
  const extras = found.length > 0 ? messageExtras(calling.message) : undefined;
  const length = JSON.stringify({ content, found, extras }).length;
  if (length > MAX_WRITTEN) throw tooMuch(`${length} characters`);
  const reason = finishReason(calling.finish_reason ?? null, found.length > 0);
  const toolCalls = withUniqueIds(found, takenIds).map((call) => mended(call, reason === "length"));
  const written = content.length + toolCalls.reduce((sum, call) => sum + call.arguments.length, 0);
  return {
    content,
    toolCalls,
    finishReason: reason,
    usage: readUsage(usage, promptCharacters, written),
    ...(extras ? { extras } : {}),
  };
}

/** Valid JSON from here on, where it can be had without a guess: several servers fail on what they wrote themselves. */
function mended(call: ToolCall, isCut: boolean): ToolCall {
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
      const extras = callExtras(call);
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

/** Ids that no server refuses and that no other call of the conversation has, so that every answer finds its call. */
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

/** Limits must hold with servers that tell no usage too: about four characters a token then. */
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
  const message = `The model endpoint gave ${what} in one answer, more than any model is asked for`;
  return new AppError("model_failed", message, { remedy: "Check what answers at OPENAI_BASE_URL." });
}

function noAnswer(raw: unknown, hideKey: HideKey): AppError {
  const text = typeof raw === "string" ? raw : (JSON.stringify(raw) ?? "nothing");
  const told = excerpt(text, hideKey);
  if (/^\s*<(!doctype|html)/i.test(text)) {
    return new AppError("model_failed", `The model endpoint answered with a web page: ${told}`, {
      remedy: "Check OPENAI_BASE_URL: it is the address of an API and usually ends in /v1.",
    });
  }
  return new AppError("model_failed", `The model endpoint gave no usable answer: ${told}`, {
    remedy: "Check that OPENAI_BASE_URL speaks OpenAI's Chat Completions.",
  });
}
