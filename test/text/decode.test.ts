import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeStart, decodeText } from "../../src/text/decode.ts";

describe("how a file begins", () => {
  it("is the beginning of its text, wherever it is cut", () => {
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

  it("loses no byte of what is no UTF-8, nor of a file that ends there", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (numbers) => {
        const bytes = Buffer.from(numbers);
        expect(decodeStart(bytes, 21)).toEqual(decodeText(bytes));
      }),
    );
    const latin = Buffer.from("caf\xe9 n", "latin1");
    expect(decodeStart(latin, 6)).toEqual({ text: "café n", encoding: "latin1" });
  });
});
