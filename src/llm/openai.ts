import OpenAI from "openai";
import { AppError } from "../errors.ts";
import type { Model, ModelRequest, ModelTurn } from "./model.ts";
import { readAnswer } from "./openai-answer.ts";
import { adapted } from "./openai-dialect.ts";
import {
  type Endpoint,
  factsOf,
  type HideKey,
  keyHider,
  type Refusal,
  statusError,
  toAppError,
} from "./openai-errors.ts";
import { type Dialect, toRequestBody } from "./openai-request.ts";
import { costOf, type PriceTable, priceOf } from "./pricing.ts";
import { realSleep, withRetries } from "./retry.ts";

export interface OpenAiOptions {
  /** Null for servers that want none. */
  apiKey: string | null;
  /** Any address that speaks Chat Completions; null is OpenAI's own. */
  baseUrl: string | null;
  model: string;
  /** Size of the model's context window in tokens. */
  contextTokens: number;
  prices: PriceTable;
  /** For one try. Node's own fetch gives up after 300 s without a sign of life, so more has no effect. */
  timeoutMs: number;
  /** Further tries after the first. */
  maxRetries: number;
  fetch?: typeof globalThis.fetch;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
}

export interface OpenAiModel extends Model {
  /** Names of the models the endpoint offers; null where it has no such list. Rejects like `respond`. */
  listModels(signal: AbortSignal): Promise<string[] | null>;
}

const OPENAI_URL = "https://api.openai.com/v1";
/** A model behind any endpoint that speaks OpenAI's Chat Completions. Throws `config_invalid` for a bad address. */
export function createOpenAiModel(options: OpenAiOptions): OpenAiModel {
  const url = parseUrl(options.baseUrl ?? OPENAI_URL);
  const { model, timeoutMs } = options;
  const hideKey = keyHider(options.apiKey);
  const endpoint: Endpoint = { model, address: url.href, timeoutMs, hideKey };
  const client = createClient(options, url);
  const price = priceOf(model, options.prices);
  const retry = {
    maxRetries: options.maxRetries,
    sleep: options.sleep ?? realSleep,
    random: options.random ?? Math.random,
  };
  let dialect: Dialect = {
    tokenParameter: /(^|\.)openai\.com$/.test(url.hostname) ? "max_completion_tokens" : "max_tokens",
    tokenParameterSwitched: false,
    parallelToolCalls: true,
    maxOutputTokens: Number.POSITIVE_INFINITY,
  };
  const guard = (error: unknown, signal: AbortSignal) =>
    withoutKey(toAppError(error, endpoint, signal), hideKey);

  async function send(request: ModelRequest, signal: AbortSignal): Promise<ModelTurn> {
    for (;;) {
      const body = toRequestBody(model, request, dialect);
      try {
        const raw: unknown = await client.chat.completions.create(body, { signal });
        throwIfError(raw, endpoint);
        const { usage, ...turn } = readAnswer(raw, idsOf(request), JSON.stringify(body).length, hideKey);
        return { ...turn, usage: { ...usage, costUsd: costOf(usage, price) } };
      } catch (error) {
        const next =
          error instanceof OpenAI.APIError && adapted(dialect, factsOf(error), request.maxOutputTokens);
        if (!next) throw guard(error, signal);
        dialect = next;
      }
    }
  }

  return {
    name: model,
    contextTokens: options.contextTokens,
    protocol: "native",
    respond: (request, signal) => withRetries(() => send(request, signal), retry, signal),
    listModels: (signal) =>
      withRetries(
        () => listModels(client, signal).catch((error) => Promise.reject(guard(error, signal))),
        retry,
        signal,
      ),
  };
}

function createClient(options: OpenAiOptions, url: URL): OpenAI {
  return new OpenAI({
    // The client insists on a key; a server that wants none gets no header.
    apiKey: options.apiKey || "none",
    ...(options.apiKey ? {} : { defaultHeaders: { Authorization: null } }),
    baseURL: url.href,
    timeout: options.timeoutMs,
    // Retries are ours: bounded, with a clock that tests can hold, and no key in what they report.
    maxRetries: 0,
    // Left out, each of these would be read from the environment, and OPENAI_LOG=debug would print requests.
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: "off",
    ...(options.fetch ? { fetch: options.fetch } : {}),
  });
}

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
function throwIfError(raw: unknown, endpoint: Endpoint): void {
  if (typeof raw !== "object" || raw === null || !("error" in raw) || "choices" in raw) return;
  const { error } = raw;
  if (typeof error !== "object" || error === null) return;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const refusal: Refusal = {
    status: typeof code === "number" ? code : 500,
    code: String(code ?? ""),
    param: "",
    message: String(message ?? ""),
    headers: undefined,
  };
  throw statusError(refusal, endpoint);
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
  return new AppError(code, message, {
    retryable,
    ...(remedy === undefined ? {} : { remedy }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function parseUrl(address: string): URL {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new AppError("config_invalid", "OPENAI_BASE_URL is not an http or https address", {
      remedy: "Write it whole, for example https://api.openai.com/v1.",
    });
  }
  // fetch refuses the first two, and the paths of the API would land behind the others. Not shown: it may be a secret.
  if (url.username || url.password || url.search || url.hash) {
    throw new AppError("config_invalid", "OPENAI_BASE_URL holds a user, a password, a query or a fragment", {
      remedy: "Write the bare address and put the key into OPENAI_API_KEY.",
    });
  }
  return url;
}
