import { describe, expect, it } from "vitest";
import { reviewConclusion } from "../../src/pull/publish/conclusions.ts";
import { renderSummary } from "../../src/pull/publish/summary.ts";
import { renderJson } from "../../src/report/json.ts";
import { renderMarkdown } from "../../src/report/markdown.ts";
import { renderPrompt } from "../../src/report/prompt.ts";
import { renderSarif } from "../../src/report/sarif.ts";
import { renderTerminal } from "../../src/report/terminal.ts";
import { isComplete, type ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import { noAccount, sampleDropped, sampleResult, sampleSource } from "./sample-result.ts";

const range = { base: "main", head: "topic", commits: "2 commits" };
const base = { repositoryUrl: "https://github.com/octo/shop", headSha: "b", mergeBaseSha: "a" };
const places = { posted: [], annotated: [], listed: [], postedBefore: [], silent: [] };
const check = (result: ReviewResult) => reviewConclusion(result, { threshold: "high", fail: false });

/** Every report that people or programs read. The formats of reviewdog have no place for it. */
const reports: Record<string, (result: ReviewResult) => string> = {
  terminal: (result) => renderTerminal(result, { range, source: sampleSource, color: false, width: 400 }),
  markdown: (result) => renderMarkdown(result, sampleSource),
  json: (result) => renderJson(result, { version: "0", exit: null }),
  sarif: (result) => renderSarif(result, { version: "0" }),
  prompt: (result) => renderPrompt(result, sampleSource),
  summary: (result) =>
    renderSummary({ result, version: "0", checkUrl: undefined, notices: [], ...places, ...noAccount }, base),
  check: (result) => check(result).summary,
};
const lost = sampleResult({
  findings: [],
  unplaced: { texts: ["high, a.ts:3: Division by zero @octocat"], total: 7, hashes: [] },
});

describe("A report of the model that could not be placed", () => {
  it.each(Object.entries(reports))("The unplaced report is named in %s", (_, render) => {
    const text = render(lost);
    expect(text).toContain("Division by zero");
    expect(text).toMatch(/"total": 7|6 more reports/);
    expect(text).toMatch(/"outcome": "partial"|7 reports of the model could not be read or placed/);
    expect(text).not.toContain("`/resolve");
  });

  it("The unplaced report keeps the review from being complete and the check from being green", () => {
    expect(isComplete(lost)).toBe(false);
    expect(check(lost).conclusion).toBe("neutral");
    expect(reviewConclusion(lost, { threshold: "high", fail: false, limit: "failure" }).conclusion).toBe(
      "failure",
    );
    for (const name of ["summary", "check"]) expect(reports[name]?.(lost)).not.toContain("@octocat");
  });
});

describe("A rule match that the model rejects", () => {
  const match = sampleDropped({
    ...{ verdict: "rejected", rule: "ast-grep/js-sql", title: "A value is pasted into SQL" },
    ...{ reason: "It is a constant. ".repeat(30), severity: "high", category: "security" },
  });
  const withMatches = (...dropped: (typeof match)[]) => sampleResult({ findings: [], dropped });

  it("A rejected match has its place and its reason in the terminal, also alone", () => {
    const text = reports.terminal?.(withMatches(match)) ?? "";
    expect(text).toMatch(/^Rejected {2}src\/price\.ts:3 A value is pasted into SQL: It is a constant\./m);
    expect(text).toMatch(/constant\. …$/m);
    const many = Array.from({ length: 25 }, (_, at) => ({ ...match, id: `${at}`, line: at + 1 }));
    expect(reports.terminal?.(withMatches(...many))).toContain("Rejected  5 more; --format json lists all");
  });

  it("A rejected match is visible in the summary if it is a severe one of security, else in the fold", () => {
    const fold = (text = "") => text.indexOf("<details>");
    const severe = reports.summary?.(withMatches(match)) ?? "";
    expect(severe.indexOf("Security rules that matched, and that the model rejected")).toBeGreaterThan(0);
    expect(severe.indexOf("A value is pasted into SQL")).toBeLessThan(fold(severe));
    for (const over of [{ severity: "medium" as const }, { category: "style" as never }]) {
      const other = reports.summary?.(withMatches({ ...match, ...over })) ?? "";
      expect(other).toMatch(/^<details><summary>✅/);
      expect(other).toContain("A value is pasted into SQL");
    }
  });
});
