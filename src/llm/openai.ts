import OpenAI from "openai";
import type { AppError } from "../errors.ts";
import { findContextTokens } from "./context-window.ts";
import type { Model, ModelRequest, ModelTurn } from "./model.ts";
import { readAnswer } from "./openai-answer.ts";
import { adapted, type Sent } from "./openai-dialect.ts";
import {
  accessHeaders,
  chatAnswer,
  createClient,
  type EndpointOptions,
  endpointFetch,
  endpointUrl,
  modelList,
} from "./openai-endpoint.ts";
import {
  type Endpoint,
  factsOf,
  type HideKey,
  inReason,
  keyHider,
  type Refusal,
  statusError,
  toAppError,
  toolsRefused,
} from "./openai-errors.ts";
import { type Dialect, type ReasoningEffort, toRequestBody } from "./openai-request.ts";
import { costOf, type PriceTable, priceOf } from "./pricing.ts";
import { realSleep, withRetries } from "./retry.ts";
import { withoutServerSecrets } from "./without-secrets.ts";

export interface OpenAiOptions extends EndpointOptions {
  /** Of Azure the deployment's name, unless `azure` names it. */
  model: string;
  /** Size of the model's context window in tokens. */
  contextTokens: number;
  /** How long a reasoning model thinks; left out, it decides itself. */
  reasoningEffort?: ReasoningEffort | null;
  prices: PriceTable;
  /** For one try. Node's own fetch gives up after 300 s without a sign of life, so more has no effect. */
  timeoutMs: number;
  /** Further tries after the first. */
  maxRetries: number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
  now?: () => number;
}

export interface OpenAiModel extends Model {
  /** Names of the models the endpoint offers; null where it has no such list. Rejects like `respond`. */
  listModels(signal: AbortSignal): Promise<string[] | null>;
  /** Size of the context window in tokens as the endpoint tells it; null where it does not. Rejects only when aborted. */
  findContextTokens(signal: AbortSignal): Promise<number | null>;
}

/** A model behind any endpoint that speaks OpenAI's Chat Completions. Throws `config_invalid` for a bad address. */
export function createOpenAiModel(options: OpenAiOptions): OpenAiModel {
  const url = endpointUrl(options);
  const { model, timeoutMs } = options;
  const hideKey = keyHider(options.apiKey);
  const endpoint: Endpoint = { model, address: url.href, timeoutMs, hideKey };
  const client = createClient(options, url, chatAnswer);
  const price = priceOf(model, options.prices);
  const retry = {
    maxRetries: options.maxRetries,
    sleep: options.sleep ?? realSleep,
    random: options.random ?? Math.random,
    now: options.now ?? (() => performance.now()),
  };
  let dialect: Dialect = {
    tokenParameter: /(^|\.)openai(\.azure)?\.com$/.test(url.hostname)
      ? "max_completion_tokens"
      : "max_tokens",
    tokenParameterSwitched: false,
    parallelToolCalls: true,
    maxOutputTokens: Number.POSITIVE_INFINITY,
    reasoningEffort: options.reasoningEffort ?? null,
    extras: true,
    tellsOthersTurns: false,
  };
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
        // Not before: what a request is refused for, whatever it is sent with, says nothing of others.
        dialect = sent.dialect;
        return { ...turn, usage: { ...usage, costUsd: costOf(usage, price) } };
      } catch (error) {
        const refusal = error instanceof OpenAI.APIError ? factsOf(error) : null;
        const next = refusal && adapted(sent, refusal);
        if (!next) throw guard((refusal && refusedTools(refusal, request, endpoint)) ?? error, signal);
        sent = next;
      }
    }
  }

  return {
    name: model,
    contextTokens: options.contextTokens,
    protocol: "native",
    costOf: (usage) => costOf(usage, price),
    respond: (request, signal) => withRetries(() => send(request, signal), retry, signal),
    listModels: (signal) =>
      withRetries(
        () =>
          listModels(createClient(options, url, modelList), signal).catch((error) =>
            Promise.reject(guard(error, signal)),
          ),
        retry,
        signal,
      ),
    findContextTokens: (signal) =>
      findContextTokens(
        {
          ...{ url, model, headers: accessHeaders(options.apiKey, url) },
          fetch: endpointFetch(url, options, modelList),
        },
        signal,
      ),
  };
}

const refusedTools = (refusal: Refusal, { tools }: ModelRequest, endpoint: Endpoint) =>
  tools.length > 0 ? toolsRefused(refusal, endpoint) : null;

async function listModels(client: OpenAI, signal: AbortSignal): Promise<string[] | null> {
  try {
    const page: { data?: unknown } = await client.models.list({ signal });
    if (!Array.isArray(page.data)) return null;
    const names = page.data
      .map((one: { id?: unknown } | null) => String(one?.id ?? ""))
      .filter((id) => id !== "");
    // The client makes an empty list of anything that is none.
    return names.length > 0 ? names : null;
  } catch (error) {
    const absent = error instanceof OpenAI.APIError && (error.status === 404 || error.status === 405);
    if (absent) return null;
    throw error;
  }
}

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

const idsOf = ({ messages }: ModelRequest): Set<string> =>
  new Set(
    messages.flatMap((message) =>
      message.role === "assistant" ? message.toolCalls.map((call) => call.id) : [],
    ),
  );

/** Where the key is also part of the address. */
function withoutKey(error: AppError, hideKey: HideKey): AppError {
  const message = hideKey(error.message);
  if (message === error.message) return error;
  const { code, retryable, remedy, retryAfterMs } = error;
  const SameKind = error.constructor as typeof AppError;
  return new SameKind(code, message, {
    retryable,
    ...(remedy === undefined ? {} : { remedy }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
