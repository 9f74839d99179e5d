import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  byteLength,
  cutAtLine,
  cutBytes,
  cutCharacters,
  cutLine,
  headAndTail,
  splitLines,
} from "../../../src/core/text/cut.ts";

describe("cutBytes", () => {
  it("cutBytes never breaks a character", () => {
    expect(cutBytes("aé漢😀", 1)).toBe("a");
    expect(cutBytes("aé漢😀", 2)).toBe("a");
    expect(cutBytes("aé漢😀", 9)).toBe("aé漢");
    expect(cutBytes("aé漢😀", 10)).toBe("aé漢😀");
    expect(cutBytes("a", 0)).toBe("");
  });

  it("cutBytes keeps the longest beginning that fits", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), fc.nat(80), (text, max) => {
        const kept = cutBytes(text, max);
        const next = [...text.slice(kept.length)][0];
        const longest = next === undefined || byteLength(kept + next) > max;
        return text.startsWith(kept) && byteLength(kept) <= max && longest;
      }),
    );
  });
});

describe("cutAtLine", () => {
  it.each([
    ["what fits", "a\nb\n", 4, "a\nb\n", 0],
    ["at a line", "aa\nbb\ncc", 7, "aa\nbb", 1],
    ["exactly at a line's end", "aa\nbb\ncc", 5, "aa\nbb", 1],
    ["within a first line that is too long", "aaaa\nb", 2, "aa", 2],
    ["the last line of two", "a\nbbbb\n", 4, "a", 1],
    ["behind an empty line", "\nbbbb", 3, "", 1],
    ["before an empty line", "aa\n\nb", 2, "aa", 2],
    ["only the line end", "aa\n", 2, "aa", 0],
  ])("cutAtLine cuts %s", (_, text, max, kept, omittedLines) => {
    expect(cutAtLine(text, max)).toEqual({ text: kept, omittedLines });
  });
});

describe("cutCharacters", () => {
  it("cutCharacters says how much is missing, and breaks no character", () => {
    expect(cutCharacters("abcd", 4)).toBe("abcd");
    expect(cutCharacters("abcdef", 4)).toBe("abcd… [2 more characters]");
    expect(cutCharacters("abc😀", 4)).toBe("abc\uFFFD… [1 more characters]");
  });
});

describe("headAndTail", () => {
  const plain = (line: string) => line.length;
  const lines = Array.from({ length: 100 }, (_, at) => `line ${String(at).padStart(3, "0")}`);

  it("headAndTail returns the output up to the limit, without colors and the ends of its lines", () => {
    const output = "\u001b[31ma\u001b[0m\r\nb\r\nc\n\n\n";
    // Each line takes a line end more.
    expect(headAndTail(output, 6, plain)).toEqual({ text: "a\nb\nc", truncated: false });
    expect(headAndTail("a\rb\n\nc", 100, plain).text).toBe("a\rb\n\nc");
  });

  it("headAndTail returns as many of the first and of the last lines as fit", () => {
    const { text, truncated } = headAndTail(lines.join("\n"), 280, plain);
    const shown = [...lines.slice(0, 10), "[... 80 lines left out here ...]", ...lines.slice(90)];
    expect({ text, truncated }).toEqual({ text: shown.join("\n"), truncated: true });
    expect(headAndTail(lines.join("\n"), 900, plain).truncated).toBe(false);
    expect(headAndTail(lines.join("\n"), 899, plain).truncated).toBe(true);
  });

  it("headAndTail counts lines as they are shown", () => {
    const { text } = headAndTail(lines.join("\n"), 280, (line) => line.length * 2);
    expect(text.split("\n").filter((line) => line.startsWith("line"))).toEqual([
      ...lines.slice(0, 5),
      ...lines.slice(95),
    ]);
  });

  it("headAndTail cuts a line that takes more than a quarter, or 2,000 bytes", () => {
    expect(headAndTail("x".repeat(101), 400, plain).text).toBe(
      `${"x".repeat(100)}… [1 more characters of this line]`,
    );
    expect(headAndTail("x".repeat(2_001), 100_000, plain).text).toContain("… [1 more characters");
  });
});

describe("cutLine", () => {
  it("cutLine says how much of a long line is missing", () => {
    expect(cutLine("abcdef", 4)).toBe("abcd… [2 more characters of this line]");
    expect(cutLine("abcd", 4)).toBe("abcd");
  });
});

describe("splitLines", () => {
  it.each([
    ["", []],
    ["a", ["a"]],
    ["a\n", ["a"]],
    ["a\n\n", ["a", ""]],
    ["a\r\nb", ["a\r", "b"]],
  ])("splitLines counts %j as git does", (text, lines) => expect(splitLines(text)).toEqual(lines));
});
