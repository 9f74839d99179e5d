import { describe, expect, it } from "vitest";
import { type AnchorFile, resolveAnchor } from "../../../src/tasks/anchor/anchor.ts";
import { anchorFile } from "./anchor-file.ts";

/** old lines 3 and 4 are removed, new line 3 is added; lines 1 to 6 of the new file and 1 to 7 of the old one are shown. */
const lines = {
  RIGHT: ["one", "two", "added", "five", "twin", "seven", "far", "twin"],
  LEFT: ["one", "two", "guard()", "removed", "five", "twin", "seven", "far", "twin"],
};
const file: AnchorFile = {
  ...anchorFile("src/a.ts", lines, (side, line) => (line <= (side === "RIGHT" ? 6 : 7) ? 1 : undefined)),
  isRemoved: (line) => line === 3 || line === 4,
};

const at = (
  quote: string,
  line: number,
  side: "RIGHT" | "LEFT" = "RIGHT",
  start_line: number | null = null,
) => {
  const resolved = resolveAnchor(file, { quote, line, side, start_line });
  return resolved.ok ? resolved.anchor : resolved.reason;
};

describe("resolveAnchor", () => {
  it("A place is kept if quote and number agree", () => {
    expect(at("added", 3)).toEqual({
      side: "RIGHT",
      line: 3,
      start_line: null,
      quote: "added",
      note: null,
      asStated: true,
    });
  });

  it.each([
    ["of HTML", "if (a &lt; b &amp;&amp; name === &quot;x_y&quot;)"],
    ["of Markdown", 'if (a \\< b && name === "x\\_y")'],
    ["of prose", "if (a < b && name === \u201cx_y\u201d)"],
  ])("Code with escapes %s is found, and its suggestion is not taken", (_, quote) => {
    const code = 'if (a < b && name === "x_y")';
    const escaped = { ...file, lines: { ...file.lines, RIGHT: ["one", "two", code] } };
    const resolved = resolveAnchor(escaped, { quote, line: 3, side: "RIGHT", start_line: null });
    expect(resolved).toMatchObject({ ok: true, anchor: { line: 3, quote: code, asStated: false } });
    // Code that has the escapes itself is meant as it is.
    const literal = { ...file, lines: { ...file.lines, RIGHT: [quote, "two", code] } };
    expect(resolveAnchor(literal, { quote, line: 3, side: "RIGHT", start_line: null })).toMatchObject({
      anchor: { line: 1, asStated: true },
    });
  });

  const moved = "the quote is on line 3, not on line 40; anchored at line 3";
  const onLeft = { side: "LEFT", line: 3, note: expect.stringContaining("side LEFT") };
  const lastQuoted = { line: 3, start_line: null, quote: "added" };
  const movedRange = { start_line: 2, line: 4, quote: "two\nadded\nfive" };
  it.each<[string, Parameters<typeof at>, object]>([
    ["The quote wins over a wrong number, with a note", ["added", 40], { line: 3, note: moved }],
    ["The number decides between equal lines, the first", ["twin", 5], { line: 5 }],
    ["The number decides between equal lines, the last", ["twin", 8], { line: 8 }],
    ["A removed line is anchored on LEFT, also if RIGHT was given", ["guard()", 3], onLeft],
    ["A removed line keeps its old number", ["guard()", 3, "LEFT"], { ...onLeft, note: null }],
    ["A line of both sides is anchored on RIGHT", ["five", 5, "LEFT"], { side: "RIGHT", line: 4 }],
    ["Several quoted lines are anchored at the last one", ["two\nadded", 3], lastQuoted],
    ["A range moves with its quote", ["five", 14, "RIGHT", 12], movedRange],
    ["A quote of a range's first line keeps the range", ["two", 4, "RIGHT", 2], { start_line: 2, line: 4 }],
    ["A range of one line becomes a single line", ["added", 3, "RIGHT", 3], { start_line: null, line: 3 }],
  ])("%s", (_, given, expected) => expect(at(...given)).toMatchObject(expected));

  it("A quote that is not found is refused with the nearest lines", () => {
    expect(at("guard(x)", 3)).toContain("Nearest lines");
    expect(at("nothing like it", 3)).toContain("3| added");
  });

  it("An empty quote is refused", () => {
    expect(at("  \n", 3)).toContain("empty");
  });
});

/** Twenty new lines; the code of lines 3 and 18 is the same, and stands within line 10 too. */
const long = anchorFile("b.ts", {
  RIGHT: Array.from({ length: 20 }, (_, at) => {
    if (at + 1 === 3 || at + 1 === 18) return "  twin();";
    return at + 1 === 10 ? "  if (ready) twin();" : `  line${at + 1}();`;
  }),
  LEFT: null,
});

const inLong = (quote: string, line: number, start_line: number | null = null) => {
  const resolved = resolveAnchor(long, { quote, line, start_line, side: "RIGHT" });
  if (!resolved.ok) throw new Error(resolved.reason);
  return resolved.anchor;
};

