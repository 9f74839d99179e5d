import Anthropic from "@anthropic-ai/sdk";
import { LRUCache } from "lru-cache";
import type { AppError } from "../errors.ts";
import { blocksIn, readAnswer } from "./anthropic-answer.ts";
import { anthropic, createClient, endpointUrl } from "./anthropic-client.ts";
import {
  chatAnswer,
  type Endpoint,
  type EndpointOptions,
  isContextTooLong,
  keyHider,
  modelList,
  type Refusal,
  type RetryOptions,
  toAppError,
  toolsRefused,
  withoutKey,
  withRetries,
} from "./endpoint.ts";
import { isObject, readStrict } from "./lenient-json.ts";
import type { EndpointModel, Message, ModelRequest, ModelTurn } from "./model.ts";
import { allWritten, costOf, type PriceTable, priceOf } from "./prices.ts";
import { idsOf, nameOnWire, withoutServerSecrets } from "./request.ts";

/** How much a model thinks: words of ours, in the order of effort. */
type Effort = "minimal" | "low" | "medium" | "high";

export interface AnthropicOptions extends EndpointOptions, RetryOptions {
  model: string;
  /** Size of the model's context window in tokens. */
  contextTokens: number;
  /** If absent, the model decides. */
  reasoningEffort?: Effort | null;
  prices: PriceTable;
  /** For one try. */
  timeoutMs: number;
}

/** A model behind Anthropic's Messages API. Throws `config_invalid` for a bad address. */
export function createAnthropicModel(options: AnthropicOptions): Required<EndpointModel> {
  const url = endpointUrl(options);
  const { model, timeoutMs } = options;
  const hideKey = keyHider(options.apiKey);
  const endpoint: Endpoint = { provider: anthropic, model, address: url.href, timeoutMs, hideKey };
  const client = createClient(options, url, chatAnswer);
  const price = priceOf(model, options.prices);
  let dialect = firstDialect(options);
  const refused = createRefusedThoughts();

  async function sendOnce({ request, dialect: spoken }: Sent, signal: AbortSignal): Promise<ModelTurn> {
    const body = toRequestBody(model, { request, dialect: spoken });
    // Not `messages.create`: that prints a warning for models that will go.
    const raw: unknown = await client.post("/v1/messages", { body, signal });
    const read = readAnswer(raw, idsOf(request), JSON.stringify(body).length, hideKey);
    dialect = spoken;
    const { usage, writtenTokens, ...turn } = read;
    return { ...turn, usage: { ...usage, costUsd: costOf({ ...usage, writtenTokens }, price) } };
  }

  async function send(asked: ModelRequest, signal: AbortSignal): Promise<ModelTurn> {
    const request = refused.removedFrom(withoutServerSecrets(asked));
    let sent: Sent = { request, dialect };
    for (;;) {
      try {
        return await sendOnce(sent, signal);
      } catch (error) {
        const next = error instanceof Anthropic.APIError ? adapted(sent, anthropic.refusalOf(error)) : null;
        if (!next) throw failure(error, signal, request.tools.length > 0);
        refused.learn(sent.request, next.request);
        sent = next;
      }
    }
  }

  function failure(error: unknown, signal: AbortSignal, hasTools = false): AppError {
    const noTools =
      hasTools && error instanceof Anthropic.APIError
        ? toolsRefused(anthropic.refusalOf(error), endpoint)
        : null;
    return noTools ?? withoutKey(toAppError(error, endpoint, signal), hideKey);
  }

  /** Rejects with an AppError; null if the service has no such path. */
  async function look<T>(ask: (client: Anthropic) => Promise<T>, signal: AbortSignal): Promise<T | null> {
    try {
      return await ask(createClient(options, url, modelList));
    } catch (error) {
      if (error instanceof Anthropic.APIError && (error.status === 404 || error.status === 405)) return null;
      throw failure(error, signal);
    }
  }

  return {
    name: model,
    contextTokens: options.contextTokens,
    protocol: "native",
    costOf: (usage) => costOf(allWritten(usage), price),
    respond: (request, signal) => withRetries(() => send(request, signal), options, signal),
    listModels: (signal) =>
      withRetries(() => look((one) => namesOfModels(one, signal), signal), options, signal),
    async findContextTokens(signal) {
      const found = await look(
        (one) => one.get(`/v1/models/${encodeURIComponent(model)}`, { signal }),
        signal,
      ).catch((error: unknown) => {
        if (signal.aborted) throw error;
        return null;
      });
      const tokens = isObject(found) ? found.max_input_tokens : null;
      return typeof tokens === "number" && tokens > 0 ? tokens : null;
    },
  };
}

