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
  it("A whole line is found whatever its white space", () => {
    const lines = ["if (a) {", "\treturn  1;\r", "}", "if (b) {", "    return 1;", "}"];

    expect(find(lines, ["return 1;"], { stated: at(1) })).toEqual(at(2));
    expect(find(lines, ["  return\t1;"], { stated: at(6) })).toEqual(at(5));
    expect(find(lines, ["if (b) {", "return 1;", "}"])).toEqual(at(4, 6));
  });

  it("A whole line is preferred to a part of a line", () => {
    expect(find(["let total = 0;", "total"], ["total"], { stated: at(8) })).toEqual(at(2));
  });

  it("A part of a line is found if no whole line matches", () => {
    expect(find(["const a = load(file);"], ["load(file)"])).toEqual(at(1));
    expect(find(["const  a = load( file );"], ["a = load( file"])).toEqual(at(1));
  });

  it("A part of a stated line is found before whole lines elsewhere", () => {
    const lines = ["total", "let total = 0;", "let total = 1;"];

    expect(find(lines, ["total"], { stated: at(3) })).toEqual(at(3));
    expect(find(lines, ["total"], { stated: at(1, 2) })).toEqual(at(1));
  });

  it("Only allowed lines are found, and are checked in file order", () => {
    const asked: number[] = [];
    const allowed = ({ end }: { end: number }) => asked.push(end) > 0 && end === 3;

    expect(find(["total", "let total = 0;", "total"], ["total"], { stated: at(2), allowed })).toEqual(at(3));
    expect(asked).toEqual([1, 2, 3]);
  });

  it("A quote of white space is not found", () => {
    expect(find(["", "a"], ["  "])).toBeUndefined();
  });

  it("The part of a long line that a tool showed finds that line", () => {
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

  it("Of all places of several lines, the nearest is found, also in lines that repeat", () => {
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

describe("a quote with several matches", () => {
  const lines = Array.from({ length: 40 }, (_, index) =>
    [9, 19, 29].includes(index) ? "twin" : `l${index}`,
  );

  it("The match nearest to the stated line is found", () => {
    expect(find(lines, ["twin"], { stated: at(28) })).toEqual(at(30));
  });

  it("Of equally near matches, the preferred one is found, else the first", () => {
    expect(find(lines, ["twin"], { stated: at(15), preferred: ({ end }) => end === 20 })).toEqual(at(20));
    expect(find(lines, ["twin"], { stated: at(25), preferred: () => true })).toEqual(at(20));
    expect(find(lines, ["twin"], { stated: at(25), preferred: () => false })).toEqual(at(20));
  });

  it("A preferred match that is farther away is not found", () => {
    expect(find(lines, ["twin"], { stated: at(14), preferred: ({ end }) => end !== 10 })).toEqual(at(10));
  });

  it("A match within the stated lines is found before one near their ends", () => {
    expect(find(lines, ["twin"], { stated: at(8, 19) })).toEqual(at(10));
    expect(find(lines, ["twin"], { stated: at(12, 19) })).toEqual(at(20));
    expect(find(lines, ["twin"], { stated: at(12, 17) })).toEqual(at(10));
  });

  it("A match within the stated lines is found before one that overlaps them", () => {
    expect(find(["a", "a", "b", "a", "b"], ["a", "b"], { stated: at(3, 5) })).toEqual(at(4, 5));
  });
});

describe("a large file", () => {
  it("A file of half a million equal lines is searched for a quote that nearly repeats them", () => {
    const lines: string[] = new Array(500_000).fill("  again();");
    const quote = [...new Array(199).fill("again();"), "never();"];

    expect(find(lines, quote)).toBeUndefined();
    expect(find(lines, quote.slice(0, -1), { stated: at(300_000) })).toEqual(at(299_802, 300_000));
  });
});

describe("quoteLines", () => {
  it("A quote loses empty lines around it and keeps those inside", () => {
    expect(quoteLines("\n\na\n\nb\r\n \n")).toEqual(["a", "", "b"]);
    expect(quoteLines(" \n\t\n")).toEqual([]);
  });

  it("A longer quote keeps its first 200 lines", () => {
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
  ])("The quote %j loses its decoration", (decorated, plain, side) => {
    const { lines, ...rest } = undecorated([decorated]);

    expect(lines.map((line) => line.trimStart())).toEqual([plain]);
    expect(rest).toEqual({ side });
  });

  it("A quote with both signs, or with and without signs, has no side", () => {
    expect(undecorated(["-a", "+b"]).side).toBeNull();
    expect(undecorated(["-a", "b"]).side).toBeNull();
  });

  it("A quote loses lines around it that are empty except for their decoration", () => {
    expect(undecorated(["7 +", "8 +a", "+", "9 +b", "10| ", "+ "]).lines).toEqual(["a", "", "b"]);
  });

  it("Each line of a diff loses one sign, unchanged ones included", () => {
    expect(undecorated([" -minus", "-12|cell", "", "+- item"]).lines).toEqual([
      "-minus",
      "12|cell",
      "",
      "- item",
    ]);
  });

  it("A quote loses lines that are not part of the file", () => {
    expect(undecorated(["@@ -1,2 +1,2 @@ f()", "-a", "\\ No newline at end of file"])).toEqual({
      lines: ["a"],
      side: "LEFT",
    });
  });
});

describe("squeezing", () => {
  it("White space of any kind is one space in lines of any length", () => {
    for (const length of [3, 200_000]) {
      for (const line of [
        "a ".repeat(length),
        `${" \t".repeat(length)}b${"\u00A0".repeat(9)}c `,
        "x".repeat(length),
      ]) {
        expect(squeeze(line) === line.replace(/\s+/g, " ").trim()).toBe(true);
      }
    }
  });

  it("A line of millions of spaces takes little memory", () => {
    const script = `const { squeeze } = await import(${JSON.stringify(new URL("../../../src/tasks/anchor/quote.ts", import.meta.url))});
      console.log(squeeze("a ".repeat(5_000_000)).length);`;
    const options = ["--max-old-space-size=64", "--input-type=module", "-e", script];

    expect(
      execFileSync(process.execPath, options, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
    ).toBe("999999\n");
  });
});