describe("a range of lines", () => {
  it.each([
    ["its first lines", "if (ready) twin();\nline11();"],
    ["its first line", "if (ready) twin();"],
    ["a line in the middle", "line11();"],
    ["its last line", "line12();"],
    ["all of it", "if (ready) twin();\nline11();\nline12();"],
    ["more than it", "line9();\nif (ready) twin();\nline11();\nline12();\nline13();"],
    ["a part of one of its lines, though whole lines elsewhere match", "twin();"],
  ])("A stated range stays if the quote is %s", (_, quote) => {
    expect(inLong(quote, 12, 10)).toEqual({
      side: "RIGHT",
      start_line: 10,
      line: 12,
      quote: "  if (ready) twin();\n  line11();\n  line12();",
      note: null,
      asStated: true,
    });
  });

  it("A quote within the range is taken before one nearer to its last line", () => {
    expect(inLong("twin();", 17, 2)).toMatchObject({ start_line: 2, line: 17, note: null });
  });

  it("A range ends with the file", () => {
    expect(inLong("line11();", 9_999, 11)).toMatchObject({
      start_line: 11,
      line: 20,
      note: "the file ends at line 20; anchored at lines 11-20",
      asStated: false,
    });
    expect(inLong("line20();", 9_999, 20)).toMatchObject({ start_line: null, line: 20, asStated: false });
  });

  it("A range that moves with a quote outside of it is not as stated", () => {
    expect(inLong("line7();", 12, 10)).toMatchObject({
      start_line: 5,
      line: 7,
      note: "the quote is on line 7, not on lines 10-12; anchored at lines 5-7",
      asStated: false,
    });
  });

  it("A range moves to all of a quote that only overlaps it", () => {
    expect(inLong("line8();\nline9();\nif (ready) twin();", 11, 9)).toMatchObject({
      start_line: 8,
      line: 10,
      note: "the quote is on lines 8-10, not on lines 9-11; anchored at lines 8-10",
      asStated: false,
    });
  });

  it("A range does not begin before the file", () => {
    expect(inLong("line2();", 900, 800)).toMatchObject({ start_line: 1, line: 2, asStated: false });
    expect(inLong("line1();", 900, 800)).toMatchObject({ start_line: null, line: 1, asStated: false });
  });

  it("A range on the other side is not as stated", () => {
    const resolved = resolveAnchor(file, {
      quote: "guard()\nremoved",
      line: 4,
      start_line: 3,
      side: "RIGHT",
    });

    expect(resolved).toMatchObject({ anchor: { side: "LEFT", start_line: 3, line: 4, asStated: false } });
  });
});

describe("long ranges and lines", () => {
  const lines = Array.from({ length: 2_000 }, (_, index) => `line${index + 1}();`);
  const huge = { ...long, lines: { RIGHT: lines, LEFT: null } };

  it("A range of more than 500 lines is anchored at its quote", () => {
    const wanted = { quote: "line900();", line: 1_500, side: "RIGHT" as const };

    expect(resolveAnchor(huge, { ...wanted, start_line: 801 })).toMatchObject({
      anchor: { start_line: null, line: 900, asStated: false, note: expect.stringContaining("500 lines") },
    });
    expect(resolveAnchor(huge, { ...wanted, line: 1_300, start_line: 801 })).toMatchObject({
      anchor: { start_line: 801, line: 1_300, note: null },
    });
  });

  it("The quote of a long line is cut", () => {
    const one = { ...long, lines: { RIGHT: ["x".repeat(1_000_000)], LEFT: null } };
    const resolved = resolveAnchor(one, { quote: "xxx", line: 1, start_line: null, side: "RIGHT" });

    expect(resolved.ok && resolved.anchor.quote).toBe("x".repeat(32 * 1024));
  });
});

describe("a file without lines", () => {
  const wanted = { quote: "x", line: 1, start_line: null, side: "RIGHT" as const };
  const reason = (RIGHT: string[] | null, LEFT: string[] | null) => {
    const resolved = resolveAnchor({ ...long, lines: { RIGHT, LEFT } }, wanted);
    return resolved.ok ? null : resolved.reason;
  };

  it("A quote of a file without lines is refused with the reason", () => {
    expect(reason(null, null)).toBe("b.ts is binary or too large: no line of it can be quoted");
    expect(reason([], null)).toBe("b.ts is empty: no line of it can be quoted");
    expect(reason([], ["y"])).toContain("does not hold the quote");
  });
});

describe("blank lines", () => {
  const blank = { ...long, lines: { RIGHT: ["a();", "", "b();", "", "c();"], LEFT: null } };
  const at = (quote: string, line: number, start_line: number | null = null, file = blank) => {
    const resolved = resolveAnchor(file, { quote, line, start_line, side: "RIGHT" });
    if (!resolved.ok) throw new Error(resolved.reason);
    return resolved.anchor;
  };

  it("A blank line within a quote is no anchor", () => {
    expect(at("a();\n\nb();", 2)).toMatchObject({ line: 3, note: "line 2 is blank; anchored at line 3" });
  });

  it("A blank line at the end of a quote is no anchor, with or without decoration", () => {
    expect(at("a();\n\n", 2)).toMatchObject({ start_line: null, line: 1 });
    expect(at("1 +a();\n2 +", 2)).toMatchObject({ start_line: null, line: 1 });
  });

  it("A blank line does not keep a range in its hunk", () => {
    const file = { ...blank, hunkAt: (_: string, line: number) => (line >= 4 ? 1 : undefined) };

    expect(at("a();\n\nb();\n", 4, 1, file)).toMatchObject({ start_line: 1, line: 3 });
  });
});

describe("a single line", () => {
  it("A stated line that contains the quote is taken before whole lines elsewhere", () => {
    expect(inLong("twin();", 10)).toMatchObject({ line: 10, note: null, asStated: true });
    expect(inLong("twin();", 11)).toMatchObject({ line: 18 });
    expect(inLong("twin();", 4)).toMatchObject({ line: 3 });
  });

  it("A single line moves with its quote, which a suggestion then replaces", () => {
    expect(inLong("line7();", 12)).toMatchObject({ line: 7, asStated: true });
  });

  it("A single line among several quoted ones stays, without its suggestion", () => {
    expect(inLong("line11();\nline12();\nline13();", 12)).toMatchObject({
      start_line: null,
      line: 12,
      note: null,
      asStated: false,
    });
  });
});
