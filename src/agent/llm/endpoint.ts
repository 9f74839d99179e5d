import { setTimeout as delay } from "node:timers/promises";
import { type AnswerLimits, createEgress, type EgressOptions } from "../../core/egress.ts";
import { AppError, type ErrorCode } from "../../core/errors.ts";
import { failedProxy } from "../../core/proxies.ts";
import { holdsPlainSecret, withoutLiveSecrets } from "../../core/secrets/live-secrets.ts";
import { NoBody, readBeginning } from "./answer-body.ts";
import { abortedError, EndpointUnreachable, ModelAbsent, NothingListens, ToolsRefused } from "./model.ts";
import { kindOf, type Refusal, Refused, refusalIn, refusalOf, type Sizes } from "./refusal.ts";

type Kind<Instance> = abstract new (...given: never) => Instance;

/** A provider's API in words for people, and the errors of its client. */
export interface Provider {
  /** "chat completions" */
  api: string;
  /** Where its own service is, which needs no address. */
  host: string;
  /** The variables of its address and its key, and what the address usually looks like. */
  baseUrl: string;
  addressHint: string;
  keyOf(host: string): string;
  /** Those that the packages `openai` and `@anthropic-ai/sdk` have in common. */
  errors: Record<"APIConnectionError" | "APIConnectionTimeoutError" | "APIUserAbortError", Kind<Error>>;
}

export interface EndpointOptions {
  /** Null for servers without keys. */
  apiKey: string | null;
  baseUrl: string | null;
  timeoutMs: number;
  fetch?: typeof globalThis.fetch;
}

export type Limits = EgressOptions["answer"];

/** A list of models, read once at the start: OpenRouter's has 1 MB and 25,000 members. */
export const modelList: AnswerLimits = { bytes: 4_000_000, depth: 64, elements: 50_000, members: 50_000 };

/** An answer to a conversation as it arrives: a stream has 300 bytes around each token. `readBody` limits what is in it. */
export const chatAnswer = { bytes: 16_000_000 } as const;

/** Characters of an error's body. The rest is not read. */
const MAX_ERROR = 200_000;

/** A gateway may redirect to another of its own paths. */
const mostRedirects = 3;

/**
 * A `fetch` that only reaches this origin, even after redirects, which would carry along the key and the code. Rejects with `Refused` for an
 * error status, because the clients read only one shape of an error.
 * @param keys the headers for authentication, which no other can replace
 */
export function endpointFetch(
  url: URL,
  { timeoutMs, fetch }: Pick<EndpointOptions, "timeoutMs" | "fetch">,
  answer: Limits,
  { baseUrl }: Pick<Provider, "baseUrl">,
  keys: Readonly<Record<string, string | null>>,
): typeof globalThis.fetch {
  const send = createEgress({
    origins: [url.origin],
    timeoutMs,
    mostRedirects,
    answer,
    fetch,
    // Bodies are long and sent again with every turn: a search for each spelling would block the process.
    holdsSecret: holdsPlainSecret,
    refuse: (what, remedy = `Set ${baseUrl} to the address of the endpoint itself.`) =>
      new AppError("model_refused", `The model endpoint ${url.href} ${what}`, { remedy }),
  });
  return async (input, init) => {
    const response = await send(input, { ...init, headers: withoutOthers(new Headers(init?.headers), keys) });
    if (response.ok) return response;
    const body = await readBeginning(response, MAX_ERROR);
    throw new Refused("refused", { cause: refusalOf(response.status, body, response.headers) });
  };
}

/** Headers of the providers' packages. They also take any from variables such as OPENAI_CUSTOM_HEADERS, even for the key. */
const known = /^(?:accept|content-type|user-agent|anthropic-version|x-stainless-[\w-]+)$/;

function withoutOthers(headers: Headers, keys: Readonly<Record<string, string | null>>): Headers {
  const own = new Headers([...headers].filter(([name]) => known.test(name)));
  for (const [name, value] of Object.entries(keys)) if (value !== null) own.set(name, value);
  return own;
}

