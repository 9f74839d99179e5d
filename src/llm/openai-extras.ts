import type { Extras } from "./model.ts";

/**
 * Fields of an answer's message that its provider wants back with later requests: `reasoning_content` of DeepSeek and Kimi
 * (which refuse a conversation whose calls have lost theirs, an empty one too), `reasoning_details` of OpenRouter.
 */
const ofMessage = ["reasoning_content", "reasoning_details"] as const;
/** Fields of a call: Gemini's thought signature stands in `extra_content.google.thought_signature`. */
const ofCall = ["extra_content"] as const;

export const extraNames: readonly string[] = [...ofMessage, ...ofCall];

/** Characters of JSON; a whole answer's thinking fits. Longer ones are left out: they would be paid for in every turn. */
const MAX_EXTRAS = 200_000;

export const messageExtras = (message: Readonly<Record<string, unknown>>) => kept(message, ofMessage);
export const callExtras = (call: Readonly<Record<string, unknown>>) => kept(call, ofCall);

function kept(from: Readonly<Record<string, unknown>>, names: readonly string[]): Extras | undefined {
  const present = names.filter((name) => from[name] !== undefined && from[name] !== null);
  if (present.length === 0) return undefined;
  const extras = Object.fromEntries(present.map((name) => [name, from[name]]));
  return JSON.stringify(extras).length <= MAX_EXTRAS ? extras : undefined;
}
