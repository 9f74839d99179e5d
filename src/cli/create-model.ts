import { readFile } from "node:fs/promises";
import type { ModelEnv } from "../config/env.ts";
import { AppError, errorLine } from "../errors.ts";
import type { Model } from "../llm/model.ts";
import type { OpenAiModel } from "../llm/openai.ts";
import type { PriceTable } from "../llm/pricing.ts";

/** For one try of a request; a long answer of a reasoning model takes minutes. */
const TIMEOUT_MS = 300_000;
const MAX_RETRIES = 4;

/** The model that the environment names, with the prices of the operator's own table where there is one. */
export async function createModel(
  env: ModelEnv,
  pricesFile: string | null,
  maxRetries = MAX_RETRIES,
): Promise<OpenAiModel> {
  return await connect(env, await pricesOf(pricesFile), maxRetries);
}

/** A model whose client is loaded when there is time for it, at the latest when it is asked something. */
export interface LazyModel extends Model {
  load(): void;
}

/** Like `createModel`, for a command that has better things to do first. Rejects for a bad price table. */
export async function createLazyModel(env: ModelEnv, pricesFile: string | null): Promise<LazyModel> {
  const prices = await pricesOf(pricesFile);
  let model: Promise<OpenAiModel> | undefined;
  const loaded = () => {
    model ??= connect(env, prices, MAX_RETRIES);
    return model;
  };
  return {
    name: env.name,
    contextTokens: env.contextTokens,
    protocol: "native",
    load: () => void loaded().catch(() => {}),
    respond: async (request, signal) => (await loaded()).respond(request, signal),
  };
}

async function pricesOf(pricesFile: string | null): Promise<PriceTable> {
  const { readPrices } = await import("../llm/pricing.ts");
  return readPrices(await readPricesFile(pricesFile));
}

async function connect(env: ModelEnv, prices: PriceTable, maxRetries: number): Promise<OpenAiModel> {
  const { createOpenAiModel } = await import("../llm/openai.ts");
  return createOpenAiModel({
    apiKey: env.apiKey,
    baseUrl: env.baseUrl,
    model: env.name,
    contextTokens: env.contextTokens,
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
