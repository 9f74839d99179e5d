import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutLine } from "../../../src/core/text/cut.ts";
import { MAX_LINE_BYTES, renderLine } from "../../../src/repo/diff/file-diff.ts";
import {
  findQuote,
  type QuoteSearch,
  quoteLines,
  squeeze,
  undecorated,
} from "../../../src/tasks/anchor/quote.ts";

const at = (start: number, end = start) => ({ start, end });
/** A stated place that confirms no other. */
const nowhere = at(1_000);

const find = (lines: string[], quote: string[], search: Partial<QuoteSearch> = {}) =>
  findQuote(lines, quote, { stated: nowhere, ...search });

describe("findQuote", () => {
  it("finds whole lines, whatever their white space", () => {
    const lines = ["if (a) {", "\treturn  1;\r", "}", "if (b) {", "    return 1;", "}"];

    expect(find(lines, ["return 1;"], { stated: at(1) })).toEqual(at(2));
    expect(find(lines, ["  return\t1;"], { stated: at(6) })).toEqual(at(5));
    expect(find(lines, ["if (b) {", "return 1;", "}"])).toEqual(at(4, 6));
  });

  it("prefers whole lines to parts of lines", () => {
    expect(find(["let total = 0;", "total"], ["total"], { stated: at(8) })).toEqual(at(2));
  });

  it("takes a part of a line where no whole line matches", () => {
    expect(find(["const a = load(file);"], ["load(file)"])).toEqual(at(1));
    expect(find(["const  a = load( file );"], ["a = load( file"])).toEqual(at(1));
  });

  it("takes a part of a stated line before whole lines elsewhere", () => {
    const lines = ["total", "let total = 0;", "let total = 1;"];

    expect(find(lines, ["total"], { stated: at(3) })).toEqual(at(3));
    expect(find(lines, ["total"], { stated: at(1, 2) })).toEqual(at(1));
  });

  it("looks only where it may, asking in file order", () => {
    const asked: number[] = [];
    const allowed = ({ end }: { end: number }) => asked.push(end) > 0 && end === 3;

    expect(find(["total", "let total = 0;", "total"], ["total"], { stated: at(2), allowed })).toEqual(at(3));
    expect(asked).toEqual([1, 2, 3]);
  });

  it("finds nothing for a quote of white space", () => {
    expect(find(["", "a"], ["  "])).toBeUndefined();
  });

  it("takes what an answer showed of an overlong line for that line", () => {
    const long = `const data = "${"x".repeat(2 * MAX_LINE_BYTES)}";`;
    const lines = ["const data = 1;", long, "done();"];
    const shown = renderLine({ kind: "added", text: long, newLine: 2 });

    expect(shown.length).toBeLessThan(long.length);
    expect(find(lines, undecorated([shown]).lines)).toEqual(at(2));
    expect(find(lines, undecorated([shown, "3 +done();"]).lines)).toEqual(at(2, 3));
    expect(find(lines, [cutLine(long, 40)])).toEqual(at(2));
    expect(find(lines, [`${long.slice(0, 30)} [... 24000 more characters]`])).toEqual(at(2));
    expect(find(["", "any"], [cutLine("", 0), "… [3 more characters of this line]"])).toBeUndefined();
  });

  /** What it should find, the slow way. */
  const places = (lines: string[], quote: string[]) => {
    const flat = (line: string) => line.replace(/\s+/g, " ").trim();
    return lines
      .map((_, index) => at(index + 1, index + quote.length))
      .filter(
        ({ start, end }) =>
          end <= lines.length &&
          quote.every((line, offset) => flat(lines[start - 1 + offset]!) === flat(line)),
      );
  };

  it("finds the nearest of all places where several lines stand, also in lines that repeat", () => {
    const line = fc.constantFrom("a", "a ", "b", "", "\ta");
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 2, maxLength: 24 }),
        fc.array(line, { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 1, max: 24 }),
        (lines, quote, stated) => {
          fc.pre(quote.some((one) => one.trim() !== ""));
          const distance = ({ start, end }: { start: number; end: number }) =>
            Math.max(0, start - stated, stated - end);
          const all = places(lines, quote).toSorted((a, b) => distance(a) - distance(b) || a.start - b.start);
          expect(findQuote(lines, quote, { stated: at(stated) })).toEqual(all[0]);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("of several places", () => {
  const lines = Array.from({ length: 40 }, (_, index) =>
    [9, 19, 29].includes(index) ? "twin" : `l${index}`,
  );

  it("the nearest to the stated line is found", () => {
    expect(find(lines, ["twin"], { stated: at(28) })).toEqual(at(30));
  });

  it("among equally near ones the preferred one is found, else the first", () => {
    expect(find(lines, ["twin"], { stated: at(15), preferred: ({ end }) => end === 20 })).toEqual(at(20));
    expect(find(lines, ["twin"], { stated: at(25), preferred: () => true })).toEqual(at(20));
    expect(find(lines, ["twin"], { stated: at(25), preferred: () => false })).toEqual(at(20));
  });

  it("a preferred one that is farther is not", () => {
    expect(find(lines, ["twin"], { stated: at(14), preferred: ({ end }) => end !== 10 })).toEqual(at(10));
  });

  it("what stands within the stated lines is found before what is near to either end of them", () => {
    expect(find(lines, ["twin"], { stated: at(8, 19) })).toEqual(at(10));
    expect(find(lines, ["twin"], { stated: at(12, 19) })).toEqual(at(20));
    expect(find(lines, ["twin"], { stated: at(12, 17) })).toEqual(at(10));
  });

  it("what stands within the stated lines is found before what reaches into them", () => {
    expect(find(["a", "a", "b", "a", "b"], ["a", "b"], { stated: at(3, 5) })).toEqual(at(4, 5));
  });
});

describe("a large file", () => {
  it("that repeats one line half a million times is searched for a quote that nearly does", () => {
    const lines: string[] = new Array(500_000).fill("  again();");
    const quote = [...new Array(199).fill("again();"), "never();"];

    expect(find(lines, quote)).toBeUndefined();
    expect(find(lines, quote.slice(0, -1), { stated: at(300_000) })).toEqual(at(299_802, 300_000));
  });
});

describe("quoteLines", () => {
  it("drops empty lines around the quote and keeps those inside", () => {
    expect(quoteLines("\n\na\n\nb\r\n \n")).toEqual(["a", "", "b"]);
    expect(quoteLines(" \n\t\n")).toEqual([]);
  });

  it("keeps the first 200 lines of a longer one", () => {
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index}`);

    expect(quoteLines(["", ...lines].join("\n"))).toEqual(lines.slice(0, 200));
  });
});

describe("undecorated", () => {
  it.each([
    ["12 +const a = 1;", "const a = 1;", "RIGHT"],
    ["12 -const a = 1;", "const a = 1;", "LEFT"],
    ["12  const a = 1;", "const a = 1;", null],
    ["12| const a = 1;", "const a = 1;", null],
    ["12|const a = 1;", "const a = 1;", null],
    ["12:const a = 1;", "const a = 1;", null],
    ["13-const a = 1;", "const a = 1;", null],
    ["+const a = 1;", "const a = 1;", "RIGHT"],
    ["-  return;", "return;", "LEFT"],
  ])("takes the decoration of %j off", (decorated, plain, side) => {
    const { lines, ...rest } = undecorated([decorated]);

    expect(lines.map((line) => line.trimStart())).toEqual([plain]);
    expect(rest).toEqual({ side });
  });

  it("knows no side of lines with both signs, or with and without", () => {
    expect(undecorated(["-a", "+b"]).side).toBeNull();
    expect(undecorated(["-a", "b"]).side).toBeNull();
  });

  it("drops lines around the quote that are empty but for their decoration", () => {
    expect(undecorated(["7 +", "8 +a", "+", "9 +b", "10| ", "+ "]).lines).toEqual(["a", "", "b"]);
  });

  it("takes one sign off each line of a diff, unchanged ones included", () => {
    expect(undecorated([" -minus", "-12|cell", "", "+- item"]).lines).toEqual([
      "-minus",
      "12|cell",
      "",
      "- item",
    ]);
  });

  it("leaves out what is no line of the file", () => {
    expect(undecorated(["@@ -1,2 +1,2 @@ f()", "-a", "\\ No newline at end of file"])).toEqual({
      lines: ["a"],
      side: "LEFT",
    });
  });
});

describe("squeezing", () => {
  it("is the same for lines of any length, wherever their white space lies", () => {
    for (const length of [65_535, 65_536, 65_537, 200_000]) {
      for (const line of [
        "a ".repeat(length),
        `${" \t".repeat(length)}b${"\u00A0".repeat(9)}c `,
        "x".repeat(length),
      ]) {
        expect(squeeze(line) === line.replace(/\s+/g, " ").trim()).toBe(true);
      }
    }
  });

  it("takes no more memory than a line of millions of spaces does itself", () => {
    const script = `const { squeeze } = await import(${JSON.stringify(new URL("../../../src/tasks/anchor/quote.ts", import.meta.url))});
      console.log(squeeze("a ".repeat(5_000_000)).length);`;
    const options = ["--max-old-space-size=64", "--input-type=module", "-e", script];

    expect(
      execFileSync(process.execPath, options, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
    ).toBe("9999999\n");
  });
});
