import type { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { excerpt, type HideKey, type Provider } from "./endpoint.ts";
import { readLenientObject, readStrict } from "./lenient-json.ts";
import type { Extras, FinishReason, ModelTurn, ToolCall, Usage } from "./model.ts";
import { isFiltered, isPage } from "./refusal.ts";

/* What the answers of all providers have in common: limits, calls, and errors. */

/** An answer in neutral terms, without its price. */
export type ParsedTurn = Omit<ModelTurn, "usage"> & { usage: Omit<Usage, "costUsd"> };

/** Characters of JSON; a whole answer's thinking fits. Longer ones are left out, because they would be paid for in every turn. */
export const MAX_EXTRAS = 200_000;

/** Characters of one answer. No request allows as many, and each of them is read a few times. */
export const MAX_WRITTEN = 1_000_000;
/** Calls in one answer. Models make a few at a time, and each one is answered. */
export const MAX_CALLS = 2_000;

export interface FoundCall {
  id: string | null;
  name: string;
  arguments: string;
  extras?: Extras | undefined;
}

/** Repairs the JSON if that requires no guess: several servers fail on past arguments that they wrote themselves. */
export function repaired(call: ToolCall, isCut: boolean): ToolCall {
  if (typeof readStrict(call.arguments) === "object") return call;
  const value = readLenientObject(call.arguments, { isCut });
  return value ? { ...call, arguments: JSON.stringify(value) } : call;
}

/** Ids that every server accepts and that are unique in the conversation, so that every answer matches its call. */
export function withUniqueIds(calls: readonly FoundCall[], takenIds: ReadonlySet<string>): ToolCall[] {
  const taken = new Set(takenIds);
  return calls.map((call) => {
    let id = call.id ?? "";
    for (let n = taken.size; !/^[\w-]{1,40}$/.test(id) || taken.has(id); n++) id = `call_${n}`;
    taken.add(id);
    return { ...call, id };
  });
}

export function tooMuch(what: string, { baseUrl }: Provider): AppError {
  const message = `The model endpoint sent ${what} in one answer, more than any request asks for`;
  return new AppError("model_failed", message, { remedy: `Check which server answers at ${baseUrl}.` });
}

function noAnswer(raw: unknown, { api, baseUrl, addressHint }: Provider, hideKey: HideKey): AppError {
  const text = typeof raw === "string" ? raw : (JSON.stringify(raw) ?? "nothing");
  const said = excerpt(text, hideKey);
  if (isPage(text)) {
    return new AppError("model_failed", `The model endpoint answered with a web page: ${said}`, {
      remedy: `Check ${baseUrl}: it must be the address of an API; ${addressHint}.`,
    });
  }
  // Some providers give one now and then.
  return new AppError("model_failed", `The model endpoint gave no usable answer: ${said}`, {
    retryable: true,
    remedy: `Try again. If this continues, check that the endpoint at ${baseUrl} supports ${api}.`,
  });
}

const CUT = new Set(["length", "max_tokens", "model_context_window_exceeded"]);
const ENDED = new Set(["", "stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "tool_use"]);

export function finishReason(reason: string | null | undefined, hasCalls: boolean): FinishReason {
  const word = (reason ?? "").toLowerCase();
  if (isFiltered(word)) return "content_filter";
  if (CUT.has(word)) return "length";
  if (!ENDED.has(word)) return "other";
  return hasCalls ? "tool_calls" : "stop";
}

/** What a schema reads of an answer. Throws `model_failed` with the beginning of `raw` if it reads nothing, or if that has too many parts. */
export function parseAnswer<Schema extends z.ZodType>(
  schema: Schema,
  raw: unknown,
  provider: Provider,
  hideKey: HideKey,
): z.infer<Schema> {
  const answer = schema.safeParse(raw);
  if (answer.success) return answer.data;
  const isTooMuch = answer.error.issues.some(({ code }) => code === "too_big");
  throw isTooMuch ? tooMuch(`over ${MAX_CALLS} parts`, provider) : noAnswer(raw, provider, hideKey);
}
