import { describe, expect, it } from "vitest";
import { ReviewJson, renderJson } from "../../src/reporters/json.ts";
import { sampleFinding, sampleResult } from "./sample-result.ts";

describe("the JSON report", () => {
  it("has the documented shape, in the documented order", () => {
    const result = sampleResult({
      findings: [{ finding: sampleFinding(), placement: { kind: "file", reason: "outside the diff" } }],
    });
    const value = JSON.parse(renderJson(result));
    expect(ReviewJson.parse(value)).toEqual(value);
    expect(Object.keys(value)).toEqual([
      "head_sha",
      "base_sha",
      "merge_base_sha",
      "mode",
      "summary",
      "findings",
      "coverage",
      "usage",
      "stop_reason",
      "warnings",
    ]);
    expect(Object.keys(value.findings[0])).toEqual([
      "id",
      "path",
      "side",
      "line",
      "start_line",
      "severity",
      "category",
      "title",
      "body",
      "suggestion",
      "confidence",
      "verification",
      "placement",
    ]);
    expect(value.findings[0].placement).toBe("file");
    expect(Object.keys(value.coverage)).toEqual(["hunks_total", "hunks_served", "files_skipped"]);
    expect(Object.keys(value.usage)).toEqual([
      "requests",
      "prompt_tokens",
      "cached_tokens",
      "completion_tokens",
      "cost_usd",
    ]);
  });

  it("writes invisible characters as escapes that mean the same", () => {
    const text = renderJson(sampleResult({ summary: "a\u202e\u009b\u200b\u001bz" }));
    expect(text).toContain("a\\u202e\\u009b\\u200b\\u001bz");
    expect(JSON.parse(text).summary).toBe("a\u202e\u009b\u200b\u001bz");
  });
});
