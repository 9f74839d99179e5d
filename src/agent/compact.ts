import type { Message } from "../llm/model.ts";

export interface CompactOptions {
  /** Tokens that all messages together may have. */
  limitTokens: number;
  tokensOf(message: Message): number;
  /** True for tools whose answers are never shortened: what was reported must stay in sight. */
  isKept(tool: string): boolean;
}

/** Once something must go, this share of the limit is what stays: room for several turns, so that caches hit again. */
const TARGET_SHARE = 0.6;
/**
 * How many of the newest turns stay whole: fewer to reach the target, one alone only to fit at all. That one is never
 * touched, for the model has not read it yet.
 */
const WHOLE_TURNS = [4, 2, 1];

/**
 * The conversation within the limit: old tool results give way to a line that says so, oldest first. System prompt, user
 * messages, the model's own words and calls, and answers of kept tools stay as they are; no message is added, removed or
 * moved, so every answer still follows its call. Returns the same list when it fits, and what could be done when it
 * cannot fit.
 */
export function compact(messages: readonly Message[], options: CompactOptions): readonly Message[] {
  let size = messages.reduce((sum, message) => sum + options.tokensOf(message), 0);
  if (size <= options.limitTokens) return messages;

  const shorter = shortenedAnswers(messages, options);
  const compacted = [...messages];
  const target = options.limitTokens * TARGET_SHARE;
  for (const wholeTurns of WHOLE_TURNS) {
    if (size <= (wholeTurns > 1 ? target : options.limitTokens)) break;
    const end = startOfNewest(messages, wholeTurns);
    for (const { index, message, saved } of shorter) {
      if (index >= end || size <= target) break;
      if (compacted[index] === message) continue;
      compacted[index] = message;
      size -= saved;
    }
  }
  return compacted;
}

/** What could stand in place of each answer that may be shortened, and the tokens it would save; oldest first. */
function shortenedAnswers(messages: readonly Message[], { tokensOf, isKept }: CompactOptions) {
  const toolOf = toolsByCall(messages);
  return messages.flatMap((message, index) => {
    if (message.role !== "tool") return [];
    const tool = toolOf.get(message.callId) ?? "a tool";
    const shorter: Message = { ...message, content: shortened(tool, message.content) };
    const saved = tokensOf(message) - tokensOf(shorter);
    return isKept(tool) || saved <= 0 ? [] : [{ index, message: shorter, saved }];
  });
}

/** Nothing of the answer stays: a part of fenced text could pass for ours, and the call beside it says what it was. */
const shortened = (tool: string, content: string) =>
  `[This answer of ${tool} (${content.length} characters) was taken out to save room. Make the call again if you need it.]`;

function toolsByCall(messages: readonly Message[]): Map<string, string> {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  return new Map(calls.map((call) => [call.id, call.name]));
}

/** Index of the message with which the newest `turns` turns begin. */
function startOfNewest(messages: readonly Message[], turns: number): number {
  const starts = messages.flatMap((message, index) => (message.role === "assistant" ? [index] : []));
  return starts.at(-turns) ?? 0;
}
