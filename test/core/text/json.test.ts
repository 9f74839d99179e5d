import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWithin, JsonMeter, withStrings } from "../../../src/core/text/json.ts";

const limits = { depth: 3, elements: 8, members: 4 };
const mostDigits = 1_000;

/** The counts of a whole text, by a search for each. */
function isWithinByCount(text: string): boolean {
  const outside = text.replace(/"(?:\\[\s\S]|[^"\\])*(?:"|\\?$)/g, '"');
  const count = (pattern: RegExp) => outside.match(pattern)?.length ?? 0;
  let [depth, deepest] = [0, 0];
  for (const sign of outside) {
    depth += "[{".includes(sign) ? 1 : "]}".includes(sign) ? -1 : 0;
    deepest = Math.max(deepest, depth);
  }
  const digits = Math.max(0, ...(outside.match(/\d+/g) ?? []).map((one) => one.length));
  return (
    deepest <= limits.depth &&
    count(/[[{,]/g) <= limits.elements &&
    count(/:/g) <= limits.members &&
    digits <= mostDigits
  );
}

describe("the limits of a JSON text", () => {
  it("The limits of a JSON text hold for the text, however it is cut in pieces", () => {
    const piece = fc.constantFrom(
      ...["[", "]", "{", "}", "{}", "[]", ",", ":", '"a"', "[", "{", '"', '\\"', "\\", "0", "9", " ", "é"],
      ...["9".repeat(333), "0".repeat(334), "8".repeat(500)],
    );
    const verdicts = { within: 0, beyond: 0 };
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 30, size: "max" }).map((pieces) => pieces.join("")),
        fc.infiniteStream(fc.integer({ min: 1, max: 20 })),
        (text, sizes) => {
          const meter = new JsonMeter(limits);
          const bytes = Buffer.from(text);
          let taken = true;
          for (let at = 0, end = 0; taken && at < bytes.length; at = end) {
            end = at + (sizes.next().value ?? 1);
            taken = meter.take(bytes.subarray(at, end));
          }
          const expected = isWithinByCount(text);
          verdicts[expected ? "within" : "beyond"] += 1;
          expect([taken, isWithin(text, limits)]).toEqual([expected, expected]);
        },
      ),
      { numRuns: 3_000 },
    );
    expect(Math.min(verdicts.within, verdicts.beyond)).toBeGreaterThan(200);
  });

  it.each([
    ["a number of that many digits", "7".repeat(mostDigits), true],
    ["a number of one more", "7".repeat(mostDigits + 1), false],
    ["two numbers", `${"7".repeat(mostDigits)}.${"0".repeat(mostDigits)}`, true],
  ])("The limits of a JSON text hold for %s in two pieces", (_, text, isAllowed) => {
    for (const cut of [1, 500, mostDigits - 1, mostDigits]) {
      const meter = new JsonMeter(limits);
      const pieces = [text.slice(0, cut), text.slice(cut)].map((one) => meter.take(Buffer.from(one)));
      expect(pieces, String(cut)).toEqual([true, isAllowed]);
    }
  });
});

describe("a JSON value with other strings", () => {
  it("A JSON value with other strings has each string replaced in its order", () => {
    const seen: string[] = [];
    const value = { a: "1", b: ["2", { c: "3", d: null, e: 4, f: true }, []], g: {}, h: "" };
    const changed = withStrings(value, (text) => {
      seen.push(text);
      return `<${text}>`;
    });
    expect(changed).toEqual({
      ...{ a: "<1>", b: ["<2>", { c: "<3>", d: null, e: 4, f: true }, []], g: {}, h: "<>" },
    });
    expect(seen).toEqual(["1", "2", "3", ""]);
    expect(["x", 1, null, false].map((one) => withStrings(one, () => "y"))).toEqual(["y", 1, null, false]);
  });

  it("A JSON value with other strings leaves the names of properties, whatever they are", () => {
    const text = '{"__proto__":"a","constructor":"a"}';
    expect(JSON.stringify(withStrings(JSON.parse(text), () => "b"))).toBe(text.replaceAll('"a"', '"b"'));
  });
});