export function parseUrl(address: string, { baseUrl, keyOf }: Pick<Provider, "baseUrl" | "keyOf">): URL {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new AppError("config_invalid", `${baseUrl} is not an http or https address`, {
      remedy: "Write the full address, for example https://api.openai.com/v1.",
    });
  }
  // fetch refuses the first two, and the others would come before the paths of the API. Not shown, because it may be a secret.
  if (url.username || url.password || url.search || url.hash) {
    throw new AppError(
      "config_invalid",
      `${baseUrl} contains a user name, a password, a query or a fragment`,
      {
        remedy: `Remove them, and put the key into ${keyOf(url.hostname)}.`,
      },
    );
  }
  return url;
}

/** The endpoint's name for error messages, and the key that they must not contain. */
export interface Endpoint {
  provider: Provider;
  model: string;
  address: string;
  timeoutMs: number;
  hideKey: HideKey;
}

/** Removes the key from a text. */
export type HideKey = (text: string) => string;

/** A shorter key is a placeholder for a server that needs none, and a part of many words. */
const SHORTEST_KEY = 4;

/** An endpoint may repeat the key in its answer. */
export const keyHider =
  (apiKey: string | null): HideKey =>
  (text) =>
    apiKey && apiKey.length >= SHORTEST_KEY ? text.replaceAll(apiKey, "[key]") : text;

/** The beginning of an endpoint's text, on one line, without secrets. The key is removed first: after a cut, a part of it would stay. */
export function excerpt(text: string, hideKey: HideKey, length = 500): string {
  const line = withoutLiveSecrets(hideKey(text).slice(0, 20 * length))
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > length ? `${line.slice(0, length)}...` : line;
}

/** A client's error as an AppError without a cause, which would hold headers and maybe the key. Throws errors that no endpoint can cause. */
export function toAppError(error: unknown, endpoint: Endpoint, signal: AbortSignal): AppError {
  const { errors, baseUrl } = endpoint.provider;
  const refusal = refusalIn(error);
  if (refusal) return statusError(refusal, endpoint);
  const carried = error instanceof errors.APIConnectionError ? error.cause : error;
  if (carried instanceof AppError) return carried;
  if (signal.aborted || error instanceof errors.APIUserAbortError) return abortedError();
  // A "TimeoutError" came in the middle of an answer.
  if (
    error instanceof errors.APIConnectionTimeoutError ||
    (error instanceof Error && error.name === "TimeoutError")
  ) {
    const seconds = Math.round(endpoint.timeoutMs / 1_000);
    return new AppError("model_failed", `${endpoint.address} did not answer within ${seconds} s`, {
      retryable: true,
      remedy: "Try again later, or use a faster model.",
    });
  }
  if (error instanceof errors.APIConnectionError) return connectionError(error, endpoint);
  if (error instanceof NoBody || error instanceof SyntaxError || systemCode(error) !== null) {
    const what = error instanceof NoBody ? error.message : "was cut off or is not JSON";
    return new AppError("model_failed", `The answer of ${endpoint.address} ${what}`, {
      retryable: true,
      remedy: `Try again. If this continues, check ${baseUrl} and any proxy in between.`,
    });
  }
  // A bug of ours, which must not look like an error of the endpoint.
  throw error;
}

/** The key may also be part of the address. */
export function withoutKey(error: AppError, hideKey: HideKey): AppError {
  const message = hideKey(error.message);
  if (message === error.message) return error;
  const { code, retryable, remedy, retryAfterMs } = error;
  const SameKind = error.constructor as typeof AppError;
  return new SameKind(code, message, { retryable, remedy, retryAfterMs });
}

