import { describe, expect, it } from "vitest";
import type { Verdict } from "../../../../src/agent/tools/tool.ts";
import { afterVerification } from "../../../../src/tasks/review/verify/verify-findings.ts";
import { sampleFinding } from "../../../report/sample-result.ts";

const finding = sampleFinding({ severity: "medium" });
const verdict = (over: Partial<Verdict>): Verdict => ({
  verdict: "confirmed",
  failingInput: "an empty cart",
  evidence: [],
  reason: "src/cart.ts:6 assigns.",
  severity: "high",
  reached: null,
  title: null,
  corrections: [],
  places: [],
  ...over,
});

describe("afterVerification", () => {
  it("A confirmed finding has the severity and the failing input of its verdict", () => {
    expect(afterVerification(finding, verdict({}))).toMatchObject({
      severity: "high",
      verification: "confirmed",
      verification_note: "an empty cart. src/cart.ts:6 assigns.",
    });
  });

  it("A text loses the sentences that do not hold and keeps its place", () => {
    const body = "It reads one too many. So it **always** crashes.\nOnly `a. B` is right.";
    const corrections = [
      { sentence: 2, text: "So it crashes on an empty cart." },
      { sentence: 3, text: null },
    ];
    const kept = afterVerification({ ...finding, body }, verdict({ corrections }));
    expect(kept).toMatchObject({
      body: "It reads one too many. So it crashes on an empty cart.",
      ...{ path: finding.path, line: finding.line, quote: finding.quote },
    });
  });

  it("A refuted finding is dropped with the reason, however confident the reviewer was", () => {
    const sure = sampleFinding({ confidence: 1, severity: "critical" });
    expect(
      afterVerification(sure, verdict({ verdict: "refuted", reason: "No caller passes zero." })),
    ).toEqual({
      ...{ id: "f1", path: "src/cart.ts", line: 6, title: sure.title },
      ...{ severity: "critical", category: "correctness" },
      verdict: "refuted",
      reason: "No caller passes zero.",
      rule: null,
    });
  });

  it("An uncertain finding is kept if it would be severe, and says what is uncertain", () => {
    const open = { verdict: "uncertain", reason: "It hangs on the driver's version." } as const;
    expect(afterVerification(finding, verdict({ ...open, severity: "high" }))).toMatchObject({
      verification: "uncertain",
      verification_note: "It hangs on the driver's version.",
    });
    expect(afterVerification(finding, verdict({ ...open, severity: "medium" }))).toMatchObject({
      verdict: "uncertain",
    });
  });

  it("A finding whose verification failed stays as it was and says so", () => {
    expect(afterVerification(finding, "the time limit was reached")).toEqual({
      ...finding,
      verification_note: "The second look did not finish: the time limit was reached.",
    });
  });

  it("A fault that nothing reaches yet is low, whatever its severity", () => {
    expect(afterVerification(finding, verdict({ reached: false, severity: "critical" }))).toMatchObject({
      ...{ reached: false, severity: "low", verification: "confirmed" },
    });
    const claimed = { ...finding, reached: false, severity: "low" as const };
    expect(afterVerification(claimed, verdict({ severity: "high" }))).toMatchObject({ severity: "low" });
    expect(afterVerification(claimed, verdict({ reached: true, severity: "high" }))).toMatchObject({
      ...{ reached: true, severity: "high" },
    });
  });

  it("A claim that is partly true keeps that part as its title", () => {
    expect(afterVerification(finding, verdict({ title: "Only an empty cart fails" }))).toMatchObject({
      ...{ title: "Only an empty cart fails", id: finding.id, body: finding.body },
    });
  });

  it("Low confidence alone drops nothing", () => {
    const unsure = sampleFinding({ confidence: 0.1 });
    expect(afterVerification(unsure, verdict({}))).toMatchObject({
      verification: "confirmed",
      confidence: 0.1,
    });
  });

  it("The places of a verdict are added once", () => {
    const place = { path: "src/b.ts", side: "RIGHT", line: 3, start_line: null, quote: "x" } as const;
    const own = { ...place, path: finding.path, line: finding.line };
    const after = afterVerification(
      { ...finding, places: [place] },
      verdict({ places: [place, own, { ...place, line: 8 }] }),
    );
    expect(after).toMatchObject({ places: [{ line: 3 }, { line: 8 }] });
    expect("places" in after && after.places).toHaveLength(2);
  });

  it("A finding of a named rule keeps its rule and severity, and is dropped under its name", () => {
    const ofRule = sampleFinding({ severity: "medium", rule: "no-raw-sql" });
    for (const over of [{ severity: "critical" }, { severity: "low" }, { reached: false }] as const)
      expect(afterVerification(ofRule, verdict(over))).toMatchObject({
        ...{ severity: "medium", reached: true, rule: "no-raw-sql" },
      });
    expect(afterVerification(ofRule, verdict({ verdict: "refuted" }))).toMatchObject({ rule: "no-raw-sql" });
  });
});
