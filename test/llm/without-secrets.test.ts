import { expect, it } from "vitest";
import type { ModelRequest } from "../../src/llm/model.ts";
import { createOpenAiModel } from "../../src/llm/openai.ts";
import { chatAnswer, endpointFetch } from "../../src/llm/openai-endpoint.ts";
import { readPrices } from "../../src/llm/pricing.ts";
import { registerSecret } from "../../src/secrets/live-secrets.ts";
import { startFakeOpenAi } from "../support/fake-openai.ts";

const secret = "whsec-51d84b067f3a9c2e";
const never = new AbortController().signal;

const request: ModelRequest = {
  messages: [
    { role: "system", content: "You review." },
    { role: "user", content: `+const secret = "${secret}";` },
    {
      role: "assistant",
      content: `It is ${secret}`,
      toolCalls: [{ id: "a", name: "look", arguments: JSON.stringify({ pattern: secret }) }],
    },
    { role: "tool", callId: "a", content: `1: ${secret}` },
  ],
  tools: [],
  maxOutputTokens: 100,
};

it("a secret of the server that stands in a repository is taken out of what a model is told", async () => {
  registerSecret(secret);
  await using endpoint = await startFakeOpenAi({ script: [{ content: "Fine." }], apiKey: "k" });
  const model = createOpenAiModel({
    ...{ apiKey: "k", baseUrl: endpoint.url, model: "m", contextTokens: 1000 },
    ...{ prices: readPrices(null), timeoutMs: 5_000, maxRetries: 0 },
  });
  expect((await model.respond(request, never)).content).toBe("Fine.");
  const told = JSON.stringify(endpoint.requests[0]?.body.messages);
  expect(told).not.toContain(secret);
  expect(told.match(/\[secret\]/g)).toHaveLength(4);
});

it("a request that holds one all the same is not sent", async () => {
  registerSecret(secret);
  let sent = 0;
  const far = {
    timeoutMs: 5_000,
    fetch: async () => {
      sent++;
      return new Response("{}");
    },
  };
  const send = endpointFetch(new URL("https://model.example.com/v1"), far, chatAnswer);
  const body = JSON.stringify({ metadata: { note: secret } });
  const refused = {
    ...{ code: "model_refused", message: expect.stringContaining("a secret of this server") },
    remedy: expect.stringContaining("Report this"),
  };
  await expect(send("https://model.example.com/v1/x", { method: "POST", body })).rejects.toMatchObject(
    refused,
  );
  expect(sent).toBe(0);
});
