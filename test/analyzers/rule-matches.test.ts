import type { SgNode } from "@ast-grep/napi";
import { describe, expect, it } from "vitest";
import { rulesFolder } from "../../src/analyzers/all-analyzers.ts";
import { dialectsOf, ruleLanguages } from "../../src/analyzers/languages.ts";
import { configOf, loadRules, type RuleFile } from "../../src/analyzers/rule-file.ts";
import { matchesOf } from "../../src/analyzers/rule-matches.ts";
import { readCases } from "../../src/analyzers/rule-source.ts";
import { loadAstGrep } from "../../src/code/languages.ts";

const { signal } = new AbortController();
const astGrep = await loadAstGrep();
const rules = (await Promise.all(ruleLanguages.map((language) => loadRules(rulesFolder, language)))).flat();

/** So many that no file would be searched in one go. */
const veryMany = 1_000_000_000;

const shown = (match: SgNode, { anchor }: RuleFile) => ({
  range: match.range(),
  kind: match.kind(),
  anchor: anchor === undefined ? null : match.getMatch(anchor)?.range(),
});

describe("a large file, searched one possible match at a time,", () => {
  it.each(rules.map((rule) => [rule.id, rule] as const))("has the matches of %s", async (_, rule) => {
    const { valid, invalid } = await readCases(rulesFolder, rule);
    for (const dialect of dialectsOf(rule.language)) {
      for (const { code } of [...invalid, ...valid]) {
        const root = astGrep.parse(dialect, code.repeat(2)).root();
        const found: SgNode[] = [];
        for await (const match of matchesOf(root, veryMany, rule, signal)) found.push(match);
        const all = root.findAll(configOf(rule));
        expect(found.map((match) => shown(match, rule))).toEqual(all.map((match) => shown(match, rule)));
      }
    }
  });
});
