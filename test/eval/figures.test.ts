import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { figuresOf, shareOf } from "../../scripts/eval/figures.ts";
import type { Worth } from "../../scripts/eval/judge.ts";
import { evaluationJson, renderEvaluation } from "../../scripts/eval/render-eval.ts";
import { caseResult, scoredFinding } from "./case-folder.ts";

const usage = (tokens: number, cost: number | null) => ({
  requests: 2,
  prompt_tokens: tokens,
  cached_tokens: 0,
  completion_tokens: 10,
  cost_usd: cost,
});

const judged = (worth: Worth) => scoredFinding({ judgement: { reasoning: "", worth } });
const shares = ({ recall, precision, truth, usefulness }: ReturnType<typeof figuresOf>) =>
  [recall, precision, truth, usefulness].map((one) => one && [one.part, one.whole]);

describe("a share", () => {
  it.each([
    // R. G. Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3.
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
    [29, 29, 0.883, 1],
  ])("A share of %i in %i has Wilson's interval", (part, whole, low, high) => {
    const share = shareOf(part, whole);
    expect(share?.low).toBeCloseTo(low, 4);
    expect(share?.high).toBeCloseTo(high, 4);
  });

  it("A share lies within its interval, which lies in 0 to 1 and narrows with the count", () => {
    const counts = fc
      .integer({ min: 1, max: 2_000 })
      .chain((whole) => fc.tuple(fc.integer({ min: 0, max: whole }), fc.constant(whole)));
    fc.assert(
      fc.property(counts, ([part, whole]) => {
        const [one, more] = [shareOf(part, whole)!, shareOf(part * 4, whole * 4)!];
        expect(one.low).toBeGreaterThanOrEqual(0);
        expect(one.high).toBeLessThanOrEqual(1);
        expect(one.low).toBeLessThanOrEqual(one.share);
        expect(one.high).toBeGreaterThanOrEqual(one.share);
        expect(more.high - more.low).toBeLessThan(one.high - one.low);
      }),
    );
  });

  it("A share of nothing is null", () => expect(shareOf(0, 0)).toBeNull());
});

