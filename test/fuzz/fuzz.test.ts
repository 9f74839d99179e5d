import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fuzz, textOf } from "../support/fuzz.ts";

// Trying values that never fails would let every other test here pass.

const brief = { values: textOf(["a", "b", "boom"]), sizeOf: (text: string) => text.length, share: 0.03 };
const harmless = (text: string) => text.length;

describe("the fuzzer", () => {
  it("The fuzzer accepts code that keeps its claims", () => {
    expect(() => fuzz({ ...brief, run: harmless })).not.toThrow();
  });

  it("The fuzzer reports the smallest value with an undeclared error, and how to repeat it", () => {
    const run = (text: string) => {
      if (text.includes("boom")) throw new RangeError("out of range");
    };
    // It ends once the value is as small as can be, which a busy machine needs time for.
    expect(() => fuzz({ ...brief, run, share: 1 })).toThrow(
      /HUNKWISE_SEED=\d+, path .*out of range\n"boom"/s,
    );
    expect(() => fuzz({ ...brief, run, mayThrow: (error) => error instanceof RangeError })).not.toThrow();
  });

  it("The fuzzer rejects code with a wrong output", () => {
    const check = (length: number) => expect(length).toBeLessThan(30);
    expect(() => fuzz({ ...brief, run: harmless, check })).toThrow(/HUNKWISE_SEED/);
  });

  it("The fuzzer rejects code that takes quadratic time", () => {
    const run = (text: string) => {
      let steps = 0;
      for (let one = 0; one < text.length; one++)
        for (let other = 0; other < text.length; other++) steps ^= text.charCodeAt(other);
      return steps;
    };
    // Ends with the first that is seen; a busy machine may hide some.
    const long = {
      values: fc.constant("a".repeat(13_000)),
      sizeOf: (text: string) => text.length,
      share: 3,
    };
    expect(() => fuzz({ ...long, run })).toThrow(/takes as long as \d+ walks/);
  });

  it("The fuzzer fails if no value reaches the checked code", () => {
    const refuse = () => {
      throw new RangeError("always");
    };
    expect(() => fuzz({ ...brief, run: refuse, mayThrow: () => true })).toThrow(/none of \d+ cases/);
    expect(() => fuzz({ ...brief, run: harmless, reaches: (length) => length < 0 })).toThrow(/none of/);
  });
});
