import { readFile } from "node:fs/promises";
import {
  type AdaptiveModel,
  createAdaptiveModel,
  isForGood,
  withFallback,
} from "../agent/llm/adaptive-model.ts";
import { createModelGuard, type RequestEnd } from "../agent/llm/guarded-model.ts";
import type { Avoidable, EndpointModel, Models, ToolDefinition, Usage } from "../agent/llm/model.ts";
import type { PriceTable } from "../agent/llm/prices.ts";
import { modelKey, openKnownModels } from "../agent/llm/probe.ts";
import { type EmbeddingEnv, isSameModel, type ModelEnv } from "../config/env.ts";
import { leastContextTokens } from "../config/variables.ts";
import { AppError, errorLine } from "../core/errors.ts";
import { registerSecret } from "../core/secrets/live-secrets.ts";
import type { Embedder } from "../repo/index/vectors.ts";

/** Time limit of one attempt; a long answer of a reasoning model takes minutes. */
const TIMEOUT_MS = 300_000;
const MAX_RETRIES = 4;

/** The models of the environment's roles. */
export interface ConnectedModels {
  models: Models;
  /** Resolves when the abilities of the models are known and their facts are valid. Rejects only if aborted. */
  ready(signal: AbortSignal): Promise<void>;
  /** Loads the client, which otherwise happens at the first request. Rejects for an invalid address. */
  load(): Promise<void>;
}

interface ModelOptions {
  /** The operator's own price table; null if there is none. */
  pricesFile: string | null;
  /** The folder in which the abilities of models are stored; null stores none. */
  folder: string | null;
  /** For a command that ends with its review: see `AdaptiveOptions`. Circuits then open and close silently. */
  forOneRun?: boolean;
  /** Takes one line for the operator. */
  warn(text: string): void;
  /** For metrics: called for each request that has ended, also one that an open circuit refused, with the model that was asked. */
  onRequest?: (model: string, end: RequestEnd) => void;
  /** Called right before a model is probed for its abilities. */
  onProbe?: ((model: string) => void) | undefined;
}

/** Connects each model of the environment once, with what answers in its place behind it. Loads clients late. Rejects for an invalid price table. */
export async function createModels(env: ModelEnv, options: ModelOptions): Promise<ConnectedModels> {
  const { warn, forOneRun = false, onRequest = () => {}, onProbe = () => {} } = options;
  const { guard } = createModelGuard({
    now: () => performance.now(),
    random: Math.random,
    // A command reports the error itself, at its end; the state of its circuits does not matter.
    warn: forOneRun ? () => {} : warn,
    onRequest,
  });
  const prices = await pricesOf(options.pricesFile);
  const known = openKnownModels(options.folder);
  const loads: (() => Promise<unknown>)[] = [];
  const connectTo = (of: ModelEnv): AdaptiveModel => {
    const { native, load } = lateModel(of, prices);
    loads.push(load);
    const key = keyOf(of);
    return createAdaptiveModel({
      native: guard(native, of.baseUrl, key.slice(0, EXTRAS_KEY_CHARACTERS)),
      protocol: of.protocol,
      contextIsConfigured: of.contextIsConfigured,
      leastContextTokens,
      key,
      tools: toolsOfReviews,
      known,
      onProbe,
      warn,
      forOneRun,
    });
  };
  const alone = connectTo(env);
  // A model is not a fallback for itself.
  const fallback = isSameModel(env, env.fallback) ? null : env.fallback;
  const review = fallback ? withFallback(alone, connectTo(fallback), warn) : alone;
  const verify = env.verify ? withFallback(connectTo(env.verify), review, warn, isForGood) : review;
  return {
    models: { review, verify },
    ready: async (signal) =>
      void (await Promise.all([...new Set([review, verify])].map((model) => model.ready(signal)))),
    load: async () => void (await Promise.all(loads.map((load) => load()))),
  };
}

/** The definitions that each review offers. Loaded late, because most commands know their model. */
export async function toolsOfReviews(): Promise<ToolDefinition[]> {
  const { readingTools, reportingTools } = await import("../agent/tools/index.ts");
  const { toDefinition } = await import("../agent/tools/to-openai.ts");
  return [...readingTools, ...reportingTools].map(toDefinition);
}

