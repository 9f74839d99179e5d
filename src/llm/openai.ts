import OpenAI from "openai";

import {
  chatAnswer,
  type Endpoint,
  endpointFetch,
  inReason,
  isContextTooLong,
  keyHider,
  modelList,
  type Refusal,
  type RetryOptions,
  statusError,
  toAppError,
  toolsRefused,
  withoutKey,
  withRetries,
} from "./endpoint.ts";
import { isObject, readStrict } from "./lenient-json.ts";
import type { EndpointModel, Message, ModelRequest, ModelTurn, ToolCall } from "./model.ts";
import { extraNames, readAnswer } from "./openai-answer.ts";
import { accessHeaders, createClient, endpointUrl, type OpenAiEndpoint, openAi } from "./openai-client.ts";
import { costOf, type PriceTable, priceOf } from "./prices.ts";
import { findContextTokens } from "./probe.ts";
import { idsOf, nameOnWire, withoutServerSecrets } from "./request.ts";

const reasoningEfforts = ["minimal", "low", "medium", "high"] as const;
type ReasoningEffort = (typeof reasoningEfforts)[number];

export interface OpenAiOptions extends OpenAiEndpoint, RetryOptions {
  /** For Azure the deployment's name, unless `azure` names it. */
  model: string;
  /** Size of the model's context window in tokens. */
  contextTokens: number;
  /** How long a reasoning model thinks; if absent, the model decides. */
  reasoningEffort?: ReasoningEffort | null;
  prices: PriceTable;
  /** For one try. Node's own fetch gives up after 300 s without data, so a higher value has no effect. */
  timeoutMs: number;
}

export type OpenAiModel = Required<EndpointModel>;

/** A model behind any endpoint that supports OpenAI's Chat Completions. Throws `config_invalid` for a bad address. */
export function createOpenAiModel(options: OpenAiOptions): OpenAiModel {
  const url = endpointUrl(options);
  const { model, timeoutMs } = options;
  const hideKey = keyHider(options.apiKey);
  const endpoint: Endpoint = { provider: openAi, model, address: url.href, timeoutMs, hideKey };
  const client = createClient(options, url, chatAnswer);
  const price = priceOf(model, options.prices);
  let dialect = firstDialect(url, options.reasoningEffort ?? null);
  const guard = (error: unknown, signal: AbortSignal) =>
    withoutKey(toAppError(error, endpoint, signal), hideKey);

  async function send(asked: ModelRequest, signal: AbortSignal): Promise<ModelTurn> {
    const request = withoutServerSecrets(asked);
    let sent: Sent = { request, dialect };
    for (;;) {
      const body = toRequestBody(model, sent.request, sent.dialect);
      try {
        const raw: unknown = await client.chat.completions.create(body, { signal });
        throwIfError(raw, request, endpoint);
        const { usage, ...turn } = readAnswer(raw, idsOf(request), JSON.stringify(body).length, hideKey);
        // Only now: a request that is refused in every form says nothing about others.
        dialect = sent.dialect;
        return { ...turn, usage: { ...usage, costUsd: costOf(usage, price) } };
      } catch (error) {
        const refusal = error instanceof OpenAI.APIError ? openAi.refusalOf(error) : null;
        const next = refusal && adapted(sent, refusal);
        if (!next) throw guard((refusal && refusedTools(refusal, request, endpoint)) ?? error, signal);
        sent = next;
      }
    }
  }

  async function listModels(signal: AbortSignal): Promise<string[] | null> {
    try {
      return await namesOfModels(createClient(options, url, modelList), signal);
    } catch (error) {
      throw guard(error, signal);
    }
  }

  return {
    name: model,
    contextTokens: options.contextTokens,
    protocol: "native",
    costOf: (usage) => costOf(usage, price),
    respond: (request, signal) => withRetries(() => send(request, signal), options, signal),
    listModels: (signal) => withRetries(() => listModels(signal), options, signal),
    findContextTokens(signal) {
      const headers = accessHeaders(options.apiKey, url);
      const fetch = endpointFetch(url, options, modelList, openAi, headers);
      return findContextTokens({ url, model, headers, fetch }, signal);
    },
  };
}

async function namesOfModels(client: OpenAI, signal: AbortSignal): Promise<string[] | null> {
  try {
    const page: { data?: unknown } = await client.models.list({ signal });
    if (!Array.isArray(page.data)) return null;
    const names = page.data
      .map((one: { id?: unknown } | null) => String(one?.id ?? ""))
      .filter((id) => id !== "");
    // The client reads anything that is not a list as an empty one.
    return names.length > 0 ? names : null;
  } catch (error) {
    const absent = error instanceof OpenAI.APIError && (error.status === 404 || error.status === 405);
    if (absent) return null;
    throw error;
  }
}

