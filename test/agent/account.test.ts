import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Account, createAccount, type Hold } from "../../src/agent/account.ts";
import { MIN_ANSWER_TOKENS } from "../../src/agent/limits.ts";
import { createTokenEstimator } from "../../src/agent/tokens.ts";
import type { Usage } from "../../src/llm/model.ts";

const used = (promptTokens: number, completionTokens = 0, costUsd: number | null = null): Usage => ({
  ...{ promptTokens, completionTokens, costUsd },
  cachedTokens: 0,
});

function mustHold(account: Account, tokens: number, answerTokens?: number): Hold {
  const hold = account.hold(tokens, answerTokens);
  if (typeof hold === "string") throw new Error(`refused: ${hold}`);
  return hold;
}

describe("an account that loops share", () => {
  it("refuses a request for which those under way leave no room", () => {
    const account = createAccount({ tokens: 10_000, costUsd: null });
    const first = mustHold(account, 6_000);
    expect(account.hold(6_000)).toBe("token_limit");
    first.settle(null);
    expect(account.hold(6_000)).not.toBe("token_limit");
  });

  it("frees what a request held and did not use", () => {
    const account = createAccount({ tokens: 10_000, costUsd: null });
    mustHold(account, 6_000).settle(used(100, 50));
    expect(account.tokensLeft()).toBe(9_850);
    expect(account.usage).toMatchObject({ requests: 1, promptTokens: 100, completionTokens: 50 });
  });

  it("counts what an earlier run has paid for, beyond its limits as well, and in all that it is a part of", () => {
    const account = createAccount({ tokens: 10_000, costUsd: null });
    const part = account.part(() => 0.1);
    part.count(used(20_000, 50));
    expect(account.usage).toMatchObject({ requests: 1, promptTokens: 20_000 });
    expect(part.hold(100)).toBe("token_limit");
  });

  it("lets no more requests run at once than the money left pays for at the dearest price so far", () => {
    const account = createAccount({ tokens: 1_000_000, costUsd: 1 });
    mustHold(account, 100).settle(used(100, 10, 0.4));
    mustHold(account, 100);
    expect(account.hold(100)).toBe("cost_limit");
  });

  it("never ends because of money when the price is not known", () => {
    const account = createAccount({ tokens: 1_000_000, costUsd: 0.01 });
    mustHold(account, 100).settle(used(100, 10, null));
    expect(typeof account.hold(100)).toBe("object");
  });

  it("gives away a part that counts in the whole", () => {
    const account = createAccount({ tokens: 10_000, costUsd: null });
    const part = account.part(() => 0.5);
    mustHold(part, 1_000).settle(used(4_000));
    expect(account.usage.promptTokens).toBe(4_000);
    expect(part.hold(2_000)).toBe("token_limit");
    expect(typeof account.hold(2_000)).toBe("object");
  });

  it("leaves each request room for an answer that those under way cannot take", () => {
    const account = createAccount({ tokens: 40_000, costUsd: null });
    const holds = [1, 2, 3].map(() => mustHold(account, 6_000, 16_000));
    for (const hold of holds) expect(hold.answerTokens).toBeGreaterThan(MIN_ANSWER_TOKENS);
    for (const hold of holds) hold.settle(used(6_000, hold.answerTokens));
    expect(account.tokensLeft()).toBeGreaterThanOrEqual(0);
  });

  it("gives away less once less may be spent", () => {
    const account = createAccount({ tokens: 10_000, costUsd: null });
    let share = 0.9;
    const part = account.part(() => share);
    mustHold(part, 4_000).settle(used(4_000));
    expect(part.tokensLeft()).toBe(5_000);
    share = 0.5;
    expect(part.hold(2_000)).toBe("token_limit");
  });

  it("keeps the limit whatever requests begin and end in whatever order", () => {
    const request = fc.record({ prompt: fc.nat(3_000), answer: fc.nat(4_000), waits: fc.nat(5) });
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 40 }),
        fc.integer({ min: 500, max: 20_000 }),
        (requests, tokens) => {
          const account = createAccount({ tokens, costUsd: null });
          const part = account.part(() => 0.7);
          const open: (() => void)[] = [];
          requests.forEach(({ prompt, answer, waits }, index) => {
            const hold = (index % 2 === 0 ? account : part).hold(prompt, answer);
            if (typeof hold === "object")
              open.push(() => hold.settle(used(prompt, Math.min(answer, hold.answerTokens))));
            if (waits < 3) open.shift()?.();
          });
          for (const end of open) end();
          const { promptTokens, completionTokens } = account.usage;
          expect(promptTokens + completionTokens).toBeLessThanOrEqual(tokens);
          expect(account.tokensLeft()).toBe(tokens - promptTokens - completionTokens);
        },
      ),
    );
  });
});

it("what one loop learns of a model's tokens the next one begins with", () => {
  const account = createAccount({ tokens: 10_000, costUsd: null });
  const messages = [{ role: "user" as const, content: "x".repeat(4_000) }];
  const first = createTokenEstimator([], account.part(() => 0.5).calibration);
  const guessed = first.request(messages);
  first.learn(messages, guessed * 2);
  expect(createTokenEstimator([], account.calibration).request(messages)).toBe(guessed * 2);
});
