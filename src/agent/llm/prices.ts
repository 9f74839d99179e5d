import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import type { Usage } from "./model.ts";

/** US dollars for a million tokens. `cachedPrompt` null: no discount for cached tokens. `cacheWrite` null: no surcharge for writing them. */
interface Rates {
  prompt: number;
  cachedPrompt: number | null;
  cacheWrite: number | null;
  completion: number;
}

export interface Price extends Rates {
  /** Day on which the price was checked, YYYY-MM-DD; may be absent in a person's own table. */
  asOf: string | null;
  /** Rates of the whole request if its prompt has more than `fromTokens` tokens. */
  longPrompt: (Rates & { fromTokens: number }) | null;
}

export type PriceTable = Readonly<Record<string, Price>>;

const rate = z.number().min(0);
const OwnPrice = z
  .strictObject({
    prompt: rate,
    cached_prompt: rate.nullable().default(null),
    cache_write: rate.nullable().default(null),
    completion: rate,
  })
  .transform(({ cached_prompt: cachedPrompt, cache_write: cacheWrite, ...rates }): Price => {
    return { ...rates, cachedPrompt, cacheWrite, asOf: null, longPrompt: null };
  });
const OwnPrices = z.record(z.string(), OwnPrice);

/** A person's own prices, in US dollars for a million tokens, on top of the listed ones. Throws `config_invalid` and names the wrong key. */
export function readPrices(json: string | null): PriceTable {
  if (json === null || json.trim() === "") return listedPrices;
  const parsed = OwnPrices.safeParse(parseJson(json));
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error).replaceAll(/\s*\n\s*/g, " "));
  return { ...listedPrices, ...parsed.data };
}

/**
 * The price of a model; null if it is not known. A dated name is the same model, any other suffix another one. A maker's name in front is
 * skipped.
 */
export function priceOf(model: string, prices: PriceTable): Price | null {
  for (const name of [model, model.replace(/^(openai|anthropic|google|mistralai)\//, "")]) {
    const price = ownEntry(prices, name) ?? ownEntry(prices, name.replace(DATED, ""));
    if (price) return price;
  }
  return null;
}

/** -2025-08-07, -20250929, @20250929, -0613, -latest. Only a month (-2512) names a separate model. */
const DATED = /(?:[-@]\d{4}-\d{2}-\d{2}|[-@]\d{8}|-(?:0\d|1[0-2])(?:[0-2]\d|3[01])|-latest)$/;

/** Own properties only: a model may be named "constructor". */
const ownEntry = (prices: PriceTable, name: string) =>
  Object.hasOwn(prices, name) ? prices[name] : undefined;

/** Tokens of a request. `writtenTokens` is the part of `promptTokens` that was written to a cache; Chat Completions do not report it. */
export type PricedUsage = Omit<Usage, "costUsd"> & { writtenTokens?: number };

export function costOf(usage: PricedUsage, price: Price | null): number | null {
  if (price === null) return null;
  const long = price.longPrompt;
  const rates = long && usage.promptTokens > long.fromTokens ? long : price;
  const { promptTokens, cachedTokens, completionTokens, writtenTokens = 0 } = usage;
  const written = Math.min(writtenTokens, promptTokens - cachedTokens);
  const prompt =
    (promptTokens - cachedTokens - written) * rates.prompt +
    cachedTokens * (rates.cachedPrompt ?? rates.prompt) +
    written * (rates.cacheWrite ?? rates.prompt);
  return (prompt + completionTokens * rates.completion) / 1_000_000;
}

/** A request whose answer is not there yet: all that is fresh may be written to a cache, and then costs more. */
export const allWritten = (usage: Omit<Usage, "costUsd">): PricedUsage => ({
  ...usage,
  writtenTokens: usage.promptTokens - usage.cachedTokens,
});

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw invalid(`not JSON: ${(error as Error).message}`);
  }
}

const invalid = (why: string) =>
  new AppError("config_invalid", `The model prices cannot be read: ${why}`, {
    remedy:
      'Use the format {"<model>": {"prompt": 1.25, "cached_prompt": 0.125, "completion": 10}}; "cache_write" may be added.',
  });

type Row = [prompt: number, cachedPrompt: number | null, completion: number];

const price = (asOf: string, rates: Row, long?: { from: number; rates: Row }): Price => ({
  asOf,
  ...named(rates),
  longPrompt: long ? { fromTokens: long.from, ...named(long.rates) } : null,
});

const named = ([prompt, cachedPrompt, completion]: Row): Rates => ({
  prompt,
  cachedPrompt,
  cacheWrite: null,
  completion,
});

/** A token that is written to Anthropic's cache for five minutes costs a quarter more (its page on prompt caching). */
const claude = (...given: Parameters<typeof price>): Price => {
  const written = <R extends Rates>(rates: R): R => ({ ...rates, cacheWrite: rates.prompt * 1.25 });
  const { longPrompt, ...rates } = price(...given);
  return written({ ...rates, longPrompt: longPrompt && written(longPrompt) });
};

