import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../core/errors.ts";
import { withoutSecrets } from "../../core/secrets/redact.ts";
import type { Message, Model, ModelTurn, ToolDefinition, Usage } from "../llm/model.ts";
import type { LoopEntry, StopReason, Trajectory } from "../record/trajectory.ts";
import { toDefinition } from "../tools/to-openai.ts";
import type { AnyTool } from "../tools/tool.ts";
import { RepeatCounter, WRAP_UP_TURNS } from "./answer-calls.ts";
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

interface CompactOptions {
  limitTokens: number;
  tokensOf(message: Message): number;
  /** True for tools whose answers are never removed, such as reports. */
  isKept(tool: string): boolean;
}

/** Target size after compaction, as a share of the limit: several turns fit before the next one, so that caches hit again. */
const TARGET_SHARE = 0.6;
/** Newest turns that stay whole: fewer to reach the target, one to fit at all. The model has not read the last one yet. */
const WHOLE_TURNS = [4, 2, 1];

/** A longer message of ours shows content and may be removed; a shorter one is an instruction and stays. */
const MAX_INSTRUCTION = 2_000;

/**
 * Fits the conversation into the limit: old tool results and shown content become a line that says so, oldest first. Every other text stays,
 * and no message is added, removed or moved. Returns the same list if it fits, and the best effort if it cannot.
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

/** The replacement of each message that may be shortened, and the tokens it saves; oldest first. */
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

/** Nothing of the answer stays: a part of delimited text could pass for ours. */
const shortenedAnswer = (tool: string, content: string) =>
  `[This answer of ${tool} (${content.length} characters) was removed to save room. Make the call again if you need it.]`;

const shortenedShow = (content: string) =>
  `[The text here (${content.length} characters) was removed to save room. Read it with a tool if you need it again.]`;

function toolsByCall(messages: readonly Message[]): Map<string, string> {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  return new Map(calls.map((call) => [call.id, call.name]));
}

function startOfNewest(messages: readonly Message[], turns: number): number {
  const starts = messages.flatMap((message, index) => (message.role === "assistant" ? [index] : []));
  return starts.at(-turns) ?? 0;
}

type ToolResults = Extract<LoopEntry, { kind: "tool_results" }>["results"];

/**
 * Writes a loop's trajectory, and follows an earlier one while the conversation is the same: its turns are paid for. From the first tool
 * result that differs, the earlier run is ignored.
 */
class Recorder {
  readonly #trajectory: Trajectory;
  readonly #loop: string;
  /** Whether the earlier run finished. */
  readonly #finished: boolean;
  /** What is left of the earlier run. */
  #ahead: readonly LoopEntry[];
  #isFirst = true;

  constructor({ trajectory, loop, replay }: Pick<LoopOptions, "trajectory" | "loop" | "replay">) {
    const own = replay.filter((entry) => entry.loop === loop);
    this.#trajectory = trajectory;
    this.#loop = loop;
    const last = own.at(-1);
    this.#finished = last?.kind === "stopped" && last.reason === "finished";
    this.#ahead = newestCourse(own.filter(({ kind }) => kind !== "stopped"));
  }

