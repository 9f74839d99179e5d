import { z } from "zod";
import {
  type FoundCall,
  finishReason,
  MAX_CALLS,
  MAX_EXTRAS,
  MAX_WRITTEN,
  type ParsedTurn,
  parseAnswer,
  repaired,
  tooMuch,
  withUniqueIds,
} from "./answer.ts";
import type { HideKey } from "./endpoint.ts";
import { isObject } from "./lenient-json.ts";
import type { Extras } from "./model.ts";
import { openAi } from "./openai-client.ts";
import { hasFilterMark, isFiltered } from "./refusal.ts";

/**
 * Fields of an answer's message that its provider requires in later requests: `reasoning_content` of DeepSeek and Kimi (which refuse a
 * conversation whose calls lack theirs, even an empty one), `reasoning_details` of OpenRouter.
 */
const messageExtras = ["reasoning_content", "reasoning_details"] as const;
/** Fields of a call: Gemini's thought signature is in `extra_content.google.thought_signature`. */
const callExtras = ["extra_content"] as const;

export const extraNames: readonly string[] = [...messageExtras, ...callExtras];

function extrasIn(from: Readonly<Record<string, unknown>>, names: readonly string[]): Extras | undefined {
  const present = names.filter((name) => from[name] !== undefined && from[name] !== null);
  if (present.length === 0) return undefined;
  const extras = Object.fromEntries(present.map((name) => [name, from[name]]));
  return JSON.stringify(extras).length <= MAX_EXTRAS ? extras : undefined;
}

/** Servers omit, rename and retype almost everything: only necessary fields are required. */
const Part = z.union([z.string(), z.looseObject({ text: z.string().catch("") })]);
const Content = z.union([z.string(), z.array(Part)]).nullish();

const Call = z.looseObject({
  id: z.string().nullish().catch(null),
  function: z.looseObject({ name: z.string().catch(""), arguments: z.unknown().optional() }),
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
  const { choices, usage } = parseAnswer(Answer, withFiltered(raw), openAi, hideKey);
  const [first] = choices as [Choice, ...Choice[]];
  // No alternatives were requested: several choices are one answer in pieces, text in one and calls in another.
  const content = choices.map(textOf).find((text) => text !== "") ?? "";
  const calling = choices.find((choice) => callsOf(choice).length > 0) ?? first;
  const isRefused =
    choices.some((one) => isFiltered(one.finish_reason ?? "")) ||
    choices.every((one) => isRefusal(one) && callsOf(one).length === 0);
  const found = isRefused ? [] : callsOf(calling);
  // Providers require thinking together with the calls that follow it; one model refuses it without calls.
  const extras = found.length > 0 ? extrasIn(calling.message, messageExtras) : undefined;
  const length = JSON.stringify({ content, found, extras }).length;
  if (length > MAX_WRITTEN) throw tooMuch(`${length} characters`, openAi);
  const reason = isRefused ? "content_filter" : finishReason(calling.finish_reason, found.length > 0);
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

/** A filter may leave neither choices nor a message. */
function withFiltered(raw: unknown): unknown {
  if (!isObject(raw)) return raw;
  const choices = Array.isArray(raw.choices) ? raw.choices : [];
  if (choices.length === 0 && hasFilterMark(raw))
    return { ...raw, choices: [{ message: {}, finish_reason: "content_filter" }] };
  const filled = choices.map((one) =>
    isObject(one) && one.message == null && isFiltered(String(one.finish_reason))
      ? { ...one, message: {} }
      : one,
  );
  return { ...raw, choices: filled };
}

/** The model's own refusal, which is there instead of a text. */
const isRefusal = ({ message: { content, refusal } }: Choice) =>
  (refusal ?? "") !== "" && (content ?? "").length === 0;

function textOf({ message }: Choice): string {
  const { content, refusal } = message;
  if (typeof content === "string" && content !== "") return content;
  if (Array.isArray(content))
    return content.map((part) => (typeof part === "string" ? part : part.text)).join("");
  return refusal ?? "";
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
