import type { Usage } from "../llm/model.ts";
import type { StopReason } from "./events.ts";

/** Hard limits of a loop. */
export interface Limits {
  turns: number;
  /** Prompt and completion tokens of all requests together. */
  tokens: number;
  /** US dollars; null for none. Cannot hold for a model whose price is not known. */
  costUsd: number | null;
  /** Wall time. */
  milliseconds: number;
}

/** What a loop has used so far. */
export interface Spent {
  turns: number;
  usage: Usage;
  /** Cost of the last turn: the best guess at the next one's. Null when not known, or before the first. */
  lastCostUsd: number | null;
  elapsedMs: number;
}

/** With less room than this for its answer a request is not worth its price. */
export const MIN_ANSWER_TOKENS = 256;

const usedTokens = ({ usage }: Spent) => usage.promptTokens + usage.completionTokens;

/** The limit that the next request would break; undefined when it may be made. */
export function exceeded(limits: Limits, spent: Spent, nextPromptTokens: number): StopReason | undefined {
  if (spent.turns >= limits.turns) return "turn_limit";
  if (spent.elapsedMs >= limits.milliseconds) return "time_limit";
  if (usedTokens(spent) + nextPromptTokens + MIN_ANSWER_TOKENS > limits.tokens) return "token_limit";
  const { costUsd } = spent.usage;
  if (limits.costUsd === null || costUsd === null) return undefined;
  if (costUsd >= limits.costUsd || costUsd + (spent.lastCostUsd ?? 0) > limits.costUsd) return "cost_limit";
  return undefined;
}

/** Tokens the next answer may have under the limit. */
export function answerTokensLeft(limits: Limits, spent: Spent, nextPromptTokens: number): number {
  return limits.tokens - usedTokens(spent) - nextPromptTokens;
}

/** How many turns the limits leave, guessing that the next ones are like those before. Infinite before the first. */
export function turnsLeft(limits: Limits, spent: Spent, nextPromptTokens: number): number {
  if (spent.turns === 0) return Number.POSITIVE_INFINITY;
  const answerTokens = spent.usage.completionTokens / spent.turns;
  const { costUsd } = spent.usage;
  const byCost =
    limits.costUsd !== null && costUsd !== null && spent.lastCostUsd
      ? (limits.costUsd - costUsd) / spent.lastCostUsd
      : Number.POSITIVE_INFINITY;
  const byTime =
    spent.elapsedMs > 0
      ? (limits.milliseconds - spent.elapsedMs) / (spent.elapsedMs / spent.turns)
      : Number.POSITIVE_INFINITY;
  const byTokens = (limits.tokens - usedTokens(spent)) / (nextPromptTokens + answerTokens + 1);
  return Math.max(0, Math.floor(Math.min(limits.turns - spent.turns, byTokens, byCost, byTime)));
}
