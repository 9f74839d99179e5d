import type { ModelRequest } from "./model.ts";
import { isContextTooLong, type Refusal } from "./openai-errors.ts";
import { extraNames } from "./openai-extras.ts";
import type { Dialect } from "./openai-request.ts";
import { hasUnsigned } from "./told-turns.ts";

const other = { max_tokens: "max_completion_tokens", max_completion_tokens: "max_tokens" } as const;
const MIN_OUTPUT_TOKENS = 1_024;
/** Of one answer; a model that is not to write as much is not to be asked. */
const LEAST_ANSWER_TOKENS = 256;

/** What is asked, and how. */
export interface Sent {
  request: ModelRequest;
  dialect: Dialect;
}

/**
 * What to try after a refusal that names a parameter of ours; null when the refusal is about something else or there is nothing
 * left to try, so that asking again always ends.
 */
export function adapted(sent: Sent, refusal: Refusal): Sent | null {
  if (refusal.status !== 400 && refusal.status !== 422) return null;
  const request = withShorterAnswer(sent, refusal);
  if (request) return { ...sent, request };
  const dialect = adaptedDialect(sent, refusal);
  return dialect && { ...sent, dialect };
}

function adaptedDialect(
  { dialect, request: { messages, maxOutputTokens: asked } }: Sent,
  refusal: Refusal,
): Dialect | null {
  const names = (parameter: string) =>
    refusal.param === parameter || new RegExp(`\\b${parameter}\\b`, "i").test(refusal.message);

  if (dialect.parallelToolCalls && names("parallel_tool_calls"))
    return { ...dialect, parallelToolCalls: false };
  // Ollama speaks of it by another name.
  if (dialect.reasoningEffort && (names("reasoning_effort") || /support thinking/i.test(refusal.message)))
    return { ...dialect, reasoningEffort: null };
  // Of a conversation that another model began, some servers miss what others do not know.
  const missesExtras = /passed back|missing/i.test(refusal.message);
  if (dialect.extras && extraNames.some(names) && !missesExtras) return { ...dialect, extras: false };
  const isMissed = missesExtras && [...extraNames, "thought_?signature"].some(names);
  if (!dialect.tellsOthersTurns && isMissed && hasUnsigned(messages))
    return { ...dialect, tellsOthersTurns: true };
  if (!names(dialect.tokenParameter) || isContextTooLong(refusal)) return null;
  if (isTooLong(refusal)) {
    const half = Math.floor(Math.min(asked, dialect.maxOutputTokens) / 2);
    return half < MIN_OUTPUT_TOKENS ? null : { ...dialect, maxOutputTokens: half };
  }
  if (dialect.tokenParameterSwitched) return null;
  return { ...dialect, tokenParameter: other[dialect.tokenParameter], tokenParameterSwitched: true };
}

/**
 * The request with a shorter answer, where its conversation leaves no room for the one that was asked for; null where the refusal
 * is about something else.
 */
function withShorterAnswer({ request, dialect }: Sent, refusal: Refusal): ModelRequest | null {
  const isOfAnswer = refusal.message.includes(dialect.tokenParameter);
  if (!isOfAnswer || !isContextTooLong(refusal) || !isTooLong(refusal)) return null;
  const half = Math.floor(Math.min(request.maxOutputTokens, dialect.maxOutputTokens) / 2);
  return half < LEAST_ANSWER_TOKENS ? null : { ...request, maxOutputTokens: half };
}

const isTooLong = ({ message }: Refusal) => /too (large|high|big)|at most|less than|range of/i.test(message);
