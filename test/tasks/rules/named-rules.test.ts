import { describe, expect, it } from "vitest";
import { reportingTools } from "../../../src/agent/tools/index.ts";
import { withNamedRules } from "../../../src/agent/tools/report-finding.ts";
import { toDefinition } from "../../../src/agent/tools/to-openai.ts";
import { defaultRepoConfig, RepoConfig } from "../../../src/config/repo-config.ts";
import type { Finding } from "../../../src/core/finding.ts";
import type { ChangedFile } from "../../../src/repo/diff-source.ts";
import { appliedRules, ruleReport, rulesSection } from "../../../src/tasks/rules/named-rules.ts";
import { sampleFinding } from "../../report/sample-result.ts";

const config = RepoConfig.parse({
  rules: {
    "no-raw-sql": {
      ...{ what: "Handlers send no SQL.", where: ["src/**"], severity: "high", blocking: true },
      examples: { right: ["find(id)"], wrong: ["query('select 1')"] },
    },
    "no-print": { what: "No print.", where: ["lib/**"] },
    "py-eval": "off",
  },
});

const file = (path: string, skipReason: string | null = null) =>
  ({ change: { path }, reviewable: skipReason === null, skipReason }) as ChangedFile;

const read = { hasModel: true, unshown: () => [], unfinished: new Set<string>() };
const outcomeOf = (
  files: readonly ChangedFile[],
  over: Partial<typeof read> = {},
  findings: readonly Finding[] = [],
  given = config,
) => ruleReport(given, files, findings, { ...read, ...over })?.applied[0];

describe("named rules", () => {
  it("A review without named rules has no message, tool or result about them", () => {
    expect(rulesSection(appliedRules(defaultRepoConfig, [file("src/a.ts")]))).toBe("");
    expect(withNamedRules(reportingTools, [])).toBe(reportingTools);
    expect(ruleReport(defaultRepoConfig, [file("src/a.ts")], [], read)).toBeUndefined();
  });

  it("The reviewer gets the named rules that apply to a file that it reads", () => {
    const section = rulesSection(appliedRules(config, [file("src/a.ts"), file("lib/b.ts", "ignored")]));

    for (const part of [
      "no-raw-sql (high; files matching src/**)",
      "Handlers send no SQL.",
      "query('select 1')",
    ])
      expect(section).toContain(part);
    expect(section).not.toContain("no-print");
  });

  it("report_finding takes the names of the rules", () => {
    const [report] = withNamedRules(reportingTools, ["no-raw-sql", "no-print"]);
    const { properties, required } = report ? toDefinition(report).parameters : {};

    expect(properties).toMatchObject({ rule: { enum: ["no-raw-sql", "no-print", null] } });
    expect(required).not.toContain("rule");
    expect(toDefinition(reportingTools[0] as never).parameters.properties).not.toHaveProperty("rule");
  });

  it("A rule counts as checked only if every file in its scope was read in full", () => {
    const files = [file("src/a.ts"), file("src/b.ts"), file("x.ts")];

    expect(outcomeOf(files)).toMatchObject({ findings: 0, files: 2, unchecked: 0, reason: null });
    expect(outcomeOf([...files, file("src/c.min.js", "generated")])).toMatchObject({
      ...{ files: 3, unchecked: 1, reason: "generated" },
    });
    expect(outcomeOf(files, { hasModel: false })).toMatchObject({
      ...{ unchecked: 2, reason: "no model read this change" },
    });
    expect(
      outcomeOf(files, { unshown: ((path: string) => (path === "src/a.ts" ? [1] : [])) as () => [] }),
    ).toMatchObject({ unchecked: 1, reason: "not read in full" });
    expect(outcomeOf(files, { unfinished: new Set(["src/b.ts"]) })).toMatchObject({
      ...{ unchecked: 1, reason: "the review did not finish" },
    });
    expect(outcomeOf(files, {}, [], { ...config, minimum_severity: "critical" })).toMatchObject({
      ...{ unchecked: 2, reason: "findings of severity high are not reported" },
    });
  });

  it("Findings are counted for each rule, and rules without a file are counted", () => {
    const found = [sampleFinding({ rule: "no-raw-sql" }), sampleFinding({})];

    expect(outcomeOf([file("src/a.ts")], {}, found)).toMatchObject({ name: "no-raw-sql", findings: 1 });
    expect(ruleReport(config, [file("src/a.ts")], found, read)?.without_files).toBe(1);
  });
});
