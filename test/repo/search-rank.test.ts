import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Definition } from "../../src/repo/code/source.ts";
import { fileKindOf, inRounds, type LineRole, namesIn, roleOf } from "../../src/repo/search-rank.ts";

describe("the names in a pattern", () => {
  it.each([
    ["parseRange\\(", ["parseRange"]],
    ["\\bclass Parser\\b", ["Parser"]],
    ["readAll|writeAll", ["readAll", "writeAll"]],
    ["(?i)total\\s*=", ["total"]],
    ["(?P<first>\\w+)\\.close\\(", ["close"]],
    ["[a-zA-Z]+_id", ["_id"]],
    ["\\p{Lu}name\\x{41}", ["name"]],
    ["^$", []],
    [".", []],
  ])("The names in a pattern are its words, without those of the syntax: %s", (pattern, names) =>
    expect(namesIn(pattern, false)).toEqual(names),
  );

  it("The names in a pattern are all of its words if it is literal", () => {
    expect(namesIn("\\bold[abc]", true)).toEqual(["bold", "abc"]);
  });
});

describe("roleOf", () => {
  const definition: Definition = {
    ...{ name: "parse", kind: "function", container: null, exported: true },
    ...{ start: 3, docStart: 2, signatureEnd: 3, end: 5 },
    type: null,
  };
  it.each<[string, number, string, Definition[] | undefined, LineRole]>([
    ["is to define it, as parsing confirms", 3, "  parse(text) {", [definition], "defines"],
    ["is no definition if parsing finds none", 4, "  function parse() {", [definition], "other"],
    ["is to define it, as it seems without parsing", 9, "function parse() {", undefined, "defines"],
    ["is to write it", 4, "  parse = other;", [definition], "writes"],
    ["is only to import it", 4, "import { parse } from './a.ts';", [definition], "imports"],
    ["is nothing special", 4, "  parse(other);", [definition], "other"],
    ["is nothing if it has a longer name", 3, "  parseAll(text) {", [definition], "other"],
  ])("What a line does with a name: %s", (_, line, text, definitions, role) => {
    expect(roleOf({ line, text }, ["parse"], definitions)).toBe(role);
  });
});

describe("rounds of matches", () => {
  const path = fc.constantFrom("src/a.ts", "src/b.ts", "test/a.test.ts", "docs/a.md", "vendor/a.js");
  const matches = fc
    .array(fc.record({ path, role: fc.constantFrom<LineRole>("defines", "other", "writes", "imports") }))
    .map((all) => all.toSorted((a, b) => (a.path < b.path ? -1 : Number(a.path > b.path))))
    .map((all) => all.map((one, line) => ({ ...one, line })));

  it("Rounds have each match once, product code first, and of each kind the best of every file first", () => {
    fc.assert(
      fc.property(matches, (all) => {
        const ordered = inRounds(all);
        expect(ordered.toSorted((a, b) => a.line - b.line)).toEqual(all);

        const kindOf = (one: (typeof all)[number]) =>
          ["product", "test", "prose", "foreign"].indexOf(fileKindOf(one.path));
        expect(ordered.map(kindOf)).toEqual(all.map(kindOf).toSorted());
        const kinds = [...Map.groupBy(ordered, kindOf).values()];
        const first = kinds.flatMap((kind) => kind.slice(0, new Set(kind.map((one) => one.path)).size));
        const files = new Set(all.map((one) => one.path));
        expect(new Set(first.map((one) => one.path))).toEqual(files);
        const rank = { defines: 0, other: 1, writes: 2, imports: 3 };
        for (const one of first) {
          const best = Math.min(...all.flatMap((other) => (other.path === one.path ? rank[other.role] : [])));
          expect(rank[one.role]).toBe(best);
        }
      }),
    );
  });
});