/** Enough to distinguish the few models of one record. */
const EXTRAS_KEY_CHARACTERS = 12;

/** Connects one model by its API. No request is repeated. */
export async function createModel(
  env: ModelEnv,
  pricesFile: string | null,
): Promise<Required<EndpointModel>> {
  return connect(env, (await pricesOf(pricesFile)).table, 0);
}

/** The key under which the abilities of a model are stored. */
export const keyOf = ({ api, baseUrl, name }: ModelEnv): string =>
  modelKey(JSON.stringify([baseUrl, api]), name);

function lateModel(env: ModelEnv, prices: Prices): { native: EndpointModel; load(): Promise<unknown> } {
  const { name } = env;
  let model: Promise<Required<EndpointModel>> | undefined;
  const avoids = new Set<Avoidable>();
  const load = () => {
    // Node loads its fetch with the first of its classes.
    if (model === undefined) new Headers();
    model ??= connect(env, prices.table, MAX_RETRIES, avoids);
    return model;
  };
  const native: EndpointModel = {
    name,
    contextTokens: env.contextTokens,
    protocol: "native",
    avoids,
    costOf: (usage) => prices.costOf(name, usage, env.api),
    respond: async (request, signal) => (await load()).respond(request, signal),
    findContextTokens: async (signal) => (await load()).findContextTokens(signal),
  };
  return { native, load };
}

/** The price table, and the price of a request. */
interface Prices {
  table: PriceTable;
  costOf(name: string, usage: Omit<Usage, "costUsd">, api: ModelEnv["api"]): number | null;
}

async function pricesOf(pricesFile: string | null): Promise<Prices> {
  const { allWritten, costOf, priceOf, readPrices } = await import("../agent/llm/prices.ts");
  const table = readPrices(await readPricesFile(pricesFile));
  return {
    table,
    costOf: (name, usage, api) =>
      costOf(api === "anthropic" ? allWritten(usage) : usage, priceOf(name, table)),
  };
}

async function connect(
  env: ModelEnv,
  prices: PriceTable,
  maxRetries: number,
  avoids = new Set<Avoidable>(),
): Promise<Required<EndpointModel>> {
  const { apiKey, baseUrl, contextTokens, reasoningEffort, name: model } = env;
  const endpoint = { apiKey, baseUrl, contextTokens, reasoningEffort, model, prices };
  const options = { ...endpoint, maxRetries, timeoutMs: TIMEOUT_MS, avoids };
  if (env.api === "anthropic") {
    const { createAnthropicModel } = await import("../agent/llm/anthropic.ts");
    return createAnthropicModel(options);
  }
  const { createOpenAiModel } = await import("../agent/llm/openai.ts");
  return createOpenAiModel(options);
}

/** The operator's price table as text; null if there is none. */
export async function readPricesFile(path: string | null): Promise<string | null> {
  if (path === null) return null;
  return readFile(path, "utf8").catch((error: unknown) => {
    throw new AppError("config_invalid", `HUNKWISE_PRICES cannot be read: ${errorLine(error)}`, {
      remedy: "Name a JSON file that this user can read.",
      cause: error,
    });
  });
}

/** Time limit of one attempt. */
const EMBEDDING_TIMEOUT_MS = 60_000;

/** The embedding model for code. Loads its client. Rejects with `config_invalid` for an invalid address. */
export async function createEmbedder(
  { name, apiKey, baseUrl }: EmbeddingEnv,
  { maxRetries = MAX_RETRIES }: { maxRetries?: number } = {},
): Promise<Embedder> {
  if (apiKey) registerSecret(apiKey, { keep: true });
  const { createOpenAiEmbeddings } = await import("../agent/llm/openai-embeddings.ts");
  const timeoutMs = EMBEDDING_TIMEOUT_MS;
  return createOpenAiEmbeddings({ model: name, apiKey, baseUrl, timeoutMs, maxRetries });
}