  /** Records messages of ours. While it follows an earlier run, that run's messages are returned instead. */
  async say(messages: Message[]): Promise<Message[]> {
    const [next] = this.#ahead;
    // The first messages are the task: if they differ, nothing of the record applies.
    if (!this.#isFirst && next?.kind === "messages") {
      this.#ahead = this.#ahead.slice(1);
      return next.messages;
    }
    if (!this.#isFirst && next) return [];
    this.#isFirst = false;
    if (messages.length > 0) await this.#compareOrAppend({ kind: "messages", loop: this.#loop, messages });
    return messages;
  }

  /** Whether this turn is recorded: it costs nothing. */
  has(turn: number): boolean {
    return this.#recorded(turn) !== null;
  }

  /** The recorded turn, or the answer to `ask`, which is durable before it is returned. An error is not recorded. */
  async turn(turn: number, ask: () => Promise<ModelTurn | AppError>): Promise<ModelTurn | AppError> {
    const known = this.#recorded(turn);
    this.#ahead = known ? this.#ahead.slice(1) : [];
    if (known) return known;
    const model = await ask();
    if (model instanceof AppError) return model;
    await this.#trajectory.append({ kind: "turn", loop: this.#loop, turn, model });
    return model;
  }

  /** Records answers. Resolves to the number of turns left: the given estimate, or that of the earlier run. */
  async results(turn: number, results: ToolResults, turnsLeft: number): Promise<number> {
    const near = turnsLeft <= WRAP_UP_TURNS ? { limitNear: turnsLeft } : {};
    const entry: LoopEntry = { kind: "tool_results", loop: this.#loop, turn, results, ...near };
    const taken = await this.#compareOrAppend(entry);
    return (taken.kind === "tool_results" && taken.limitNear) || turnsLeft;
  }

  stopped(reason: string, fault: AppError | null): Promise<void> {
    const why = fault ? { fault: { code: fault.code, message: withoutSecrets(fault.message) } } : {};
    return this.#trajectory.append({ kind: "stopped", loop: this.#loop, reason, ...why });
  }

  /** Whether the earlier run finished in this turn; false if it went on, undefined if the record does not say. */
  finishedIn(turn: number): boolean | undefined {
    const [next, ...later] = this.#ahead;
    if (next?.kind !== "tool_results" || next.turn !== turn) return undefined;
    return later.length > 0 ? false : this.#finished || undefined;
  }

  #recorded(turn: number): ModelTurn | null {
    const [next] = this.#ahead;
    return next?.kind === "turn" && next.turn === turn ? next.model : null;
  }

  async #compareOrAppend(entry: LoopEntry): Promise<LoopEntry> {
    const [next] = this.#ahead;
    if (next && isSameStep(next, entry)) {
      this.#ahead = this.#ahead.slice(1);
      return next;
    }
    this.#ahead = [];
    await this.#trajectory.append(entry);
    return entry;
  }
}

/** Compares two steps without the distance to a limit, which depends on the clock. */
function isSameStep(one: LoopEntry, other: LoopEntry): boolean {
  return isDeepStrictEqual(withoutLimit(one), withoutLimit(other));
}

function withoutLimit(entry: LoopEntry): LoopEntry {
  if (entry.kind !== "tool_results") return entry;
  const { limitNear: _, ...step } = entry;
  return step;
}

/** The newest course of a loop: a step that is recorded again replaces everything from there on, a new task replaces everything. */
function newestCourse(entries: readonly LoopEntry[]): LoopEntry[] {
  const course: LoopEntry[] = [];
  for (const entry of entries) {
    if (isTask(entry)) course.length = 0;
    const again = course.findIndex(
      (one) => "turn" in one && "turn" in entry && one.kind === entry.kind && one.turn === entry.turn,
    );
    if (again >= 0) course.length = again;
    course.push(entry);
  }
  return course;
}

/** Only the task has a system prompt; later messages have none. */
function isTask(entry: LoopEntry): boolean {
  return entry.kind === "messages" && entry.messages.some(({ role }) => role === "system");
}

export interface LoopOptions {
  loop: string;
  model: Model;
  /** System prompt and task; never shortened. */
  messages: readonly Message[];
  tools: readonly AnyTool[];
  limits: Limits;
  budget: TokenBudget;
  trajectory: Trajectory;
  signal: AbortSignal;
  /** Milliseconds. */
  now(): number;
  /** The record of an earlier run of the same task: its turns are not paid again. */
  replay: readonly LoopEntry[];
}

/** Maximum tokens of an answer, including reasoning. */
const MAX_ANSWER_TOKENS = 16_000;
/** About the longest answer of one tool; limits what concurrent calls add to a conversation. */
const TOOL_ANSWER_TOKENS = 8_000;
const MAX_CONCURRENCY = 8;
/** The assumed window after a refusal, as a share of the conversation that was too long. */
const SHRUNK_SHARE = 0.6;
/** The rest is a margin for the error of the estimate. */
const USABLE_SHARE = 0.95;

export class LoopState {
  readonly recorder: Recorder;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly definitions: readonly ToolDefinition[];
  /** Fires if the caller aborts, or the time is up. */
  readonly signal: AbortSignal;
  readonly repeats = new RepeatCounter();
  /** Limits for concurrent reading calls, which depend on the window. */
  readonly room: { concurrency: number; roomCharacters: number };
  messages: readonly Message[] = [];
  usage: UsageTotals = noUsage;
  turn = 0;
  idleTurns = 0;
  /** True once the model knows that a limit is near. */
  wrappingUp = false;

  readonly #options: LoopOptions;
  readonly #tokens: TokenEstimator;
  readonly #deadline: AbortSignal;
  readonly #started: number;
  #lastCostUsd: number | null = null;
  #hold: Reservation | null = null;
  /** After the provider refused a conversation as too long: the window that is assumed instead, in tokens. */
  #shrunk = Number.POSITIVE_INFINITY;