const refusedTools = (refusal: Refusal, { tools }: ModelRequest, endpoint: Endpoint) =>
  tools.length > 0 ? toolsRefused(refusal, endpoint) : null;

/** Some gateways answer 200 with an error inside, its `code` being the status. */
function throwIfError(raw: unknown, request: ModelRequest, endpoint: Endpoint): void {
  if (typeof raw !== "object" || raw === null || !("error" in raw) || "choices" in raw) return;
  const { error } = raw;
  if (typeof error !== "object" || error === null) return;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const refusal: Refusal = {
    status: typeof code === "number" ? code : 500,
    code: String(code ?? ""),
    param: "",
    message: inReason(String(message ?? "")),
    headers: undefined,
  };
  throw refusedTools(refusal, request, endpoint) ?? statusError(refusal, endpoint);
}

/** The parameters that a server accepts. Learned from its refusals, once for each model. */
interface Dialect {
  /** OpenAI's reasoning models refuse `max_tokens`; many local servers accept nothing else. */
  tokenParameter: "max_tokens" | "max_completion_tokens";
  /** True after the other one was tried: there is no third. */
  tokenParameterSwitched: boolean;
  /** False after the server refused `parallel_tool_calls`. */
  parallelToolCalls: boolean;
  /** Longest answer that may be requested from the server, in tokens. */
  maxOutputTokens: number;
  /** Null if not configured, or after the server refused it. */
  reasoningEffort: ReasoningEffort | null;
  /** False after the server refused extras of another server. */
  extras: boolean;
  /** True after the server refused calls of another model, because they lack its own extras. */
  foreignTurnsAsText: boolean;
}

const firstDialect = (url: URL, reasoningEffort: ReasoningEffort | null): Dialect => ({
  tokenParameter: /(^|\.)openai(\.azure)?\.com$/.test(url.hostname) ? "max_completion_tokens" : "max_tokens",
  tokenParameterSwitched: false,
  parallelToolCalls: true,
  maxOutputTokens: Number.POSITIVE_INFINITY,
  reasoningEffort,
  extras: true,
  foreignTurnsAsText: false,
});

/** A request and its dialect. */
interface Sent {
  request: ModelRequest;
  dialect: Dialect;
}

const otherParameter = {
  max_tokens: "max_completion_tokens",
  max_completion_tokens: "max_tokens",
} as const;
const MIN_OUTPUT_TOKENS = 1_024;
/** For one answer. A model that may not write this much is not useful. */
const LEAST_ANSWER_TOKENS = 256;

/**
 * The next form to try after a refusal that names a parameter of ours; null if the refusal is about something else or nothing is left to
 * try. Each change is made once, so the loop always ends.
 */
function adapted(sent: Sent, refusal: Refusal): Sent | null {
  if (refusal.status !== 400 && refusal.status !== 422) return null;
  const request = withShorterAnswer(sent, refusal);
  if (request) return { ...sent, request };
  const dialect = adaptedDialect(sent, refusal);
  return dialect && { ...sent, dialect };
}

function adaptedDialect(
  { dialect, request: { messages, maxOutputTokens: asked } }: Sent,
  refusal: Refusal,
): Dialect | null {
  const names = (parameter: string) =>
    refusal.param === parameter || new RegExp(`\\b${parameter}\\b`, "i").test(refusal.message);

  if (dialect.parallelToolCalls && names("parallel_tool_calls"))
    return { ...dialect, parallelToolCalls: false };
  // Ollama has another name for the parameter.
  if (dialect.reasoningEffort && (names("reasoning_effort") || /support thinking/i.test(refusal.message)))
    return { ...dialect, reasoningEffort: null };
  // In a conversation that another model began, some servers require fields that others refuse.
  const missesExtras = /passed back|missing/i.test(refusal.message);
  if (dialect.extras && extraNames.some(names) && !missesExtras) return { ...dialect, extras: false };
  const isMissed = missesExtras && [...extraNames, "thought_?signature"].some(names);
  if (!dialect.foreignTurnsAsText && isMissed && messages.some(isForeign))
    return { ...dialect, foreignTurnsAsText: true };
  if (!names(dialect.tokenParameter) || isContextTooLong(refusal)) return null;
  if (isTooLong(refusal)) {
    const half = Math.floor(Math.min(asked, dialect.maxOutputTokens) / 2);
    return half < MIN_OUTPUT_TOKENS ? null : { ...dialect, maxOutputTokens: half };
  }
  if (dialect.tokenParameterSwitched) return null;
  const tokenParameter = otherParameter[dialect.tokenParameter];
  return { ...dialect, tokenParameter, tokenParameterSwitched: true };
}

