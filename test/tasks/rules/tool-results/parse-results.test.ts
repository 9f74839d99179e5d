import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AppError } from "../../../../src/core/errors.ts";
import { parseResults } from "../../../../src/tasks/rules/tool-results/parse-results.ts";
import { ToolResult } from "../../../../src/tasks/shapes/tool-result.ts";

const folder = join(import.meta.dirname, "../../../../fixtures/findings");
const roots = ["/home/runner/work/shop/shop"];
const read = (value: unknown, more: Partial<Parameters<typeof parseResults>[1]> = {}) =>
  parseResults(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)), {
    ...{ name: "lint.sarif", roots },
    ...more,
  });

/** A SARIF file with one result of one rule. */
const sarif = (result: object = {}, rule: object = {}, run: object = {}) => ({
  version: "2.1.0",
  runs: [
    {
      tool: { driver: { name: "Lint", rules: [{ id: "R1", ...rule }] } },
      results: [
        {
          ruleId: "R1",
          message: { text: "It is wrong." },
          locations: [
            { physicalLocation: { artifactLocation: { uri: "src/a.ts" }, region: { startLine: 3 } } },
          ],
          ...result,
        },
      ],
      ...run,
    },
  ],
});
const at = (uri: string, more: object = {}) => ({
  locations: [{ physicalLocation: { artifactLocation: { uri, ...more }, region: { startLine: 3 } } }],
});
const scored = { id: "E1", properties: { "security-severity": "9.8" } };
const extensions = [{ name: "E", guid: "g", rules: [scored] }];
const diagnostic = {
  ...{ message: "It is wrong.", severity: "WARNING", source: { name: "Lint" }, code: { value: "R1" } },
  location: { path: "src/a.ts", range: { start: { line: 3, column: 1 }, end: { line: 3, column: 4 } } },
};
const expected = {
  ...{ tool: "lint", rule: "R1", severity: "medium", path: "src/a.ts", line: 3, endLine: 3 },
  message: "It is wrong.",
  file: 0,
};

