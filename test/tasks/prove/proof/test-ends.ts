import type { TestEnd } from "../../../../src/agent/record/test-end.ts";

/** A test of `total` in cart.js. */
export const test = {
  path: "cart.proof.test.js",
  text: 'import assert from "node:assert/strict";\nimport { total } from "./cart.js";\n\nassert.equal(total([]), 0);\n',
};

const total = { path: "cart.js", name: "total", line: 1 };

/** A run that passes, and has executed the changed function. */
export const passed: TestEnd = {
  ...{ stdout: "", stderr: "", exit_code: 0, ended: null, changed: [], executed: [total], duration_ms: 10 },
};

/** A run that fails as Node prints it. */
export const failed: TestEnd = {
  ...passed,
  exit_code: 1,
  stderr: `file:///work/cart.js:2
  return prices.reduce((sum, price) => sum + price);
                ^

TypeError: Reduce of empty array with no initial value
    at Array.reduce (<anonymous>)
    at total (file:///work/cart.js:2:17)
    at file:///work/cart.proof.test.js:4:14

Node.js v24.21.0
`,
};
