import { expect, it } from "vitest";
import { createOpenAiModel } from "../../../src/agent/llm/openai.ts";
import { readPrices } from "../../../src/agent/llm/prices.ts";
import { type FakeScript, startFakeOpenAi } from "../../support/fake-openai.ts";
import { runLoop } from "./loop-fixture.ts";

async function reviewOver(script: FakeScript) {
  const endpoint = await startFakeOpenAi({ script });
  const model = createOpenAiModel({
    apiKey: "test-key",
    baseUrl: endpoint.url,
    model: "gpt-5",
    contextTokens: 100_000,
    prices: readPrices(null),
    timeoutMs: 5_000,
    maxRetries: 2,
    firstPauseMs: 1,
  });
  const run = await runLoop([], { model }).finally(endpoint.close);
  return { ...run, endpoint };
}

it("a loop over HTTP stays legal for a strict endpoint, whatever the model did, and lets it cache the prefix", async () => {
  const { result, endpoint, answers } = await reviewOver([
    { fault: "status", status: 503 },
    { tool_calls: [{ name: "look", arguments: { path: "a" } }] },
    {
      tool_calls: [
        { id: "x", name: "functions.look" },
        { id: "x", name: "look", arguments: "{broken" },
        { name: "" },
      ],
    },
    { content: "" },
    { tool_calls: [{ name: "report", arguments: '{"title": "half' }], finish_reason: "length" },
    { tool_calls: [{ id: "x", name: "finish", arguments: "" }] },
  ]);

  expect(endpoint.complaints).toEqual([]);
  expect(result).toMatchObject({ stopReason: "finished", turns: 5, usage: { requests: 5 } });
  expect(answers).toHaveLength(6);
  expect(result.usage.cachedTokens).toBeGreaterThan(0);
  expect(result.usage.costUsd).toBeGreaterThan(0);
});

it("a loop over HTTP ends with the reason when the endpoint is down for good", async () => {
  const { result, endpoint } = await reviewOver((_, n) =>
    n === 0
      ? { tool_calls: [{ name: "report", arguments: { title: "bug" } }] }
      : { fault: "status", status: 500 },
  );

  expect(result).toMatchObject({
    stopReason: "model_error",
    turns: 1,
    modelError: { code: "model_failed", retryable: true },
  });
  // One answer, three tries, and one in a plainer form.
  expect(endpoint.requests).toHaveLength(5);
});
