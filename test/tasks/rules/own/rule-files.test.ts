import { describe, expect, it } from "vitest";
import {
  isRuleFile,
  ownRulesFolder,
  parseRuleFiles,
  whyNot,
} from "../../../../src/tasks/rules/own/rule-files.ts";
import { callRule } from "./rule-samples.ts";

const path = `${ownRulesFolder}/a.yml`;
const parse = async (...texts: (string | null)[]) => {
  const files = texts.map((text, at) => ({ path: `${ownRulesFolder}/${at}.yml`, text }));
  const { rules, problems } = await parseRuleFiles(files);
  return { rules, ids: rules.map(({ id }) => id), why: problems.map((one) => `${one.rule}: ${whyNot(one)}`) };
};

describe("a file of rules", () => {
  it("A rule file is a YAML file directly in its folder", () => {
    const others = ["a.txt", "sub/a.yml", ".yml/a", "../hunkwise.yml", "", ".yml\n"];
    expect([path, `${ownRulesFolder}/b.yaml`].every(isRuleFile)).toBe(true);
    expect(others.map((name) => isRuleFile(`${ownRulesFolder}/${name}`))).toEqual(others.map(() => false));
    expect(isRuleFile(`a/${path}`)).toBe(false);
  });

  it("A file may have several rules, empty documents and rules that are off", async () => {
    const off = `${callRule("off", "a")}`.replace("warning", "off");
    const { ids, why } = await parse(
      [callRule("one", "a"), "# nothing\n", off, callRule("two", "b"), ""].join("---\n"),
      "",
    );
    expect(ids).toEqual(["one", "two"]);
    expect(why).toEqual([]);
  });

  it("Severity and category come from ast-grep's severity or the metadata", async () => {
    const rule = (severity: string, metadata: string) =>
      `id: r${severity}${metadata.length}\nlanguage: py\nseverity: ${severity}\nmetadata: { ${metadata} }\nrule: { pattern: a }\n`;
    const { rules } = await parse(
      ["error", "warning", "info", "hint"].map((severity) => rule(severity, "")).join("---\n"),
      rule("hint", "severity: critical, category: security, team: ours"),
    );
    expect(rules.map(({ severity, category }) => [severity, category])).toEqual([
      ["high", "correctness"],
      ["medium", "correctness"],
      ["low", "maintainability"],
      ["low", "maintainability"],
      ["critical", "security"],
    ]);
  });

  it.each(["js", "JavaScript", "ts", "Tsx", "PY", "golang", "java", "c++", "cs", "Rust", "rb", "kt", "php"])(
    "names a language as ast-grep does: %s",
    async (language) => {
      expect((await parse(`id: a\nlanguage: ${language}\nrule: { pattern: a }`)).ids).toEqual(["a"]);
    },
  );

  it("A rule may have every key of ast-grep's rule object", async () => {
    const rule = `{ pattern: { context: a, selector: identifier, strictness: smart }, kind: identifier, regex: a,
      nthChild: { position: 2n+1, reverse: true, ofRule: { nthChild: 1 } }, matches: u, not: { nthChild: "2" },
      range: { start: { line: 0, column: 0 }, end: { line: 1, column: 0 } }, all: [{ matches: { u: { A: { kind: x } } } }],
      any: [{ precedes: { kind: x, stopBy: end }, follows: { kind: x, stopBy: { kind: x } } }],
      inside: { kind: x, stopBy: neighbor, field: key }, has: { kind: x, field: key } }`;
    const more = `utils: { u: ${rule} }\nconstraints: { A: ${rule} }\ntransform: { B: { convert: { source: $A, toCase: camelCase, separatedBy: [dash] } }, C: { substring: { source: $A, startChar: 1, endChar: 2 } } }\n`;
    const { why } = await parse(`id: a\nlanguage: ts\nrule: ${rule}\n${more}`);
    expect(why).toEqual([]);
  });

  it("A rule reads only files that its patterns match, also with braces", async () => {
    const { rules } = await parse(
      `${callRule("a", "a")}files: ["./src/**/*.{ts,{m,c}ts}"]\nignores: ["**/*.test.ts"]\n`,
    );
    const all = ["src/a.ts", "src/x/a.mts", "src/a.cts", "src/a.test.ts", "lib/a.ts", "src/a.js"];
    expect(all.filter((one) => rules[0]?.appliesTo(one))).toEqual(["src/a.ts", "src/x/a.mts", "src/a.cts"]);
  });

  it.each([
    ["an unknown key", "color: red", "a: line 6: color is not a known key"],
    [
      "a misspelled key in a utility",
      "utils: { u: { any: [{ has: { feild: key, regex: x } }] } }",
      "a: line 6: utils.u.any[0].has.feild is not a known key (did you mean field?)",
    ],
    [
      "a misspelled key in a constraint",
      "constraints: { A: { inside: { stopBy: { knd: x }, kind: y } } }",
      "a: line 6: constraints.A.inside.stopBy.knd is not a known key (did you mean kind?)",
    ],
    [
      "a misspelled key in a transformation",
      "transform: { B: { replace: { sorce: $A, replace: x, by: y } } }",
      "a: line 6: transform.B.replace.sorce is not a known key (did you mean source?)",
    ],
    [
      "a key of ours with a slip",
      "metadata: { Categry: security, team: shop }",
      "a: line 6: metadata.Categry is not a known key (did you mean category?)",
    ],
    ["a pattern of no file", "files: ['a/../b']", "a: line 6: files[0] can match no file: it has a part"],
    ["a key of the command line of ast-grep", "rewriters: []", "a: line 6: rewriters is a key of ast-grep"],
    ["labels", "labels: {}", "a: line 6: labels is a key of ast-grep"],
    ["a fix that is not text", "fix: { template: a }", "a: line 6: fix must be text"],
    [
      "a rewriter",
      "transform: { B: { rewrite: { source: $A, rewriters: [x] } } }",
      "a: line 6: transform must only",
    ],
    ["a short rewriter", "transform: { B: 'rewrite($A, rewriters=[x])' }", "a: line 6: transform must only"],
    ["an exception", "files: ['!a']", "a: line 6: files[0] must not begin with !"],
    ["braces without end", `files: ['${"{a,b}".repeat(20)}']`, "a: line 6: files[0] must have at most 64"],
    ["an alias without an anchor", "note: *there", "null: line 6: note *there is an alias without an anchor"],
    ["an alias of what it is in", "utils: { a: &a { not: *a } }", "a: refers to itself"],
    ["a repeated key", "message: again", "null: line 6: message occurs twice"],
  ])("A rule with %s is left out alone, with line and reason", async (_, line, expected) => {
    const { ids, why } = await parse(
      `${callRule("a", "a")}${line}\n---\n${callRule("b", "b")}`,
      callRule("c", "c"),
    );
    expect(ids).toEqual(["b", "c"]);
    expect(why).toEqual([expect.stringContaining(expected)]);
  });

  it.each([
    ["../../x", "id must be"],
    ["a b", "id must be"],
    ["-a", "id must be"],
    ["a".repeat(61), "id must be"],
    ["own/rule", "id must be"],
  ])("The id %j is refused and not repeated", async (id, expected) => {
    const { ids, why } = await parse(`id: ${JSON.stringify(id)}\nlanguage: ts\nrule: { pattern: a }`);
    expect(ids).toEqual([]);
    expect(why).toEqual([expect.stringContaining(`null: line 1: ${expected}`)]);
  });

  it("A missing language and a repeated id are problems", async () => {
    const swift = callRule("swift", "a").replace("TypeScript", "Swift");
    const { ids, why } = await parse(`${callRule("a", "a")}---\n${swift}`, callRule("a", "b"));
    expect(ids).toEqual(["a"]);
    expect(why).toEqual([
      'swift: needs the language "Swift", which is not installed',
      `a: id occurs twice: a rule of ${ownRulesFolder}/0.yml has it`,
    ]);
  });

  it("Bytes, files, rules, levels and aliases are limited", async () => {
    const many = Array.from({ length: 201 }, (_, at) => callRule(`r${at}`, "a"));
    const nested = [..."{not: ".repeat(70), "{pattern: a}", ..."}".repeat(70)].join("");
    const bomb = Array.from({ length: 12 }, (_, at) => `u${at + 1}: &u${at + 1} [${`*u${at},`.repeat(12)}]`);
    const cases: [string[], string][] = [
      [["#".repeat(65 * 1024)], "is larger than 64 KB"],
      [Array.from({ length: 51 }, () => ""), "is one of more than 50 files of rules"],
      [
        [many.slice(0, 150), many.slice(150)].map((some) => some.join("---\n")),
        "is one of more than 200 rules",
      ],
      [[`id: a\nlanguage: ts\nrule: ${nested}`], "is nested deeper than 60 levels"],
      [[`id: a\nlanguage: ts\nrule: ${"[".repeat(20_000)}`], "is nested too deeply"],
      [[`u0: &u0 [a]\n${bomb.join("\n")}\nid: a\nlanguage: ts\nrule: {}`], "cannot be read"],
    ];
    for (const [texts, expected] of cases)
      expect((await parse(...texts)).why.join("\n"), expected).toContain(expected);
  });

  it("A file that is a link or binary is named", async () => {
    const { ids, why } = await parse(null, "id: a\0", callRule("c", "c"));
    expect(ids).toEqual(["c"]);
    expect(why).toEqual([
      expect.stringContaining("is not a regular file"),
      expect.stringContaining("is not UTF-8 text"),
    ]);
  });
});