/** OpenAI's newer models cost more for the whole request once the prompt is longer than this. */
const openAiLong = (rates: Row) => ({ from: 272_000, rates });

/**
 * List prices for standard processing, from public lists that name the makers' pages, mostly github.com/pydantic/genai-prices, with the day of
 * their last check. Models on which the lists disagree, or whose price depends on the hour, are left out.
 */
const listedPrices: Readonly<Record<string, Price>> = {
  "gpt-4o": price("2025-07-04", [2.5, 1.25, 10]),
  "gpt-4o-mini": price("2025-07-04", [0.15, 0.075, 0.6]),
  "gpt-4.1": price("2025-07-04", [2, 0.5, 8]),
  "gpt-4.1-mini": price("2025-07-04", [0.4, 0.1, 1.6]),
  "gpt-4.1-nano": price("2025-07-04", [0.1, 0.025, 0.4]),
  o1: price("2025-07-04", [15, 7.5, 60]),
  o3: price("2025-07-12", [2, 0.5, 8]),
  "gpt-5": price("2025-11-13", [1.25, 0.125, 10]),
  "gpt-5-mini": price("2025-11-13", [0.25, 0.025, 2]),
  "gpt-5-nano": price("2025-11-13", [0.05, 0.005, 0.4]),
  "gpt-5-pro": price("2025-11-13", [15, null, 120]),
  "gpt-5.1": price("2025-11-13", [1.25, 0.125, 10]),
  "gpt-5.1-codex-mini": price("2025-11-13", [0.25, 0.025, 2]),
  "gpt-5.2": price("2025-12-11", [1.75, 0.175, 14]),
  "gpt-5.2-pro": price("2025-12-11", [21, null, 168]),
  "gpt-5.3-codex": price("2026-02-05", [1.75, 0.175, 14]),
  "gpt-5.4": price("2026-03-06", [2.5, 0.25, 15], openAiLong([5, 0.5, 22.5])),
  "gpt-5.4-mini": price("2026-03-18", [0.75, 0.075, 4.5]),
  "gpt-5.4-nano": price("2026-03-18", [0.2, 0.02, 1.25]),
  "gpt-5.5": price("2026-04-24", [5, 0.5, 30]),
  "gpt-5.6-terra": price("2026-08-02", [2, 0.2, 12], openAiLong([4, 0.4, 18])),
  "gpt-5.6-luna": price("2026-08-02", [0.2, 0.02, 1.2], openAiLong([0.4, 0.04, 1.8])),
  "gpt-6-astra": price("2026-09-30", [10, 1, 50], openAiLong([20, 2, 75])),
  "gpt-6-sol": price("2026-09-25", [2, 0.2, 10], openAiLong([4, 0.4, 15])),
  "gpt-6-luna": price("2026-09-30", [0.1, 0.01, 0.5], openAiLong([0.2, 0.02, 0.75])),
  "gpt-6.1-sol": price("2026-09-30", [2, 0.1, 10], openAiLong([4, 0.2, 15])),
  "claude-opus-4-5": claude("2026-07-29", [5, 0.5, 25]),
  "claude-opus-4-6": claude("2026-07-29", [5, 0.5, 25]),
  "claude-opus-4-7": claude("2026-07-29", [5, 0.5, 25]),
  "claude-opus-4-8": claude("2026-07-29", [5, 0.5, 25]),
  "claude-opus-5": claude("2026-07-29", [5, 0.5, 25]),
  "claude-sonnet-4-5": claude("2026-07-29", [3, 0.3, 15], { from: 200_000, rates: [6, 0.6, 22.5] }),
  "claude-sonnet-4-6": claude("2026-07-29", [3, 0.3, 15]),
  "claude-opus-5-5": claude("2026-11-27", [4, 0.2, 20]),
  "claude-sonnet-5": claude("2026-11-27", [2, 0.2, 10]),
  "claude-sonnet-5-5": claude("2026-10-24", [2, 0.1, 10]),
  "claude-haiku-4-5": claude("2026-07-29", [1, 0.1, 5]),
  "claude-haiku-5-5": claude("2026-10-24", [0.1, 0.01, 0.5], { from: 100_000, rates: [0.5, 0.05, 2.5] }),
  "gemini-3.1-pro-preview": price("2026-02-23", [2, 0.2, 12], { from: 200_000, rates: [4, 0.4, 18] }),
  "gemini-3.5-flash": price("2026-05-19", [1.5, 0.15, 9]),
  "gemini-3.5-flash-lite": price("2026-07-22", [0.3, 0.03, 2.5]),
  "mistral-large-2512": price("2026-06-09", [0.5, 0.05, 1.5]),
  "devstral-2512": price("2026-06-09", [0.4, 0.04, 2]),
  "codestral-2508": price("2026-06-09", [0.3, 0.03, 0.9]),
};
