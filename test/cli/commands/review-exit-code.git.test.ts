import { describe, expect, it } from "vitest";
import { exitCodeOf, exitReasonOf } from "../../../src/cli/commands/review.ts";
import type { Severity } from "../../../src/core/finding.ts";
import type { ReviewResult } from "../../../src/tasks/shapes/review-result.ts";
import { sampleFinding, sampleResult } from "../../report/sample-result.ts";

function resultWith(severity: Severity | null, over: Partial<ReviewResult> = {}): ReviewResult {
  const finding = severity && sampleFinding({ severity });
  return sampleResult({ findings: finding ? [{ finding, placement: { kind: "inline" } }] : [], ...over });
}
const offline: Partial<ReviewResult> = { mode: "offline", model: null, stop_reason: "no_model" };

describe("The exit code of a review", () => {
  it.each([
    [null, "low", 0],
    ["low", "low", 1],
    ["low", "high", 0],
    ["medium", "high", 0],
    ["high", "high", 1],
    ["critical", "high", 1],
    ["high", "critical", 0],
    ["critical", "never", 0],
  ] as const)("A %s finding with --fail-on %s exits with %i", (severity, threshold, code) => {
    expect(exitCodeOf(resultWith(severity), threshold)).toBe(code);
    expect(exitCodeOf(resultWith(severity, offline), threshold)).toBe(code);
  });

  it("A partial review exits with 3, or with 1 for a finding at the threshold", () => {
    const coverage = { ...sampleResult().coverage, hunks_served: 2 };
    for (const over of [{ stop_reason: "token_limit" as const }, { coverage }]) {
      expect(exitCodeOf(resultWith(null, over), "high")).toBe(3);
      expect(exitCodeOf(resultWith("medium", over), "high")).toBe(3);
      expect(exitCodeOf(resultWith("critical", over), "high")).toBe(1);
      expect(exitCodeOf(resultWith("critical", over), "never")).toBe(3);
    }
  });

  it("A review that requires a model exits with 3 if none read the change, unless it is empty", () => {
    const unread = { ...offline, usage: { ...sampleResult().usage, requests: 0 } };
    expect(exitCodeOf(resultWith(null, unread), "high")).toBe(0);
    expect(exitCodeOf(resultWith(null, unread), "high", true)).toBe(3);
    expect(exitCodeOf(resultWith("critical", unread), "high", true)).toBe(1);
    expect(exitCodeOf(resultWith(null), "high", true)).toBe(0);
    const coverage = { ...sampleResult().coverage, hunks_total: 0, hunks_served: 0 };
    expect(exitCodeOf(resultWith(null, { ...unread, coverage }), "high", true)).toBe(0);
  });

  it("An offline review that was cut short exits with 3", () => {
    expect(exitCodeOf(resultWith(null, { ...offline, stop_reason: "time_limit" }), "high")).toBe(3);
  });

  it("A rule match that no model judged exits with 3, however severe it is", () => {
    const finding = sampleFinding({ severity: "critical", verification: "not_judged" });
    const result = sampleResult({ findings: [{ finding, placement: { kind: "inline" } }] });
    expect(exitCodeOf(result, "low")).toBe(3);
  });
});

describe("The reason of an exit code", () => {
  it("The reason says that there are findings below the threshold", () => {
    expect(exitReasonOf(0, resultWith(null))).toBe("clean");
    expect(exitReasonOf(0, resultWith("high"))).toBe("below_threshold");
    expect(exitReasonOf(1, resultWith("high"))).toBe("findings");
    expect(exitReasonOf(3, resultWith("high"))).toBe("incomplete");
  });
});