function connectionError(error: Error, { address, provider }: Endpoint): AppError {
  const code = systemCode(error);
  const url = new URL(address);
  const proxy = failedProxy(error, url);
  const host = URL.parse(proxy?.url ?? address)?.hostname ?? "";
  const isLocal = code === "ECONNREFUSED" && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);
  const Fault = isLocal ? NothingListens : EndpointUnreachable;
  if (proxy) {
    const message = `Cannot reach the proxy ${proxy.url} (${proxy.variable}) on the way to the model endpoint ${address}`;
    const remedy = `Check it, or list ${url.hostname} in NO_PROXY.`;
    return new Fault("model_failed", message, { retryable: true, remedy });
  }
  // A port of another protocol, which `fetch` refuses for good: https://fetch.spec.whatwg.org/#port-blocking.
  if (causesOf(error).some(({ message }) => message === "bad port")) {
    const remedy = `Run the model's server on another port, and set ${provider.baseUrl} to its new address.`;
    const message = `Node refuses to connect to port ${url.port} (${address})`;
    return new EndpointUnreachable("model_failed", message, { remedy });
  }
  const message = `Cannot reach the model endpoint ${address}${code ? ` (${code})` : ""}`;
  return new Fault("model_failed", message, { retryable: true, remedy: remedyFor(url, isLocal, provider) });
}

function remedyFor({ hostname }: URL, isLocal: boolean, { host, baseUrl }: Provider): string {
  if (hostname === host) return "Check the network or set HTTPS_PROXY.";
  return isLocal
    ? `Start the model's server, or correct ${baseUrl}.`
    : `Check ${baseUrl}, and that the server is running and reachable from here.`;
}

function systemCode(error: unknown): string | null {
  for (const one of causesOf(error)) if ("code" in one && typeof one.code === "string") return one.code;
  return null;
}

const causesOf = (error: unknown, depth = 0): Error[] =>
  error instanceof Error && depth <= 4 ? [error, ...causesOf(error.cause, depth + 1)] : [];

export function statusError(refusal: Refusal, endpoint: Endpoint, sizes?: Sizes): AppError {
  const { status, message, headers } = refusal;
  const { model, address, provider, hideKey } = endpoint;
  const said = message === "" ? "" : `: ${excerpt(message, hideKey)}`;
  const keyName = provider.keyOf(URL.parse(address)?.hostname ?? "");
  const isOfModel = message === "" || /\bmodel\b|\bchat\b/i.test(message);
  const unexplained = isOfModel
    ? "Check HUNKWISE_MODEL: it must be a chat model."
    : "Run `hunkwise doctor`, which tries the tools of a review, and change what the endpoint names.";
  const faults: Record<
    ReturnType<typeof kindOf>,
    readonly [code: ErrorCode, what: string, remedy: string]
  > = {
    quota: [
      "model_rate_limited",
      `The account's quota is used up (${status})${said}`,
      "Add credit or raise its limit.",
    ],
    // The message about a bad key may repeat parts of it.
    key: ["model_unauthorized", `${address} refused the API key (401)`, `Set ${keyName} to a valid key.`],
    access: [
      "model_unauthorized",
      `The API key may not use the model "${model}" at ${address} (403)${said}`,
      "Use a key with access to it, or another HUNKWISE_MODEL.",
    ],
    content: [
      "content_refused",
      `${address} refused the content (${status})${said}`,
      "Set HUNKWISE_FALLBACK_MODEL to a model of another provider, or change the provider's filter.",
    ],
    absent: [
      "model_refused",
      `${address} has no model "${model}" (${status})`,
      "Set HUNKWISE_MODEL to a model of this endpoint; `hunkwise doctor` lists them.",
    ],
    unsupported: [
      "model_refused",
      `${address} does not support ${provider.api} (404)`,
      `Check ${provider.baseUrl}: ${provider.addressHint}.`,
    ],
    too_long: [
      "too_large",
      `The conversation is too long for the model "${model}" (${status})${said}`,
      "Set HUNKWISE_CONTEXT_TOKENS to the model's actual context window, or use a model with a larger one.",
    ],
    unexplained: ["model_refused", `${address} refused the request (${status})${said}`, unexplained],
    rate: [
      "model_rate_limited",
      `${address} limits the rate (429)${said}`,
      "Wait, or raise the account's limit.",
    ],
    passing: ["model_failed", `${address} failed (${status})${said}`, "Try again later."],
  };
  const kind = kindOf(refusal, sizes);
  const [code, what, remedy] = faults[kind];
  const Kind = kind === "absent" ? ModelAbsent : AppError;
  if (kind !== "rate" && kind !== "passing") return new Kind(code, what, { remedy });
  const retryable = headers?.get("x-should-retry") !== "false";
  return new AppError(code, what, { remedy, retryable, retryAfterMs: pauseAsked(headers) });
}

