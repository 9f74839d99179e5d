import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NapiConfig, SgNode } from "@ast-grep/napi";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readCases, readRules } from "../../../../scripts/rule-source.ts";
import { grammarsOf, loadAstGrep } from "../../../../src/repo/code/languages.ts";
import { rulesFolder } from "../../../../src/tasks/rules/analyzers/analyze-change.ts";
import type { AnalyzedFile } from "../../../../src/tasks/rules/analyzers/analyzer.ts";
import {
  createAstGrepAnalyzer,
  createGuessCheck,
  matchesOf,
} from "../../../../src/tasks/rules/analyzers/ast-grep.ts";
import {
  configOf,
  loadRules,
  type RuleFile,
  type RuleLanguage,
  ruleLanguages,
} from "../../../../src/tasks/rules/analyzers/rule-file.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const { signal } = new AbortController();
const analyzer = createAstGrepAnalyzer((language) => loadRules(rulesFolder, language));

describe("the rules, run on a change", () => {
  it.each<[string, AnalyzedFile, object[]]>([
    [
      "Only matches on added lines are found",
      editedFile("a.js", " if (a === NaN) stop();\n+if (b === NaN) stop();\n if (c === NaN) stop();"),
      [{ line: 2 }],
    ],
    [
      "A match in a chain of calls is anchored at its call",
      editedFile("a.ts", " items\n   .filter(Boolean)\n+  .forEach(async (one) => { await one.save(); });"),
      [{ line: 3, start_line: null, source: "ast-grep/js-async-for-each" }],
    ],
    [
      "An old call with a new line inside is no match",
      editedFile("a.ts", " items.forEach(async (one) => {\n+  log(one);\n   await one.save();\n });"),
      [],
    ],
    [
      "A suggestion never replaces lines that the change did not add",
      editedFile("a.js", "+const bad = a ===\n NaN;"),
      [{ line: 1, start_line: null, suggestion: null }],
    ],
    [
      "A suggestion replaces exactly the lines of the match",
      editedFile("a.js", "+const bad = f(\n+  a,\n+) === NaN || b;"),
      [{ start_line: 1, line: 3, suggestion: "const bad = Number.isNaN(f(\n  a,\n)) || b;" }],
    ],
    [
      "Columns behind characters outside of the basic plane are right",
      wholeFile("a.py", 'if f("𝒙 é 漢") is "fast": run("ü")\n'),
      [{ suggestion: 'if f("𝒙 é 漢") == "fast": run("ü")' }],
    ],
    [
      "A suggestion has no carriage return",
      wholeFile("a.js", "if (a === NaN) stop();\r\nnext();\r\n"),
      [{ suggestion: "if (Number.isNaN(a)) stop();" }],
    ],
    [
      "A comment for a linter excuses a match",
      wholeFile("a.js", "// eslint-disable-next-line use-isnan\nif (a === NaN) stop();\n"),
      [],
    ],
    [
      "A comment for a linter does not excuse unsafe code",
      wholeFile("a.py", "import yaml\nyaml.load(text)  # noqa\n"),
      [{ category: "security", line: 2 }],
    ],
    [
      "Code that the parser did not understand has no match",
      wholeFile("a.ts", "const x = {{{ if (a === NaN) ((( \n"),
      [],
    ],
    [
      "A match beside a syntax error is found",
      wholeFile("a.py", "def broken(:\n\n\ndef fine():\n    raise NotImplemented\n"),
      [{ line: 5 }],
    ],
  ])("%s", async (_, file, expected) => {
    expect(await analyzer.analyze(file, signal)).toMatchObject(expected);
  });

  it.each([
    ["an empty file", "a.ts", ""],
    ["a language without rules", "a.zig", "if (a === NaN) stop();\n"],
    ["a file that is too large", "a.js", `${"// long comment\n".repeat(40_000)}if (a === NaN) stop();\n`],
    ["a file whose lines a machine wrote", "a.js", `${"f();".repeat(200)}if (a === NaN) stop();\n`],
  ])("No rule matches in %s", async (_, path, text) => {
    expect(await analyzer.analyze(wholeFile(path, text), signal)).toEqual([]);
  });

  it("No rule matches in a chain of branches that nobody wrote", { timeout: 120_000 }, async () => {
    const file = wholeFile("a.js", `${"if (a) b; else\n".repeat(15_000)}c;\n`);
    expect(await analyzer.analyze(file, signal)).toEqual([]);
  });

  it("A rule matches in a long chain of branches", async () => {
    const file = wholeFile("a.js", `${"if (a) b; else\n".repeat(150)}c;\n`);
    expect(await analyzer.analyze(file, signal)).toHaveLength(149);
  });

  it("Matches so far are returned when time is up within a rule", async () => {
    const file = wholeFile("a.js", "if (a === NaN) stop();\n".repeat(500));
    let looks = 0;
    const soonOver = {
      get aborted() {
        return ++looks > 100;
      },
    } as AbortSignal;
    const found = await analyzer.analyze(file, soonOver);
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThanOrEqual(100);
  });

  it.each([
    ["py-yaml-load", "a.py", "yaml.load(text)\n".repeat(15_000)],
    [
      "go-write-to-nil-map",
      "a.go",
      `package a\nfunc f() {\nvar m map[string]int\n${"m[k] = 1\n".repeat(25_000)}}\n`,
    ],
  ])(
    "can be stopped while %s looks everywhere for each of many matches",
    { timeout: 120_000 },
    async (_, path, text) => {
      const soonOver = AbortSignal.timeout(50);
      await analyzer.analyze(wholeFile(path, text), soonOver);
      expect(soonOver.aborted).toBe(true);
    },
  );

  it("A line with many matches is read once", { timeout: 120_000 }, async () => {
    const line = "f(a===NaN);".repeat(20_000);
    const file = wholeFile("a.js", `${line}\n${"\n".repeat(2_000)}`);
    expect((await analyzer.analyze(file, signal)).length).toBe(20_000);
  });

  it("Matches so far are returned when time is up", async () => {
    expect(
      await analyzer.analyze(wholeFile("a.js", "if (a === NaN) stop();\n"), AbortSignal.abort()),
    ).toEqual([]);
  });
});

