import { describe, expect, it } from "vitest";
import { figuresOf } from "../../scripts/eval/figures.ts";
import { evaluationJson, renderEvaluation } from "../../scripts/eval/render-eval.ts";
import { caseResult } from "./case-folder.ts";

const usage = (tokens: number, cost: number | null) => ({
  requests: 2,
  prompt_tokens: tokens,
  cached_tokens: 0,
  completion_tokens: 10,
  cost_usd: cost,
});

describe("the figures", () => {
  it("count issues for recall and findings for precision", () => {
    const figures = figuresOf([
      caseResult(["near", "elsewhere", "missed", "missed"], ["hit", "other", "other"]),
    ]);
    expect(figures).toMatchObject({ known: 4, found: 2, elsewhere: 1, findings: 3, hits: 1 });
    expect(figures.recall).toBe(0.5);
    expect(figures.precision).toBeCloseTo(1 / 3);
    expect(figures.f1).toBeCloseTo(0.4);
  });

  it("count a second telling against precision and what is acceptable not at all", () => {
    const { precision } = figuresOf([caseResult(["near"], ["hit", "duplicate", "acceptable", "acceptable"])]);
    expect(precision).toBe(0.5);
  });

  it("are not made up where there is nothing to divide by", () => {
    expect(figuresOf([caseResult([], [])])).toMatchObject({ recall: null, precision: null, f1: null });
    expect(figuresOf([caseResult(["missed"], [])])).toMatchObject({ recall: 0, precision: null, f1: 0 });
    expect(figuresOf([])).toMatchObject({ cases: 0, findings_per_case: 0 });
  });

  it("of a clean case count every finding against the precision of all", () => {
    const [faulty, clean] = [caseResult(["near"], ["hit"]), caseResult([], ["other", "other"])];
    expect(figuresOf([clean])).toMatchObject({ recall: null, precision: 0 });
    expect(figuresOf([faulty, clean])).toMatchObject({ recall: 1, precision: 1 / 3, findings_per_case: 1.5 });
  });

  it("add up what was spent, and know no sum where one price is not known", () => {
    const one = caseResult([], [], { usage: usage(100, 0.5), judge_usage: usage(7, null) });
    const { usage: spent, judge_usage } = figuresOf([one, one]);
    expect(spent).toEqual({ ...usage(200, 1), requests: 4, completion_tokens: 20 });
    expect(judge_usage.cost_usd).toBeNull();
  });
});

describe("the table", () => {
  const settings = { model: "reviewer", effort: "low" as const, judge: null };
  const results = [
    caseResult(["elsewhere"], ["hit", "duplicate"], { case: "loop", usage: usage(12_345, null) }),
    caseResult([], [], { case: "clean-one", stop_reason: "token_limit" }),
  ];
  const evaluation = { settings, results, failed: [{ case: "broken", error: "no repository" }] };

  it("says what was measured, what it is worth and what has no result", () => {
    const text = renderEvaluation(evaluation);
    expect(text).toContain("2 cases · reviewer · effort low · no judge");
    expect(text).toMatch(
      /^loop +1 of 1 +2 +100 % +50 % +67 % +2 +12,355 +\? +1\.0 s +1 at another place, 1 duplicate$/m,
    );
    expect(text).toMatch(/^clean-one +- +0 +- +- +- .*clean, ended by token_limit, 1 of 1 hunks$/m);
    expect(text).toContain("Found, but told at another place:\n  loop  price.py:2\n");
    expect(text).toContain("not in these figures:\n  broken  no repository\n");
    expect(text).toContain("these figures flatter");
  });

  it("stands in JSON with the same figures", () => {
    const { total, cases, failed } = JSON.parse(evaluationJson(evaluation));
    expect(total).toMatchObject({ recall: 1, precision: 0.5 });
    expect(cases.map((one: { figures: { findings: number } }) => one.figures.findings)).toEqual([2, 0]);
    expect(failed).toEqual(evaluation.failed);
  });
});