/**
 * Ollama ("does not support tools"), vLLM ('"auto" tool choice requires ...'), llama.cpp ("tools param requires --jinja", "Unsupported param:
 * tools"), OpenRouter ("No endpoints found that support tool use").
 */
const NO_TOOLS =
  /not support (?:the )?(?:tools?\b|tool[ _-](?:use|call)|function[ _-]?call)|support tool use|tool choice requires|tools param requires|(?:unsupported|unknown) param\w*:? ['"`]?tools\b|tools? (?:is|are|use is) not supported|(?:tool|function) calling is not (?:supported|enabled)/i;

/** Whether the endpoint refuses tools as such. */
export const refusesTools = ({ status, message }: Refusal): boolean =>
  status !== 401 && status !== 429 && NO_TOOLS.test(message);

export const toolsRefused = ({ status, message }: Refusal, { address, hideKey }: Endpoint): AppError =>
  new ToolsRefused(
    "model_refused",
    `${address} does not support tools (${status}): ${excerpt(message, hideKey)}`,
    {
      remedy:
        "Set HUNKWISE_PROTOCOL=text, or enable tool calls in the server (vLLM: --enable-auto-tool-choice and --tool-call-parser).",
    },
  );

/** After an hour one request checks whether the pause still applies: no endpoint may delay a job for a year. */
const LONGEST_PAUSE_MS = 3_600_000;

/** `retry-after-ms`, or `retry-after` in seconds or as a date, in milliseconds; an hour at most. */
function pauseAsked(headers: Headers | undefined): number | undefined {
  const milliseconds = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (milliseconds >= 0) return Math.min(milliseconds, LONGEST_PAUSE_MS);
  const after = headers?.get("retry-after") ?? "";
  const asked = /^[\d.]+$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - Date.now();
  return Number.isFinite(asked) ? Math.min(Math.max(0, asked), LONGEST_PAUSE_MS) : undefined;
}

/** Before the first retry; doubles with each further one. In milliseconds, like all of these. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 20_000;
/** If a provider requests a longer pause, the job returns later instead of waiting here. */
const MAX_ASKED_PAUSE_MS = 90_000;
/** Maximum jitter, so that several processes do not return at the same moment. */
const ASKED_PAUSE_JITTER_MS = 1_000;
/** The last try begins within this time after the first. With tries of five minutes, one that hung is repeated once. */
const RETRY_FOR_MS = 360_000;

export interface RetryOptions {
  /** Further tries after the first. */
  maxRetries: number;
  /** Default 500 ms; less for tests. */
  firstPauseMs?: number;
}

/**
 * Repeats a `retryable` error within the tries and their time, with pauses that grow, with jitter, and are at least `retryAfterMs`. Rejects
 * with `aborted` when the signal fires. The packages' own retries repeat permanent errors and used-up quotas, ignore a long `retry-after`, and
 * do not repeat an error in an answer with status 200.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { maxRetries, firstPauseMs = FIRST_PAUSE_MS }: RetryOptions,
  signal: AbortSignal,
): Promise<T> {
  const end = performance.now() + RETRY_FOR_MS;
  for (let tried = 0; ; tried++) {
    if (signal.aborted) throw abortedError();
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) throw abortedError();
      const canPass = error instanceof AppError && error.retryable && !(error instanceof NothingListens);
      if (!canPass || tried >= maxRetries) throw error;
      const { retryAfterMs: asked = 0 } = error;
      const grown = Math.min(firstPauseMs * 2 ** tried * (1 + Math.random()), MAX_PAUSE_MS);
      const jitter = Math.random() * Math.min(ASKED_PAUSE_JITTER_MS, asked * 0.1);
      const pause = Math.max(grown, asked + jitter);
      if (asked > MAX_ASKED_PAUSE_MS || performance.now() + pause > end) throw error;
      await delay(pause, undefined, { signal }).catch(() => {});
    }
  }
}
