import type OpenAI from "openai";
import { joinChunks } from "./answer-body.ts";
import { endpointFetch, modelList } from "./endpoint.ts";
import { createApiModel, type Effort, type ModelOptions, type Sent, without } from "./endpoint-model.ts";
import { isObject, readStrict } from "./lenient-json.ts";
import type { EndpointModel, Message, ToolCall } from "./model.ts";
import { extraNames, readAnswer } from "./openai-answer.ts";
import { accessHeaders, createClient, endpointUrl, type OpenAiEndpoint, openAi } from "./openai-client.ts";
import { costOf } from "./prices.ts";
import { findContextTokens } from "./probe.ts";
import type { Refusal } from "./refusal.ts";
import { nameOnWire } from "./request.ts";
import { formed } from "./request-form.ts";

export type OpenAiOptions = ModelOptions & OpenAiEndpoint;

/** A model behind any endpoint that supports OpenAI's Chat Completions. Throws `config_invalid` for a bad address. */
export function createOpenAiModel(options: OpenAiOptions): Required<EndpointModel> {
  const url = endpointUrl(options);
  const { model, reasoningEffort = null } = options;
  const { look: _, ...shared } = createApiModel(
    {
      ...{ provider: openAi, url, paths: ["/chat/completions", "/models"], joiner: joinChunks, costOf },
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
