import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  escapeInvisible,
  escapeUnseen,
  showHidden,
  unescapeAsIn,
  unescapeInvisible,
} from "../../../src/core/text/escape-invisible.ts";

const cases: [what: string, text: string, shown: string][] = [
  ["plain code", "if (a && b) {\n\treturn 'é 漢 😀';\n}", "if (a && b) {\n\treturn 'é 漢 😀';\n}"],
  ["tag characters", "a\u{E0049}b", "a\\u{E0049}b"],
  ["a zero-width space", "a\u200Bb", "a\\u{200B}b"],
  ["bidirectional controls", "\u202Eevil\u2066", "\\u{202E}evil\\u{2066}"],
  ["a soft hyphen and a byte order mark", "\u00AD\uFEFF", "\\u{AD}\\u{FEFF}"],
  ["variation selectors", "\uFE0F\u{E0100}", "\\u{FE0F}\\u{E0100}"],
  ["Hangul fillers and the Braille blank", "\u3164\u115F\u2800", "\\u{3164}\\u{115F}\\u{2800}"],
  ["line and paragraph separators", "\u2028\u2029", "\\u{2028}\\u{2029}"],
  ["C0 and C1 controls", "\0\u001B[31m\u007F\u0085", "\\u{0}\\u{1B}[31m\\u{7F}\\u{85}"],
  ["a Mongolian vowel separator and word joiner", "\u180E\u2060", "\\u{180E}\\u{2060}"],
  ["a carriage return", "a\r\nb", "a␍\nb"],
  ["the carriage return sign itself", "␍", "\\u{240D}"],
  ["a literal escape", "'\\u{1F600}'", "'\\u{5C}u{1F600}'"],
  ["a literal escape of the backslash", "\\u{5C}u{41}", "\\u{5C}u{5C}u{41}"],
  ["a doubled backslash before a hidden character", "\\\\\u200B", "\\\\\\u{200B}"],
  ["look-alikes of escapes", "\\u{} \\u{xyz} \\u0041 \\u{1234567}", "\\u{} \\u{xyz} \\u0041 \\u{1234567}"],
  ["a code point that does not exist", "\\u{FFFFFF}", "\\u{5C}u{FFFFFF}"],
  ["a lone surrogate", "\uD800", "\\u{D800}"],
];

describe("escapeInvisible", () => {
  it.each(cases)("escapeInvisible shows %s", (_, text, shown) => expect(escapeInvisible(text)).toBe(shown));

  it.each(cases)("escapeInvisible gives %s back", (_, text) =>
    expect(unescapeInvisible(escapeInvisible(text))).toBe(text),
  );

  it("escapeInvisible gives every text back, also one that imitates escapes", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "\\",
        "u",
        "{",
        "}",
        "5C",
        "\\u{",
        "41}",
        "\\u{5C}",
        "\r",
        "␍",
        "\u200B",
        "\u{E0041}",
        "\n",
      ),
      fc.string({ unit: "binary" }),
    );
    const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, (one) => unescapeInvisible(escapeInvisible(one)) === one),
      { numRuns: 500 },
    );
  });

  it("escapeInvisible leaves nothing that prints as nothing but line feeds and tabs", () => {
    const hidden = /[\p{Default_Ignorable_Code_Point}\p{Cf}\u2800\u2028\u2029]|(?![\n\t])\p{Cc}/u;
    const text = fc.string({ unit: "binary", maxLength: 200 });
    fc.assert(fc.property(text, (one) => !hidden.test(escapeInvisible(one))));
  });

  it("escapeInvisible is fast for a quarter of a million hidden characters", () => {
    const text = "\u{E0049}".repeat(60_000) + "\\u{".repeat(60_000);
    expect(unescapeInvisible(escapeInvisible(text))).toBe(text);
  });
});

describe("unescapeInvisible", () => {
  it("unescapeInvisible leaves what was never escaped, except for characters that exist", () => {
    expect(unescapeInvisible("\\u{FFFFFF} \\u{110000} \\u{10FFFF} \\u{}")).toBe(
      "\\u{FFFFFF} \\u{110000} \u{10FFFF} \\u{}",
    );
  });
});

