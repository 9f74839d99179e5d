import { describe, expect, it } from "vitest";
import { costOf, priceOf, readPrices } from "../../../src/agent/llm/prices.ts";

const listed = readPrices(null);
const usage = (promptTokens: number, cachedTokens: number, completionTokens: number) => ({
  promptTokens,
  cachedTokens,
  completionTokens,
});

describe("the price of a model", () => {
  it.each([
    ["gpt-5-2025-08-07", "gpt-5"],
    ["gpt-5-mini-2025-08-07", "gpt-5-mini"],
    ["gpt-5.1", "gpt-5.1"],
    ["openai/gpt-5", "gpt-5"],
    ["claude-haiku-4-5-20251001", "claude-haiku-4-5"],
    ["claude-haiku-4-5@20251001", "claude-haiku-4-5"],
    ["devstral-2512", "devstral-2512"],
  ])("The price of a model %s is that of %s", (name, entry) => {
    expect(listed[entry]).toBeDefined();
    expect(priceOf(name, listed)).toBe(listed[entry]);
  });

  it.each([
    "gpt-5-turbo",
    "gpt-5.9",
    "gpt-4o-audio-preview",
    "gpt-50",
    "devstral",
    "claude-sonnet-9",
    "gpt-5.6-sol",
    "llama3",
    "constructor",
    "",
  ])("The price of a model %s is not known", (name) => {
    expect(priceOf(name, listed)).toBeNull();
  });

  it("The price of a model is listed with the day on which it was checked", () => {
    expect(Object.keys(listed).length).toBeGreaterThan(20);
    for (const price of Object.values(listed)) expect(price.asOf).toMatch(/^20\d\d-\d\d-\d\d$/);
  });
});

describe("the cost of a request", () => {
  it("The cost of a request counts cached tokens at their own price", () => {
    expect(costOf(usage(1_000_000, 600_000, 100_000), priceOf("gpt-5", listed))).toBeCloseTo(0.5 + 0.075 + 1);
  });

  it("The cost of a request counts cached tokens in full where there is no discount", () => {
    expect(costOf(usage(1_000_000, 600_000, 0), priceOf("gpt-5-pro", listed))).toBeCloseTo(15);
  });

  it("The cost of a request counts what is written to a cache at its own price, where there is one", () => {
    const opus = priceOf("claude-opus-5", listed);
    const written = { ...usage(1_000_000, 600_000, 0), writtenTokens: 300_000 };
    expect(costOf(written, opus)).toBeCloseTo(0.1 * 5 + 0.6 * 0.5 + 0.3 * 6.25);
    expect(costOf(written, priceOf("gpt-5", listed))).toBeCloseTo(0.4 * 1.25 + 0.6 * 0.125);
    expect(costOf({ ...usage(100, 90, 0), writtenTokens: 50 }, opus)).toBeCloseTo(
      (90 * 0.5 + 10 * 6.25) / 1e6,
      9,
    );
    const own = readPrices('{"m": {"prompt": 1, "cached_prompt": 0.1, "cache_write": 2, "completion": 4}}');
    expect(costOf({ ...usage(1_000_000, 0, 0), writtenTokens: 1_000_000 }, priceOf("m", own))).toBe(2);
  });

  it("The cost of a request is that of long prompts only beyond their length", () => {
    const price = priceOf("gpt-5.4", listed);

    expect(costOf(usage(272_000, 0, 1_000), price)).toBeCloseTo(0.68 + 0.015);
    expect(costOf(usage(272_001, 0, 1_000), price)).toBeCloseTo(1.36 + 0.0225, 4);
  });

  it("The cost of a request is null, not zero, for a model whose price is not known", () => {
    expect(costOf(usage(1, 0, 1), priceOf("mine", listed))).toBeNull();
  });
});

describe("a person's own prices", () => {
  it("A person's own prices lie over the listed ones", () => {
    const prices = readPrices(
      '{"mine": {"prompt": 1, "completion": 2}, "gpt-5": {"prompt": 9, "cached_prompt": 3, "completion": 9}}',
    );

    expect(costOf(usage(1_000_000, 500_000, 1_000_000), priceOf("mine", prices))).toBe(3);
    expect(priceOf("gpt-5", prices)).toMatchObject({ prompt: 9, cachedPrompt: 3, asOf: null });
    expect(priceOf("gpt-4o", prices)).toBe(listed["gpt-4o"]);
  });

  it.each([
    ["not JSON", "{", /not JSON/],
    ["a list", "[]", /cannot be read/],
    ["a negative price", '{"m": {"prompt": -1, "completion": 1}}', /m\.prompt/],
    ["a misspelled key", '{"m": {"promt": 1, "completion": 1}}', /promt/],
  ])("A person's own prices that are %s name what is wrong in one line", (_, json, expected) => {
    expect(() => readPrices(json)).toThrow(expected);
    expect(() => readPrices(json)).not.toThrow(/\n/);
  });
});
