import { describe, expect, it } from "vitest";
import { parseFile } from "../../../src/repo/code/code-file.ts";
import { Modules } from "../../../src/repo/code/imports.ts";
import { loadAstGrep } from "../../../src/repo/code/languages.ts";
import { isTooDeep, parseOnce, parseSource } from "../../../src/repo/code/parse.ts";

describe("a generated text", () => {
  it.each([
    ["a binary", "a\0b"],
    ["minified", `f(${"a,".repeat(2_000)}a)`],
    ["too large", "a()\n".repeat(160_000)],
  ])("A generated text is not parsed: %s", async (_, text) => {
    expect(await parseSource("a.js", text)).toBeNull();
  });
});

describe("a file without a tree", () => {
  it.each([
    ["brackets that nothing closes", "a.js", `function f() {\n}\n${"(\n".repeat(20_000)}`],
    ["a chain of branches", "a.js", `function f() {\n}\n${"if (a) b; else\n".repeat(3_000)}c;`],
  ])("A file without a tree is read by its layout: %s", async (_, path, text) => {
    const source = await parseSource(path, text);
    expect(source?.isParsed).toBe(false);
    expect(source?.definitions.map((one) => [one.name, one.end])).toEqual([["f", 2]]);
  });
});

describe("a file that is hard on a parser", () => {
  it.each([
    ["thousands of names in one list", "a.py", `import ${"a,\n".repeat(3_000)}a`],
    ["a header of empty lines", "a.h", "\n".repeat(290_000)],
    ["thousands of declarations", "a.c", "int a = b;\n".repeat(3_000)],
    ["thousands of functions", "a.js", "function a(b) {}\n".repeat(3_000)],
    ["broken syntax", "a.java", "class A { void f( { } @@ \n".repeat(100)],
  ])("A file that is hard on a parser still has answers: %s", async (_, path, text) => {
    const source = await parseSource(path, text);
    const lines = text.split("\n").length;
    const found = source?.references(new Set(["a"])) ?? [];
    expect(found.length).toBeLessThanOrEqual(3_000);
    expect(source?.readNames(1, lines)).toBeInstanceOf(Set);
    expect(source?.definitions.every((one) => one.end <= lines)).toBe(true);
  });
});

const astGrep = await loadAstGrep();
const rootOf = (dialect: string, text: string) => astGrep.parse(dialect, text).root();

describe("a syntax tree", () => {
  it.each([
    ["150 branches", "JavaScript", `${"if (a) b; else ".repeat(150)}c;`, false],
    ["5,000 branches", "JavaScript", `${"if (a) b; else ".repeat(5_000)}c;`, true],
    ["5,000 parentheses", "python", `${"(".repeat(5_000)}a${")".repeat(5_000)}`, true],
    ["5,000 operators, which nest to the left", "java", `int a = 1${" + 1".repeat(5_000)};`, true],
    ["5,000 calls in a row", "go", `package a\nfunc f() {\n${"a()\n".repeat(5_000)}}\n`, false],
    ["5,000 signs", "JavaScript", `${"!".repeat(5_000)}a`, true],
  ])("A syntax tree of %s in %s is bounded", (_, dialect, text, expected) => {
    expect(isTooDeep(rootOf(dialect as string, text as string), text as string)).toBe(expected);
  });
});

describe("the cache of parsed texts", () => {
  /** Without a grammar, because only their size matters. */
  const others = Array.from({ length: 60 }, (_, at) => [`${at}.lua`, `c${at} = 1;\n`.repeat(1_500)] as const);

  it("A text is parsed once for each path, which decides its language", async () => {
    const text = "const a = 1;\n";
    const first = await parseSource("a.ts", text);
    expect(await parseSource("a.ts", text)).toBe(first);
    expect(await parseSource("a.js", text)).not.toBe(first);
  });

  it("A text is parsed again after many others, because trees take memory", async () => {
    const text = "const b = 1;\n";
    const first = await parseSource("b.ts", text);
    for (const [path, other] of others) await parseSource(path, other);
    expect(await parseSource("b.ts", text)).not.toBe(first);
  });

  it("A text that is needed once displaces no other from the cache", async () => {
    const text = "const d = 1;\n";
    const first = await parseSource("d.ts", text);
    for (const [path, other] of others) await parseOnce(path, other);
    expect(await parseOnce("d.ts", text)).toBe(first);
    expect(await parseSource("d.ts", text)).toBe(first);
  });

  it("The cache of trees is shared by all callers", async () => {
    const modules = new Modules([]);
    const file = { path: "f.ts", ref: "head" as const, lines: ["export const f = 1;"] };
    const first = await parseFile(file, modules, true);
    expect((await parseFile({ ...file, lines: [...file.lines] }, modules))?.source).toBe(first?.source);
  });
});
