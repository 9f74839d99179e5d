import { describe, expect, it } from "vitest";
import { addUsage, noUsage } from "../../../src/agent/loop/limits.ts";
import { standInWarning, whoAnswered } from "../../../src/tasks/loop/run-loop.ts";

const usage = (answeredBy?: string) => ({
  ...{ promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: null },
  ...(answeredBy ? { answeredBy } : {}),
});
const totals = (...names: (string | undefined)[]) =>
  names.reduce((sum, name) => addUsage(sum, usage(name)), noUsage);

describe("the models of a review", () => {
  it("A review names the model that was asked", () => {
    expect(whoAnswered("big", totals(undefined, undefined))).toBe("big");
    expect(whoAnswered("big", noUsage)).toBe("big");
    expect(standInWarning(totals(undefined))).toEqual([]);
  });

  it("A review names the fallback model, and how often it answered", () => {
    const mixed = totals(undefined, "small", "small");
    expect(whoAnswered("big", mixed)).toBe("big and small");
    expect(standInWarning(mixed)).toEqual([
      expect.stringMatching(/^small answered 2 of 3 requests, because the model configured for them /),
    ]);
  });

  it("A review names the model that was asked if it stood in for the one that verifies", () => {
    const verified = totals(undefined, "big");
    expect(whoAnswered("big", verified)).toBe("big");
    expect(standInWarning(verified)).toEqual([expect.stringMatching(/^big answered 1 of 2 requests, /)]);
    expect(whoAnswered("big", totals("small", "big"))).toBe("big and small");
  });

  it("A review names only the fallback model if that one gave every answer", () => {
    expect(whoAnswered("big", totals("small", "small"))).toBe("small");
  });
});
