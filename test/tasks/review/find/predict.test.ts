import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ChangedFile } from "../../../../src/repo/diff-source.ts";
import { predictReview } from "../../../../src/tasks/review/find/predict.ts";

/** What reviews at medium effort took that were recorded from start to end (docs/quality.md says how). */
const Recorded = z.array(
  z.strictObject({
    name: z.string(),
    hunks: z.int(),
    first_request_tokens: z.int(),
    requests: z.int(),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
  }),
);
const path = new URL("../../../../fixtures/trajectories/figures.json", import.meta.url);
const recorded = Recorded.parse(JSON.parse(readFileSync(path, "utf8")));

const unit = (id: string, hunks: number, diffBytes = 10_000) => ({
  ...{ id, diffBytes, risk: 1 },
  files: [{ totalHunks: hunks } as ChangedFile],
});
const predict = (
  hunks: number,
  firstTokens: number,
  effort: "low" | "medium" | "high" = "medium",
  units = 1,
) =>
  predictReview({
    plan: { units: Array.from({ length: units }, (_, at) => unit(`${at + 1}`, hunks)), left: [] },
    effort,
    firstTokens,
    limitTokens: 2_000_000,
  });

describe("the predicted usage of a review", () => {
  it("The prediction is within a quarter of the recorded reviews together", () => {
    const predicted = recorded.map((one) => predict(one.hunks, one.first_request_tokens));
    const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
    for (const key of ["requests", "prompt_tokens", "completion_tokens"] as const) {
      const ratio = sum(predicted.map((one) => one[key])) / sum(recorded.map((one) => one[key]));
      expect(ratio, key).toBeGreaterThan(0.75);
      expect(ratio, key).toBeLessThan(1.25);
    }
  });

  it("The prediction grows with the effort, the units and the first request", () => {
    const tokens = (...args: Parameters<typeof predict>) => predict(...args).prompt_tokens;
    expect(tokens(5, 10_000, "low")).toBeLessThan(tokens(5, 10_000, "medium"));
    expect(tokens(5, 10_000, "medium")).toBeLessThan(tokens(5, 10_000, "high"));
    expect(tokens(5, 10_000, "medium", 3)).toBeGreaterThan(2 * tokens(5, 10_000));
    expect(tokens(5, 20_000)).toBeGreaterThan(tokens(5, 10_000));
  });

  it("The prediction is lower if earlier reviews have read a part", () => {
    const files = [{ totalHunks: 100, change: { path: "a.ts" } } as ChangedFile];
    const parts = {
      plan: { units: [{ id: "1", diffBytes: 10_000, risk: 1, files }], left: [] },
      ...{ effort: "medium" as const, firstTokens: 10_000, limitTokens: 2_000_000 },
    };
    const known = { known: () => new Set(Array.from({ length: 90 }, (_, at) => at + 1)) };
    expect(predictReview({ ...parts, known })).toEqual(predict(10, 10_000));
    const tokens = predictReview({ ...parts, known }).prompt_tokens;
    expect(predictReview(parts).prompt_tokens).toBeGreaterThan(tokens);
  });

  it("The prediction never exceeds the limit", () => {
    const { prompt_tokens, completion_tokens } = predict(100, 40_000, "high", 40);
    expect(prompt_tokens + completion_tokens).toBeLessThanOrEqual(2_000_001);
  });

  it("The prediction is zero if nothing is read", () => {
    const nothing = { requests: 0, prompt_tokens: 0, completion_tokens: 0 };
    expect(
      predictReview({ plan: { units: [], left: [] }, effort: "high", firstTokens: 0, limitTokens: 1 }),
    ).toEqual(nothing);
  });
});
