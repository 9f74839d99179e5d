import OpenAI from "openai";
import { AppError } from "../errors.ts";
import { failedProxy } from "../proxies.ts";
import { abortedError, EndpointUnreachable, ModelAbsent, NothingListens, ToolsRefused } from "./model.ts";

/** The endpoint as error messages name it, and the key that they must not name. */
export interface Endpoint {
  model: string;
  address: string;
  timeoutMs: number;
  hideKey: HideKey;
}

/** Takes the key out of a text. */
export type HideKey = (text: string) => string;

/** An endpoint may repeat the key it was sent. */
export const keyHider =
  (apiKey: string | null): HideKey =>
  (text) =>
    apiKey ? text.replaceAll(apiKey, "[key]") : text;

/**
 * The beginning of an endpoint's text, on one line. The key is removed first: of a key that is cut in two a part would stay. The text
 * is cut before its white space is replaced, which would take seconds for megabytes.
 */
export function excerpt(text: string, hideKey: HideKey, length = 200): string {
  const line = hideKey(text)
    .slice(0, 10 * length)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > length ? `${line.slice(0, length)}...` : line;
}

/**
 * An error of the client as an AppError, without a cause: the client's errors hold headers and bodies, and an endpoint may repeat the
 * key that it was sent. Throws errors that no endpoint can cause.
 */
export function toAppError(error: unknown, endpoint: Endpoint, signal: AbortSignal): AppError {
  const carried = error instanceof OpenAI.APIConnectionError ? error.cause : error;
  if (carried instanceof AppError) return carried;
  if (signal.aborted || error instanceof OpenAI.APIUserAbortError) return abortedError();
  if (error instanceof OpenAI.APIConnectionTimeoutError || isTimeout(error)) {
    const seconds = Math.round(endpoint.timeoutMs / 1_000);
    return new AppError("model_failed", `${endpoint.address} did not answer within ${seconds} s`, {
      retryable: true,
      remedy: "Try again, allow more time, or take a faster model.",
    });
  }
  if (error instanceof OpenAI.APIConnectionError) return connectionError(error, endpoint);
  if (error instanceof OpenAI.APIError && error.status !== undefined) {
    return statusError(factsOf(error), endpoint);
  }
  if (error instanceof SyntaxError || systemCode(error) !== null) {
    return new AppError("model_failed", `The answer of ${endpoint.address} was cut off or is not JSON`, {
      retryable: true,
      remedy: "Try again; if it stays so, check OPENAI_BASE_URL and any proxy in between.",
    });
  }
  // An error of ours, which must not look like one of the endpoint.
  throw error;
}

/** The time-out came in the middle of an answer. */
const isTimeout = (error: unknown) => error instanceof Error && error.name === "TimeoutError";

function connectionError(error: Error, { address }: Endpoint): AppError {
  const code = systemCode(error);
  const url = new URL(address);
  const proxy = failedProxy(error, url);
  const isLocal = code === "ECONNREFUSED" && isLoopback(proxy?.url ?? address);
  const Fault = isLocal ? NothingListens : EndpointUnreachable;
  if (proxy) {
    const message = `Cannot reach the proxy ${proxy.url} (${proxy.variable}) on the way to the model endpoint ${address}`;
    const remedy = `Check it, or list ${url.hostname} in NO_PROXY.`;
    return new Fault("model_failed", message, { retryable: true, remedy });
  }
  if (isBlockedPort(error)) {
    return new EndpointUnreachable(
      "model_failed",
      `Node opens no connection to port ${url.port} (${address})`,
      {
        remedy: "Let the model's server listen on another port, and set OPENAI_BASE_URL to it.",
      },
    );
  }
  const message = `Cannot reach the model endpoint ${address}${code ? ` (${code})` : ""}`;
  return new Fault("model_failed", message, { retryable: true, remedy: remedyFor(url, isLocal) });
}

/** Ports of other protocols, which `fetch` refuses: https://fetch.spec.whatwg.org/#port-blocking. */
const isBlockedPort = (error: unknown) => causesOf(error).some(({ message }) => message === "bad port");

function remedyFor({ hostname }: URL, isLocal: boolean): string {
  if (hostname === "api.openai.com") return "Check the network or set HTTPS_PROXY.";
  return isLocal
    ? "Start the server there, or check OPENAI_BASE_URL."
    : "Check OPENAI_BASE_URL, and that the server runs and can be reached from here.";
}

const isLoopback = (address: string) =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(URL.parse(address)?.hostname ?? "");

function systemCode(error: unknown): string | null {
  for (const one of causesOf(error)) if ("code" in one && typeof one.code === "string") return one.code;
  return null;
}

/** The error and what caused it, the outermost first. */
const causesOf = (error: unknown, depth = 0): Error[] =>
  error instanceof Error && depth <= 4 ? [error, ...causesOf(error.cause, depth + 1)] : [];

/** A refusal: from a response's status, or from an error object in an answer with status 200. */
export interface Refusal {
  status: number;
  code: string;
  param: string;
  message: string;
  headers: Headers | undefined;
}

export function factsOf(error: InstanceType<typeof OpenAI.APIError>): Refusal {
  const body = typeof error.error === "object" && error.error !== null ? error.error : {};
  const said = "message" in body && typeof body.message === "string" ? body.message : error.message;
  return {
    status: error.status ?? 0,
    code: String(error.code ?? ""),
    param: String(error.param ?? ""),
    message: inReason(said),
    headers: error.headers,
  };
}

/** A dozen patterns are searched in it. The limit is far above what is shown, and the key is removed from it before the cut. */
export const inReason = (message: string) => message.slice(0, 100_000);

