import type { NapiConfig, SgNode } from "@ast-grep/napi";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadAstGrep } from "../../src/analyzers/languages.ts";
import { createGuessCheck, isTooDeep } from "../../src/analyzers/syntax-tree.ts";

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

  it("is known of every node that is inside of it or holds it", () => {
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

  it("is searched for once, whatever is asked", () => {
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
