import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { isObject, readLenientObject } from "./lenient-json.ts";
import {
  abortedError,
  type EndpointModel,
  lasting,
  type Model,
  type ModelRequest,
  type Protocol,
  type ToolCall,
  type ToolDefinition,
  ToolsRefused,
  toolNameIn,
} from "./model.ts";
import { withTextProtocol } from "./text-fallback.ts";

export interface ModelProbe {
  /** Null if it answered; otherwise the reason. A refusal of tools is an answer. */
  error: AppError | null;
  /** Time until the complete answer. */
  milliseconds: number;
  /** It called a tool through the API, not in its text. */
  callsTools: boolean;
  /** It made several calls in one turn when requested. */
  callsInParallel: boolean;
  /** Its arguments were JSON of the requested shape. */
  keepsSchema: boolean;
  /** It said that a limit had cut an answer that was whole and far below the limit. */
  saysLength: boolean;
  /** It wrote the calls as JSON when requested; null if not tried, because it calls tools. */
  writesJson: boolean | null;
  contextTokens: number | null;
  /** What the endpoint refused, and requests now do without. */
  avoids: Ability["avoids"];
  models: string[] | null;
}

const addNumbers: ToolDefinition = {
  name: "add_numbers",
  description: "Adds two numbers.",
  parameters: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
    additionalProperties: false,
  },
};

const requestWith = (tools: readonly ToolDefinition[]): ModelRequest => ({
  messages: [
    { role: "system", content: "You test a tool interface. Answer with tool calls alone." },
    { role: "user", content: "Call add_numbers twice in this one answer: for 2 and 3, and for 20 and 30." },
  ],
  tools: [addNumbers, ...tools],
  maxOutputTokens: PROBE_TOKENS,
});

/** Reasoning models count their thinking as output. */
const PROBE_TOKENS = 4_096;

/**
 * Finds out a model's abilities by two calls in one answer; if it makes none, once more as text, and once more without `tools` if they do not
 * fit its window. Rejects only if aborted.
 * @param options `tools` are offered as well: an endpoint may accept a plain tool and refuse those of a review
 */
export async function probeModel(
  model: EndpointModel,
  signal: AbortSignal,
  { tools = [], now = Date.now }: { tools?: readonly ToolDefinition[]; now?: () => number } = {},
): Promise<ModelProbe> {
  const models = await optional(model.listModels, signal);
  const start = now();
  const whole = await tryCalls(model, signal, tools);
  const native = whole.error?.code === "too_large" ? await tryCalls(model, signal) : whole;
  const milliseconds = now() - start;
  const text = native.error || works(native) ? null : await tryCalls(withTextProtocol(model), signal);
  return {
    ...native,
    milliseconds,
    writesJson: text && works(text),
    // Requested now, because some servers know the window of a model only after it is loaded.
    contextTokens: native.error ? null : await optional(model.findContextTokens, signal),
    avoids: lasting.filter((one) => model.avoids?.has(one)),
    models,
  };
}

export const protocolFor = ({ callsTools, writesJson }: Ability): Protocol =>
  !callsTools && writesJson ? "text" : "native";

export const abilityOf = (probe: ModelProbe): Ability => ({
  callsTools: works(probe),
  writesJson: probe.writesJson ?? true,
  contextTokens: probe.contextTokens,
  avoids: probe.avoids,
  saysLength: probe.saysLength,
});

const works = ({ callsTools, keepsSchema }: Pick<ModelProbe, "callsTools" | "keepsSchema">) =>
  callsTools && keepsSchema;

type Tried = Pick<ModelProbe, "error" | "callsTools" | "callsInParallel" | "keepsSchema" | "saysLength">;

async function tryCalls(
  model: Model,
  signal: AbortSignal,
  tools: readonly ToolDefinition[] = [],
): Promise<Tried> {
  try {
    const request = requestWith(tools);
    const known = new Set(request.tools.map(({ name }) => name));
    const { toolCalls, finishReason, usage } = await model.respond(request, signal);
    const calls = toolCalls.filter(({ name }) => toolNameIn(name, known) === addNumbers.name);
    const keepsSchema = calls.length > 0 && calls.every(holdsTwoNumbers);
    const callsInParallel = calls.length > 1;
    const isShort = usage.completionTokens < PROBE_TOKENS / 4;
    const saysLength = finishReason === "length" && callsInParallel && keepsSchema && isShort;
    return { error: null, callsTools: calls.length > 0, callsInParallel, keepsSchema, saysLength };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "aborted") throw error;
    const nothing = { callsTools: false, callsInParallel: false, keepsSchema: false, saysLength: false };
    return { error: error instanceof ToolsRefused ? null : error, ...nothing };
  }
}

/** Lists and windows are optional: an error there shows again in the real request. */
async function optional<T>(
  ask: ((signal: AbortSignal) => Promise<T | null>) | undefined,
  signal: AbortSignal,
): Promise<T | null> {
  try {
    return (await ask?.(signal)) ?? null;
  } catch (error) {
    if (error instanceof AppError && error.code !== "aborted") return null;
    throw error;
  }
}

/** As text as well, because the tools of a review read that, too. */
function holdsTwoNumbers({ arguments: json }: ToolCall): boolean {
  const { a, b } = readLenientObject(json) ?? {};
  const isNumber = (one: unknown) =>
    typeof one === "number" || (typeof one === "string" && /^\s*-?\d{1,15}(?:\.\d{1,15})?\s*$/.test(one));
  return isNumber(a) && isNumber(b);
}