async function namesOfModels(client: Anthropic, signal: AbortSignal): Promise<string[] | null> {
  const page: { data?: unknown } = await client.get("/v1/models", { query: { limit: 1000 }, signal });
  if (!Array.isArray(page.data)) return null;
  const names = page.data
    .map((one: unknown) => (isObject(one) ? String(one.id ?? "") : ""))
    .filter((id) => id !== "");
  return names.length > 0 ? names : null;
}

/** The parameters that a model accepts: guessed from its name, then learned from refusals, once for each model. */
interface Dialect {
  /** Null if not configured, or after the model refused all forms of it. */
  effort: Effort | null;
  /**
   * `adaptive`: the model decides when it thinks, and gets an effort. `budget`: it gets a number of tokens, the only form of models before
   * Claude 4.6; those from 4.7 on refuse it (https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking).
   */
  thinking: "adaptive" | "budget";
  /** True after the other form was tried: there is no third. */
  thinkingSwitched: boolean;
  /** Longest answer that may be requested, in tokens. */
  maxOutputTokens: number;
}

const withBudgets = /claude-(?:[23]\b|instant|(?:haiku|sonnet|opus)-4(?:-[0-5])?(?:\b|$)(?!-[6-9]))/;

const firstDialect = ({ model, reasoningEffort }: AnthropicOptions): Dialect => ({
  effort: reasoningEffort ?? null,
  thinking: withBudgets.test(model) ? "budget" : "adaptive",
  thinkingSwitched: false,
  maxOutputTokens: Number.POSITIVE_INFINITY,
});

interface Sent {
  request: ModelRequest;
  dialect: Dialect;
}

/** For one answer. A model that may not write this much is not useful. */
const LEAST_ANSWER_TOKENS = 256;

/**
 * The next form to try after a refusal that names a parameter of ours; null if the refusal is about something else or nothing is left to
 * try. Each change is made once or shrinks a number, so the loop always ends.
 */
