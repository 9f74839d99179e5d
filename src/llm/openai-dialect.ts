import type { ModelRequest } from "./model.ts";
import { isContextTooLong, type Refusal } from "./openai-errors.ts";
import { extraNames } from "./openai-extras.ts";
import type { Dialect } from "./openai-request.ts";
import { hasUnsigned } from "./told-turns.ts";

const other = { max_tokens: "max_completion_tokens", max_completion_tokens: "max_tokens" } as const;
const MIN_OUTPUT_TOKENS = 1_024;

/**
 * The dialect to try after a refusal that names a parameter of ours; null when the refusal is about something else or there
 * is nothing left to try, so that asking again always ends.
 */
export function adapted(
  dialect: Dialect,
  refusal: Refusal,
  { messages, maxOutputTokens: asked }: Pick<ModelRequest, "messages" | "maxOutputTokens">,
): Dialect | null {
  if (refusal.status !== 400 && refusal.status !== 422) return null;
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
  if (!names(dialect.tokenParameter)) return null;
  if (/too (large|high|big)|at most|less than|range of/i.test(refusal.message)) {
    const half = Math.floor(Math.min(asked, dialect.maxOutputTokens) / 2);
    return half < MIN_OUTPUT_TOKENS ? null : { ...dialect, maxOutputTokens: half };
  }
  if (dialect.tokenParameterSwitched || isContextTooLong(refusal)) return null;
  return { ...dialect, tokenParameter: other[dialect.tokenParameter], tokenParameterSwitched: true };
}