/**
 * The request with a shorter answer if its conversation leaves no room for the requested one; null if the refusal is about something else.
 */
function withShorterAnswer({ request, dialect }: Sent, refusal: Refusal): ModelRequest | null {
  const isOfAnswer = refusal.message.includes(dialect.tokenParameter);
  if (!isOfAnswer || !isContextTooLong(refusal) || !isTooLong(refusal)) return null;
  const half = Math.floor(Math.min(request.maxOutputTokens, dialect.maxOutputTokens) / 2);
  return half < LEAST_ANSWER_TOKENS ? null : { ...request, maxOutputTokens: half };
}

const isTooLong = ({ message }: Refusal) => /too (large|high|big)|at most|less than|range of/i.test(message);

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

function toRequestBody(model: string, request: ModelRequest, dialect: Dialect): Body {
  const messages = dialect.foreignTurnsAsText ? withForeignTurnsAsText(request.messages) : request.messages;
  const body: Body = {
    model,
    messages: messages.map((message) => toWireMessage(message, dialect)),
    [dialect.tokenParameter]: Math.min(request.maxOutputTokens, dialect.maxOutputTokens),
    ...(dialect.reasoningEffort ? { reasoning_effort: dialect.reasoningEffort } : {}),
  };
  if (request.tools.length === 0) return body;
  return {
    ...body,
    tools: request.tools.map((tool) => ({ type: "function", function: { ...tool } })),
    ...(dialect.parallelToolCalls ? { parallel_tool_calls: true } : {}),
  };
}

function toWireMessage(message: Message, { extras }: Dialect): OpenAI.ChatCompletionMessageParam {
  // A lone surrogate would make the body invalid UTF-8, which servers refuse as a whole.
  const content = message.content.toWellFormed();
  if (message.role === "tool") return { role: "tool", tool_call_id: message.callId, content };
  if (message.role !== "assistant") return { role: message.role, content };
  // Several servers refuse an assistant's message without any content.
  if (message.toolCalls.length === 0) return { role: "assistant", content: content || "(no answer)" };
  const calls = message.toolCalls.map((call) => ({ ...(extras ? call.extras : {}), ...toWireCall(call) }));
  const given = extras ? message.extras : {};
  return { ...given, role: "assistant", content: content || null, tool_calls: calls };
}

/**
 * A call as the model made it, within the limits of servers: they refuse odd names, and several parse the arguments of past calls and fail
 * on broken JSON.
 */
function toWireCall(call: ToolCall): OpenAI.ChatCompletionMessageFunctionToolCall {
  const name = nameOnWire(call.name);
  const text = call.arguments.toWellFormed();
  return {
    id: call.id,
    type: "function",
    function: {
      name,
      arguments: isObject(readStrict(text)) ? text : JSON.stringify({ not_json: text }),
    },
  };
}

/**
 * A conversation whose beginning is converted to text: up to the last turn without anything that this provider could have signed. For
 * providers that accept no call without their signature (Gemini, DeepSeek, Kimi), if another model began the conversation. Some of them
 * accept a made-up signature, and then answer worse. The same messages always become the same text, so that each request begins with the
 * previous one.
 */
function withForeignTurnsAsText(messages: readonly Message[]): readonly Message[] {
  const last = messages.findLastIndex(isForeign);
  if (last < 0) return messages;
  const first = messages.findIndex(({ role }) => role === "assistant");
  const next = messages.findIndex((message, index) => index > last && message.role !== "tool");
  const end = next < 0 ? messages.length : next;
  const text = asText(messages.slice(first, end));
  const [before, task] = [messages.slice(0, first), messages[first - 1]];
  // Many chat templates require alternating turns.
  if (task?.role !== "user") return [...before, { role: "user", content: text }, ...messages.slice(end)];
  const joined: Message = { role: "user", content: `${task.content}\n\n${text}` };
  return [...before.slice(0, -1), joined, ...messages.slice(end)];
}

const isForeign = (message: Message): boolean =>
  message.role === "assistant" && !message.extras && !message.toolCalls.some(({ extras }) => extras);

function asText(messages: readonly Message[]): string {
  const names = new Map<string, string>();
  const parts = messages.flatMap((message) => {
    if (message.role === "tool")
      return [`Answer of ${names.get(message.callId) ?? "a tool"}:\n${message.content}`];
    if (message.role !== "assistant") return [message.content];
    for (const { id, name } of message.toolCalls) names.set(id, name);
    const calls = message.toolCalls.map((call) => `Called ${call.name} with ${call.arguments}`);
    return message.content === "" ? calls : [message.content, ...calls];
  });
  return ["# What was done until here", ...parts, "# From here on it is up to you"].join("\n\n");
}
