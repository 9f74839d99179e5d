import { readFile } from "node:fs/promises";
import type { ModelEnv } from "../config/env.ts";
import { AppError, errorLine } from "../errors.ts";
import type { OpenAiModel } from "../llm/openai.ts";

/** For one try of a request; a long answer of a reasoning model takes minutes. */
const TIMEOUT_MS = 300_000;
const MAX_RETRIES = 4;

/** The model that the environment names, with the prices of the operator's own table where there is one. */
export async function createModel(
  env: ModelEnv,
  pricesFile: string | null,
  maxRetries = MAX_RETRIES,
): Promise<OpenAiModel> {
  const [{ createOpenAiModel }, { readPrices }] = await Promise.all([
    import("../llm/openai.ts"),
    import("../llm/pricing.ts"),
  ]);
  return createOpenAiModel({
    apiKey: env.apiKey,
    baseUrl: env.baseUrl,
    model: env.name,
    contextTokens: env.contextTokens,
    prices: readPrices(await readPricesFile(pricesFile)),
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
