import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/core/finding.ts";
import { type JsonContext, ReviewJson, renderJson as renderWith } from "../../src/report/json.ts";
import type { ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import { faultsOfReview } from "../support/review-schema.ts";
import { anyResult } from "./any-result.ts";
import { lookedAtAgain, sampleFinding, sampleProof, sampleResult } from "./sample-result.ts";

const context: JsonContext = {
  version: "0.1.0",
  exit: { code: 1, reason: "findings", threshold: "high" },
};
const renderJson = (result: ReviewResult) => renderWith(result, context);

describe("The JSON report", () => {
  it("The JSON report has the documented shape, in the documented order", () => {
    const result = sampleResult({
      findings: [{ finding: sampleFinding(), placement: { kind: "file", reason: "outside the diff" } }],
    });
    const value = JSON.parse(renderJson(result));
    expect(ReviewJson.parse(value)).toEqual(value);
    expect(Object.keys(value)).toEqual([
      "head_sha",
      "head_tree",
      "base_sha",
      "merge_base_sha",
      "mode",
      "summary",
      "findings",
      "coverage",
      "usage",
      "stop_reason",
      "warnings",
      "effort",
      "dropped",
      "masked",
      "unplaced",
      "predicted",
      "schema_version",
      "tool_version",
      "outcome",
      "model",
      "exit",
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
      "reached",
      "verification",
      "placement",
      "verification_note",
      "places",
      "evidence",
      "rule",
      "quote",
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

  it("The JSON report fits the published schema, whatever was found", () => {
    fc.assert(
      fc.property(anyResult, (result) => {
        expect(faultsOfReview(renderJson(result))).toEqual([]);
      }),
      { numRuns: 200 },
    );
    expect(faultsOfReview(renderWith(sampleResult(lookedAtAgain()), { ...context, exit: null }))).toEqual([]);
  });

  it("The published schema accepts new fields, and misses none", () => {
    const value = JSON.parse(renderJson(sampleResult()));
    expect(faultsOfReview(JSON.stringify({ ...value, new_field: 1 }))).toEqual([]);
    for (const name of Object.keys(value)) {
      const { [name]: _, ...rest } = value;
      expect(faultsOfReview(JSON.stringify(rest))).toHaveLength(1);
    }
    expect(faultsOfReview(JSON.stringify({ ...value, schema_version: 2 }))).toHaveLength(1);
  });

  it("The JSON report has the results of a second look, and quotes no code of a place", () => {
    const evidence = [{ path: "src/a.ts", start_line: 1, end_line: 2, note: "seen" }];
    const again = sampleResult(lookedAtAgain());
    again.findings[0]!.finding.evidence = evidence;
    const value = JSON.parse(renderJson(again));
    expect(ReviewJson.parse(value)).toEqual(value);
    expect(value.findings[0]).toMatchObject({
      verification_note: "the price is 1",
      places: [
        { path: "src/order.ts", side: "RIGHT", line: 12, start_line: null },
        { path: "src/old.ts", side: "LEFT", line: 9, start_line: 7 },
      ],
      evidence,
    });
    expect(value.dropped).toEqual(again.dropped);
    expect(value.predicted).toEqual(again.predicted);
    expect(renderJson(again)).not.toContain("CODE OF A PLACE");
  });

  it("The JSON report has rule, code, outcome and exit of the command", () => {
    const found = [sampleFinding(), sampleFinding({ source: "ast-grep/js-always", quote: "if (a = 0)" })];
    const findings = found.map((finding) => ({ finding, placement: { kind: "inline" as const } }));
    const value = JSON.parse(renderJson(sampleResult({ findings, stop_reason: "time_limit" })));
    expect(value.findings).toMatchObject([
      { rule: null, quote: "    if (item.price = 0) continue;" },
      { rule: "ast-grep/js-always", quote: "if (a = 0)" },
    ]);
    expect(value).toMatchObject({
      ...{ schema_version: 1, tool_version: "0.1.0", outcome: "partial" },
      exit: context.exit,
    });
  });

  it("The JSON report repeats no note on a secret and no quote", () => {
    const finding = sampleFinding({
      ...{
        source: "secrets/aws-secret-access-key",
        verification_note: "the key is AKIA1",
        quote: "key = AKIA1",
      },
    });
    const text = renderJson(sampleResult({ findings: [{ finding, placement: { kind: "inline" } }] }));
    expect(text).not.toContain("AKIA1");
  });

  it("The JSON report writes invisible characters as escapes that mean the same", () => {
    const text = renderJson(sampleResult({ summary: "a\u202e\u009b\u200b\u001bz" }));
    expect(text).toContain("a\\u202e\\u009b\\u200b\\u001bz");
    expect(JSON.parse(text).summary).toBe("a\u202e\u009b\u200b\u001bz");
  });
});

describe("The JSON report of a finding with a test", () => {
  const proofOf = (over: Partial<Finding>) => {
    const result = sampleResult({
      findings: [{ finding: sampleFinding(over), placement: { kind: "inline" } }],
    });
    const value = JSON.parse(renderJson(result));
    expect(ReviewJson.parse(value)).toEqual(value);
    expect(faultsOfReview(renderJson(result))).toEqual([]);
    return value.findings[0].proof;
  };

  it("The JSON report has the verdict of the test, the test and its runs", () => {
    expect(proofOf({ proof: sampleProof() })).toEqual(sampleProof());
    expect(proofOf({ proof: { kind: "not_shown", reason: "it passes" } })).toEqual({
      ...{ kind: "not_shown", reason: "it passes" },
    });
  });

  it("The JSON report has no test for a secret, and none for a certain finding that it does not show", () => {
    expect(proofOf({ proof: sampleProof(), source: "secrets/aws-secret-access-key" })).toBeUndefined();
    expect(
      proofOf({ proof: sampleProof({ kind: "ran_right" }), source: "broken-data/json" }),
    ).toBeUndefined();
    expect(proofOf({})).toBeUndefined();
  });
});
