import type { Message, Model, ToolDefinition, Usage } from "../llm/model.ts";
import { toDefinition } from "../tools/to-openai.ts";
import type { AnyTool } from "../tools/tool.ts";
import { createRepeatCounter } from "./answer-calls.ts";
import {
  addUsage,
  answerTokensLeft,
  createTokenEstimator,
  exceeded,
  type Limits,
  MIN_ANSWER_TOKENS,
  noUsage,
  type Reservation,
  type Spent,
  type TokenBudget,
  type TokenEstimator,
  turnsLeft,
  type UsageTotals,
} from "./limits.ts";
import { createPlayback, createRecorder, type Recorder } from "./recorder.ts";
import type { LoopEntry, StopReason, Trajectory } from "./trajectory.ts";

interface CompactOptions {
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

export interface LoopOptions {
  /** Names the loop within its run: "review". */
  loop: string;
  model: Model;
  /** System prompt and task. Neither is ever shortened. */
  messages: readonly Message[];
  tools: readonly AnyTool[];
  limits: Limits;
  /** What this loop shares with others of its run. */
  budget?: TokenBudget;
  trajectory: Trajectory;
  signal: AbortSignal;
  /** Milliseconds. */
  now(): number;
  /** What an earlier run of the same task recorded: its turns are not paid again. */
  replay?: readonly LoopEntry[];
  /** Its turns are all there is: no model is asked, and they are taken whatever the conversation is by now. */
  isPlayback?: boolean | undefined;
}

/** Longest answer asked for; what a reasoning model thinks counts as answer. */
const MAX_ANSWER_TOKENS = 16_000;
/** About the longest answer of one tool: it bounds what calls that run together add to a conversation. */
const TOOL_ANSWER_TOKENS = 8_000;
const MAX_CONCURRENCY = 8;
/** The estimate of tokens may be off by the rest. */
const USABLE_SHARE = 0.95;

/** What changes while a loop runs, and what follows from it. */
export class LoopState {
  readonly recorder: Recorder;
  readonly tools: ReadonlyMap<string, AnyTool>;
  /** The tools as the model is told of them. */
  readonly definitions: readonly ToolDefinition[];
  /** Fires when the caller aborts or the time is up. */
  readonly signal: AbortSignal;
  readonly repeats = createRepeatCounter();
  /** Reading calls that run together, and what they may add: never more than the window has room for. */
  readonly room: { concurrency: number; roomCharacters: number };
  messages: readonly Message[] = [];
  usage: UsageTotals = noUsage;
  /** Turns so far. */
  turn = 0;
  /** Turns in a row without a tool call. */
  idleTurns = 0;
  /** True once the model was told that a limit is near. */
  wrappingUp = false;

  readonly #options: LoopOptions;
  readonly #tokens: TokenEstimator;
  readonly #deadline: AbortSignal;
  readonly #started: number;
  #lastCostUsd: number | null = null;
  #hold: Reservation | null = null;

  constructor(options: LoopOptions) {
    const { contextTokens } = options.model;
    const create = options.isPlayback ? createPlayback : createRecorder;
    this.recorder = create(options.trajectory, options.loop, options.replay ?? []);
    this.tools = new Map(options.tools.map((tool) => [tool.name, tool]));
    this.definitions = options.tools.map(toDefinition);
    this.room = {
      concurrency: Math.min(MAX_CONCURRENCY, Math.max(1, Math.floor(contextTokens / 4 / TOOL_ANSWER_TOKENS))),
      // A quarter of the window at four characters a token.
      roomCharacters: contextTokens,
    };
    this.#options = options;
    this.#tokens = createTokenEstimator(this.definitions, options.budget?.calibration);
    this.#deadline = AbortSignal.timeout(Math.ceil(options.limits.milliseconds));
    this.signal = AbortSignal.any([options.signal, this.#deadline]);
    this.#started = options.now();
  }

  /** Puts the task on record. */
  async begin(): Promise<void> {
    this.messages = await this.recorder.say([...this.#options.messages]);
  }

  add(messages: readonly Message[]): void {
    this.messages = [...this.messages, ...messages];
  }

  /** Adds and records a message of ours, or what an earlier run said at this point; null when nothing was said. */
  async say(text: string | null): Promise<string | null> {
    const said = await this.recorder.say(text === null ? [] : [{ role: "user", content: text }]);
    this.add(said);
    return said[0]?.content ?? null;
  }

  /** Counts a turn whose request held the messages so far. */
  charge(usage: Usage): void {
    this.turn += 1;
    this.usage = addUsage(this.usage, usage);
    this.#lastCostUsd = usage.costUsd;
    if (this.#hold) this.settle(usage);
    else this.#options.budget?.count(usage);
    this.#tokens.learn(this.messages, usage.promptTokens);
  }

  /** The request has ended: what it did not use is free for other loops. */
  settle(usage: Usage | null): void {
    this.#hold?.settle(usage);
    this.#hold = null;
  }

  /** Makes the conversation fit the window; the limit that forbids another turn, if one does. */
  beforeTurn(): StopReason | undefined {
    const { model, limits } = this.#options;
    const window = model.contextTokens * USABLE_SHARE;
    this.messages = compact(this.messages, {
      limitTokens: window - this.#tokens.tools - Math.min(MAX_ANSWER_TOKENS, model.contextTokens / 4),
      tokensOf: (message) => this.#tokens.message(message),
      isKept: (tool) => this.tools.get(tool)?.kind === "report",
    });
    const interrupted = this.interrupted();
    // What an earlier run has paid for is no matter of limits.
    if (interrupted || this.recorder.has(this.turn + 1)) return interrupted;
    const ended = this.recorder.endedBefore(this.turn + 1);
    if (ended) return ended;
    const next = this.#nextPromptTokens();
    const stop = exceeded(limits, this.#spent(), next);
    if (stop) return stop;
    if (next + MIN_ANSWER_TOKENS > model.contextTokens) return "token_limit";
    const hold = this.#options.budget?.reserve(next, this.#wantedAnswer(next));
    if (typeof hold === "string") return hold;
    this.#hold = hold ?? null;
    return undefined;
  }

  /** Why `signal` fired, if it did. */
  interrupted(): "aborted" | "time_limit" | undefined {
    if (this.#options.signal.aborted) return "aborted";
    return this.#deadline.aborted ? "time_limit" : undefined;
  }

  /** Tokens that the next answer may have. */
  answerTokens(): number {
    return this.#hold?.answerTokens ?? this.#wantedAnswer(this.#nextPromptTokens());
  }

  #wantedAnswer(promptTokens: number): number {
    const { model, limits } = this.#options;
    const left = answerTokensLeft(limits, this.#spent(), promptTokens);
    return Math.floor(
      Math.max(MIN_ANSWER_TOKENS, Math.min(MAX_ANSWER_TOKENS, model.contextTokens / 4, left)),
    );
  }

  turnsLeft(): number {
    const next = this.#nextPromptTokens();
    const own = turnsLeft(this.#options.limits, this.#spent(), next);
    const { budget } = this.#options;
    return budget ? Math.min(own, Math.max(0, Math.floor(budget.tokensLeft() / (next + 1)))) : own;
  }

  #nextPromptTokens(): number {
    return this.#tokens.request(this.messages);
  }

  #spent(): Spent {
    const elapsedMs = this.#options.now() - this.#started;
    return { turns: this.turn, usage: this.usage, lastCostUsd: this.#lastCostUsd, elapsedMs };
  }
}
