import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findQuote, nearest, quoteLines, similarLines, undecorated } from "../../src/review/quote.ts";

/** A stated place that confirms no other. */
const nowhere = { start: 1_000, end: 1_000 };

describe("findQuote", () => {
  it("finds every place where whole lines match, whatever their white space", () => {
    const lines = ["if (a) {", "\treturn  1;", "}", "if (b) {", "    return 1;", "}"];

    expect(findQuote(lines, ["return 1;"], nowhere)).toEqual([
      { start: 2, end: 2 },
      { start: 5, end: 5 },
    ]);
  });

  it("prefers whole lines to parts of lines", () => {
    expect(findQuote(["let total = 0;", "total"], ["total"], nowhere)).toEqual([{ start: 2, end: 2 }]);
  });

  it("takes a part of a line where no whole line matches", () => {
    expect(findQuote(["const a = load(file);"], ["load(file)"], nowhere)).toEqual([{ start: 1, end: 1 }]);
  });

  it("takes a part of a stated line before whole lines elsewhere", () => {
    const lines = ["total", "let total = 0;", "let total = 1;"];

    expect(findQuote(lines, ["total"], { start: 3, end: 3 })).toEqual([{ start: 3, end: 3 }]);
    expect(findQuote(lines, ["total"], { start: 1, end: 2 })).toEqual([{ start: 1, end: 1 }]);
  });

  it("looks only where it may", () => {
    const lines = ["total", "let total = 0;", "total"];

    expect(findQuote(lines, ["total"], { start: 2, end: 2 }, ({ end }) => end === 3)).toEqual([
      { start: 3, end: 3 },
    ]);
  });

  it("matches several lines only where they follow each other", () => {
    expect(findQuote(["a", "b", "a", "c"], ["a", "c"], nowhere)).toEqual([{ start: 3, end: 4 }]);
  });

  it("finds nothing for a quote of white space", () => {
    expect(findQuote(["", "a"], ["  "], nowhere)).toEqual([]);
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
          const place = { start: start + 1, end };
          expect(findQuote(lines, lines.slice(start, end), place)).toContainEqual(place);
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

  const at = (line: number) => ({ start: line, end: line });

  it("chooses by distance to the stated line", () => {
    expect(nearest(places, at(28), () => false)).toEqual({ start: 30, end: 30 });
  });

  it("chooses the preferred one among equally near places", () => {
    expect(nearest(places, at(15), (place) => place.end === 20)).toEqual({ start: 20, end: 20 });
  });

  it("chooses what stands within the stated lines, then what is nearest to either end of them", () => {
    expect(nearest(places, { start: 8, end: 19 }, () => false)).toEqual(at(10));
    expect(nearest(places, { start: 12, end: 19 }, () => false)).toEqual(at(20));
    expect(nearest([at(7), at(30)], { start: 8, end: 22 }, () => false)).toEqual(at(7));
  });

  it("chooses what stands within the stated lines before what reaches into them", () => {
    const overlapping = [
      { start: 1, end: 3 },
      { start: 3, end: 5 },
    ];
    expect(nearest(overlapping, { start: 3, end: 6 }, () => false)).toEqual({ start: 3, end: 5 });
  });

  it("chooses the earlier one when nothing else tells them apart", () => {
    expect(nearest(places, at(25), () => true)).toEqual({ start: 20, end: 20 });
  });
});

describe("similarLines", () => {
  it("names the lines that share most words, and nothing that shares none", () => {
    const lines = ["import fs", "const total = sum(items)", "return total", "}"];

    expect(similarLines(lines, ["const total = add(items)"], 1)).toEqual([2, 3]);
  });
});
