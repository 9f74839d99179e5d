import { describe, expect, it } from "vitest";
import { definitionNamed, symbolAt } from "../../../src/tasks/anchor/symbols.ts";

const code = [
  ...["import { tax } from './tax';", "", "export class Cart {", "  total() {"],
  ...["    const sum = this.items.map((item) => {", "      return item.price;", "    });"],
  ...["    return tax(sum);", "  }", "}", "", "export const limit = {", "  items: 3,", "};", ""],
  ...["function total() {", "  return 1;", "}"],
];

describe("the symbol of a line", () => {
  it("The symbol is the innermost definition that runs, with its parent", async () => {
    expect(await symbolAt("cart.ts", code, 8)).toBe("Cart.total");
    expect(await symbolAt("cart.ts", code, 17)).toBe("total");
  });

  it("The symbol is another definition where none runs, and null outside of all", async () => {
    expect(await symbolAt("cart.ts", code, 3)).toBe("Cart");
    expect(await symbolAt("cart.ts", code, 12)).toBe("limit");
    expect(await symbolAt("cart.ts", code, 1)).toBeNull();
  });

  it("Text, data, missing and large files have no symbols", async () => {
    const large = Array.from({ length: 7_000 }, () => `call("${"x".repeat(100)}");`);

    expect(await symbolAt("README.md", ["# total", "It sums."], 2)).toBeNull();
    expect(await symbolAt("package.json", ["{", '  "total": 1', "}"], 2)).toBeNull();
    expect(await symbolAt("cart.ts", null, 2)).toBeNull();
    expect(await symbolAt("cart.ts", ["function a() {", ...large, "}"], 2)).toBeNull();
  });
});

describe("a definition by its name", () => {
  it("Of several definitions with a name, the nearest is found", async () => {
    const twice = [...code.slice(15), "", ...code.slice(15)];

    expect(await definitionNamed("cart.ts", code, "Cart.total", null)).toMatchObject({ start: 4, end: 9 });
    expect(await definitionNamed("cart.ts", twice, "total", 6)).toMatchObject({ start: 5 });
    expect(await definitionNamed("cart.ts", twice, "total", 2)).toMatchObject({ start: 1 });
    expect(await definitionNamed("cart.ts", code, "count", 2)).toBeNull();
  });
});
