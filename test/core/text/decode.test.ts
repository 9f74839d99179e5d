import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeStart,
  decodeText,
  looksBinary,
  splitNul,
  splitRecords,
} from "../../../src/core/text/decode.ts";

describe("decodeStart", () => {
  it("The decoded beginning of a file is the beginning of its text, wherever it is cut", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.nat(100), (text, at) => {
        const bytes = Buffer.from(text);
        const start = decodeStart(bytes, at);
        expect(start.encoding).toBe("utf8");
        expect(text.startsWith(start.text)).toBe(true);
        expect(at - Buffer.byteLength(start.text)).toBeLessThan(
          at < bytes.length ? 4 : Number.POSITIVE_INFINITY,
        );
      }),
    );
  });

  it("The decoded beginning of a file loses no byte of what is no UTF-8", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (numbers) => {
        const bytes = Buffer.from(numbers);
        expect(decodeStart(bytes, 21)).toEqual(decodeText(bytes));
      }),
    );
    const whole = decodeStart(Buffer.from("aéb"), 3);
    expect(whole).toEqual({ text: "aé", encoding: "utf8" });
    const latin = Buffer.from("caf\xe9 n", "latin1");
    expect(decodeStart(latin, 6)).toEqual({ text: "café n", encoding: "latin1" });
  });
});

describe("a text in two encodings", () => {
  it("A text in two encodings is read line by line, each as if it stood alone", () => {
    const line = fc.constantFrom(
      "",
      "ascii",
      "caf\xe9",
      "caf\xc3\xa9",
      "\xe9t\xe9",
      "\xf0\x9f\x98\x80 and",
      "\xff",
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        const bytes = (text: string) => Buffer.from(text, "latin1");
        const alone = lines.map((one) => decodeText(bytes(one)));
        const isUtf8 = alone.every(({ encoding }) => encoding === "utf8");
        expect(decodeText(bytes(lines.join("\n")))).toEqual({
          text: alone.map(({ text }) => text).join("\n"),
          encoding: isUtf8 ? "utf8" : "latin1",
        });
      }),
    );
    expect(decodeText(Buffer.from("caf\xc3\xa9\ncaf\xe9", "latin1")).text).toBe("café\ncafé");
  });
});

describe("splitNul", () => {
  const decode = (field: Buffer) => decodeText(field).text;

  it.each([
    ["UTF-8", Buffer.from("a\0b é\0\0dropped"), ["a", "b é", ""]],
    ["latin encoding", Buffer.from("\0a\0b \xe9\0caf\xc3\xa9\0dropped", "latin1"), ["", "a", "b é", "café"]],
    ["none", Buffer.from(""), []],
  ])("Fields of git's output end with a NUL each, in %s", (_, bytes, fields) => {
    expect(splitNul(bytes, decode)).toEqual(fields);
    expect(splitRecords(bytes).map(decode)).toEqual(fields);
  });

  it("Fields of git's output are of a binary file if one of its first 8,000 bytes is a NUL", () => {
    const withNulAt = (at: number) => Buffer.concat([Buffer.alloc(at, "x"), Buffer.from([0])]);
    expect([0, 7_999, 8_000].map((at) => looksBinary(withNulAt(at)))).toEqual([true, true, false]);
  });
});
