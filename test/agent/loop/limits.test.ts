import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, Usage } from "../../../src/agent/llm/model.ts";
import { RepeatCounter } from "../../../src/agent/loop/answer-calls.ts";
import {
  createTokenBudget,
  createTokenEstimator,
  exceeded,
  MIN_ANSWER_TOKENS,
  type Reservation,
  type Spent,
  type TokenBudget,
  turnsLeft,
} from "../../../src/agent/loop/limits.ts";

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
    ["fits", spent({ promptTokens: 5_000, completionTokens: 1_000 }), 4_000 - MIN_ANSWER_TOKENS, undefined],
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

  it("The estimate of tokens is four characters a token until the provider counts otherwise", () => {
    const tokens = createTokenEstimator([]);
    expect(tokens.request(messages)).toBe(1_000);

    tokens.learn(messages, 1_500);

    expect(tokens.request(messages)).toBe(1_500);
    expect(tokens.request([...messages, ...messages])).toBe(3_000);
  });

  it("The estimate of tokens does not follow counts that cannot be", () => {
    const tokens = createTokenEstimator([]);

    tokens.learn(messages, 0);
    expect(tokens.request(messages)).toBe(1_000);
    tokens.learn(messages, 5);
    expect(tokens.request(messages)).toBe(500);
    tokens.learn(messages, 1_000_000);
    expect(tokens.request(messages)).toBe(4_000);
  });

  it("The estimate of tokens counts the tools, and the parts of a request add up to it", () => {
    const tokens = createTokenEstimator([{ name: "look", description: "d".repeat(400), parameters: {} }]);
    const [message] = messages as [Message];

    expect(tokens.tools).toBeGreaterThan(100);
    expect(tokens.request(messages)).toBe(tokens.tools + tokens.message(message));
  });
});

describe("repeated calls", () => {
  const call = (name: string, json: string) => ({ id: Math.random().toString(), name, arguments: json });

  it("Repeated calls are the same whatever their spelling, order and number within a turn", () => {
    const repeats = new RepeatCounter();

    expect(repeats.count([call("a", '{"x":1,"y":{"p":1,"q":2}}'), call("b", "{}")])).toBe(1);
    expect(repeats.count([call("b", "{ }"), call("a", '{"y":{"q":2,"p":1},"x":1}'), call("b", "{}")])).toBe(
      2,
    );
    expect(repeats.count([call("b", "{}")])).toBe(1);
    expect(repeats.count([call("b", "{}")])).toBe(2);
    expect(repeats.count([call("b", "{broken")])).toBe(1);
    expect(repeats.count([call("b", "{broken")])).toBe(2);
  });

  it("Repeated calls are not counted on once something has changed in between", () => {
    const repeats = new RepeatCounter();
    repeats.count([call("a", "{}")]);
    repeats.count([call("a", "{}")]);

    repeats.reset();

    expect(repeats.count([call("a", "{}")])).toBe(1);
  });

  it("Repeated calls are others with other values, also in the order of a list", () => {
    const repeats = new RepeatCounter();

    expect(repeats.count([call("a", "[1,2]")])).toBe(1);
    expect(repeats.count([call("a", "[2,1]")])).toBe(1);
    expect(repeats.count([call("c", "[2,1]")])).toBe(1);
  });
});

const used = (promptTokens: number, completionTokens = 0, costUsd: number | null = null): Usage => ({
  ...{ promptTokens, completionTokens, costUsd },
  cachedTokens: 0,
});

function mustHold(budget: TokenBudget, tokens: number, answerTokens?: number): Reservation {
  const hold = budget.reserve(tokens, answerTokens);
  if (typeof hold === "string") throw new Error(`refused: ${hold}`);
  return hold;
}

