import type { NapiConfig, SgNode } from "@ast-grep/napi";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGuessCheck } from "../../src/analyzers/syntax-tree.ts";
import { loadAstGrep } from "../../src/code/languages.ts";

const astGrep = await loadAstGrep();
const rootOf = (dialect: string, text: string) => astGrep.parse(dialect, text).root();

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
