import OpenAI from "openai";
import { z } from "zod";
import {
  type FoundCall,
  finishReason,
  MAX_CALLS,
  MAX_EXTRAS,
  MAX_WRITTEN,
  type ParsedTurn,
  parseAnswer,
  repaired,
  tooMuch,
  withUniqueIds,
} from "./answer.ts";
import { joinChunks } from "./answer-body.ts";
import {
  type EndpointOptions,
  endpointFetch,
  type HideKey,
  type Limits,
  modelList,
  type Provider,
  parseUrl,
} from "./endpoint.ts";
import { createApiModel, type Effort, type ModelOptions, type Sent, without } from "./endpoint-model.ts";
import { isObject, readStrict } from "./lenient-json.ts";
import type { EndpointModel, Extras, Message, ToolCall } from "./model.ts";
import { costOf } from "./prices.ts";
import { findContextTokens } from "./probe.ts";
import { hasFilterMark, isFiltered, type Refusal } from "./refusal.ts";
import { formed, nameOnWire } from "./request.ts";

/** A model behind any endpoint that supports OpenAI's Chat Completions. Throws `config_invalid` for a bad address. */
export function createOpenAiModel(options: ModelOptions): Required<EndpointModel> {
  const url = endpointUrl(options);
  const { model, reasoningEffort = null } = options;
  const { look: _, ...shared } = createApiModel(
    {
      provider: openAi,
      url,
      paths: ["/chat/completions", "/models"],
      joiner: joinChunks,
      costOf,
      createClient: (answer) => createClient(options, url, answer),
      bodyOf: (sent) => toRequestBody(model, sent, tokenParameter(url, sent), reasoningEffort),
      adapted: (sent, refusal) => adapted(sent, refusal, tokenParameter(url, sent)),
      read: readAnswer,
    },
    options,
  );
  return {
    ...shared,
    findContextTokens(signal) {
      const headers = accessHeaders(options.apiKey, url);
      const fetch = endpointFetch(url, options, modelList, openAi, headers);
      return findContextTokens({ url, model, headers, fetch }, signal);
    },
  };
}

/** OpenAI's reasoning models refuse `max_tokens`; many local servers accept nothing else. */
function tokenParameter(url: URL, { avoids }: Sent): "max_tokens" | "max_completion_tokens" {
  const isOpenAi = /(^|\.)openai(\.azure)?\.com$/.test(url.hostname);
  return isOpenAi === avoids.has("token_parameter") ? "max_tokens" : "max_completion_tokens";
}

/** The next form to try after a refusal that names a parameter of this API. */
function adapted(sent: Sent, { param, message }: Refusal, limit: string): Sent | "none" | null {
  const { avoids } = sent;
  const names = (parameter: string) =>
    param === parameter || new RegExp(`\\b${parameter}\\b`, "i").test(message);

  if (!avoids.has("parallel_calls") && names("parallel_tool_calls")) return without(sent, "parallel_calls");
  // Ollama has another name for the parameter.
  if (!avoids.has("effort") && (names("reasoning_effort") || /support thinking/i.test(message)))
    return without(sent, "effort");
  // In a conversation that another model began, some servers require fields that others refuse.
  const missesExtras = /passed back|missing/i.test(message);
  if (!avoids.has("extras") && extraNames.some(names) && !missesExtras) return without(sent, "extras");
  if (missesExtras && [...extraNames, "thought_?signature"].some(names)) {
    const isOther = !avoids.has("calls_of_others") && sent.request.messages.some(isForeign);
    return isOther ? without(sent, "calls_of_others") : "none";
  }
  if (!names(limit)) return null;
  return avoids.has("token_parameter") ? "none" : without(sent, "token_parameter");
}

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

function toRequestBody(
  model: string,
  { request: asked, avoids, mostTokens }: Sent,
  limit: "max_tokens" | "max_completion_tokens",
  effort: Effort | null,
): Body {
  const request = formed(asked, avoids);
  const messages = avoids.has("calls_of_others")
    ? withForeignTurnsAsText(request.messages)
    : request.messages;
  const body: Body = {
    model,
    messages: messages.map((message) => toWireMessage(message, !avoids.has("extras"))),
    [limit]: Math.min(request.maxOutputTokens, mostTokens),
    ...(effort && !avoids.has("effort") ? { reasoning_effort: effort } : {}),
  };
  if (request.tools.length === 0) return body;
  return {
    ...body,
    tools: request.tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    })),
    ...(avoids.has("parallel_calls") ? {} : { parallel_tool_calls: true }),
  };
}

