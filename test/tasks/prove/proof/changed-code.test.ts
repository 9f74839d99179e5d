import { describe, expect, it } from "vitest";
import { parseFilePatch } from "../../../../src/repo/diff/file-diff.ts";
import { findChangedCode, keyOf } from "../../../../src/tasks/prove/proof/changed-code.ts";

const text = `import { tax } from "./tax.js";

export const rate = 2;

export function total(prices) {
  const sum = prices.reduce((all, one) => all + one);
  return sum * rate;
}

class Cart {
  get size() {
    return this.items.length;
  }
  checkout() {
    return total(this.items);
  }
}
`;

const patch = (hunks: string) => `diff --git a/cart.js b/cart.js\n--- a/cart.js\n+++ b/cart.js\n${hunks}`;

async function changedBy(hunks: string, path = "cart.js") {
  return findChangedCode([{ change: { path }, diff: parseFilePatch(patch(hunks), path, null), text }]);
}

const inTotal = `@@ -5,4 +5,4 @@
 export function total(prices) {
-  const sum = prices.reduce((all, one) => all + one, 0);
+  const sum = prices.reduce((all, one) => all + one);
   return sum * rate;
 }
`;

describe("the changed code", () => {
  it("The function around changed lines is changed, by its name or by its lines", async () => {
    const code = await changedBy(inTotal);
    expect(code.includes({ path: "cart.js", name: "total", line: 99 })).toBe(true);
    expect(code.includes({ path: "cart.js", name: "anonymous", line: 6 })).toBe(true);
    expect(code.includes({ path: "cart.js", name: "checkout", line: 14 })).toBe(false);
    expect(code.includes({ path: "other.js", name: "total", line: 5 })).toBe(false);
    expect(code.includesLine({ path: "cart.js", line: 7 })).toBe(true);
    expect(code.includesLine({ path: "cart.js", line: 9 })).toBe(false);
  });

  it("Statements of a file are changed code only if they changed", async () => {
    const statements = { path: "cart.js", name: "", line: 1 };
    expect((await changedBy(inTotal)).includes(statements)).toBe(false);
    const imports = `@@ -1,2 +1,2 @@\n-import { taxes } from "./tax.js";\n+import { tax } from "./tax.js";\n \n`;
    expect((await changedBy(imports)).includes(statements)).toBe(false);
    const rate = `@@ -3,1 +3,1 @@\n-export const rate = 1;\n+export const rate = 2;\n`;
    expect((await changedBy(rate)).includes(statements)).toBe(true);
  });

  it("A function without a name is changed code outside of all definitions", async () => {
    const text = `const { check } = require("./check.js");

module.exports = (options) => (request) => {
  if (!options.methods.includes(request.method)) return null;
  return check(request);
};

function other() {
  return 1;
}
`;
    const hunk = `@@ -4,1 +4,1 @@\n-  if (!allowed(request)) return null;\n+  if (!options.methods.includes(request.method)) return null;\n`;
    const diff = parseFilePatch(patch(hunk), "cart.js", null);
    const code = await findChangedCode([{ change: { path: "cart.js" }, diff, text }]);
    expect(code.includes({ path: "cart.js", name: "(anonymous)", line: 3 })).toBe(true);
    expect(code.includes({ path: "cart.js", name: "other", line: 8 })).toBe(false);
  });

  it("A function from which lines were only removed is changed", async () => {
    const removed = `@@ -10,6 +10,5 @@
 class Cart {
   get size() {
-    if (!this.items) return 0;
     return this.items.length;
   }
`;
    const code = await changedBy(removed);
    expect(code.includes({ path: "cart.js", name: "get size", line: 11 })).toBe(true);
  });

  it("A constructor is changed under the name of its class, as V8 reports it", async () => {
    const text = "class Cart extends Base {\n  constructor(items) {\n    super(items);\n  }\n}\n";
    const hunk = "@@ -2,2 +2,2 @@\n   constructor(items) {\n-    super();\n+    super(items);\n";
    const diff = parseFilePatch(patch(hunk), "cart.js", null);
    const code = await findChangedCode([{ change: { path: "cart.js" }, diff, text }]);
    expect(code.includes({ path: "cart.js", name: "Cart", line: 99 })).toBe(true);
  });

  it("Tests have no changed code", async () => {
    const code = await changedBy(inTotal, "test/cart.test.js");
    expect(code.includes({ path: "test/cart.test.js", name: "total", line: 5 })).toBe(false);
  });

  it("Functions that call changed code lead to it", async () => {
    const code = await changedBy(inTotal);
    const ran = ["total", "checkout", "get size", ""].map((name) => ({ path: "cart.js", name, line: 1 }));
    const leading = await code.leadingTo(ran.slice(1), async () => text);
    expect(leading).toEqual(new Set([keyOf({ path: "cart.js", name: "checkout" })]));
  });
});

describe("an error that the change adds", () => {
  const hunk = `@@ -5,3 +5,5 @@
 export function total(prices) {
+  if (prices === null)
+    throw new TypeError(\`expected prices to be a list, got \${prices}\`);
-  const sum = prices.reduce((all, one) => all + one, 0);
+  const sum = prices.reduce((all, one) => all + one);
   return sum * rate;
`;

  it("An added error is known by its place and by its words", async () => {
    const code = await changedBy(hunk);
    const isAdded = (output: string, line = 99) =>
      code.isThrownOnPurpose({ frames: [{ path: "cart.js", line }], output });
    expect(isAdded("", 7)).toBe(true);
    expect(isAdded("AssertionError: Got unwanted exception: expected prices to be a list, got null")).toBe(
      true,
    );
    expect(isAdded("TypeError: Reduce of empty array with no initial value", 8)).toBe(false);
  });

  it("An error that the change only moves is not added", async () => {
    const moved = `@@ -5,3 +5,3 @@
 export function total(prices) {
-    throw new TypeError("expected prices to be a list");
+  throw new TypeError("expected prices to be a list");
   return sum * rate;
`;
    const code = await changedBy(moved);
    const frames = [{ path: "cart.js", line: 6 }];
    expect(code.isThrownOnPurpose({ frames, output: "expected prices to be a list" })).toBe(false);
  });

  it.each(["\\\\a", '\\\\"', "{", "'{"])("An added error is found in a line of many %j", async (slow) => {
    const thrown = `  throw new Error('${slow.repeat(100_000)}`;
    const text = `function total() {\n${thrown}\n}\n`;
    const diff = parseFilePatch(
      patch(`@@ -1,2 +1,3 @@\n function total() {\n+${thrown}\n }\n`),
      "cart.js",
      null,
    );
    const code = await findChangedCode([{ change: { path: "cart.js" }, diff, text }]);
    expect(code.isThrownOnPurpose({ frames: [{ path: "cart.js", line: 2 }], output: "" })).toBe(true);
  });
});
