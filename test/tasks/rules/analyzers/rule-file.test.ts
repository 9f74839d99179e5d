import { describe, expect, it } from "vitest";
import { readRules } from "../../../../scripts/rule-source.ts";
import { rulesFolder } from "../../../../src/tasks/rules/analyzers/analyze-change.ts";
import { loadRules, ruleLanguages } from "../../../../src/tasks/rules/analyzers/rule-file.ts";

describe("the list of a language", () => {
  it.each(ruleLanguages)("The list of %s has the rules of its files", async (language) => {
    expect(await loadRules(rulesFolder, language)).toEqual(await readRules(rulesFolder, language));
  });
});

describe("the message of a rule", () => {
  it("A message has no line break within a paragraph", async () => {
    const rules = await Promise.all(ruleLanguages.map((language) => loadRules(rulesFolder, language)));
    const messages = rules.flat().map(({ message }) => message);

    expect(messages.length).toBeGreaterThan(50);
    expect(messages.filter((message) => /[^\n]\n[^\n]/.test(message))).toEqual([]);
    expect(messages.some((message) => message.includes("\n\n"))).toBe(true);
  });
});
