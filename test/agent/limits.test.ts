import { describe, expect, it } from "vitest";
import { exceeded, MIN_ANSWER_TOKENS, type Spent, turnsLeft } from "../../src/agent/limits.ts";
import { createRepeatCounter } from "../../src/agent/repeats.ts";
import { createTokenEstimator } from "../../src/agent/tokens.ts";
import type { Message } from "../../src/llm/model.ts";

const limits = { turns: 10, tokens: 10_000, costUsd: 1, milliseconds: 60_000 };
const spent = (
  more: Partial<Spent> & { promptTokens?: number; completionTokens?: number; costUsd?: number | null } = {},
): Spent => {
  const { promptTokens = 0, completionTokens = 0, costUsd = 0, ...rest } = more;
  const usage = { promptTokens, completionTokens, costUsd, cachedTokens: 0 };
  return { turns: 1, usage, lastCostUsd: null, elapsedMs: 0, ...rest };
};

describe("the next request", () => {
  it.each<[string, Spent, number, string | undefined]>([
    ["within all limits", spent(), 1_000, undefined],
    ["that is the last turn", spent({ turns: 9 }), 0, undefined],
    ["after the last turn", spent({ turns: 10 }), 0, "turn_limit"],
    ["in the last millisecond", spent({ elapsedMs: 59_999 }), 0, undefined],
    ["when the time is up", spent({ elapsedMs: 60_000 }), 0, "time_limit"],
    [
      "that just fits",
      spent({ promptTokens: 5_000, completionTokens: 1_000 }),
      4_000 - MIN_ANSWER_TOKENS,
      undefined,
    ],
    [
      "that is one token too long",
      spent({ promptTokens: 5_000, completionTokens: 1_000 }),
      4_001 - MIN_ANSWER_TOKENS,
      "token_limit",
    ],
    ["that leaves money", spent({ costUsd: 0.75, lastCostUsd: 0.25 }), 0, undefined],
    ["that would probably cost too much", spent({ costUsd: 0.75, lastCostUsd: 0.5 }), 0, "cost_limit"],
    ["when the money is spent", spent({ costUsd: 1 }), 0, "cost_limit"],
    ["of a model without a price", spent({ costUsd: null }), 0, undefined],
  ])("%s", (_, so, next, expected) => {
    expect(exceeded(limits, so, next)).toBe(expected);
  });
});

describe("the turns left", () => {
  it.each<[string, Spent, number]>([
    ["before the first turn", spent({ turns: 0 }), Number.POSITIVE_INFINITY],
    ["by turns", spent({ turns: 7 }), 3],
    ["by tokens", spent({ promptTokens: 5_800, completionTokens: 200 }), 3],
    ["by money", spent({ costUsd: 0.5, lastCostUsd: 0.25 }), 2],
    ["by time", spent({ turns: 4, elapsedMs: 40_000 }), 2],
    ["never less than none", spent({ turns: 12, elapsedMs: 90_000 }), 0],
  ])("%s", (_, so, expected) => {
    expect(turnsLeft(limits, so, 1_000)).toBe(expected);
  });
});

describe("the estimate of tokens", () => {
  const messages: Message[] = [{ role: "user", content: "x".repeat(3_984) }];

  it("is four characters a token until the provider counts otherwise", () => {
    const tokens = createTokenEstimator([]);
    expect(tokens.request(messages)).toBe(1_000);

    tokens.learn(messages, 1_500);

    expect(tokens.request(messages)).toBe(1_500);
    expect(tokens.request([...messages, ...messages])).toBe(3_000);
  });

  it("does not follow counts that cannot be", () => {
    const tokens = createTokenEstimator([]);

    tokens.learn(messages, 0);
    expect(tokens.request(messages)).toBe(1_000);
    tokens.learn(messages, 5);
    expect(tokens.request(messages)).toBe(500);
    tokens.learn(messages, 1_000_000);
    expect(tokens.request(messages)).toBe(4_000);
  });

  it("counts the tools, and the parts of a request add up to it", () => {
    const tokens = createTokenEstimator([{ name: "look", description: "d".repeat(400), parameters: {} }]);
    const [message] = messages as [Message];

    expect(tokens.tools).toBeGreaterThan(100);
    expect(tokens.request(messages)).toBe(tokens.tools + tokens.message(message));
  });
});

describe("repeated calls", () => {
  const call = (name: string, json: string) => ({ id: Math.random().toString(), name, arguments: json });

  it("are the same whatever their spelling, order and number within a turn", () => {
    const { count } = createRepeatCounter();

    expect(count([call("a", '{"x":1,"y":{"p":1,"q":2}}'), call("b", "{}")])).toBe(1);
    expect(count([call("b", "{ }"), call("a", '{"y":{"q":2,"p":1},"x":1}'), call("b", "{}")])).toBe(2);
    expect(count([call("b", "{}")])).toBe(1);
    expect(count([call("b", "{}")])).toBe(2);
    expect(count([call("b", "{broken")])).toBe(1);
    expect(count([call("b", "{broken")])).toBe(2);
  });

  it("are not counted on once something has changed in between", () => {
    const { count, reset } = createRepeatCounter();
    count([call("a", "{}")]);
    count([call("a", "{}")]);

    reset();

    expect(count([call("a", "{}")])).toBe(1);
  });

  it("are others with other values, also in the order of a list", () => {
    const { count } = createRepeatCounter();

    expect(count([call("a", "[1,2]")])).toBe(1);
    expect(count([call("a", "[2,1]")])).toBe(1);
    expect(count([call("c", "[2,1]")])).toBe(1);
  });
});
