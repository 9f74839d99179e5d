import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isCertain } from "../../../../src/core/finding.ts";
import { brokenCodeAnalyzers, proven } from "../../../../src/tasks/rules/analyzers/broken-files.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const { signal } = new AbortController();
const analyzers = brokenCodeAnalyzers;
const find = async (file: ReturnType<typeof wholeFile>) =>
  (await Promise.all(analyzers.map((one) => one.analyze(file, signal)))).flat();

describe("code that no longer parses", () => {
  it.each([
    ["a brace that the change removed", "a.go", " package a\n func f() {\n-}", 2, "broken-code/go"],
    ["a colon that the change lost", "a.py", "-def f():\n+def f()\n     pass", 1, "broken-code/python"],
    ["a bracket too many", "a.ts", " let a = 1;\n+let b = (2;", 2, "parse-errors/typescript"],
    ["a brace that another line lacks", "a.rs", "-fn f() {\n+fn f(\n     g();\n }", 1, "parse-errors/rust"],
  ])("Code that no longer parses is found by %s", async (_, path, diff, line, source) => {
    expect(await find(editedFile(path, diff))).toMatchObject([{ line, source, category: "correctness" }]);
  });

  it("Broken code is certain in the languages that docs/analyzers.md lists", () => {
    const page = readFileSync(new URL("../../../../docs/analyzers.md", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^\| `(\w+)` \| ([\d,]+) \| \d+ \| (\d+) \| (certain|judged)/gm)];
    expect(rows.length).toBeGreaterThan(10);
    for (const [, language = "", changes = "", wrong, verdict] of rows) {
      const isRight = Number(wrong) * 2_000 <= Number(changes.replace(",", ""));
      expect([language, verdict]).toEqual([language, isRight ? "certain" : "judged"]);
      expect(proven.has(language)).toBe(isRight);
    }
    expect(isCertain({ source: "broken-code/go" })).toBe(true);
    expect(isCertain({ source: "parse-errors/rust" })).toBe(false);
  });

  it.each([
    ["a file that still parses", editedFile("a.go", " package a\n+func f() {}")],
    ["one that was broken before", editedFile("a.go", " package a\n func f() {\n+func g() {}")],
    ["one that is new", wholeFile("a.go", "package a\nfunc f() {\n")],
    ["one that was empty", editedFile("a.go", "- \n+package a\n+func f() {")],
    ["one with a conflict", editedFile("a.py", "-a = 1\n+<<<<<<< HEAD\n+a = 2")],
    ["what a test needs", editedFile("test/fixtures/broken.py", "-a = 1\n+a = (")],
    ["a language without a parser", editedFile("a.swift", "-let a = 1\n+let a = (")],
  ])("Broken code is not %s", async (_, file) => expect(await find(file)).toEqual([]));
});