function adapted({ request, dialect }: Sent, refusal: Refusal): Sent | null {
  const { status, message } = refusal;
  if (status !== 400) return null;
  // Of another account, or bound to a text that has changed since, because a secret in it is masked now.
  if (/signature|thinking` blocks?\b|cannot be modified/i.test(message) && request.messages.some(hasThinking))
    return { dialect, request: { ...request, messages: request.messages.map(withoutThinking) } };
  if (
    dialect.effort !== null &&
    /\bthinking\b|\bbudget_tokens\b|\badaptive\b|\beffort\b|\boutput_config\b/i.test(message)
  ) {
    if (dialect.thinkingSwitched) return { request, dialect: { ...dialect, effort: null } };
    const thinking = dialect.thinking === "adaptive" ? "budget" : "adaptive";
    return { request, dialect: { ...dialect, thinking, thinkingSwitched: true } };
  }
  if (!/\bmax_tokens\b/.test(message)) return null;
  const half = Math.floor(Math.min(request.maxOutputTokens, dialect.maxOutputTokens) / 2);
  if (half < LEAST_ANSWER_TOKENS) return null;
  // Either this conversation leaves no room for the answer, or the model never writes that much.
  return /context/i.test(message) || isContextTooLong(refusal)
    ? { dialect, request: { ...request, maxOutputTokens: half } }
    : { request, dialect: { ...dialect, maxOutputTokens: half } };
}

const MOST_REFUSED = 10_000;

/** Remembers the thinking that the service refused, so that no later request of a conversation has it. */
function createRefusedThoughts() {
  const refused = new LRUCache<string, true>({ max: MOST_REFUSED });
  return {
    removedFrom: (request: ModelRequest): ModelRequest => ({
      ...request,
      messages: request.messages.map((one) => (refused.has(thoughtOf(one)) ? withoutThinking(one) : one)),
    }),
    /** @param next the request that is sent instead */
    learn(sent: ModelRequest, next: ModelRequest): void {
      if (next.messages.some(hasThinking)) return;
      for (const one of sent.messages.filter(hasThinking)) refused.set(thoughtOf(one), true);
    },
  };
}

const hasThinking = (message: Message) => thoughtOf(message) !== "";

/** What tells the thinking of a turn apart from any other; empty if there is none. */
function thoughtOf(message: Message): string {
  if (message.role !== "assistant" || message.extras === undefined) return "";
  const thinking = blocksIn(message.extras)?.find(isThinking);
  return thinking === undefined ? "" : JSON.stringify(thinking);
}

const withoutThinking = (message: Message): Message =>
  message.role === "assistant" ? { ...message, extras: undefined } : message;

const isThinking = ({ type }: { type: string }) => type === "thinking" || type === "redacted_thinking";

type Body = Anthropic.MessageCreateParamsNonStreaming;
type Block = Anthropic.ContentBlockParam;

function toRequestBody(model: string, { request, dialect }: Sent): Body {
  const maxTokens = Math.min(request.maxOutputTokens, dialect.maxOutputTokens);
  const thinking = thinkingOf(request, dialect, maxTokens);
  // If thinking is off, no thoughts are sent.
  const isThoughtless = dialect.thinking === "budget" && thinking.thinking === undefined;
  const system = request.messages.flatMap((message): Anthropic.TextBlockParam[] =>
    message.role === "system" ? [textBlock(message.content)] : [],
  );
  const messages = toWireMessages(isThoughtless ? request.messages.map(withoutThinking) : request.messages);
  if (request.tools.length > 0) markCached(system, messages);
  return {
    model,
    max_tokens: maxTokens,
    ...(system.length > 0 ? { system } : {}),
    messages,
    ...toolsOf(request),
    ...thinking,
  };
}

/** The tools; without any, those that the conversation called, which the service has to know and the model may not call again. */
function toolsOf({ tools, messages }: ModelRequest): Pick<Body, "tools" | "tool_choice"> {
  if (tools.length > 0) {
    return {
      tools: tools.map(({ name, description, parameters }) => ({
        ...{ name, description },
        input_schema: parameters as Anthropic.Tool.InputSchema,
      })),
    };
  }
  const called = messages.flatMap((message) =>
    message.role === "assistant" ? message.toolCalls.map(({ name }) => nameOnWire(name)) : [],
  );
  if (called.length === 0) return {};
  const known = [...new Set(called)].map((name) => ({ name, input_schema: { type: "object" as const } }));
  return { tools: known, tool_choice: { type: "none" } };
}

/** Share of an answer for thinking, for models that get a number of tokens. */
const thinkingShare = { minimal: 0, low: 1 / 4, medium: 1 / 2, high: 3 / 4 } as const;
/** https://platform.claude.com/docs/en/build-with-claude/extended-thinking: less is refused. */
const LEAST_THINKING_TOKENS = 1_024;

function thinkingOf(
  { messages }: ModelRequest,
  { effort, thinking }: Dialect,
  maxTokens: number,
): Pick<Body, "thinking" | "output_config"> {
  if (effort === null) return {};
  if (thinking === "adaptive") {
    if (effort === "minimal") return { output_config: { effort: "low" } };
    return { thinking: { type: "adaptive" }, output_config: { effort } };
  }
  const budget = Math.floor(maxTokens * thinkingShare[effort]);
  return budget < LEAST_THINKING_TOKENS || continuesWithoutThinking(messages)
    ? {}
    : { thinking: { type: "enabled", budget_tokens: budget } };
}

/** Whether a tool loop began without thinking, as one that another model began: such a model cannot begin to think in the middle of it. */
function continuesWithoutThinking(messages: readonly Message[]): boolean {
  const start = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(start + 1).some((message) => {
    if (message.role !== "assistant" || message.toolCalls.length === 0) return false;
    const [first] = blocksIn(message.extras) ?? [];
    return first === undefined || !isThinking(first);
  });
}

interface WireMessage {
  role: "user" | "assistant";
  content: Block[];
}

/** Turns alternate: results of tools, which come first, and the text after them are one message. */
function toWireMessages(messages: readonly Message[]): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages) {
    if (message.role === "system") continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = wire.at(-1);
    if (last?.role === role) last.content.push(...blocksOf(message));
    else wire.push({ role, content: blocksOf(message) });
  }
  return wire;
}

function blocksOf(message: Exclude<Message, { role: "system" }>): Block[] {
  if (message.role === "user") return [textBlock(message.content)];
  if (message.role === "assistant") return turnBlocks(message);
  const content = message.content.toWellFormed();
  return [
    { type: "tool_result", tool_use_id: message.callId, ...(content.trim() === "" ? {} : { content }) },
  ];
}

/** No text block may be empty. A lone surrogate would make the body invalid UTF-8. */
const textBlock = (text: string): Anthropic.TextBlockParam => ({
  type: "text",
  text: text.trim() === "" ? "(empty)" : text.toWellFormed(),
});

/** A turn of the model: with its own thinking block for block as the model gave it, else its text and its calls. */
function turnBlocks({ content, toolCalls, extras }: Extract<Message, { role: "assistant" }>): Block[] {
  const calls = new Map(toolCalls.map((call) => [call.id, call]));
  const blocks = blocksIn(extras) ?? [];
  const lengths = blocks.reduce((sum, block) => sum + ("length" in block ? Number(block.length) : 0), 0);
  const isWhole =
    blocks.filter(({ type }) => type === "tool_use").length === toolCalls.length &&
    // A secret that was removed changes the length of a text; then all of it is one block.
    (lengths === content.length || blocks.filter(({ type }) => type === "text").length === 1);
  if (!isWhole || blocks.length === 0) {
    const text = content.trim() === "" ? [] : [textBlock(content)];
    const written = [...text, ...toolCalls.map(toolUse)];
    return written.length > 0 ? written : [textBlock("(no answer)")];
  }
  let start = 0;
  return blocks.flatMap((block): Block[] => {
    if (isThinking(block)) return [block as unknown as Block];
    if (block.type === "tool_use" && "id" in block) {
      const call = calls.get(String(block.id));
      return call ? [toolUse(call)] : [];
    }
    const end =
      lengths === content.length && "length" in block ? start + Number(block.length) : content.length;
    const text = content.slice(start, end);
    start = end;
    return text.trim() === "" ? [] : [textBlock(text)];
  });
}

/** A call as the model made it, within the limits of the service. */
function toolUse({
  id,
  name,
  arguments: text,
}: {
  id: string;
  name: string;
  arguments: string;
}): Anthropic.ToolUseBlockParam {
  const input = readStrict(text.toWellFormed());
  return {
    type: "tool_use",
    id,
    name: nameOnWire(name),
    input: isObject(input) ? input : { not_json: text.toWellFormed() },
  };
}

/**
 * Marks where the stable beginnings of a conversation end: the tools and instructions, which all loops of a review share, the task, and the
 * last two messages of ours, the second of which is the end of the previous request. Four marks are the most that are allowed
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). Turns of the model, with its thinking, have none.
 */
function markCached(system: Anthropic.TextBlockParam[], messages: readonly WireMessage[]): void {
  const ours = messages.filter(({ role }) => role === "user");
  const ends = new Set([
    system.at(-1),
    ours[0]?.content.at(-1),
    ours.at(-2)?.content.at(-1),
    ours.at(-1)?.content.at(-1),
  ]);
  for (const block of ends) {
    if (block && "type" in block && (block.type === "text" || block.type === "tool_result"))
      block.cache_control = { type: "ephemeral" };
  }
}