describe("a budget that loops share", () => {
  it("A shared budget refuses a request for which those under way leave no room", () => {
    const budget = createTokenBudget({ tokens: 10_000, costUsd: null });
    const first = mustHold(budget, 6_000);
    expect(budget.reserve(6_000)).toBe("token_limit");
    first.settle(null);
    expect(budget.reserve(6_000)).not.toBe("token_limit");
  });

  it("A shared budget frees what a request held and did not use", () => {
    const budget = createTokenBudget({ tokens: 10_000, costUsd: null });
    mustHold(budget, 6_000).settle(used(100, 50));
    expect(budget.tokensLeft()).toBe(9_850);
    expect(budget.usage).toMatchObject({ requests: 1, promptTokens: 100, completionTokens: 50 });
  });

  it("A shared budget counts what an earlier run has paid for, beyond its limits as well", () => {
    const budget = createTokenBudget({ tokens: 10_000, costUsd: null });
    const part = budget.part(() => 0.1);
    part.count(used(20_000, 50));
    expect(budget.usage).toMatchObject({ requests: 1, promptTokens: 20_000 });
    expect(part.reserve(100)).toBe("token_limit");
  });

  it("A shared budget runs only as many requests as the money left pays for", () => {
    const budget = createTokenBudget({ tokens: 1_000_000, costUsd: 1 });
    mustHold(budget, 100).settle(used(100, 10, 0.4));
    mustHold(budget, 100);
    expect(budget.reserve(100)).toBe("cost_limit");
  });

  it("A shared budget never ends because of money when the price is not known", () => {
    const budget = createTokenBudget({ tokens: 1_000_000, costUsd: 0.01 });
    mustHold(budget, 100).settle(used(100, 10, null));
    expect(typeof budget.reserve(100)).toBe("object");
  });

  it("A shared budget gives away a part that counts in the whole", () => {
    const budget = createTokenBudget({ tokens: 10_000, costUsd: null });
    const part = budget.part(() => 0.5);
    mustHold(part, 1_000).settle(used(4_000));
    expect(budget.usage.promptTokens).toBe(4_000);
    expect(part.reserve(2_000)).toBe("token_limit");
    expect(typeof budget.reserve(2_000)).toBe("object");
  });

  it("A shared budget leaves each request room for an answer that those under way cannot take", () => {
    const budget = createTokenBudget({ tokens: 40_000, costUsd: null });
    const holds = [1, 2, 3].map(() => mustHold(budget, 6_000, 16_000));
    for (const hold of holds) expect(hold.answerTokens).toBeGreaterThan(MIN_ANSWER_TOKENS);
    for (const hold of holds) hold.settle(used(6_000, hold.answerTokens));
    expect(budget.tokensLeft()).toBeGreaterThanOrEqual(0);
  });

  it("A shared budget gives away less once less may be spent", () => {
    const budget = createTokenBudget({ tokens: 10_000, costUsd: null });
    let share = 0.9;
    const part = budget.part(() => share);
    mustHold(part, 4_000).settle(used(4_000));
    expect(part.tokensLeft()).toBe(5_000);
    share = 0.5;
    expect(part.reserve(2_000)).toBe("token_limit");
  });

  it("A shared budget keeps the limit whatever requests begin and end in whatever order", () => {
    const request = fc.record({ prompt: fc.nat(3_000), answer: fc.nat(4_000), waits: fc.nat(5) });
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 40 }),
        fc.integer({ min: 500, max: 20_000 }),
        (requests, tokens) => {
          const budget = createTokenBudget({ tokens, costUsd: null });
          const part = budget.part(() => 0.7);
          const open: (() => void)[] = [];
          requests.forEach(({ prompt, answer, waits }, index) => {
            const hold = (index % 2 === 0 ? budget : part).reserve(prompt, answer);
            if (typeof hold === "object")
              open.push(() => hold.settle(used(prompt, Math.min(answer, hold.answerTokens))));
            if (waits < 3) open.shift()?.();
          });
          for (const end of open) end();
          const { promptTokens, completionTokens } = budget.usage;
          expect(promptTokens + completionTokens).toBeLessThanOrEqual(tokens);
          expect(budget.tokensLeft()).toBe(tokens - promptTokens - completionTokens);
        },
      ),
    );
  });
});

it("What one loop learns of a model's tokens the next one begins with", () => {
  const budget = createTokenBudget({ tokens: 10_000, costUsd: null });
  const messages = [{ role: "user" as const, content: "x".repeat(4_000) }];
  const first = createTokenEstimator([], budget.part(() => 0.5).calibration);
  const guessed = first.request(messages);
  first.learn(messages, guessed * 2);
  expect(createTokenEstimator([], budget.calibration).request(messages)).toBe(guessed * 2);
});