  constructor(options: LoopOptions) {
    const { contextTokens } = options.model;
    this.recorder = new Recorder(options);
    this.tools = new Map(options.tools.map((tool) => [tool.name, tool]));
    this.definitions = options.tools.map(toDefinition);
    this.room = {
      concurrency: Math.min(MAX_CONCURRENCY, Math.max(1, Math.floor(contextTokens / 4 / TOOL_ANSWER_TOKENS))),
      // A quarter of the window at four characters a token.
      roomCharacters: contextTokens,
    };
    this.#options = options;
    this.#tokens = createTokenEstimator(this.definitions, options.budget.calibration);
    this.#deadline = AbortSignal.timeout(Math.ceil(options.limits.milliseconds));
    this.signal = AbortSignal.any([options.signal, this.#deadline]);
    this.#started = options.now();
  }

  async begin(): Promise<void> {
    this.messages = await this.recorder.say([...this.#options.messages]);
  }

  add(messages: readonly Message[]): void {
    this.messages = [...this.messages, ...messages];
  }

  /** Adds and records a message of ours, or that of an earlier run at this point; null if there is none. */
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
    else this.#options.budget.count(usage);
    this.#tokens.learn(this.messages, usage.promptTokens);
  }

  /** Ends the reservation of a request: unused tokens are free for other loops. */
  settle(usage: Usage | null): void {
    this.#hold?.settle(usage);
    this.#hold = null;
  }

  /** Fits the conversation into the window. Returns the limit that forbids another turn, if one does. */
  beforeTurn(): StopReason | undefined {
    const { model, limits } = this.#options;
    this.messages = this.#compacted();
    const interrupted = this.interrupted();
    // Recorded turns are paid for, so no limit applies.
    if (interrupted || this.recorder.has(this.turn + 1)) return interrupted;
    const next = this.#nextPromptTokens();
    const stop = exceeded(limits, this.#spent(), next);
    if (stop) return stop;
    if (next + MIN_ANSWER_TOKENS > model.contextTokens) return "token_limit";
    const hold = this.#options.budget.reserve(next, this.#wantedAnswer(next));
    if (typeof hold === "string") return hold;
    this.#hold = hold;
    return undefined;
  }

  get #window(): number {
    return Math.min(this.#options.model.contextTokens, this.#shrunk);
  }

  #compacted(): readonly Message[] {
    return compact(this.messages, {
      limitTokens:
        this.#window * USABLE_SHARE - this.#tokens.tools - Math.min(MAX_ANSWER_TOKENS, this.#window / 4),
      tokensOf: (message) => this.#tokens.message(message),
      isKept: (tool) => this.tools.get(tool)?.kind === "report",
    });
  }

  /** Assumes a smaller window after a refusal as too long. False if that was done before, or makes the conversation no shorter. */
  shrinkWindow(): boolean {
    if (Number.isFinite(this.#shrunk)) return false;
    this.#shrunk = Math.min(this.#window, this.#nextPromptTokens()) * SHRUNK_SHARE;
    const before = this.#nextPromptTokens();
    this.messages = this.#compacted();
    return this.#nextPromptTokens() < before;
  }

  interrupted(): "aborted" | "time_limit" | undefined {
    if (this.#options.signal.aborted) return "aborted";
    return this.#deadline.aborted ? "time_limit" : undefined;
  }

  /** Whether no turn follows this one: the earlier run finished in it, or a limit allows no other. */
  isLast(): boolean {
    return this.recorder.finishedIn(this.turn) ?? this.turnsLeft() === 0;
  }

  answerTokens(): number {
    return this.#hold?.answerTokens ?? this.#wantedAnswer(this.#nextPromptTokens());
  }

  #wantedAnswer(promptTokens: number): number {
    const left = answerTokensLeft(this.#options.limits, this.#spent(), promptTokens);
    return Math.floor(Math.max(MIN_ANSWER_TOKENS, Math.min(MAX_ANSWER_TOKENS, this.#window / 4, left)));
  }

  turnsLeft(): number {
    const next = this.#nextPromptTokens();
    const own = turnsLeft(this.#options.limits, this.#spent(), next);
    return Math.min(own, Math.max(0, Math.floor(this.#options.budget.tokensLeft() / (next + 1))));
  }

  #nextPromptTokens(): number {
    return this.#tokens.request(this.messages);
  }

  #spent(): Spent {
    const elapsedMs = this.#options.now() - this.#started;
    return { turns: this.turn, usage: this.usage, lastCostUsd: this.#lastCostUsd, elapsedMs };
  }
}
