import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { censored, merged, valuesIn, withoutRanges } from "../../../src/core/secrets/ranges.ts";

const ranges = fc.array(
  fc
    .tuple(fc.nat(30), fc.integer({ min: 1, max: 10 }))
    .map(([start, length]) => ({ start, end: start + length })),
  { maxLength: 8 },
);
const text = "abcdefghijklmnopqrstuvwxyz0123456789ABCD";

/** The text with each place in a range as a dot. */
function dotted(some: readonly { start: number; end: number }[]): string {
  const isIn = (at: number) => some.some(({ start, end }) => start <= at && at < end);
  return Array.from(text, (sign, at) => (isIn(at) ? "." : sign)).join("");
}

describe("ranges of a text", () => {
  it("Ranges of a text are merged into the fewest that cover the same, in order", () => {
    fc.assert(
      fc.property(ranges, (some) => {
        const given = structuredClone(some);
        const runs = [...dotted(some).matchAll(/\.+/g)].map(({ 0: run, index }) => ({
          start: index,
          end: index + run.length,
        }));
        expect(merged(some)).toEqual(runs);
        expect(some).toEqual(given);
      }),
    );
  });

  it("Ranges of a text become one mark for each stretch, and nothing else is lost", () => {
    fc.assert(
      fc.property(ranges, (some) => {
        expect(withoutRanges(text, some)).toBe(dotted(some).replace(/\.+/g, () => censored));
      }),
    );
  });
});

describe("the values of a key", () => {
  const lines = ["MIIEpAIBAAKCAQEA7bq2", "+x9Kq3vT8mN2pL5wRz1c/aa=="];
  const key = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "Proc-Type: 4,ENCRYPTED",
    "DEK-Info: AES-256-CBC,5E3F",
    "",
    ...lines,
    "-----END RSA PRIVATE KEY-----",
  ];
  const valuesOf = (whole: string) =>
    valuesIn(`k = ${whole}`, [{ start: 4, end: 4 + whole.length }]).map(({ start, end }) =>
      `k = ${whole}`.slice(start, end),
    );

  it.each([
    ["as it is", key.join("\n")],
    ["with the line ends of Windows", key.join("\r\n")],
    ["in a string of a program", key.join("\\n")],
    ["in PuTTY's format", `Private-Lines: 2\n${lines.join("\n")}`],
  ])("The values of a key are the parts of its body on each line, without its headers: %s", (_, whole) => {
    expect(valuesOf(whole)).toEqual(["MIIEpAIBAAKCAQEA7bq2", "x9Kq3vT8mN2pL5wRz1c/aa=="]);
  });

  it("The values of a key of another secret are the secret", () => {
    expect(valuesOf("ghp_16C7e42F292c")).toEqual(["ghp_16C7e42F292c"]);
  });
});
