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
/** How many of the newest turns stay whole, less where that is not enough. The newest one is not yet read by the model. */
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

  const toolOf = toolsByCall(messages);
  const compacted = [...messages];
  for (const wholeTurns of WHOLE_TURNS) {
    const end = startOfNewest(messages, wholeTurns);
    for (let i = 0; i < end && size > options.limitTokens * TARGET_SHARE; i++) {
      const message = compacted[i];
      if (message?.role !== "tool") continue;
      const tool = toolOf.get(message.callId) ?? "the tool";
      if (options.isKept(tool)) continue;
      const shorter: Message = { ...message, content: shortened(tool, message.content) };
      const saved = options.tokensOf(message) - options.tokensOf(shorter);
      if (saved <= 0) continue;
      compacted[i] = shorter;
      size -= saved;
    }
    if (size <= options.limitTokens) break;
  }
  return compacted;
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
