import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { renderDryRun } from "../../../../src/pull/publish/command-answers.ts";
import { sampleFinding, sampleResult, sampleUpdate } from "../../../report/sample-result.ts";
import { scriptedModel } from "../../../support/scripted.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

let repo: CommandedRepository;
let on: Commanded;
beforeAll(() => {
  repo = new CommandedRepository();
});
beforeEach(() => {
  on = new Commanded(repo);
});
afterAll(() => repo[Symbol.asyncDispose]());

it("A dry run shows in one comment what would be posted, and posts nothing else", async () => {
  const finding = {
    ...{ path: "src/cart.js", line: 1, quote: "export const rate = 2;", title: "The rate doubles" },
    ...{ severity: "high", category: "correctness", body: "It was 1.", confidence: 0.9 },
  };
  const finish = { name: "finish_review", arguments: { summary: "Doubles the rate." } };
  const model = scriptedModel([{ toolCalls: [{ name: "report_finding", arguments: finding }, finish] }]);
  on.model = model;
  on.files.set(".github/hunkwise.yml", "effort: low\n");
  await on.dryRun();
  await on.dryRun();

  expect(on.github.comments).toHaveLength(1);
  expect(on.said()[0]).toContain("A dry run");
  expect(on.said()[0]).toContain("The rate doubles");
  expect(on.github.reviews).toEqual([]);
  expect(on.checks()).toEqual([]);
  expect(model.requests).toHaveLength(1);
});

it("A dry run of somebody who cannot write does nothing", async () => {
  expect(await on.dryRun("ada")).toMatchObject({ kind: "skipped" });
  expect(on.github.calls).toEqual(["permissionOf"]);
});

it("A dry run has room for the worst findings if there are too many, and says how many are left out", () => {
  const findings = Array.from({ length: 300 }, (_, n) => ({
    finding: sampleFinding({
      ...{ id: `f${n}`, title: `Fault ${n}`, body: "word ".repeat(100) },
      severity: n === 299 ? "critical" : "low",
    }),
    placement: { kind: "inline" as const },
  }));
  const text = renderDryRun(sampleResult({ findings }), 60_000);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(60_000);
  expect(text).toContain("Fault 299");
  expect(text).toMatch(/\d+ more findings would be posted, and are not shown here\.$/);
});

it("A dry run does not show as new what a comment says already, open or dismissed, and counts it", () => {
  const findings = ["Old fault", "New fault"].map((title) => ({
    finding: sampleFinding({ id: title, title }),
    placement: { kind: "inline" as const },
  }));
  const ledger = sampleUpdate({ repeats: [{ finding: "Old fault", comment: 7 }] });
  const text = renderDryRun(sampleResult({ findings, ledger }), 60_000);
  expect(text).toContain("New fault");
  expect(text).not.toContain("Old fault");
  expect(text).toMatch(/1 more finding has a comment already, and would not be posted again\.$/);
});

it("A dry run fits however many files were skipped", () => {
  const files_skipped = Array.from({ length: 3_000 }, (_, n) => ({
    ...{ path: `vendor/${n}/index.js`, reason: "vendored", account: "unread" as const },
  }));
  const { coverage } = sampleResult();
  const text = renderDryRun(sampleResult({ coverage: { ...coverage, files_skipped } }), 60_000);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(60_000);
});
