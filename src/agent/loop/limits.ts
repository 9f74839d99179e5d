import type { Message, ToolDefinition, Usage } from "../llm/model.ts";
import type { StopReason } from "../record/trajectory.ts";

export interface Limits {
  turns: number;
  /** Prompt and completion tokens of all requests together. */
  tokens: number;
  /** US dollars; null for no limit. Has no effect if the model's price is unknown. */
  costUsd: number | null;
  /** Wall time. */
  milliseconds: number;
}

export interface Spent {
  turns: number;
  usage: Usage;
  /** Cost of the last turn, as the estimate for the next one; null if unknown, or before the first. */
  lastCostUsd: number | null;
  elapsedMs: number;
}

/** A request with less room for its answer is not worth its cost. */
export const MIN_ANSWER_TOKENS = 256;

const usedTokens = ({ usage }: Spent) => usage.promptTokens + usage.completionTokens;

/** The limit that the next request would exceed; undefined if it may be made. */
export function exceeded(limits: Limits, spent: Spent, nextPromptTokens: number): StopReason | undefined {
  if (spent.turns >= limits.turns) return "turn_limit";
  if (spent.elapsedMs >= limits.milliseconds) return "time_limit";
  if (usedTokens(spent) + nextPromptTokens + MIN_ANSWER_TOKENS > limits.tokens) return "token_limit";
  const { costUsd } = spent.usage;
  if (limits.costUsd === null || costUsd === null) return undefined;
  if (costUsd >= limits.costUsd || costUsd + (spent.lastCostUsd ?? 0) > limits.costUsd) return "cost_limit";
  return undefined;
}

export function answerTokensLeft(limits: Limits, spent: Spent, nextPromptTokens: number): number {
  return limits.tokens - usedTokens(spent) - nextPromptTokens;
}

/** Estimates the number of turns left from the turns so far. Infinite before the first. */
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

export interface UsageTotals extends Omit<Usage, "answeredBy"> {
  requests: number;
  /** Requests that a fallback model answered, by its name; omitted if there are none. */
  standIns?: Readonly<Record<string, number>>;
}

export const noUsage: UsageTotals = {
  requests: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  costUsd: 0,
};

export function addUsage(totals: UsageTotals, usage: Usage): UsageTotals {
  return {
    requests: totals.requests + 1,
    promptTokens: totals.promptTokens + usage.promptTokens,
    cachedTokens: totals.cachedTokens + usage.cachedTokens,
    completionTokens: totals.completionTokens + usage.completionTokens,
    costUsd: totals.costUsd === null || usage.costUsd === null ? null : totals.costUsd + usage.costUsd,
    ...standIns(totals, usage),
  };
}

function standIns({ standIns: before }: UsageTotals, { answeredBy }: Usage): Pick<UsageTotals, "standIns"> {
  if (answeredBy === undefined) return before ? { standIns: before } : {};
  return { standIns: { ...before, [answeredBy]: (before?.[answeredBy] ?? 0) + 1 } };
}

/** A rule of thumb for English and code, corrected by the provider's own count. */
const CHARACTERS_PER_TOKEN = 4;
/** Roles, ids and separators around each message. */
const MESSAGE_OVERHEAD = 16;
/** A count outside of these bounds is not a correction: the server counts something else. */
const MIN_FACTOR = 0.5;
const MAX_FACTOR = 4;

/** Factor between the estimate and the provider's count. Loops of one run share it. */
interface Calibration {
  factor: number;
}

export type TokenEstimator = ReturnType<typeof createTokenEstimator>;

/** Estimates token counts for one model, and improves with each request. */
export function createTokenEstimator(
  tools: readonly ToolDefinition[],
  calibration: Calibration = { factor: 1 },
) {
  const toolCharacters = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  const tokens = (characters: number) => Math.ceil((characters / CHARACTERS_PER_TOKEN) * calibration.factor);
  return {
    /** Tokens of a request with these messages, tool definitions included. */
    request: (messages: readonly Message[]) => tokens(toolCharacters + charactersOf(messages)),
    message: (message: Message) => tokens(characters(message)),
    /** Tokens of the tool definitions, which every request carries. */
    get tools() {
      return tokens(toolCharacters);
    },
    /** Corrects the estimate by what the provider counted for a request with these messages. */
    learn(messages: readonly Message[], promptTokens: number) {
      if (promptTokens <= 0) return;
      const guess = (toolCharacters + charactersOf(messages)) / CHARACTERS_PER_TOKEN;
      calibration.factor = Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, promptTokens / guess));
    },
  };
}