describe("the results of another tool", () => {
  it.each([
    ["eslint", 16, ["lib/cut.js", "lib/inert-text.js", "lib/json.js"]],
    ["oxlint", 6, ["lib/cut.js", "lib/json.js"]],
    ["biome", 74, ["lib/cut.js", "lib/inert-text.js", "lib/json.js"]],
  ])("Results of %s are read", (tool, count, paths) => {
    const results = read(readFileSync(join(folder, `${tool}.sarif`), "utf8"));
    expect(results).toHaveLength(count);
    expect([...new Set(results.map(({ path }) => path))].toSorted()).toEqual(paths);
    for (const one of results) expect(one).toMatchObject({ tool, message: expect.stringMatching(/\w/) });
  });

  it.each<[string, object, object, object, Partial<ToolResult>]>([
    ["the level of the result", { level: "error" }, {}, {}, { severity: "high" }],
    ["the level of its rule", {}, { defaultConfiguration: { level: "note" } }, {}, { severity: "low" }],
    [
      "GitHub's scale first",
      { level: "note" },
      { properties: { "security-severity": "9.8" } },
      {},
      { severity: "critical" },
    ],
    ["a rule by its index", { ruleId: undefined, ruleIndex: 0 }, { id: "R9" }, {}, { rule: "R9" }],
    [
      "a part of a rule",
      { ruleId: "R1/2" },
      { defaultConfiguration: { level: "error" } },
      {},
      { rule: "R1/2", severity: "high" },
    ],
    [
      "a range",
      {
        locations: [
          {
            physicalLocation: { artifactLocation: { uri: "src/a.ts" }, region: { startLine: 2, endLine: 5 } },
          },
        ],
      },
      {},
      {},
      { line: 2, endLine: 5 },
    ],
    [
      "a message of its rule",
      { message: { id: "m" } },
      { messageStrings: { m: { text: "It is odd." } } },
      {},
      { message: "It is odd." },
    ],
    ["a path of percent signs", at("src/a%20b.ts"), {}, {}, { path: "src/a b.ts" }],
    ["a path in the runner's folder", at("file:///home/runner/work/shop/shop/src/a.ts"), {}, {}, {}],
    ["an absolute path", at("/home/runner/work/shop/shop/src/a.ts"), {}, {}, {}],
    [
      "a path below a base",
      at("a.ts", { uriBaseId: "S" }),
      {},
      { originalUriBaseIds: { S: { uri: "file:///home/runner/work/shop/shop/src/" } } },
      {},
    ],
    ...[{ index: 0 }, { guid: "g" }, { name: "E" }, undefined].map(
      (toolComponent): [string, object, object, object, Partial<ToolResult>] => [
        `a rule of an extension, by ${JSON.stringify(toolComponent)}`,
        { ruleId: "E1", rule: { index: 0, toolComponent } },
        {},
        { tool: { driver: { name: "Lint" }, extensions } },
        { rule: "E1", severity: "critical" },
      ],
    ),
    [
      "a path by its index",
      { locations: [{ physicalLocation: { artifactLocation: { index: 0 }, region: { startLine: 3 } } }] },
      {},
      { artifacts: [{ location: { uri: "./src/a.ts" } }] },
      {},
    ],
    ["a rule of odd letters", { ruleId: "eslint(no-var) `x`\n" }, {}, {}, { rule: "eslint-no-var-x" }],
    [
      "a long message",
      { message: { text: `a\n\n${"b".repeat(5_000)}` } },
      {},
      {},
      { message: `a ${"b".repeat(197)}` },
    ],
  ])("Results are read with %s", (_, result, rule, run, more) => {
    expect(read(sarif(result, rule, run))).toEqual([{ ...expected, ...more }]);
  });

  it.each<[string, object]>([
    ["what passed", { kind: "pass" }],
    ["what the tool suppressed", { suppressions: [{ kind: "inSource" }] }],
    ["what a baseline says is gone", { baselineState: "absent" }],
    ["no place", { locations: [] }],
    ["no line", { locations: [{ physicalLocation: { artifactLocation: { uri: "src/a.ts" } } }] }],
    ["a path above the repository", at("../secret.ts")],
    ["a path above it in signs", at("src/%2e%2e/%2e%2e/secret.ts")],
    ["a path of another folder", at("/etc/passwd")],
    ["a path of another machine", at("file://host/share/a.ts")],
    ["an address", at("https://evil.test/a.ts")],
    ["a path with NUL", at("src/a%00.ts")],
  ])("Results leave out %s", (_, result) => expect(read(sarif(result))).toEqual([]));

  it.each<[string, object, string]>([
    ["names no file", { locations: [] }, "SARIF"],
    [
      "has no line",
      { locations: [{ physicalLocation: { artifactLocation: { uri: "src/a.ts" } } }] },
      "SARIF",
    ],
    ["names a file outside of the repository", at("../secret.ts"), "SARIF"],
    ["names no changed file", at("src/b.ts"), "SARIF"],
    ["is a further place of another result", { locations: [...at("src/a.ts").locations, {}] }, "SARIF"],
    ["has no line", { location: { path: "src/a.ts" } }, "rdjson"],
    ["names no changed file", { location: { path: "src/b.ts", range: { start: { line: 1 } } } }, "rdjson"],
    ["cannot be read", { location: null }, "rdjson"],
    ["cannot be read", { location: null }, "rdjsonl"],
  ])("A result is left out because it %s: %j in %s", (reason, result, format) => {
    const reasons: string[] = [];
    const diagnostics = [{ ...diagnostic, ...result }, diagnostic];
    const lines = diagnostics.map((one) => JSON.stringify(one)).join("\n");
    const content = { SARIF: sarif(result), rdjson: { diagnostics }, rdjsonl: lines }[format];
    const found = read(content, { changed: new Set(["src/a.ts"]), onLeft: (why) => reasons.push(why) });
    expect(reasons).toEqual([reason]);
    if (format !== "SARIF") expect(found).toEqual([expected]);
  });

  it("Results may lack the name of a tool, and write numbers as text", () => {
    const lines = `{"message": "<msg>", "location": {"path": "src/a.ts", "range": {"start": {"line": 14, "column": 15}}}, "severity": "ERROR"}
{"message": "<msg>", "location": {"path": "src/b.ts", "range": {"start": {"line": "14"}, "end": {"line": "18"}}}, "suggestions": []}`;
    const found = [
      { tool: "unknown-tool", rule: "result", severity: "high", path: "src/a.ts", line: 14, endLine: 14 },
      { tool: "unknown-tool", rule: "result", severity: "medium", path: "src/b.ts", line: 14, endLine: 18 },
    ];
    expect(read(lines)).toMatchObject(found);
    expect(read(`{"diagnostics": [${lines.replace("\n", ",")}]}`)).toMatchObject(found);
    const region = { startLine: "7", endLine: "8" };
    const place = { physicalLocation: { artifactLocation: { uri: "a.ts" }, region } };
    expect(read(sarif({ locations: [place] }))).toMatchObject([{ line: 7, endLine: 8 }]);
  });

  it.each([
    ["100%.ts", ["100%.ts"], "100%.ts", "100%.ts"],
    ["a%20b%.ts", ["a b%.ts"], "a b%.ts", null],
    ["a%20b%.ts", ["a b%.ts", "a%20b%.ts"], "a%20b%.ts", "a%20b%.ts"],
    ["a%20b.ts", ["a%20b.ts"], "a%20b.ts", "a%20b.ts"],
    ["a%20b.ts", ["a b.ts", "a%20b.ts"], "a b.ts", "a%20b.ts"],
    ["a b.ts", ["a%20b.ts"], null, null],
    ["a%5Cb.ts", ["a\\b.ts", "a/b.ts"], "a\\b.ts", null],
    ["a\\b.ts", ["a/b.ts"], "a/b.ts", "a/b.ts"],
  ])("The name %j, where %j changed, is %j in SARIF and %j in rdjson", (uri, paths, uriPath, path) => {
    const changed = new Set(paths);
    const rdjson = { diagnostics: [{ ...diagnostic, location: { ...diagnostic.location, path: uri } }] };
    const found = [sarif(at(uri)), rdjson].map((one) => read(one, { changed })[0]?.path);
    expect(found).toEqual([uriPath ?? undefined, path ?? undefined]);
  });

  it("A rejected suppression and a byte order mark change nothing", () => {
    expect(read(sarif({ suppressions: [{ kind: "external", status: "rejected" }] }))).toEqual([expected]);
    expect(read(`\ufeff${JSON.stringify(sarif())}`)).toEqual([expected]);
  });

  it("Results are read from rdjson and rdjsonl", () => {
    expect(
      read({
        source: { name: "Lint" },
        severity: "ERROR",
        diagnostics: [{ ...diagnostic, source: undefined, severity: undefined }],
      }),
    ).toEqual([{ ...expected, severity: "high" }]);
    expect(read(`${JSON.stringify(diagnostic)}\n\n${JSON.stringify(diagnostic)}\n`)).toEqual([
      expected,
      expected,
    ]);
    const empty = [{}, { source: { name: "Lint" } }, { diagnostics: null }];
    expect(empty.flatMap((one) => read(one))).toEqual([]);
    expect(read("\n", { name: "lint.rdjsonl" })).toEqual([]);
  });

  it("Results come worst first", () => {
    const two = sarif();
    two.runs[0]?.results.push({ ...two.runs[0].results[0], level: "error", ruleId: "R2" } as never);
    expect(read(two).map(({ rule }) => rule)).toEqual(["R2", "R1"]);
  });

  it.each([
    ["no JSON", "SECRET=canary-1234567890"],
    ["another JSON", { canary: "canary-1234567890" }],
    ["an older SARIF", { version: "1.0.0", runs: [] }],
    ["nothing", ""],
    ["deep nesting", `{"version":"2.1.0","runs":${"[".repeat(5_000)}${"]".repeat(5_000)}}`],
    ["too many values", `{"version":"2.1.0","runs":[${"1,".repeat(2_000_001)}1]}`],
  ])("A file with %s is refused, and the error quotes nothing of it", (_, content) => {
    const error = (() => {
      try {
        return read(content as string);
      } catch (caught) {
        return caught;
      }
    })();
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).line).toMatch(/^The results in 'lint\.sarif' cannot be used: /);
    expect((error as AppError).line).not.toMatch(/canary|1234/);
  });

  it.each<[string, object, object]>([
    [
      "arguments that make a message huge",
      { message: { text: "{0}".repeat(600), arguments: ["x".repeat(10_000_000)] } },
      {},
    ],
    [
      "a path that many results share",
      { locations: [{ physicalLocation: { artifactLocation: { index: 0 }, region: { startLine: 3 } } }] },
      { artifacts: [{ location: { uri: "a".repeat(8_000_000) } }] },
    ],
    ["a name of megabytes", {}, { tool: { driver: { name: "n".repeat(8_000_000) } } }],
  ])("Results stay small with %s", (_, result, run) => {
    const whole = sarif(result, {}, run);
    whole.runs[0]?.results.push(
      ...Array.from(
        { length: 2_000 },
        () => ({ ...whole.runs[0]?.results[0], message: { text: "m" } }) as never,
      ),
    );
    const results = (() => {
      try {
        return read(whole);
      } catch (error) {
        expect(error).toBeInstanceOf(AppError);
        return [];
      }
    })();
    expect(JSON.stringify(results).length).toBeLessThan(1_000_000);
  });

  it("A path that is no text is replaced", () => {
    expect(
      read({ diagnostics: [{ ...diagnostic, location: { path: "\ud800", range: { start: { line: 3 } } } }] }),
    ).toMatchObject([{ path: "\ufffd" }]);
  });

  const json = fc.jsonValue({ maxDepth: 3 });
  const mutated = fc
    .record({
      result: fc.dictionary(
        fc.constantFrom(
          "ruleId",
          "rule",
          "ruleIndex",
          "level",
          "kind",
          "message",
          "locations",
          "suppressions",
        ),
        json,
      ),
      rule: fc.dictionary(
        fc.constantFrom("id", "properties", "defaultConfiguration", "messageStrings"),
        json,
      ),
      run: fc.dictionary(fc.constantFrom("artifacts", "originalUriBaseIds", "results"), json),
    })
    .map(({ result, rule, run }) => sarif(result, rule, run));

  it("Results of any file have plain names and a path in the repository", () => {
    fc.assert(
      fc.property(fc.oneof(mutated, json), fc.string(), (value, uri) => {
        for (const text of [JSON.stringify(value), JSON.stringify(sarif(at(uri)))]) {
          let results: ToolResult[] = [];
          try {
            results = read(text);
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
          }
          for (const one of results) {
            expect(ToolResult.parse(one)).toEqual(one);
            expect(one.path).not.toMatch(/^\/|^\.\.(?:\/|$)|\0/);
          }
        }
      }),
      { numRuns: process.env.HUNKWISE_LONG === "1" ? 20_000 : 500 },
    );
  });
});
