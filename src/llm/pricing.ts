import { z } from "zod";
import { AppError } from "../errors.ts";
import type { Usage } from "./model.ts";
import { listedPrices, type Price } from "./price-table.ts";

export type PriceTable = Readonly<Record<string, Price>>;

const OwnPrice = z.strictObject({
  prompt: z.number().min(0),
  cached_prompt: z.number().min(0).nullish(),
  completion: z.number().min(0),
});
const OwnPrices = z.record(z.string(), OwnPrice);

/**
 * A person's own prices laid over the listed ones: `{"my-model": {"prompt": 1, "cached_prompt": 0.1, "completion": 4}}`
 * in US dollars for a million tokens. Throws `config_invalid` and names the key that is wrong.
 */
export function readPrices(json: string | null): PriceTable {
  if (json === null || json.trim() === "") return listedPrices;
  const parsed = OwnPrices.safeParse(parseJson(json));
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error).replaceAll(/\s*\n\s*/g, " "));
  const own = Object.entries(parsed.data).map(([name, { prompt, cached_prompt, completion }]) => [
    name,
    { prompt, cachedPrompt: cached_prompt ?? null, completion, asOf: null, longPrompt: null },
  ]);
  return { ...listedPrices, ...Object.fromEntries(own) };
}

/**
 * The price of a model, null when it is not known. Dated names cost what the model costs ("gpt-5-2025-08-07" is "gpt-5"),
 * other suffixes are other models ("gpt-5-pro" is not "gpt-5"); the maker's name in front is skipped where a table does
 * not know the whole name ("openai/gpt-5").
 */
export function priceOf(model: string, prices: PriceTable): Price | null {
  for (const name of [model, model.replace(/^(openai|anthropic|google|mistralai)\//, "")]) {
    const price = ownEntry(prices, name) ?? ownEntry(prices, name.replace(DATED, ""));
    if (price) return price;
  }
  return null;
}

/** -2025-08-07, -20250929, @20250929, -0613, -latest. A month alone (-2512) names a model of its own. */
const DATED = /(?:[-@]\d{4}-\d{2}-\d{2}|[-@]\d{8}|-(?:0\d|1[0-2])(?:[0-2]\d|3[01])|-latest)$/;

/** A table read from JSON may be asked for "constructor". */
const ownEntry = (prices: PriceTable, name: string) =>
  Object.hasOwn(prices, name) ? prices[name] : undefined;

/**
 * What a request cost in US dollars; null when the price is not known, never 0. Surcharges for writing a cache are not
 * reported over Chat Completions and therefore not in it.
 */
export function costOf(usage: Omit<Usage, "costUsd">, price: Price | null): number | null {
  if (price === null) return null;
  const long = price.longPrompt;
  const rates = long && usage.promptTokens > long.fromTokens ? long : price;
  const fresh = usage.promptTokens - usage.cachedTokens;
  const cached = usage.cachedTokens * (rates.cachedPrompt ?? rates.prompt);
  return (fresh * rates.prompt + cached + usage.completionTokens * rates.completion) / 1_000_000;
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw invalid(`not JSON: ${(error as Error).message}`);
  }
}

const invalid = (why: string) =>
  new AppError("config_invalid", `The model prices cannot be read: ${why}`, {
    remedy: 'Write them as {"<model>": {"prompt": 1.25, "cached_prompt": 0.125, "completion": 10}}.',
  });