function toWireMessage(message: Message, extras: boolean): OpenAI.ChatCompletionMessageParam {
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

/** A call as the model made it, within the limits of servers: several fail on odd names and on broken JSON in past calls. */
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
 * A conversation whose beginning, up to the last turn that this provider cannot have signed, is text: Gemini, DeepSeek and Kimi accept no call
 * without their signature. The same messages always become the same text, for the cache.
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

const OPENAI_URL = "https://api.openai.com/v1";

/** The root of `/chat/completions`. Throws `config_invalid` for a bad address. */
export const endpointUrl = ({ baseUrl }: Pick<EndpointOptions, "baseUrl">): URL =>
  parseUrl(baseUrl ?? OPENAI_URL, openAi);

/** An `authorization` of null keeps the client from sending one. Azure takes keys as `api-key`, and tokens of Entra ID, which are JWTs, as Bearer. */
export function accessHeaders(apiKey: string | null, url: URL): Record<string, string | null> {
  if (!apiKey) return { authorization: null };
  if (isAzure(url.hostname) && !apiKey.startsWith("eyJ")) return { authorization: null, "api-key": apiKey };
  return { authorization: `Bearer ${apiKey}` };
}

export function createClient(options: EndpointOptions, url: URL, answer: Limits): OpenAI {
  return new OpenAI({
    // The client requires a key; the key that is sent is in the headers.
    apiKey: options.apiKey || "none",
    defaultHeaders: accessHeaders(options.apiKey, url),
    baseURL: url.href,
    timeout: options.timeoutMs,
    // `withRetries` does the retries and explains why.
    maxRetries: 0,
    // If absent, each of these would be read from the environment, and OPENAI_LOG=debug would print requests.
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: "off",
    fetch: endpointFetch(url, options, answer, openAi, accessHeaders(options.apiKey, url)),
  });
}

const isAzure = (host: string) => /(^|\.)azure\.(com|us|cn)$/.test(host);

/** OpenAI, and everyone who speaks its Chat Completions. */
export const openAi: Provider = {
  api: "chat completions",
  host: "api.openai.com",
  baseUrl: "OPENAI_BASE_URL",
  addressHint: "it usually ends with /v1",
  keyOf: (host) => (isAzure(host) ? "AZURE_OPENAI_API_KEY" : "OPENAI_API_KEY"),
  errors: OpenAI,
};

/** Fields of a message that its provider requires in later requests: `reasoning_content` of DeepSeek and Kimi, `reasoning_details` of OpenRouter. */
const messageExtras = ["reasoning_content", "reasoning_details"] as const;
/** Fields of a call: Gemini's thought signature is in `extra_content.google.thought_signature`. */
const callExtras = ["extra_content"] as const;

const extraNames: readonly string[] = [...messageExtras, ...callExtras];

function extrasIn(from: Readonly<Record<string, unknown>>, names: readonly string[]): Extras | undefined {
  const present = names.filter((name) => from[name] !== undefined && from[name] !== null);
  if (present.length === 0) return undefined;
  const extras = Object.fromEntries(present.map((name) => [name, from[name]]));
  return JSON.stringify(extras).length <= MAX_EXTRAS ? extras : undefined;
}

/** Servers omit, rename and retype almost everything: only necessary fields are required. */
const Part = z.union([z.string(), z.looseObject({ text: z.string().catch("") })]);
const Content = z.union([z.string(), z.array(Part)]).nullish();

const Call = z.looseObject({
  id: z.string().nullish().catch(null),
  function: z.looseObject({ name: z.string().catch(""), arguments: z.unknown().optional() }),
});

const AnswerMessage = z.looseObject({
  content: Content,
  refusal: z.string().nullish().catch(null),
  // Counted before any is read.
  tool_calls: z.array(z.unknown()).max(MAX_CALLS).pipe(z.array(Call)).nullish(),
  /** The form before `tool_calls`, which some servers still use. */
  function_call: Call.shape.function.nullish().catch(null),
});

const Choice = z.looseObject({ message: AnswerMessage, finish_reason: z.string().nullish().catch(null) });

const Count = z.number().min(0).nullish().catch(null);
const AnswerUsage = z
  .looseObject({
    prompt_tokens: Count,
    completion_tokens: Count,
    prompt_tokens_details: z.looseObject({ cached_tokens: Count }).nullish().catch(null),
    /** DeepSeek and Moonshot. */
    prompt_cache_hit_tokens: Count,
    cached_tokens: Count,
  })
  .nullish()
  .catch(null);

const Answer = z.looseObject({ choices: z.array(Choice).min(1), usage: AnswerUsage });
type Choice = z.infer<typeof Choice>;

/** Reads an answer; throws `model_failed` if it is none. Usage is estimated from `promptCharacters` if the server reports none. */
export function readAnswer(
  raw: unknown,
  takenIds: ReadonlySet<string>,
  promptCharacters: number,
  hideKey: HideKey,
): ParsedTurn {
  const { choices, usage } = parseAnswer(Answer, withFiltered(raw), openAi, hideKey);
  const [first] = choices as [Choice, ...Choice[]];
  // No alternatives were requested: several choices are one answer in pieces, text in one and calls in another.
  const content = choices.map(textOf).find((text) => text !== "") ?? "";
  const calling = choices.find((choice) => callsOf(choice).length > 0) ?? first;
  const isRefused =
    choices.some((one) => isFiltered(one.finish_reason ?? "")) ||
    choices.every((one) => isRefusal(one) && callsOf(one).length === 0);
  const found = isRefused ? [] : callsOf(calling);
  // Providers require thinking together with the calls that follow it; one model refuses it without calls.
  const extras = found.length > 0 ? extrasIn(calling.message, messageExtras) : undefined;
  const length = JSON.stringify({ content, found, extras }).length;
  if (length > MAX_WRITTEN) throw tooMuch(`${length} characters`, openAi);
  const reason = isRefused ? "content_filter" : finishReason(calling.finish_reason, found.length > 0);
  const toolCalls = withUniqueIds(found, takenIds).map((call) => repaired(call, reason === "length"));
  const written = content.length + toolCalls.reduce((sum, call) => sum + call.arguments.length, 0);
  return {
    content,
    toolCalls,
    finishReason: reason,
    usage: readUsage(usage, promptCharacters, written),
    ...(extras ? { extras } : {}),
  };
}

/** A filter may leave neither choices nor a message. */
function withFiltered(raw: unknown): unknown {
  if (!isObject(raw)) return raw;
  const choices = Array.isArray(raw.choices) ? raw.choices : [];
  if (choices.length === 0 && hasFilterMark(raw))
    return { ...raw, choices: [{ message: {}, finish_reason: "content_filter" }] };
  const filled = choices.map((one) =>
    isObject(one) && one.message == null && isFiltered(String(one.finish_reason))
      ? { ...one, message: {} }
      : one,
  );
  return { ...raw, choices: filled };
}

/** The model's own refusal, which is there instead of a text. */
const isRefusal = ({ message: { content, refusal } }: Choice) =>
  (refusal ?? "") !== "" && (content ?? "").length === 0;

function textOf({ message }: Choice): string {
  const { content, refusal } = message;
  if (typeof content === "string" && content !== "") return content;
  if (Array.isArray(content))
    return content.map((part) => (typeof part === "string" ? part : part.text)).join("");
  return refusal ?? "";
}

function callsOf({ message }: Choice): FoundCall[] {
  if (message.tool_calls?.length) {
    return message.tool_calls.map((call) => {
      const extras = extrasIn(call, callExtras);
      return { id: call.id ?? null, ...functionOf(call.function), ...(extras ? { extras } : {}) };
    });
  }
  return message.function_call ? [{ id: null, ...functionOf(message.function_call) }] : [];
}

function functionOf(called: z.infer<typeof Call>["function"]): { name: string; arguments: string } {
  const given = called.arguments ?? {};
  if (typeof given === "string") return { name: called.name, arguments: given.trim() === "" ? "{}" : given };
  return { name: called.name, arguments: JSON.stringify(given) };
}

/** Limits must also apply to servers that report no usage: then about four characters count as a token. */
function readUsage(usage: z.infer<typeof AnswerUsage>, prompt: number, written: number): ParsedTurn["usage"] {
  const promptTokens = usage?.prompt_tokens || Math.ceil(prompt / 4);
  const cached =
    usage?.prompt_tokens_details?.cached_tokens ??
    usage?.prompt_cache_hit_tokens ??
    usage?.cached_tokens ??
    0;
  return {
    promptTokens,
    cachedTokens: Math.min(cached, promptTokens),
    completionTokens: usage?.completion_tokens ?? Math.ceil(written / 4),
  };
}