/** As it is stored. */
const Ability = z.object({
  callsTools: z.boolean(),
  writesJson: z.boolean(),
  /** As the endpoint reports it; null if it does not. */
  contextTokens: z.int().nullable(),
  /** What the endpoint refuses, and requests do without from the start. */
  avoids: z.array(z.enum(lasting)),
  /** Its "length" says nothing about calls that are whole. */
  saysLength: z.boolean().optional(),
});
export type Ability = z.infer<typeof Ability>;

/** Results of earlier probes, so that reviews do not pay for them again. */
export interface KnownModels {
  /** Null if there is no result, or none that is recent enough. */
  recall(key: string): Promise<Ability | null>;
  /** Stores nothing if the folder is not writable. */
  remember(key: string, ability: Ability): Promise<void>;
}

/** Servers are updated, and models change behind their names. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
const MAX_MODELS = 200;

const Table = z.record(z.string(), z.object({ probed_at: z.int(), ability: Ability }));
type Table = z.infer<typeof Table>;

/** The key of a model at an address. A hash, because the file should not reveal addresses of private servers, or keys in them. */
export const modelKey = (address: string, model: string): string =>
  createHash("sha256")
    .update(JSON.stringify([address, model]))
    .digest("hex");

/** Stores abilities in `models.json` of a folder; without a folder it stores nothing. `now` is in milliseconds. */
export function openKnownModels(folder: string | null, now: () => number = Date.now): KnownModels {
  if (folder === null) return { recall: async () => null, remember: async () => {} };
  const file = join(folder, "models.json");
  return {
    async recall(key) {
      const { [key]: row } = await read(file);
      if (!row || now() - row.probed_at > KEPT_MS) return null;
      return row.ability;
    },
    async remember(key, ability) {
      const rows = Object.entries({ ...(await read(file)), [key]: { probed_at: now(), ability } });
      const newest = rows.toSorted(([, a], [, b]) => b.probed_at - a.probed_at).slice(0, MAX_MODELS);
      // If a folder is read-only or full, the next process only has to probe again.
      await write(folder, file, Object.fromEntries(newest)).catch(() => {});
    },
  };
}

/** A missing or damaged file counts as empty. */
async function read(file: string): Promise<Table> {
  try {
    return Table.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return {};
  }
}

/** Atomic: another process may read the file at any time. */
async function write(folder: string, file: string, table: Table): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}`;
  try {
    await writeFile(temporary, `${JSON.stringify(table, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

interface ModelEndpoint {
  /** Root of the endpoint's Chat Completions. */
  url: URL;
  model: string;
  headers: Readonly<Record<string, string | null>>;
  fetch: typeof globalThis.fetch;
}

/** Why a model is not used: many local servers silently cut a prompt that is longer than their window. */
export const windowTooSmall = (model: string, tokens: number, least: number): AppError =>
  new AppError(
    "model_refused",
    `The model "${model}" has a context window of ${tokens.toLocaleString("en")} tokens, but a review needs ${least.toLocaleString("en")}`,
    {
      remedy:
        "Start its server with a larger window (Ollama: OLLAMA_CONTEXT_LENGTH, llama.cpp: --ctx-size, vLLM: --max-model-len), or use another model.",
    },
  );

/** For one request. These requests are optional, and a review should not wait long for them. */
const LOOK_MS = 5_000;
/** A smaller or larger number is a mistake and not a window. */
const PLAUSIBLE = { least: 512, most: 100_000_000 };

interface Look {
  path: string;
  body?: (model: string) => unknown;
  find(answer: Record<string, unknown>, model: string): unknown;
}

/** Paths beside `/v1` that report the window with which a local server runs: llama.cpp, Ollama, LM Studio and LiteLLM. */
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

/** `num_ctx` of an Ollama model's own parameters, which are text. */
function askedContext({ parameters }: Record<string, unknown>): number | undefined {
  const found = typeof parameters === "string" ? /^num_ctx\s+(\d+)/m.exec(parameters)?.[1] : undefined;
  return found === undefined ? undefined : Number(found);
}

/** `max_model_len` of vLLM, `context_length` of OpenRouter and others, `context_window` of Groq, `max_context_length` of Mistral. */
const inList: Look = {
  path: "models",
  find(answer, model) {
    const one = named(answer.data, model, "id");
    return [one?.max_model_len, one?.context_length, one?.context_window, one?.max_context_length].find(
      isWindow,
    );
  },
};

/** The window that the model was trained for, if the running one is not reported: llama.cpp's list. */
const trained: Look = {
  path: "models",
  find: (answer, model) => at(named(answer.data, model, "id") ?? only(answer.data), "meta", "n_ctx_train"),
};

/**
 * The window that the endpoint reports in tokens, or null: from its list of models, else from the other paths of local servers. Rejects if
 * aborted.
 */
export async function findContextTokens(place: ModelEndpoint, signal: AbortSignal): Promise<number | null> {
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
  { headers, model, fetch }: ModelEndpoint,
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

/** The entry of a list that has this name under one of the keys; Ollama adds ":latest" to a name without a tag. */
function named(list: unknown, name: string, ...keys: readonly string[]): Record<string, unknown> | undefined {
  if (!Array.isArray(list)) return undefined;
  const entries = list.filter(isObject);
  return entries.find((one) => keys.some((key) => one[key] === name || one[key] === `${name}:latest`));
}

/** llama.cpp serves one model under any name. */
const only = (list: unknown): unknown => (Array.isArray(list) && list.length === 1 ? list[0] : undefined);
