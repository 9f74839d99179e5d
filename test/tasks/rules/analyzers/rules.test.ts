import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readCases, readRules } from "../../../../scripts/rule-source.ts";
import { rulesFolder } from "../../../../src/tasks/rules/analyzers/analyze-change.ts";
import { createAstGrepAnalyzer } from "../../../../src/tasks/rules/analyzers/ast-grep.ts";
import { ruleLanguages } from "../../../../src/tasks/rules/analyzers/rule-file.ts";
import { wholeFile } from "./analyzed-file.ts";

/** A rule for the JavaScript family has to hold in each of its dialects. */
const extensions = { javascript: ["js", "ts", "tsx"], python: ["py"], go: ["go"], java: ["java"] };
const analyzer = createAstGrepAnalyzer((language) => readRules(rulesFolder, language));
const rules = (await Promise.all(ruleLanguages.map((language) => readRules(rulesFolder, language)))).flat();
const proven = await Promise.all(
  rules.map(async (rule) => ({ rule, cases: await readCases(rulesFolder, rule) })),
);
const readBy = (extension: string) => (one: { typescript?: true | undefined }) =>
  !one.typescript || extension.startsWith("ts");
const cases = proven.flatMap(({ rule, cases: { valid, invalid } }) =>
  extensions[rule.language].map((extension) => ({
    rule,
    valid: valid.filter(readBy(extension)),
    invalid: invalid.filter(readBy(extension)),
    path: `src/sample.${extension}`,
    name: rule.id,
    extension,
  })),
);

async function findingsOf(id: string, path: string, code: string) {
  const candidates = await analyzer.analyze(wholeFile(path, code), new AbortController().signal);
  return candidates.filter((one) => one.source === `ast-grep/${id}`);
}

/** The code after the suggestion was put in the place of its lines, as GitHub does it. */
function apply(
  code: string,
  { start_line, line, suggestion }: Awaited<ReturnType<typeof findingsOf>>[number],
) {
  const rows = code.split("\n");
  rows.splice((start_line ?? line) - 1, line - (start_line ?? line) + 1, suggestion ?? "");
  return rows.join("\n");
}

describe.each(cases)("$name in .$extension", ({ rule, valid, invalid, path }) => {
  it.each(valid)("The rule does not match: $name", async ({ code }) => {
    expect(await findingsOf(rule.id, path, code)).toEqual([]);
  });

  it.each(invalid)("The rule matches: $name", async ({ code, line, fixed }) => {
    const findings = await findingsOf(rule.id, path, code);
    expect(findings.map((one) => one.start_line ?? one.line)).toEqual([line]);
    expect(findings[0]?.suggestion === null).toBe(rule.fix === undefined);
    if (rule.fix !== undefined) expect(findings.map((one) => apply(code, one))).toEqual([fixed]);
  });
});

describe("the rule files", () => {
  it("Every language has several rules", () => {
    for (const language of ruleLanguages) {
      expect(rules.filter((rule) => rule.language === language).length).toBeGreaterThanOrEqual(6);
    }
  });

  it("The ids of rules are unique over all languages", () => {
    expect(new Set(rules.map((rule) => rule.id)).size).toBe(rules.length);
  });

  it("Rule files are only in folders of known languages", () => {
    const lists = ruleLanguages.map((language) => `${language}.json`);
    expect(readdirSync(rulesFolder).sort()).toEqual([...ruleLanguages, ...lists].sort());
    for (const language of ruleLanguages) {
      const names = readdirSync(join(rulesFolder, language));
      expect(names.filter((name) => !name.endsWith(".yml"))).toEqual([]);
    }
  });
});
