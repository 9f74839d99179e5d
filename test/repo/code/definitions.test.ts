import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSource } from "../../../src/repo/code/parse.ts";
import type { Definition, Source } from "../../../src/repo/code/source.ts";
import { samples } from "./samples.ts";

async function sourceOf(path: string, text: string): Promise<Source> {
  const source = await parseSource(path, text);
  if (!source) throw new Error(`${path} was refused`);
  return source;
}

const show = (one: Definition) =>
  `${one.kind} ${one.container ? `${one.container}.` : ""}${one.name} ${one.docStart}-${one.end}${one.exported ? " +" : ""}`;

describe("the definitions of a file", () => {
  it.each(samples.map((sample) => [sample.path, sample] as const))(
    "The definitions of a file are found: %s",
    async (path, sample) => {
      const source = await sourceOf(path, sample.text);
      expect(source.isParsed).toBe(true);
      expect(source.definitions.map(show)).toEqual(sample.defines);
    },
  );

  it("The head of a definition ends before its body", async () => {
    const heads = async (path: string) => {
      const sample = samples.find((one) => one.path === path);
      const { definitions } = await sourceOf(path, sample?.text ?? "");
      return Object.fromEntries(definitions.map((one) => [one.name, [one.start, one.signatureEnd]]));
    };
    expect(await heads("shop.ts")).toMatchObject({
      Basket: [12, 13],
      total: [21, 23],
      add: [15, 15],
      table: [31, 31],
    });
    expect(await heads("shop.py")).toMatchObject({ Shop: [5, 8], open: [11, 15] });
    expect(await heads("shop.c")).toMatchObject({ find: [10, 11] });
    expect(await heads("Shop.cs")).toMatchObject({ Open: [17, 17], Shop: [8, 8] });
  });

  it("The value of a module is defined by its own name", async () => {
    const { definitions } = await sourceOf(
      "shop.cjs",
      "module.exports = class Shop {\n  open() {}\n};\nmodule.exports = function () {};\nmodule.exports.close = function () {};\n",
    );
    expect(definitions.map(show)).toEqual([
      "class Shop 1-3 +",
      "method Shop.open 2-2 +",
      "function exports 4-4 +",
      "function close 5-5 +",
    ]);
  });

  it("Definitions are the same within a function and outside of one", async () => {
    const inside = await sourceOf(
      "local.ts",
      'test("all", () => {\n  const size = 1;\n  const run = () => size;\n  class Local {\n    held = () => run;\n  }\n  const kept = memo(() => run);\n});\n',
    );
    expect(inside.definitions.map(show)).toEqual([
      "test all 1-8",
      "function run 3-3",
      "class Local 4-6",
      "method Local.held 5-5",
    ]);
    const python = await sourceOf(
      "local.py",
      "def all():\n    size = 1\n    class Local:\n        size = 2\n        def run(self):\n            inner = 3\n",
    );
    expect(python.definitions.map(show)).toEqual([
      "function all 1-6 +",
      "class Local 3-6",
      "field Local.size 4-4",
      "method Local.run 5-6",
    ]);
  });

  it("The definitions around a line are listed outermost first, with their comments", async () => {
    const source = await sourceOf("shop.ts", samples[0]?.text ?? "");
    const names = (line: number) => source.enclosing(line).map((one) => one.name);
    expect([names(2), names(3), names(20), names(24)]).toEqual([
      [],
      ["Item"],
      ["Basket", "total"],
      ["Basket", "total", "inner"],
    ]);
  });
});

const pieces = samples.flatMap(({ path, text }) => text.split("\n").map((line) => ({ path, line })));

describe("the definitions of any text", () => {
  const mixed = fc
    .tuple(
      fc.constantFrom(...samples.map((one) => one.path), "shop.swift", "shop.sh"),
      fc.array(fc.constantFrom(...pieces), { maxLength: 25 }),
    )
    .map(([path, some]) => ({ path, text: some.map(({ line }) => line).join("\n") }));

  it("Definitions of any text lie in it and nest, and every question has an answer", async () => {
    await fc.assert(
      fc.asyncProperty(mixed, async ({ path, text }) => {
        const source = await sourceOf(path, text);
        const lines = text.split("\n").length;
        for (const one of source.definitions) {
          const order = [1, one.docStart, one.start, one.signatureEnd, one.end, lines];
          expect(order).toEqual([...order].sort((a, b) => a - b));
          expect(source.enclosing(one.start)).toContain(one);
        }
        for (let line = 1; line <= lines; line++) {
          const around = source.enclosing(line);
          for (const one of around) expect(one.docStart <= line && line <= one.end).toBe(true);
        }
        for (const { line, name } of source.calls(1, lines))
          expect(text.split("\n")[line - 1]).toContain(name);
        const names = new Set(text.match(/\w+/g));
        for (const { line, name } of source.references(names))
          expect(text.split("\n")[line - 1]).toContain(name);
        for (const name of source.readNames(1, lines)) expect(text).toContain(name);
        for (const literal of source.literals(1, lines)) expect(text).toContain(literal);
      }),
      { numRuns: 150 },
    );
  });
});

interface Planned {
  name: string;
  isClass: boolean;
  inside: Planned[];
}

const planned: (depth: number) => fc.Arbitrary<Planned> = fc.memo((depth) =>
  fc.record({
    name: fc.stringMatching(/^[a-z]{4,8}$/).map((name) => `x${name}`),
    isClass: fc.boolean(),
    inside: depth > 1 ? fc.array(planned(depth - 1), { maxLength: 3 }) : fc.constant([]),
  }),
);

/** Writes a program and notes what it defines, with the lines of each. */
function write(all: readonly Planned[], style: "js" | "py") {
  const lines: string[] = [];
  const defined: string[] = [];
  const add = (one: Planned, depth: number, inClass: boolean) => {
    const [pad, start] = ["  ".repeat(depth), lines.length + 1];
    const at = defined.push("") - 1;
    // JavaScript has no class in a class: there it is the value of a field.
    const isClass = one.isClass && !(style === "js" && inClass);
    const word = style === "py" ? (isClass ? "class" : "def") : isClass ? "class" : inClass ? "" : "function";
    const head = `${word} ${one.name}${isClass ? "" : "()"}`.trim();
    lines.push(pad + head + (style === "py" ? ":" : " {"));
    if (style === "py") lines.push(`${pad}  pass`);
    for (const inner of one.inside) add(inner, depth + 1, isClass);
    if (style === "js") lines.push(`${pad}}`);
    defined[at] =
      `${isClass ? "class" : inClass ? "method" : "function"} ${one.name} ${start}-${lines.length}`;
  };
  for (const one of all) add(one, 0, false);
  return { text: `${lines.join("\n")}\n`, defined };
}

describe("a program that was written from a plan", () => {
  it.each(["js", "py"] as const)(
    "A program that was written from a plan defines what was planned: %s",
    async (style) => {
      await fc.assert(
        fc.asyncProperty(fc.array(planned(4), { maxLength: 4 }), async (plan) => {
          const { text, defined } = write(plan, style);
          const { definitions } = await sourceOf(`plan.${style}`, text);
          expect(definitions.map((one) => `${one.kind} ${one.name} ${one.start}-${one.end}`)).toEqual(
            defined,
          );
        }),
        { numRuns: 60 },
      );
    },
  );
});
