import { describe, expect, it } from "vitest";
import { shapeOf } from "../../../../src/tasks/review/verify/claim.ts";

describe("lines that are built alike", () => {
  it.each([
    ["  if (retries <= maximum) {", "if (count <= limit) {"],
    ['const user = await db.find("a", id);', 'const order = await db.find("orders", key);'],
    ["total += items[i].price * 100;", "sum += rows[n].cost * 7;"],
  ])("%s has the shape of %s", (one, other) => {
    expect(shapeOf(one)).toBe(shapeOf(other));
  });

  it.each([
    ["if (retries <= maximum) {", "if (retries < maximum) {"],
    ["a.close(b, c, d)", "a.open(b, c, d)"],
    ["return foo(a, b, null)", "return foo(a, b, other)"],
  ])("%s has another shape than %s", (one, other) => {
    expect(shapeOf(one)).not.toBe(shapeOf(other));
  });

  it("a line of few parts, or one that no person wrote, has none", () => {
    expect(shapeOf("  }")).toBeNull();
    expect(shapeOf("return x;")).toBeNull();
    expect(shapeOf("a+".repeat(500))).toBeNull();
  });
});
