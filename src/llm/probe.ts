import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../errors.ts";
import { readLenientObject } from "./lenient-json.ts";
import {
  type EndpointModel,
  type Model,
  type ModelRequest,
  type Protocol,
  type ToolCall,
  ToolsRefused,
} from "./model.ts";
import { withTextProtocol } from "./text-fallback.ts";

export interface ModelProbe {
  /** Null if it answered; otherwise why not. A refusal of tools is an answer. */
  error: AppError | null;
  /** Time until the whole answer was there. */
  milliseconds: number;
  /** It called a tool through the API, not in its text. */
  callsTools: boolean;
  /** It made several calls in one turn when asked to. */
  callsInParallel: boolean;
  /** Its arguments were JSON of the shape asked for. */
  keepsSchema: boolean;
  /** It wrote the calls as JSON when asked to; null if it was not asked, because it calls tools. */
  writesJson: boolean | null;
  /** Size of its context window in tokens as the endpoint reports it; null if it does not. */
  contextTokens: number | null;
  /** Models that the endpoint offers; null if it has no list. */
  models: string[] | null;
  /** False if there is a list without the model; null if there is no list. */
  listed: boolean | null;
}

const request: ModelRequest = {
  messages: [
    { role: "system", content: "You test a tool interface. Answer with tool calls alone." },
    { role: "user", content: "Call add_numbers twice in this one answer: for 2 and 3, and for 20 and 30." },
  ],
  tools: [
    {
      name: "add_numbers",
      description: "Adds two numbers.",
      parameters: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
        additionalProperties: false,
      },
    },
  ],
  // Reasoning models count their thinking as output.
  maxOutputTokens: 4_096,
};

/**
 * Asks for two tool calls to find out what the model can do; if it calls no tools, once more with calls in text. Takes one request or
 * two; rejects only if aborted.
 */
export async function probeModel(
  model: EndpointModel,
  signal: AbortSignal,
  now: () => number = Date.now,
): Promise<ModelProbe> {
  const models = await optional(model.listModels, signal);
  const start = now();
  const native = await tryCalls(model, signal);
  const milliseconds = now() - start;
  const text = native.error || works(native) ? null : await tryCalls(withTextProtocol(model), signal);
  return {
    ...native,
    milliseconds,
    writesJson: text && works(text),
    // Asked now: some servers know the window of a model only once it is loaded.
    contextTokens: native.error ? null : await optional(model.findContextTokens, signal),
    models,
    listed: models === null ? null : models.includes(model.name),
  };
}

/** How a model with this ability calls tools best. */
export const protocolFor = ({ callsTools, writesJson }: Ability): Protocol =>
  !callsTools && writesJson ? "text" : "native";

/** What of a probe is worth keeping. */
export const abilityOf = (probe: ModelProbe): Ability => ({
  callsTools: works(probe),
  writesJson: probe.writesJson ?? true,
  contextTokens: probe.contextTokens,
});

const works = ({ callsTools, keepsSchema }: Pick<ModelProbe, "callsTools" | "keepsSchema">) =>
  callsTools && keepsSchema;

type Tried = Pick<ModelProbe, "error" | "callsTools" | "callsInParallel" | "keepsSchema">;

async function tryCalls(model: Model, signal: AbortSignal): Promise<Tried> {
  try {
    const { toolCalls } = await model.respond(request, signal);
    const calls = toolCalls.filter((call) => call.name === "add_numbers");
    return {
      error: null,
      callsTools: calls.length > 0,
      callsInParallel: calls.length > 1,
      keepsSchema: calls.length > 0 && calls.every(holdsTwoNumbers),
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "aborted") throw error;
    const nothing = { callsTools: false, callsInParallel: false, keepsSchema: false };
    return { error: error instanceof ToolsRefused ? null : error, ...nothing };
  }
}

/** Lists and windows are optional: an error there says nothing that the real request will not say. */
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

function holdsTwoNumbers({ arguments: json }: ToolCall): boolean {
  const { a, b } = readLenientObject(json) ?? {};
  return typeof a === "number" && typeof b === "number";
}

/** What a probe found out about a model. */
export interface Ability {
  callsTools: boolean;
  writesJson: boolean;
  /** As the endpoint reports it; null if it does not. */
  contextTokens: number | null;
}

/** What earlier probes found, so that no review pays for it again. */
export interface KnownModels {
  /** Null if nothing is known, or nothing that is recent enough. */
  recall(key: string): Promise<Ability | null>;
  /** Keeps nothing if the folder cannot be written to. */
  remember(key: string, ability: Ability): Promise<void>;
}

/** Servers are updated, and models change behind their names. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
const MAX_MODELS = 200;

const Row = z.object({
  probed_at: z.int(),
  calls_tools: z.boolean(),
  writes_json: z.boolean(),
  context_tokens: z.int().nullable(),
});
const Table = z.record(z.string(), Row);
type Table = z.infer<typeof Table>;

/** The key of a model at an address. A hash: the file should not reveal addresses of private servers, or keys in them. */
export const modelKey = (address: string, model: string): string =>
  createHash("sha256")
    .update(JSON.stringify([address, model]))
    .digest("hex");

/** Keeps abilities in `models.json` of a folder; without a folder it keeps nothing. `now` is in milliseconds. */
export function openKnownModels(folder: string | null, now: () => number = Date.now): KnownModels {
  if (folder === null) return { recall: async () => null, remember: async () => {} };
  const file = join(folder, "models.json");
  return {
    async recall(key) {
      const { [key]: row } = await read(file);
      if (!row || now() - row.probed_at > KEPT_MS) return null;
      return { callsTools: row.calls_tools, writesJson: row.writes_json, contextTokens: row.context_tokens };
    },
    async remember(key, { callsTools, writesJson, contextTokens }) {
      const row = {
        probed_at: now(),
        calls_tools: callsTools,
        writes_json: writesJson,
        context_tokens: contextTokens,
      };
      const rows = Object.entries({ ...(await read(file)), [key]: row });
      const newest = rows.toSorted(([, a], [, b]) => b.probed_at - a.probed_at).slice(0, MAX_MODELS);
      // A folder that is read-only or full costs the next process a probe, nothing else.
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
