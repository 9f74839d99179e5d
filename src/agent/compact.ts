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

/** A message of ours that is longer shows the model something, as an answer does; a shorter one tells it what to do. */
const MAX_INSTRUCTION = 2_000;

/**
 * The conversation within the limit: old tool results, and what else we have shown on the way, give way to a line that
 * says so, oldest first. System prompt, task, instructions, the model's own words and calls, and answers of kept tools stay
 * as they are; no message is added, removed or moved, so every answer still follows its call. Returns the same list when it
 * fits, and what could be done when it cannot fit.
 */
export function compact(messages: readonly Message[], options: CompactOptions): readonly Message[] {
  let size = messages.reduce((sum, message) => sum + options.tokensOf(message), 0);
  if (size <= options.limitTokens) return messages;

  const shorter = shortenedMessages(messages, options);
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

/** What could stand in place of each message that may be shortened, and the tokens it would save; oldest first. */
function shortenedMessages(messages: readonly Message[], { tokensOf, isKept }: CompactOptions) {
  const toolOf = toolsByCall(messages);
  const firstTurn = messages.findIndex(({ role }) => role === "assistant");
  const shorterThan = (message: Message, index: number): string | null => {
    if (message.role === "tool") {
      const tool = toolOf.get(message.callId) ?? "a tool";
      return isKept(tool) ? null : shortenedAnswer(tool, message.content);
    }
    const isShown = message.role === "user" && index > firstTurn && message.content.length > MAX_INSTRUCTION;
    return isShown ? shortenedShow(message.content) : null;
  };
  return messages.flatMap((message, index) => {
    const content = shorterThan(message, index);
    if (content === null) return [];
    const shorter: Message = { ...message, content };
    const saved = tokensOf(message) - tokensOf(shorter);
    return saved <= 0 ? [] : [{ index, message: shorter, saved }];
  });
}

/** Nothing of the answer stays: a part of fenced text could pass for ours, and the call beside it says what it was. */
const shortenedAnswer = (tool: string, content: string) =>
  `[This answer of ${tool} (${content.length} characters) was taken out to save room. Make the call again if you need it.]`;

const shortenedShow = (content: string) =>
  `[What was shown here (${content.length} characters) was taken out to save room. Read it with a tool if you need it again.]`;

function toolsByCall(messages: readonly Message[]): Map<string, string> {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  return new Map(calls.map((call) => [call.id, call.name]));
}

/** Index of the message with which the newest `turns` turns begin. */
function startOfNewest(messages: readonly Message[], turns: number): number {
  const starts = messages.flatMap((message, index) => (message.role === "assistant" ? [index] : []));
  return starts.at(-turns) ?? 0;
}