const charactersOf = (messages: readonly Message[]) =>
  messages.reduce((sum, message) => sum + characters(message), 0);

function characters(message: Message): number {
  const calls = message.role === "assistant" ? message.toolCalls : [];
  const inCalls = calls.reduce(
    (sum, call) => sum + call.name.length + call.arguments.length + MESSAGE_OVERHEAD,
    0,
  );
  return message.content.length + inCalls + MESSAGE_OVERHEAD;
}

/** Limits that several loops of one run share. Turns are limited for each loop. */
type SharedLimits = Pick<Limits, "tokens" | "costUsd">;

export interface Reservation {
  readonly answerTokens: number;
  /** Ends the reservation with the request's usage, or null if it failed. */
  settle(usage: Usage | null): void;
}

/** The budget of several loops. The tokens of a request in flight are reserved, so that concurrent requests cannot exceed it together. */
export interface TokenBudget {
  readonly usage: UsageTotals;
  /** Reserves tokens for the next request, or names the limit it would exceed. The answer may get less than it wants. */
  reserve(promptTokens: number, answerTokens?: number): Reservation | StopReason;
  /** Counts a request of an earlier run, which is already paid for, regardless of the current limits. */
  count(usage: Usage): void;
  /** Tokens that are neither used nor reserved. */
  tokensLeft(): number;
  readonly calibration: Calibration;
  /** A part of what is left now, which counts here as well. The share may change. */
  part(share: () => number): TokenBudget;
}

/** Maximum share of the remaining tokens for one answer, so that concurrent loops can all answer. */
const ANSWER_SHARE = 1 / 4;

export const createTokenBudget = (limits: SharedLimits): TokenBudget => openBudget(() => limits, null);

function openBudget(limitsNow: () => SharedLimits, parent: TokenBudget | null): TokenBudget {
  const calibration = parent?.calibration ?? { factor: 1 };
  let usage = noUsage;
  let held = 0;
  let dearest = 0;
  let underWay = 0;
  const tokensLeft = () => {
    const own = limitsNow().tokens - usage.promptTokens - usage.completionTokens - held;
    return Math.min(own, parent?.tokensLeft() ?? own);
  };

  /** Requests in flight are assumed to cost as much as the most expensive one so far. */
  function isTooDear(): boolean {
    const { costUsd } = limitsNow();
    if (costUsd === null || usage.costUsd === null) return false;
    return usage.costUsd + dearest * (underWay + 1) > costUsd || usage.costUsd >= costUsd;
  }

  return {
    get usage() {
      return usage;
    },
    calibration,
    tokensLeft,
    reserve(promptTokens, wanted = MIN_ANSWER_TOKENS) {
      const left = tokensLeft() - promptTokens;
      if (left < MIN_ANSWER_TOKENS) return "token_limit";
      if (isTooDear()) return "cost_limit";
      const answerTokens = Math.floor(Math.max(MIN_ANSWER_TOKENS, Math.min(wanted, left * ANSWER_SHARE)));
      const above = parent?.reserve(promptTokens, answerTokens);
      if (typeof above === "string") return above;
      const tokens = promptTokens + answerTokens;
      held += tokens;
      underWay += 1;
      return {
        answerTokens,
        settle(used) {
          held -= tokens;
          underWay -= 1;
          if (used) usage = addUsage(usage, used);
          dearest = Math.max(dearest, used?.costUsd ?? 0);
          above?.settle(used);
        },
      };
    },
    count(paid) {
      usage = addUsage(usage, paid);
      dearest = Math.max(dearest, paid.costUsd ?? 0);
      parent?.count(paid);
    },
    part(share) {
      const { costUsd } = limitsNow();
      const costLeft = costUsd === null ? null : costUsd - (usage.costUsd ?? 0);
      const left = Math.max(0, tokensLeft());
      const limits = () => ({
        tokens: Math.floor(left * share()),
        costUsd: costLeft === null ? null : costLeft * share(),
      });
      return openBudget(limits, this);
    },
  };
}