/** Waiting may help with these; other 4xx are refused again however often they are sent. */
const passing = (status: number) => status === 408 || status === 409 || status === 429 || status >= 500;

export function isContextTooLong({ status, code, message }: Refusal): boolean {
  if (code === "context_length_exceeded" || status === 413) return true;
  return (
    (status === 400 || status === 422) &&
    /context (length|window|size)|maximum context|(prompt|input) is too long|too many (input )?tokens/i.test(
      message,
    )
  );
}

export function statusError(refusal: Refusal, endpoint: Endpoint): AppError {
  const { status, message } = refusal;
  const { model, address } = endpoint;
  const said =
    message && !/^<(!doctype|html)/i.test(message.trim()) ? `: ${excerpt(message, endpoint.hideKey)}` : "";
  const barred = accessError(refusal, endpoint, said);
  if (barred) return barred;
  if (isAbsent(refusal)) {
    return new ModelAbsent("model_refused", `${address} has no model "${model}" (${status})`, {
      remedy: "Set HUNKWISE_MODEL to one that it has; `hunkwise doctor` lists them.",
    });
  }
  if (status === 404) {
    return new AppError("model_refused", `${address} has no chat completions (404)`, {
      remedy: "Check OPENAI_BASE_URL: it usually ends in /v1.",
    });
  }
  if (isContextTooLong(refusal)) {
    return new AppError(
      "model_refused",
      `The conversation is too long for the model "${model}" (${status})${said}`,
      {
        remedy: "Configure the context size that the model really has, or take a model with a larger one.",
      },
    );
  }
  if (!passing(status)) {
    return new AppError("model_refused", `${address} refused the request (${status})${said}`, {
      remedy: "Check HUNKWISE_MODEL: it must be a chat model.",
    });
  }
  const later = { ...pauseAsked(refusal.headers), retryable: mayRetry(refusal) };
  return status === 429
    ? new AppError("model_rate_limited", `${address} limits the rate (429)${said}`, {
        remedy: "Wait, or raise the account's limit.",
        ...later,
      })
    : new AppError("model_failed", `${address} failed (${status})${said}`, {
        remedy: "Try again later.",
        ...later,
      });
}

/**
 * In the words of Ollama ("does not support tools"), vLLM ('"auto" tool choice requires --enable-auto-tool-choice'),
 * llama.cpp ("tools param requires --jinja flag", "Unsupported param: tools") and OpenRouter ("No endpoints found that
 * support tool use").
 */
const NO_TOOLS =
  /not support (?:the )?(?:tools?\b|tool[ _-](?:use|call)|function[ _-]?call)|support tool use|tool choice requires|tools param requires|(?:unsupported|unknown) param\w*:? ['"`]?tools\b|tools? (?:is|are|use is) not supported|(?:tool|function) calling is not (?:supported|enabled)/i;

/** The error for a refusal of tools as such; null for any other. Only for requests with tools. */
export function toolsRefused({ status, message }: Refusal, { address, hideKey }: Endpoint): AppError | null {
  if (status < 400 || status === 401 || status === 429 || !NO_TOOLS.test(message)) return null;
  return new ToolsRefused(
    "model_refused",
    `${address} takes no tools (${status}): ${excerpt(message, hideKey)}`,
    {
      remedy:
        "Set HUNKWISE_PROTOCOL=text, or switch tool calls on in the server (vLLM: --enable-auto-tool-choice and --tool-call-parser).",
    },
  );
}

/** The error for a refusal of the key or its account; null for any other. */
function accessError({ status, code }: Refusal, { model, address }: Endpoint, said: string): AppError | null {
  // The message about a bad key may repeat parts of it.
  if (status === 401) {
    const isAzure = /\.azure\.(com|us|cn)$/.test(URL.parse(address)?.hostname ?? "");
    return new AppError("model_unauthorized", `${address} refused the API key (401)`, {
      remedy: `Set ${isAzure ? "AZURE_OPENAI_API_KEY" : "OPENAI_API_KEY"} to a valid key.`,
    });
  }
  if (status === 403) {
    return new AppError(
      "model_unauthorized",
      `The API key may not use the model "${model}" at ${address} (403)${said}`,
      {
        remedy: "Use a key with access to it, or another HUNKWISE_MODEL.",
      },
    );
  }
  if (status !== 402 && code !== "insufficient_quota") return null;
  return new AppError("model_rate_limited", `The account's quota is used up (${status})`, {
    remedy: "Add credit or raise its limit.",
  });
}

/** Azure speaks of deployments; OpenRouter and Mistral refuse an unknown model with 400. */
function isAbsent({ status, code, message }: Refusal): boolean {
  if (status === 404) return code === "model_not_found" || /model|deployment/i.test(message);
  const isRefused = status === 400 || status === 422;
  return (
    isRefused && (code === "model_not_found" || /(invalid|unknown) model\b|valid model id/i.test(message))
  );
}

const mayRetry = ({ status, headers }: Refusal) =>
  passing(status) && headers?.get("x-should-retry") !== "false";

/** After an hour one request asks whether it still holds: no endpoint may send a job away for a year. */
const LONGEST_PAUSE_MS = 3_600_000;

/** `retry-after-ms`, or `retry-after` in seconds or as a date; an hour at most. */
function pauseAsked(headers: Headers | undefined): { retryAfterMs?: number } {
  const milliseconds = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (milliseconds >= 0) return { retryAfterMs: Math.min(milliseconds, LONGEST_PAUSE_MS) };
  const after = headers?.get("retry-after") ?? "";
  const asked = /^[\d.]+$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - Date.now();
  return Number.isFinite(asked) ? { retryAfterMs: Math.min(Math.max(0, asked), LONGEST_PAUSE_MS) } : {};
}
