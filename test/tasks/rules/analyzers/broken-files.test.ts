import { describe, expect, it } from "vitest";
import { brokenDataAnalyzer } from "../../../../src/tasks/rules/analyzers/broken-files.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const { signal } = new AbortController();
const analyzer = brokenDataAnalyzer;
const find = (path: string, text: string) => analyzer.analyze(wholeFile(path, text), signal);

describe("broken JSON", () => {
  it.each([
    ["a missing comma", '{\n  "a": 1\n  "b": 2\n}\n', 3, /comma/],
    ["a missing colon", '{\n  "a" 1\n}\n', 2, /colon/],
    ["a trailing comma", '{\n  "a": 1,\n}\n', 3, /trailing comma/],
    ["single quotes", "{\n  'a': 1\n}\n", 2, /JSON/],
    ["an open brace", '{\n  "a": {\n    "b": 1\n}\n', 4, /brace/],
    ["two documents", '{ "a": 1 }\n{ "b": 2 }\n', 2, /after the end/],
    ["an open string", '{\n  "a": "x,\n  "b": 2\n}\n', 2, /string/],
  ])("Broken JSON with %s is found at its line", async (_, text, line, message) => {
    const found = await find("config/settings.json", text);
    expect(found).toMatchObject([{ line, severity: "high", category: "data", source: "broken-data/json" }]);
    expect(found[0]?.body).toMatch(message);
  });

  it.each([
    ["tsconfig.json", '{\n  // strict\n  "strict": true,\n}\n'],
    ["packages/a/tsconfig.build.json", '{ "a": 1, }\n'],
    [".vscode/settings.json", '{ "a": 1, /* b */ }\n'],
    [".devcontainer/devcontainer.json", '{ "a": 1, }\n'],
    ["settings.jsonc", '{ "a": 1, }\n'],
    ["config/app.json", '{ // comments show that its reader takes them\n  "a": 1,\n}\n'],
    ["data.json", '\uFEFF{ "a": 1 }\n'],
    ["empty.json", ""],
    ["template.json", '{ "name": {{ name }} }\n'],
    ["test/fixtures/broken.json", "{"],
  ])("Broken JSON is not %s", async (path, text) => {
    expect(await find(path, text)).toEqual([]);
  });

  it("A package.json with comments is broken, because npm refuses it", async () => {
    expect(await find("package.json", '{\n  // name\n  "name": "a"\n}\n')).toMatchObject([{ line: 2 }]);
  });

  it("A file that the change broke is found at the changed line before the error", async () => {
    const file = editedFile("a.json", ' {\n+  "a": {\n   "b": 1\n }');
    expect(await analyzer.analyze(file, signal)).toMatchObject([{ line: 2 }]);
  });

  it("A file that a removal broke is found", async () => {
    const file = editedFile("a.json", ' {\n   "a": 1\n-  ,\n   "b": 2\n }');
    expect(await analyzer.analyze(file, signal)).toMatchObject([{ line: 3 }]);
  });

  it("A file that was broken before is no finding of a change elsewhere", async () => {
    const file = editedFile("a.json", ' {\n+  "a": 1,\n   "b": 1\n   "c": 2\n }');
    expect(await analyzer.analyze(file, signal)).toEqual([]);
  });

  it("A file with a merge conflict has no finding about its syntax", async () => {
    expect(await find("a.json", '{\n<<<<<<< HEAD\n  "a": 1\n=======\n>>>>>>> b\n}\n')).toEqual([]);
  });

  it("A file of empty lines is read in one pass", { timeout: 120_000 }, async () => {
    expect(await find("a.json", `x\n${`${" ".repeat(45)}\n`.repeat(60_000)}`)).toMatchObject([{ line: 1 }]);
  });

  it("A long file is compared with its earlier version", async () => {
    const rows = Array.from({ length: 200_000 }, () => " ");
    const file = editedFile("a.json", ["+{", ...rows, " }", "-,"].join("\n"));
    expect(await analyzer.analyze(file, signal)).toEqual([]);
    const broken = editedFile("a.json", [" {", "+,", ...rows, " }"].join("\n"));
    expect(await analyzer.analyze(broken, signal)).toMatchObject([{ line: 2 }]);
  });

  it("Data that is nested too deeply is not parsed", async () => {
    expect(await find("a.json", "[".repeat(100_000))).toEqual([]);
  });
});

describe("broken YAML", () => {
  it.each([
    ["a tab", "a:\n\tb: 1\n", 2, /tab/],
    ["a key that occurs twice", "a: 1\nb: 2\na: 3\n", 3, /twice/],
    ["a key that occurs twice further in", "a:\n  - b: 1\n    c: 2\n    b: 3\nb: 4\n", 4, /twice/],
    ["a key that occurs twice on one line", "a: 1\nb: { c: 1, c: 2 }\n", 2, /twice/],
    ["a key that occurs twice in the second document", "a: 1\n---\nb: 1\nb: 2\n", 4, /twice/],
    ["an open bracket", "a: [1, 2\nb: 3\n", 2, /./],
    ["a value with a colon", "title: a: b\n", 1, /colon/],
    ["an open quote", 'a: "x\nb: 1\n', 2, /./],
    ["a tab below an expression of a workflow", "a: \x24{{ b }}\nc:\n\td: 1\n", 3, /tab/],
  ])("Broken YAML with %s is found at its line", async (_, text, line, message) => {
    const found = await find(".github/workflows/ci.yml", text);
    expect(found).toMatchObject([{ line, source: "broken-data/yaml" }]);
    expect(found[0]?.body).toMatch(message);
  });

  it.each([
    ["several documents", "a: 1\n---\na: 2\n"],
    ["tags of CloudFormation", "a: !Ref b\nc: !Sub x\n"],
    ["an expression of a workflow", "run: echo \x24{{ github.sha }}\n"],
    ["a template", "{{- if .Values.a }}\na: 1\n{{- end }}\n"],
    ["a merge key", "x: &x { a: 1 }\ny:\n  <<: *x\n  a: 2\n"],
  ])("Broken YAML is not %s", async (_, text) => {
    expect(await find("deploy/a.yaml", text)).toEqual([]);
  });
});

describe("broken TOML", () => {
  it.each([
    ["an open string", 'a = 1\nb = "x\n', 2],
    ["a key that occurs twice", "a = 1\na = 2\n", 2],
    ["a table that occurs twice", "[a]\nb = 1\n[a]\nc = 1\n", 3],
  ])("Broken TOML with %s is found at its line", async (_, text, line) => {
    expect(await find("pyproject.toml", text)).toMatchObject([{ line, source: "broken-data/toml" }]);
  });

  it.each([
    ["a whole file", '[a]\nb = [1, 2]\n[[c]]\nd = "x"\n'],
    ["a template", "name = {{ name }}\n"],
  ])("Broken TOML is not %s", async (_, text) => expect(await find("Cargo.toml", text)).toEqual([]));
});
