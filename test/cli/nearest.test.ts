import { describe, expect, it } from "vitest";
import { nearest } from "../../src/cli/nearest.ts";

const known = ["review", "tool", "serve", "worker", "webhook", "doctor", "config"];

describe("the nearest word", () => {
  it("finds typing errors and beginnings", () => {
    expect(nearest("reveiw", known)).toBe("review");
    expect(nearest("tools", known)).toBe("tool");
    expect(nearest("doc", known)).toBe("doctor");
    expect(nearest("web", known)).toBe("webhook");
  });

  it("does not guess what nobody meant", () => {
    expect(nearest("deploy", known)).toBeUndefined();
    expect(nearest("", known)).toBeUndefined();
    expect(nearest("x".repeat(100_000), known)).toBeUndefined();
  });
});
