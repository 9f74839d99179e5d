import { AppError } from "../errors.ts";
import { isObject } from "./lenient-json.ts";
import { abortedError } from "./model.ts";

export interface Place {
  /** Root of the endpoint's Chat Completions. */
  url: URL;
  model: string;
  /** What lets a request in; null keeps a header out. */
  headers: Readonly<Record<string, string | null>>;
  fetch: typeof globalThis.fetch;
}

/** Why a model is not asked: many local servers cut a prompt that is longer than their window, and do not say so. */
export const windowTooSmall = (model: string, tokens: number, least: number): AppError =>
  new AppError(
    "model_refused",
    `The model "${model}" has a context window of ${tokens.toLocaleString("en")} tokens, and a review needs ${least.toLocaleString("en")}`,
    {
      remedy:
        "Start its server with a larger window (Ollama: OLLAMA_CONTEXT_LENGTH, llama.cpp: --ctx-size, vLLM: --max-model-len), or use another model.",
    },
  );

/** For one request. These are optional, and a review should not wait long for them. */
const LOOK_MS = 5_000;
/** A smaller or larger number is no window but a mistake. */
const PLAUSIBLE = { least: 512, most: 100_000_000 };

interface Look {
  path: string;
  /** Sent as POST where there is one. */
  body?: (model: string) => unknown;
  find(answer: Record<string, unknown>, model: string): unknown;
}

/**
 * Where servers report the window that they really run with, which may be smaller than the model's own: llama.cpp, Ollama (for a
 * loaded model), LM Studio and LiteLLM, each beside the `/v1` of its Chat Completions.
 */
const besideChat: readonly Look[] = [
  { path: "props", find: (answer) => at(answer, "default_generation_settings", "n_ctx") },
  { path: "api/ps", find: (answer, model) => named(answer.models, model, "model", "name")?.context_length },
  { path: "api/show", body: (model) => ({ model }), find: askedContext },
  { path: "api/v0/models", find: (answer, model) => named(answer.data, model, "id")?.loaded_context_length },
  {
    path: "model/info",
    find: (answer, model) => at(named(answer.data, model, "model_name"), "model_info", "max_input_tokens"),
  },
];

/** `num_ctx` of an Ollama model's own parameters, which come as text. */
function askedContext({ parameters }: Record<string, unknown>): number | undefined {
  const found = typeof parameters === "string" ? /^num_ctx\s+(\d+)/m.exec(parameters)?.[1] : undefined;
  return found === undefined ? undefined : Number(found);
}

/**
 * What `/models` says of the model: `max_model_len` of vLLM, `context_length` of OpenRouter and others, `context_window` of
 * Groq, `max_context_length` of Mistral.
 */
const inList: Look = {
  path: "models",
  find(answer, model) {
    const one = named(answer.data, model, "id");
    return [one?.max_model_len, one?.context_length, one?.context_window, one?.max_context_length].find(
      isWindow,
    );
  },
};

/** The window that the model was trained for, if nothing says how it runs: llama.cpp's list. */
const trained: Look = {
  path: "models",
  find: (answer, model) => at(named(answer.data, model, "id") ?? only(answer.data), "meta", "n_ctx_train"),
};

/**
 * The size of the model's context window in tokens as its endpoint reports it; null if it does not. Asks the list of models first,
 * and the other paths of local servers only if the list does not have it. Rejects if aborted.
 */
export async function findContextTokens(place: Place, signal: AbortSignal): Promise<number | null> {
  const list = await ask(place, inList, place.url, signal);
  const listed = found(list, inList, place.model);
  if (listed !== null || /(^|\.)(openai\.com|azure\.com|googleapis\.com)$/.test(place.url.hostname))
    return listed;
  const root = new URL(place.url.href.replace(/\/v1\/*$/, "/"));
  const answers = await Promise.all(besideChat.map((look) => ask(place, look, root, signal)));
  const reported = besideChat.map((look, index) => found(answers[index] ?? null, look, place.model));
  return reported.find((tokens) => tokens !== null) ?? found(list, trained, place.model);
}

function found(answer: Record<string, unknown> | null, look: Look, model: string): number | null {
  const tokens = answer && look.find(answer, model);
  return isWindow(tokens) ? tokens : null;
}

const isWindow = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= PLAUSIBLE.least && Number(value) <= PLAUSIBLE.most;

async function ask(
  { headers, model, fetch }: Place,
  { path, body }: Look,
  root: URL,
  signal: AbortSignal,
): Promise<Record<string, unknown> | null> {
  const sent = Object.entries(headers).filter((one): one is [string, string] => one[1] !== null);
  try {
    const response = await fetch(`${root.href.replace(/\/+$/, "")}/${path}`, {
      headers: { ...Object.fromEntries(sent), "content-type": "application/json" },
      ...(body ? { method: "POST", body: JSON.stringify(body(model)) } : {}),
      signal: AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]),
    });
    const answer: unknown = response.ok ? await response.json() : null;
    return isObject(answer) ? answer : null;
  } catch (error) {
    if (signal.aborted) throw abortedError();
    // Any other error says nothing about the window; it shows again in the real request.
    if (error instanceof Error) return null;
    throw error;
  }
}

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce((inner: unknown, key) => (isObject(inner) ? inner[key] : undefined), value);

/** The entry of a list that has this name under one of the keys; Ollama leaves ":latest" out where people do. */
function named(list: unknown, name: string, ...keys: readonly string[]): Record<string, unknown> | undefined {
  if (!Array.isArray(list)) return undefined;
  const entries = list.filter(isObject);
  return entries.find((one) => keys.some((key) => one[key] === name || one[key] === `${name}:latest`));
}

/** llama.cpp serves one model under any name. */
const only = (list: unknown): unknown => (Array.isArray(list) && list.length === 1 ? list[0] : undefined);
