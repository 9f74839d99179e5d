import type { ChatRequestBody, FakeAnswer, FakeScript } from "./fake-openai.ts";

export interface WrittenProof {
  test: { path: string; text: string };
  outcome?: "regression" | "reproduced" | "ran_right";
  before?: string;
  now?: string;
}

const offers = (body: ChatRequestBody, tool: string) =>
  (body.tools ?? []).some((one) => one.function.name === tool);

const call = (name: string, args: Record<string, unknown>): FakeAnswer => ({
  tool_calls: [{ name, arguments: args }],
});

/** A script that also writes this test for each finding, ends its proof, and finds nothing in the change that asks for what it shows. */
export function alsoProving(
  script: FakeScript,
  { test, outcome = "regression", before = "it returns 0", now = "it throws" }: WrittenProof,
): FakeScript {
  let reviews = 0;
  return (body, n) => {
    if (offers(body, "report_intent"))
      return call("report_intent", { asks: "silent", quote: "", fits: true });
    if (offers(body, "try_test")) {
      const hasRun = body.messages.some(({ role }) => role === "tool");
      if (!hasRun) return call("try_test", { path: test.path, content: test.text });
      return call("finish_proof", { outcome, before, now, reason: "It calls the function." });
    }
    if (typeof script === "function") return script(body, n);
    const answer = script[reviews++];
    if (answer === undefined) throw new Error("the script has no answer to this request");
    return answer;
  };
}

/** A change of one function that breaks it for empty carts, the finding about it, and a test that shows it. */
export const emptyCart = {
  base: {
    "src/cart.js":
      "export function total(prices) {\n  return prices.reduce((sum, one) => sum + one, 0);\n}\n",
  },
  head: {
    "src/cart.js": "export function total(prices) {\n  return prices.reduce((sum, one) => sum + one);\n}\n",
  },
  finding: {
    path: "src/cart.js",
    side: "RIGHT",
    line: 2,
    quote: "  return prices.reduce((sum, one) => sum + one);",
    ...{ severity: "high", category: "correctness", confidence: 0.9 },
    title: "An empty cart has no total",
    body: "total([]) throws, and callers show the cart before anything is in it.",
  },
  test: {
    path: "src/cart.proof.test.js",
    text: 'import assert from "node:assert/strict";\nimport { total } from "./cart.js";\n\nassert.equal(total([]), 0);\n',
  },
} as const;
