import { readFile } from "node:fs/promises";
import type { ModelEnv } from "../config/model-env.ts";
import { leastContextTokens } from "../config/variables.ts";
import { AppError, errorLine } from "../errors.ts";
import { type AdaptiveModel, createAdaptiveModel, withFallback } from "../llm/adaptive-model.ts";
import { createModelGuard, type ModelGuard, type RequestEnd } from "../llm/guarded-model.ts";
import type { EndpointModel, Models, Usage } from "../llm/model.ts";
import type { OpenAiModel } from "../llm/openai.ts";
import type { PriceTable } from "../llm/prices.ts";
import { type KnownModels, modelKey, openKnownModels } from "../llm/probe.ts";

/** For one try of a request; a long answer of a reasoning model takes minutes. */
const TIMEOUT_MS = 300_000;
const MAX_RETRIES = 4;

/** The models of the environment's roles. */
export interface ConnectedModels {
  models: Models;
  /** Resolves once it is known what the models can do, and their facts hold. Rejects only when aborted. */
  ready(signal: AbortSignal): Promise<void>;
  /** Loads the client, which is otherwise done when a model is first asked. Rejects for a bad address. */
  load(): Promise<void>;
}

export interface ModelOptions {
  /** The operator's own price table; null where there is none. */
  pricesFile: string | null;
  /** Where it is kept what models can do; null keeps nothing. */
  folder: string | null;
  /** For a command that ends with its review: see `AdaptiveOptions`. Circuits open and close in silence then. */
  forOneRun?: boolean;
  /** Takes one line for whoever operates this. */
  warn(text: string): void;
  /**
   * Told of each request that has ended: the model that was asked itself, be it one that stands in, and what it took or the code
   * that it failed with. A refusal by an open circuit is one too. For metrics.
   */
  onRequest?: (model: string, end: RequestEnd) => void;
  /** Told of each model that has to be asked what it can do, right before. */
  onProbe?: ((model: string) => void) | undefined;
}

/**
 * The models that the environment names, each connected once, whatever it is asked for; the one that stands in, where there is
 * one, behind each of them. The client is loaded late: a command has better things to do first. Rejects for a bad price table.
 */
export async function createModels(env: ModelEnv, options: ModelOptions): Promise<ConnectedModels> {
  const parts = await partsFor(options);
  const connected = new Map<string, Connected>();
  const loads: Connected["load"][] = [];
  const fallback = env.fallback && connectTo(env.fallback, env.fallback.name, parts);
  if (fallback) loads.push(fallback.load);
  const named = (name: string): AdaptiveModel => {
    const known = connected.get(name);
    if (known) return known.model;
    const { model, load } = connectTo(env, name, parts);
    const standing =
      fallback && !isFallback(env, name) ? withFallback(model, fallback.model, options.warn) : model;
    connected.set(name, { model: standing, load });
    loads.push(load);
    return standing;
  };
  const models = {
    review: named(env.name),
    verify: named(env.verifyName),
    summarize: named(env.summarizeName),
  };
  const all = [...connected.values()];
  return {
    models,
    ready: async (signal) => void (await Promise.all(all.map(({ model }) => model.ready(signal)))),
    load: async () => void (await Promise.all(loads.map((load) => load()))),
  };
}

/** Nobody stands in for oneself. */
const isFallback = ({ fallback, baseUrl, apiKey }: ModelEnv, name: string): boolean =>
  fallback?.name === name && fallback.baseUrl === baseUrl && fallback.apiKey === apiKey;

interface Connected {
  model: AdaptiveModel;
  load(): Promise<unknown>;
}

/** What all models of a process share. */
interface Parts {
  prices: Prices;
  known: KnownModels;
  guard: ModelGuard["guard"];
  forOneRun: boolean;
  onProbe(model: string): void;
  warn(text: string): void;
}