describe("unescapeAsIn", () => {
  it.each([
    ["a hidden character that the original holds", "a\\u{200B}b", "x\u200By", "a\u200Bb"],
    ["whatever the case of its digits", "a\\u{200b}b", "x\u200By", "a\u200Bb"],
    ["a carriage return that the original holds", "a\u240D", "x\r", "a\r"],
    ["the escape of a literal escape", "/[\\u{5C}u{200B}]/", "/\\u{200B}/", "/[\\u{200B}]/"],
  ])("unescapeAsIn undoes the escape of %s", (_, text, original, expected) => {
    expect(unescapeAsIn(text, original)).toBe(expected);
  });

  it.each([
    ["a character that the original does not hold", "/[\\u{200B}]/", "/[abc]/"],
    ["a character that the original spells out", "/[\\u{200B}\\u{200C}]/", "/[\\u{200B}]/"],
    ["a carriage return that the original does not hold", "show('\u240D')", "show('x')"],
    ["a backslash where the original holds no literal escape", "a\\u{5C}d", "a\\d"],
  ])("unescapeAsIn leaves the escape of %s as it is written", (_, text, original) => {
    expect(unescapeAsIn(text, original)).toBe(text);
  });

  it("unescapeAsIn gives every text back that was escaped to be shown", () => {
    const piece = fc.constantFrom("\r", "\u200B", "\\u{41}", "\\u{5C}", "\u240D", "a", "\\", "{", "u{41}");
    const text = fc.array(piece).map((pieces) => pieces.join(""));
    fc.assert(fc.property(text, (one) => unescapeAsIn(escapeInvisible(one), one) === one));
  });
});

describe("showHidden", () => {
  it.each([
    ["an emoji of several", "👩\u200D🚀 ❤\uFE0F 👍🏽 🏳\uFE0F\u200D🌈"],
    ["a key", "1\uFE0F\u20E3 #\uFE0F\u20E3"],
    ["a joiner between letters that it changes", "می\u200Cخواهم क्\u200Dष"],
    ["the renderer's own breaks", "@\u200Bann #\u200B1 GH`-\u200B1 www`.\u200Ba /\u200Bmerge !\u200Bx"],
    ["what looks like an escape", "\\u{200B} \\u{5C}"],
    ["white space", "a\tb\n c"],
  ])("showHidden leaves %s", (_, text) => expect(showHidden(text)).toBe(text));

  it.each([
    ["a joiner between other letters", "a\u200Db", "a\\u{200D}b"],
    ["a joiner without an emoji behind it", "👩\u200D x", "👩\\u{200D} x"],
    ["a variation of nothing", "a\uFE0F", "a\\u{FE0F}"],
    ["a break elsewhere", "a\u200Bb", "a\\u{200B}b"],
    ["several in a row", "\u202E\u{E0049}\u2800", "\\u{202E}\\u{E0049}\\u{2800}"],
    ["controls and separators", "\u001B[31m\u2028\r", "\\u{1B}[31m\\u{2028}␍"],
  ])("showHidden shows %s", (_, text, shown) => {
    expect(showHidden(text)).toBe(shown);
    expect(showHidden(shown)).toBe(shown);
  });
});

describe("escapeUnseen", () => {
  it("escapeUnseen changes the text of JSON that a terminal acts on, and not its value", () => {
    const value = { a: "\u007F\u009B\u00AD\u061C\u180E\u200B\u2028\u202E\u2066\uFEFF", "é漢😀": "\n" };
    const json = JSON.stringify(value);
    const escaped = escapeUnseen(json);
    expect(escaped).toBe(
      '{"a":"\\u007f\\u009b\\u00ad\\u061c\\u180e\\u200b\\u2028\\u202e\\u2066\\ufeff","é漢😀":"\\n"}',
    );
    expect(JSON.parse(escaped)).toEqual(value);
  });
});
