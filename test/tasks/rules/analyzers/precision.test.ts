import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { rulesFolder } from "../../../../src/tasks/rules/analyzers/analyze-change.ts";
import { loadRules, ruleGrammarOf, ruleLanguages } from "../../../../src/tasks/rules/analyzers/rule-file.ts";

const root = new URL("../../../../", import.meta.url);
const MeasuredSet = z.enum(["tuning", "control"]);
const Precision = z.strictObject({
  packages: z.array(
    z.strictObject({
      set: MeasuredSet,
      name: z.string(),
      version: z.string(),
      origin: z.enum(["npm", "Debian"]),
      lines: z.partialRecord(z.enum(ruleLanguages), z.int().positive()),
    }),
  ),
  findings: z.array(
    z.strictObject({
      set: MeasuredSet,
      package: z.string(),
      version: z.string(),
      path: z.string(),
      line: z.int().positive(),
      rule: z.string(),
      verdict: z.enum(["true", "false"]),
      reason: z.string().min(10),
    }),
  ),
});

const { packages, findings } = Precision.parse(
  JSON.parse(readFileSync(new URL("fixtures/analyzers/precision.json", root), "utf8")),
);
const page = readFileSync(new URL("docs/analyzers.md", root), "utf8");
const rules = (await Promise.all(ruleLanguages.map((language) => loadRules(rulesFolder, language)))).flat();

const measured = MeasuredSet.options.flatMap((set) =>
  ruleLanguages.map((language) => {
    const lines = packages.filter((one) => one.set === set).map((one) => one.lines[language] ?? 0);
    const own = findings.filter((one) => one.set === set && ruleGrammarOf(one.path)?.language === language);
    return {
      set,
      language,
      lines: lines.reduce((sum, count) => sum + count, 0),
      right: own.filter((one) => one.verdict === "true").length,
      wrong: own.filter((one) => one.verdict === "false").length,
    };
  }),
);

describe("the judged list", () => {
  it("The judged findings come from many packages", () => {
    expect(packages.length).toBeGreaterThanOrEqual(10);
    expect(new Set(packages.map((one) => one.name)).size).toBe(packages.length);
  });

  it("The judged findings name measured packages and existing rules", () => {
    const names = new Set(packages.map((one) => `${one.set} ${one.name} ${one.version}`));
    const ids = new Set(rules.map((rule) => `ast-grep/${rule.id}`));
    for (const one of findings) {
      expect(names).toContain(`${one.set} ${one.package} ${one.version}`);
      if (one.rule.startsWith("ast-grep/")) expect(ids).toContain(one.rule);
    }
  });

  it.each(measured)("At most one finding in 10,000 lines of $language is false in the $set set", (one) => {
    expect(one.lines).toBeGreaterThan(10_000);
    expect(one.wrong / (one.lines / 10_000)).toBeLessThanOrEqual(1);
  });
});

describe("the page about analyzers", () => {
  it.each(measured)("docs/analyzers.md has the figures for $language in the $set set", (one) => {
    const rate = ((one.wrong / one.lines) * 10_000).toFixed(2);
    const set = one.set === "tuning" ? "first" : "second";
    const lines = one.lines.toLocaleString("en-US");
    expect(page).toContain(`| ${set} | ${one.language} | ${lines} | ${one.right} | ${one.wrong} | ${rate} |`);
  });

  it("docs/analyzers.md has the findings of each rule", () => {
    for (const [rule, own] of Map.groupBy(findings, (one) => one.rule)) {
      const right = own.filter((one) => one.verdict === "true").length;
      expect(page).toContain(`| \`${rule}\` | ${right} | ${own.length - right} |`);
    }
  });

  it("docs/analyzers.md lists every rule with its title and no other", () => {
    const listed = [...page.matchAll(/^\| `((?:js|py|go|java)-[a-z0-9-]+)` \| (\w+) \| (.*) \|$/gm)];
    const shown = listed.map(([, id, severity, title]) => `${id} ${severity} ${title}`);
    expect(shown.sort()).toEqual(rules.map((rule) => `${rule.id} ${rule.severity} ${rule.title}`).sort());
  });
});
