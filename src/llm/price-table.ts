/** US dollars for a million tokens. `cachedPrompt` null: no discount for cached tokens. */
export interface Rates {
  prompt: number;
  cachedPrompt: number | null;
  completion: number;
}

export interface Price extends Rates {
  /** Day on which the price was checked, YYYY-MM-DD; a person's own table may leave it out. */
  asOf: string | null;
  /** Rates of the whole request once its prompt has more than `fromTokens` tokens. */
  longPrompt: (Rates & { fromTokens: number }) | null;
}

type Row = [prompt: number, cachedPrompt: number | null, completion: number];

const price = (asOf: string, rates: Row, long?: { from: number; rates: Row }): Price => ({
  asOf,
  ...named(rates),
  longPrompt: long ? { fromTokens: long.from, ...named(long.rates) } : null,
});

const named = ([prompt, cachedPrompt, completion]: Row): Rates => ({ prompt, cachedPrompt, completion });

/** OpenAI's newer models cost more for the whole request once the prompt is longer than this. */
const openAiLong = (rates: Row) => ({ from: 272_000, rates });

/**
 * List prices for standard processing, taken at second hand: from public price lists that name the makers' pages as their
 * source, mostly github.com/pydantic/genai-prices. The day is the one on which that list says it checked the price, so an
 * old one may be out of date; a person's own table goes first. Left out are models on whose price the lists disagree,
 * whose price has no such day, or depends on the hour.
 */
export const listedPrices: Readonly<Record<string, Price>> = {
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
  "claude-opus-4-5": price("2026-07-29", [5, 0.5, 25]),
  "claude-opus-4-6": price("2026-07-29", [5, 0.5, 25]),
  "claude-opus-4-7": price("2026-07-29", [5, 0.5, 25]),
  "claude-opus-4-8": price("2026-07-29", [5, 0.5, 25]),
  "claude-opus-5": price("2026-07-29", [5, 0.5, 25]),
  "claude-sonnet-4-5": price("2026-07-29", [3, 0.3, 15], { from: 200_000, rates: [6, 0.6, 22.5] }),
  "claude-sonnet-4-6": price("2026-07-29", [3, 0.3, 15]),
  "claude-sonnet-5-5": price("2026-10-24", [2, 0.1, 10]),
  "claude-haiku-4-5": price("2026-07-29", [1, 0.1, 5]),
  "claude-haiku-5-5": price("2026-10-24", [0.1, 0.01, 0.5], { from: 100_000, rates: [0.5, 0.05, 2.5] }),
  "gemini-3.1-pro-preview": price("2026-02-23", [2, 0.2, 12], { from: 200_000, rates: [4, 0.4, 18] }),
  "gemini-3.5-flash": price("2026-05-19", [1.5, 0.15, 9]),
  "gemini-3.5-flash-lite": price("2026-07-22", [0.3, 0.03, 2.5]),
  "mistral-large-2512": price("2026-06-09", [0.5, 0.05, 1.5]),
  "devstral-2512": price("2026-06-09", [0.4, 0.04, 2]),
  "codestral-2508": price("2026-06-09", [0.3, 0.03, 0.9]),
};