describe("the figures", () => {
  it("Recall counts issues, and precision counts findings", () => {
    const figures = figuresOf([
      caseResult(["near", "elsewhere", "missed", "missed"], ["hit", "other", "other"]),
    ]);
    expect(figures).toMatchObject({ known: 4, found: 2, elsewhere: 1, findings: 3, hits: 1 });
    expect(figures.recall).toMatchObject({ part: 2, whole: 4, share: 0.5 });
    expect(figures.precision).toMatchObject({ part: 1, whole: 3 });
    expect(figures.f1).toBeCloseTo(0.4);
  });

  it("A duplicate lowers precision, and an acceptable finding does not count", () => {
    const { precision } = figuresOf([caseResult(["near"], ["hit", "duplicate", "acceptable", "acceptable"])]);
    expect(precision).toMatchObject({ part: 1, whole: 2 });
  });

  it("Known issues and noise count as true; noise and duplicates do not count as useful", () => {
    const findings = [
      ...[scoredFinding({ verdict: "hit" }), scoredFinding({ verdict: "duplicate" })],
      ...[judged("worth_fixing"), judged("useful"), judged("noise"), judged("false"), judged("false")],
    ];
    const figures = figuresOf([caseResult(["near"], [], { findings })]);
    expect(figures.worths).toEqual({ worth_fixing: 1, useful: 1, noise: 1, false: 2, unknown: 0 });
    expect(shares(figures)).toEqual([
      [1, 1],
      [1, 7],
      [5, 7],
      [3, 7],
    ]);
  });

  it("The judge's shares omit acceptable findings and those that it cannot judge", () => {
    const findings = [
      ...[scoredFinding({ verdict: "acceptable" }), judged("unknown"), judged("unknown"), judged("useful")],
    ];
    expect(shares(figuresOf([caseResult(["near"], [], { findings })]))).toEqual([
      [1, 1],
      [0, 3],
      [1, 1],
      [1, 1],
    ]);
  });

  it("The share of true findings is null if one was never judged", () => {
    const findings = [judged("useful"), scoredFinding()];
    const figures = figuresOf([caseResult(["near"], [], { findings })]);
    expect(figures).toMatchObject({ unweighed: 1, truth: null, usefulness: null });
  });

  it("The figures list issues and findings by severity and channel", () => {
    const [issue] = caseResult(["near"], []).known;
    const known = [
      { ...issue!, severity: "high" as const },
      { ...issue!, severity: "high" as const, found: "missed" as const },
    ];
    const findings = [
      scoredFinding({ severity: "low", verdict: "hit", channel: "summary" }),
      { ...judged("noise"), severity: "low" as const },
      { ...judged("useful"), severity: "medium" as const, channel: "file" as const },
    ];
    const { channels, comments_per_case, severities } = figuresOf([
      caseResult([], [], { known, findings }),
      caseResult([], []),
    ]);
    expect({ channels, comments_per_case }).toEqual({
      channels: { line: 1, file: 1, summary: 1 },
      comments_per_case: 0.5,
    });
    expect(severities.high).toMatchObject({ known: 2, found: 1, findings: 0 });
    expect(severities.low).toMatchObject({
      known: 0,
      findings: 2,
      channels: { line: 1, file: 0, summary: 1 },
      worths: { noise: 1 },
    });
    expect(severities.medium.worths.useful).toBe(1);
  });

  it("A figure without a divisor is null", () => {
    expect(figuresOf([caseResult([], [])])).toMatchObject({
      recall: null,
      precision: null,
      truth: null,
      f1: null,
    });
    expect(figuresOf([caseResult(["missed"], [])])).toMatchObject({
      recall: { share: 0 },
      precision: null,
      f1: 0,
    });
    expect(figuresOf([])).toMatchObject({ cases: 0, findings_per_case: 0, comments_per_case: 0 });
  });

  it("Each finding in a clean case lowers the precision of all", () => {
    const [faulty, clean] = [caseResult(["near"], ["hit"]), caseResult([], ["other", "other"])];
    expect(figuresOf([clean])).toMatchObject({ recall: null, precision: { share: 0 } });
    expect(shares(figuresOf([faulty, clean]))).toEqual([[1, 1], [1, 3], null, null]);
    expect(figuresOf([faulty, clean]).findings_per_case).toBe(1.5);
  });

  it("Costs are added up, and one unknown price makes the sum unknown", () => {
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

  it("The table says what was measured and which cases have no result", () => {
    const text = renderEvaluation(evaluation);
    expect(text).toContain("2 cases · reviewer · effort low · no judge");
    expect(text).toMatch(
      /^loop +1 of 1 +2 +100 % +50 % +67 % +2 +12,355 +\? +1\.0 s +1 at another place, 1 duplicate$/m,
    );
    expect(text).toMatch(/^clean-one +- +0 +- +- +- .*clean, ended by token_limit, 1 of 1 hunks$/m);
    expect(text).toContain("Found, but reported at another place:\n  loop  price.py:2\n");
    expect(text).toContain("not in these figures:\n  broken  no repository\n");
    expect(text).toContain("these figures flatter");
  });

  it("The table has each share with its counts and interval, and each channel", () => {
    const text = renderEvaluation({
      settings: { ...settings, judge: "judge" },
      results: [caseResult(["near", "missed"], [], { findings: [judged("useful"), judged("unknown")] })],
      failed: [],
    });
    expect(text).toMatch(/^known issues that were found \(recall\) +1 of 2 +50 % +9 to 91 %$/m);
    expect(text).toMatch(/^findings that are true, by the judge +1 of 1 +100 % +21 to 100 %$/m);
    expect(text).toContain(
      "2.0 findings per pull request: 2 in comments on lines (2.0 per pull request), 0 in comments on files",
    );
    expect(text).toContain("The judge could not say whether 1 finding is true");
  });

  it("The table names a missed issue without a place by its description", () => {
    const [issue] = caseResult(["missed"], []).known;
    const known = [{ ...issue!, file: null, line: null, description: "The sum is thrown\u001b away." }];
    const text = renderEvaluation({
      settings,
      results: [caseResult([], [], { known })],
      failed: [],
    });
    expect(text).toContain("Not found:\n  sample  The sum is thrown");
    expect(text).not.toContain("\u001b");
  });

  it("The JSON has the figures of the table", () => {
    const { total, cases, failed } = JSON.parse(evaluationJson(evaluation));
    expect(total).toMatchObject({ recall: { part: 1, whole: 1 }, precision: { share: 0.5 } });
    expect(cases.map((one: { figures: { findings: number } }) => one.figures.findings)).toEqual([2, 0]);
    expect(failed).toEqual(evaluation.failed);
  });
});
