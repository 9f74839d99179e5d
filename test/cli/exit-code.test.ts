import { describe, expect, it } from "vitest";
import { exitCodeOf } from "../../src/cli/exit-code.ts";
import type { Severity } from "../../src/finding.ts";
import type { ReviewResult } from "../../src/review/review-result.ts";
import { sampleFinding, sampleResult } from "../reporters/sample-result.ts";

function resultWith(severity: Severity | null, over: Partial<ReviewResult> = {}): ReviewResult {
  const finding = severity && sampleFinding({ severity });
  return sampleResult({ findings: finding ? [{ finding, placement: { kind: "inline" } }] : [], ...over });
}
const offline: Partial<ReviewResult> = { mode: "offline", model: null, stop_reason: "no_model" };

describe("the exit code of a review", () => {
  it.each([
    [null, "low", 0],
    ["low", "low", 1],
    ["low", "high", 0],
    ["medium", "high", 0],
    ["high", "high", 1],
    ["critical", "high", 1],
    ["high", "critical", 0],
    ["critical", "never", 0],
  ] as const)("with a %s finding and --fail-on %s is %i", (severity, threshold, code) => {
    expect(exitCodeOf(resultWith(severity), threshold)).toBe(code);
    expect(exitCodeOf(resultWith(severity, offline), threshold)).toBe(code);
  });

  it("is 2 for a partial review, with findings or without, whatever the threshold", () => {
    const coverage = { ...sampleResult().coverage, hunks_served: 2 };
    for (const over of [{ stop_reason: "token_limit" as const }, { coverage }]) {
      expect(exitCodeOf(resultWith(null, over), "high")).toBe(2);
      expect(exitCodeOf(resultWith("critical", over), "high")).toBe(2);
      expect(exitCodeOf(resultWith(null, over), "never")).toBe(2);
    }
  });

  it("is 2 for an offline review that was cut short", () => {
    expect(exitCodeOf(resultWith(null, { ...offline, stop_reason: "time_limit" }), "high")).toBe(2);
  });
});
