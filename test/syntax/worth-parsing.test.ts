import { describe, expect, it } from "vitest";
import { loadAstGrep } from "../../src/syntax/grammars.ts";
import { isTooDeep } from "../../src/syntax/worth-parsing.ts";

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
  ])("of %s in %s", (_, dialect, text, expected) => {
    expect(isTooDeep(rootOf(dialect as string, text as string))).toBe(expected);
  });
});
