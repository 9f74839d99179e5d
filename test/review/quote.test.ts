import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findQuote, nearest, quoteLines, similarLines, undecorated } from "../../src/review/quote.ts";

describe("findQuote", () => {
  it("finds every place where whole lines match, whatever their white space", () => {
    const lines = ["if (a) {", "\treturn  1;", "}", "if (b) {", "    return 1;", "}"];

    expect(findQuote(lines, ["return 1;"])).toEqual([
      { start: 2, end: 2 },
      { start: 5, end: 5 },
    ]);
  });

  it("prefers whole lines to parts of lines", () => {
    expect(findQuote(["let total = 0;", "total"], ["total"])).toEqual([{ start: 2, end: 2 }]);
  });

  it("takes a part of a line where no whole line matches", () => {
    expect(findQuote(["const a = load(file);"], ["load(file)"])).toEqual([{ start: 1, end: 1 }]);
  });

  it("matches several lines only where they follow each other", () => {
    expect(findQuote(["a", "b", "a", "c"], ["a", "c"])).toEqual([{ start: 3, end: 4 }]);
  });

  it("finds nothing for a quote of white space", () => {
    expect(findQuote(["", "a"], ["  "])).toEqual([]);
  });

  it("finds any run of lines that is really there", () => {
    const line = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text.trim() !== "");
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 20 }),
        fc.nat(),
        fc.nat(),
        (lines, from, count) => {
          const start = from % lines.length;
          const end = Math.min(lines.length, start + 1 + (count % 3));
          expect(findQuote(lines, lines.slice(start, end))).toContainEqual({ start: start + 1, end });
        },
      ),
    );
  });
});

describe("quoteLines and undecorated", () => {
  it("drop empty lines around the quote and keep those inside", () => {
    expect(quoteLines("\n\na\n\nb\n \n")).toEqual(["a", "", "b"]);
  });

  it.each([
    ["12 +const a = 1;", "const a = 1;"],
    ["12| const a = 1;", "const a = 1;"],
    ["+const a = 1;", "const a = 1;"],
    ["-  return;", "  return;"],
  ])("take the decoration of %j off", (decorated, plain) => {
    expect(undecorated([decorated]).map((line) => line.trimStart())).toEqual([plain.trimStart()]);
  });
});

describe("nearest", () => {
  const places = [
    { start: 10, end: 10 },
    { start: 20, end: 20 },
    { start: 30, end: 30 },
  ];

  it("chooses by distance to the line", () => {
    expect(nearest(places, 28, () => false)).toEqual({ start: 30, end: 30 });
  });

  it("chooses the preferred one among equally near places", () => {
    expect(nearest(places, 15, (place) => place.end === 20)).toEqual({ start: 20, end: 20 });
  });

  it("chooses the earlier one when nothing else tells them apart", () => {
    expect(nearest(places, 25, () => true)).toEqual({ start: 20, end: 20 });
  });
});

describe("similarLines", () => {
  it("names the lines that share most words, and nothing that shares none", () => {
    const lines = ["import fs", "const total = sum(items)", "return total", "}"];

    expect(similarLines(lines, ["const total = add(items)"], 1)).toEqual([2, 3]);
  });
});
