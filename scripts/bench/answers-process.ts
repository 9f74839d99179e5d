/**
 * Sends one request to an endpoint, in a separate process, and reports the cost of its answer. The arguments give the endpoint's address
 * and the kind of request. A text answer is also parsed as a tool call.
 */
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import type { ModelRequest } from "../../src/agent/llm/model.ts";
import { createOpenAiModel } from "../../src/agent/llm/openai.ts";
import { createOpenAiEmbeddings } from "../../src/agent/llm/openai-embeddings.ts";
import { readPrices } from "../../src/agent/llm/prices.ts";
import { withTextProtocol } from "../../src/agent/llm/text-fallback.ts";
import { createGitHubClient } from "../../src/pull/github/client.ts";
import { createRateLimiter } from "../../src/pull/github/rate-limit.ts";
import type { AnswersReport } from "./answers.ts";

const [, , baseUrl = "", kind = "chat"] = process.argv;
const endpoint = {
  ...{ apiKey: "key-of-the-bench", baseUrl, model: "m", timeoutMs: 60_000, maxRetries: 0 },
  ...{ contextTokens: 100_000, prices: readPrices(null) },
};
const { signal } = new AbortController();
const tool = { name: "x", description: "", parameters: { type: "object", properties: {} } };
const request: ModelRequest = {
  messages: [{ role: "user", content: "?" }],
  tools: [tool],
  maxOutputTokens: 100,
};

/** Memory of this process, in megabytes. */
const memory = (what: "VmHWM" | "VmRSS") =>
  Number(new RegExp(`^${what}:\\s+(\\d+)`, "m").exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024;

const asks: Record<string, () => Promise<unknown>> = {
  chat: () => withTextProtocol(createOpenAiModel(endpoint)).respond(request, signal),
  embeddings: () => createOpenAiEmbeddings(endpoint).embed(Array<string>(96).fill("text"), signal),
  github: () =>
    createGitHubClient({
      baseUrl,
      userAgent: "bench",
      limits: createRateLimiter({ gapMs: 0 })(1),
      token: async () => "token",
      reach: { check: () => {} },
    }).list("/list", 1),
};

const before = memory("VmRSS");
const pause = monitorEventLoopDelay({ resolution: 1 });
pause.enable();
const ask = asks[kind] ?? (() => Promise.reject(new Error("Nothing was asked for")));
const end = await ask().then(
  () => "taken",
  (error: Error) => `refused: ${error.message.slice(-60)}`,
);
// Includes work that is still in progress when the answer has been read.
await delay(20);
pause.disable();
const report: AnswersReport = {
  milliseconds: pause.max / 1e6,
  megabytes: Math.max(0, memory("VmHWM") - before),
  end,
};
console.log(JSON.stringify(report));