async function partsFor(options: ModelOptions): Promise<Parts> {
  const { pricesFile, folder, warn, forOneRun = false } = options;
  const { onRequest = () => {}, onProbe = () => {} } = options;
  const { guard } = createModelGuard({
    now: () => performance.now(),
    random: Math.random,
    // A command reports the error itself, at its end; its circuits matter to nobody.
    warn: forOneRun ? () => {} : warn,
    onRequest,
  });
  return {
    prices: await pricesOf(pricesFile),
    known: openKnownModels(folder),
    ...{ guard, onProbe },
    ...{ warn, forOneRun },
  };
}

function connectTo(env: ModelEnv, name: string, parts: Parts): Connected {
  const { prices, guard, ...shared } = parts;
  const { native, load } = lateModel(env, name, prices);
  const key = keyOf(env, name);
  const model = createAdaptiveModel({
    native: guard(native, env.baseUrl, key.slice(0, EXTRAS_KEY_CHARACTERS)),
    protocol: env.protocol,
    contextIsConfigured: env.contextIsConfigured,
    ...{ leastContextTokens, key, ...shared },
  });
  return { model, load };
}

/** Enough to tell the few models of one record apart. */
const EXTRAS_KEY_CHARACTERS = 12;

/** One model as its API speaks, connected at once: that of the reviews, unless another is named. */
export async function createModel(
  env: ModelEnv,
  pricesFile: string | null,
  { name = env.name, maxRetries = MAX_RETRIES }: { name?: string; maxRetries?: number } = {},
): Promise<OpenAiModel> {
  return connect(env, name, (await pricesOf(pricesFile)).table, maxRetries);
}

/** Under which name it is kept what a model can do. */
export const keyOf = ({ baseUrl, azure }: ModelEnv, name: string): string =>
  modelKey(JSON.stringify([baseUrl, azure]), name);

function lateModel(
  env: ModelEnv,
  name: string,
  prices: Prices,
): { native: EndpointModel; load(): Promise<unknown> } {
  let model: Promise<OpenAiModel> | undefined;
  const load = () => {
    model ??= connect(env, name, prices.table, MAX_RETRIES);
    return model;
  };
  const native: EndpointModel = {
    name,
    contextTokens: env.contextTokens,
    protocol: "native",
    costOf: (usage) => prices.costOf(name, usage),
    respond: async (request, signal) => (await load()).respond(request, signal),
    findContextTokens: async (signal) => (await load()).findContextTokens(signal),
  };
  return { native, load };
}

/** The price table, and what follows from it for one model. */
interface Prices {
  table: PriceTable;
  costOf(name: string, usage: Omit<Usage, "costUsd">): number | null;
}

async function pricesOf(pricesFile: string | null): Promise<Prices> {
  const { costOf, priceOf, readPrices } = await import("../llm/prices.ts");
  const table = readPrices(await readPricesFile(pricesFile));
  return { table, costOf: (name, usage) => costOf(usage, priceOf(name, table)) };
}

async function connect(
  env: ModelEnv,
  name: string,
  prices: PriceTable,
  maxRetries: number,
): Promise<OpenAiModel> {
  const { createOpenAiModel } = await import("../llm/openai.ts");
  // Of Azure's classic API, the model of another role is another deployment.
  const deployment = name === env.name ? env.azure?.deployment : name;
  return createOpenAiModel({
    apiKey: env.apiKey,
    baseUrl: env.baseUrl,
    azure: env.azure && { ...env.azure, deployment: deployment ?? name },
    model: name,
    contextTokens: env.contextTokens,
    reasoningEffort: env.reasoningEffort,
    prices,
    timeoutMs: TIMEOUT_MS,
    maxRetries,
  });
}

/** The operator's price table as text; null where there is none. */
export async function readPricesFile(path: string | null): Promise<string | null> {
  if (path === null) return null;
  return readFile(path, "utf8").catch((error: unknown) => {
    throw new AppError("config_invalid", `HUNKWISE_PRICES cannot be read: ${errorLine(error)}`, {
      remedy: "Name a JSON file that this user can read.",
      cause: error,
    });
  });
}
