import { describe, expect, it } from "vitest";
import { addUsage, noUsage } from "../../../src/agent/loop/limits.ts";
import { standInWarning, whoAnswered } from "../../../src/tasks/loop/run-loop.ts";

const usage = (answeredBy?: string) => ({
  ...{ promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: null },
  ...(answeredBy ? { answeredBy } : {}),
});
const totals = (...names: (string | undefined)[]) =>
  names.reduce((sum, name) => addUsage(sum, usage(name)), noUsage);

describe("a review", () => {
  it("is that of the model that was asked", () => {
    expect(whoAnswered("big", totals(undefined, undefined))).toBe("big");
    expect(whoAnswered("big", noUsage)).toBe("big");
    expect(standInWarning(totals(undefined))).toEqual([]);
  });

  it("names who stood in, and says how often", () => {
    const mixed = totals(undefined, "small", "small");
    expect(whoAnswered("big", mixed)).toBe("big and small");
    expect(standInWarning(mixed)).toEqual([
      expect.stringMatching(/^small answered 2 of 3 requests, because/),
    ]);
  });

  it("is another model's where that one gave every answer", () => {
    expect(whoAnswered("big", totals("small", "small"))).toBe("small");
  });
});
