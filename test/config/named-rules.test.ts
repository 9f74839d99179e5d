import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { builtInRules } from "../../src/config/built-in-rules.ts";
import { blockingRules, createScope, namedRules } from "../../src/config/named-rules.ts";
import { parseRepoConfig } from "../../src/config/parse-config.ts";
import { allAnalyzers } from "../../src/tasks/rules/analyzers/analyze-change.ts";

/** The value of `rules` in a file. */
const parsed = (rules: unknown) => parseRepoConfig(JSON.stringify({ rules }));

function problemsOf(rules: unknown): string[] {
  const result = parsed(rules);
  return result.ok ? [] : result.problems.map(({ key, message }) => `${key} ${message}`);
}

describe("a named rule", () => {
  it("A named rule has defaults for all but its text", () => {
    const result = parsed({ "no-raw-sql": { what: "Handlers send no SQL." } });
    expect(result.ok && namedRules(result.config)).toEqual([
      {
        name: "no-raw-sql",
        what: "Handlers send no SQL.",
        where: ["**"],
        severity: "medium",
        blocking: false,
        examples: { right: [], wrong: [] },
      },
    ]);
  });

  it("A named rule is one of the values of a map that also switches analyzer rules off", () => {
    const result = parsed({
      "no-raw-sql": { what: "x", blocking: true },
      "no-print": { what: "y" },
      "py-eval": "off",
      secrets: { off: ["test/**"] },
    });
    expect(result.ok && namedRules(result.config).map(({ name }) => name)).toEqual([
      "no-raw-sql",
      "no-print",
    ]);
    expect(result.ok && [...blockingRules(result.config)]).toEqual(["no-raw-sql"]);
  });

  it("A named rule applies to the files that match its patterns, by default to all", () => {
    expect(createScope({ where: ["**"] })(".github/a b.yml")).toBe(true);
    const isIn = createScope({ where: ["src/**", "!src/gen/", "!src/gen/**"] });
    expect(["src/a.ts", "src/gen/a.ts", "lib/a.ts"].map(isIn)).toEqual([true, false, false]);
    expect(isIn(`lib/${"a/".repeat(2_100)}b.ts`)).toBe(true);
  });

  it.each([
    [
      "a wrong severity",
      { "no-raw-sql": { what: "x", severity: "hihg" } },
      /^rules\.no-raw-sql\.severity must be one of critical, high, medium, low, not "hihg"$/,
    ],
    ["a missing text", { "no-raw-sql": { where: ["*.sql"] } }, /^rules\.no-raw-sql\.what is missing$/],
    ["an empty group", { "no-raw-sql": {} }, /^rules\.no-raw-sql\.\w+ is missing$/],
    [
      "a mistyped key",
      { "no-raw-sql": { what: "x", blockng: true } },
      /^rules\.no-raw-sql\.blockng is not a known key \(did you mean blocking\?\)$/,
    ],
    [
      "a mistyped key of an example",
      { "no-raw-sql": { what: "x", examples: { wrongs: ["y"] } } },
      /^rules\.no-raw-sql\.examples\.wrongs is not a known key \(did you mean wrong\?\)$/,
    ],
    [
      "a wrong value deep inside",
      { "no-raw-sql": { what: "x", examples: { right: ["ok", 3] } } },
      /^rules\.no-raw-sql\.examples\.right\[1\] must be text, not 3$/,
    ],
    [
      "a rule that is off and defined at once",
      { "no-raw-sql": { what: "x", off: ["a"] } },
      /^rules\.no-raw-sql\.(off|what) is not a known key/,
    ],
    ["patterns as text", { "py-eval": { off: "test/**" } }, /^rules\.py-eval\.off must be a list/],
    ["another word", { "py-eval": "maybe" }, /^rules\.py-eval must be one of off, not "maybe"$/],
    ["the name of an analyzer", { secrets: { what: "x" } }, /^rules\.secrets is the name of a built-in/],
    ["that of a built-in rule", { "py-eval": { what: "x" } }, /^rules\.py-eval is the name of a built-in/],
    ["with a slash", { "ast-grep/mine": { what: "x" } }, /^rules\.ast-grep\/mine is not a rule name/],
    ["long names", { ["a".repeat(61)]: { what: "x" } }, / is not a rule name: .* at most 60 characters$/],
    ["a name with line ends", { "a\n::error::b": { what: "x" } }, /is not a rule name/],
    [
      "too many rules",
      Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`rule-${at}`, { what: "x" }])),
      /^rules defines 51 rules; the limit is 50$/,
    ],
    [
      "too much text",
      Object.fromEntries(Array.from({ length: 13 }, (_, at) => [`rule-${at}`, { what: "x".repeat(2_000) }])),
      /^rules has definitions of \d+ characters together; the limit is 24000$/,
    ],
  ])("A named rule is refused for %s, with the key and the reason", (_, rules, message) => {
    expect(problemsOf(rules)).toEqual([expect.stringMatching(message)]);
  });

  it("A named rule is written as the example in the documentation", () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/configuration.md"), "utf8");
    const example = /### Named rules[\s\S]*?```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    const result = parseRepoConfig(example);
    expect(result.ok && namedRules(result.config)).toMatchObject([
      {
        name: "no-raw-sql",
        blocking: true,
        examples: { right: [expect.any(String)], wrong: [expect.any(String)] },
      },
    ]);
  });

  it("A named rule may have the name of no analyzer, not even of one that is new", () => {
    for (const { name } of allAnalyzers) expect(builtInRules()).toContain(name);
  });
});
