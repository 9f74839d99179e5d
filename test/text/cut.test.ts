import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byteLength, cutAtLine, cutBytes, cutLine, splitLines } from "../../src/text/cut.ts";

describe("cutBytes", () => {
  it("never breaks a character", () => {
    expect(cutBytes("aé漢😀", 1)).toBe("a");
    expect(cutBytes("aé漢😀", 2)).toBe("a");
    expect(cutBytes("aé漢😀", 9)).toBe("aé漢");
    expect(cutBytes("aé漢😀", 10)).toBe("aé漢😀");
    expect(cutBytes("a", 0)).toBe("");
  });

  it("keeps the longest beginning that fits", () => {
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
  ])("cuts %s", (_, text, max, kept, omittedLines) => {
    expect(cutAtLine(text, max)).toEqual({ text: kept, omittedLines });
  });
});

describe("cutLine", () => {
  it("says how much of a long line is missing", () => {
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
  ])("counts %j as git does", (text, lines) => expect(splitLines(text)).toEqual(lines));
});