describe("a broken rule file", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rules-"));
    cpSync(rulesFolder, folder, { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const good = `id: js-own
language: javascript
severity: low
category: correctness
title: t
message: m
file_has: own
rule: { pattern: own() }
---
valid: [{ name: a, code: b }]
invalid: [{ name: a, line: 1, code: own() }]
`;
  const write = (text: string) => writeFileSync(join(folder, "javascript", "js-own.yml"), text);
  const load = (language: RuleLanguage) => readRules(folder, language);
  const run = (path = "a.js") => createAstGrepAnalyzer(load).analyze(wholeFile(path, "own();\n"), signal);

  it("The rule file works before it is broken", async () => {
    write(good);
    expect(await run()).toMatchObject([{ source: "ast-grep/js-own", line: 1 }]);
  });

  it.each([
    ["a value outside of its list", "severity: low", "severity: grave", /js-own\.yml.*severity/s],
    ["an unknown key", "title: t", "title: t\nnote: n", /js-own\.yml.*note/s],
    ["a missing key", "message: m", "", /js-own\.yml.*message/s],
    [
      "a rule that ast-grep refuses",
      "{ pattern: own() }",
      "{ kind: no_such_kind }",
      /js-own\.yml.*rule.*no_such_kind/s,
    ],
    [
      "an operator that ast-grep does not know",
      "{ pattern: own() }",
      "{ patern: own() }",
      /js-own\.yml.*patern.*rule/s,
    ],
    ["an id that is not the file's name", "id: js-own", "id: js-other", /js-own\.yml.*id: "js-other"/s],
    [
      "the language of another folder",
      "language: javascript",
      "language: go",
      /js-own\.yml.*language: "go"/s,
    ],
    [
      "an expression that does not compile",
      "title: t",
      "title: t\nfile_lacks: (",
      /js-own\.yml.*file_lacks/s,
    ],
    ["text that is not YAML", "title: t", "title: [", /js-own\.yml/],
  ])("A rule file with %s is named with its key", async (_, from, to, message) => {
    write(good.replace(from, to));
    await expect(run()).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringMatching(message),
    });
  });

  it("A broken rule file does not affect other languages", async () => {
    write("id: [\n");
    mkdirSync(join(folder, "other"));
    expect(await run("a.py")).toEqual([]);
  });
});

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
  it.each(rules.map((rule) => [rule.id, rule] as const))(
    "A stepwise search has the matches of %s",
    async (_, rule) => {
      const { valid, invalid } = await readCases(rulesFolder, rule);
      for (const { dialect } of grammarsOf(rule.language)) {
        for (const { code } of [...invalid, ...valid]) {
          const root = astGrep.parse(dialect, code.repeat(2)).root();
          const found: SgNode[] = [];
          for await (const match of matchesOf(root, veryMany, rule, signal)) found.push(match);
          const all = root.findAll(configOf(rule));
          expect(found.map((match) => shown(match, rule))).toEqual(all.map((match) => shown(match, rule)));
        }
      }
    },
  );
});

const rootOf = (dialect: string, text: string) => astGrep.parse(dialect, text).root();

describe("what the parser could not read", () => {
  const parts = [
    "if (a) ",
    "{",
    "}",
    "(",
    ")",
    "a === NaN",
    ";",
    "\n",
    "+",
    "@@",
    "const x = ",
    "=> ",
    "f(",
    ", 'é𝒙",
  ];
  const text = fc.array(fc.constantFrom(...parts), { maxLength: 25 }).map((some) => some.join(""));
  const isError = (node: SgNode) => node.kind() === "ERROR";

  it("Each node in or around a syntax error is a guess", () => {
    fc.assert(
      fc.property(text, (code) => {
        const root = rootOf("JavaScript", code);
        const isGuess = createGuessCheck(root);
        for (const node of root.findAll({ rule: { regex: "." } })) {
          const expected =
            isError(node) || node.ancestors().some(isError) || node.has({ rule: { kind: "ERROR" } });
          expect([node.text(), isGuess(node)]).toEqual([node.text(), expected]);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("The tree is searched for syntax errors once", () => {
    const root = rootOf("JavaScript", "f(); ".repeat(100));
    const searches: NapiConfig[] = [];
    const findAll = (config: NapiConfig) => {
      searches.push(config);
      return root.findAll(config);
    };
    const isGuess = createGuessCheck({ findAll } as unknown as SgNode);
    for (const node of root.children()) expect(isGuess(node)).toBe(false);
    expect(searches).toHaveLength(1);
  });
});
