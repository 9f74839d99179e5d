import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createAnthropicModel } from "../../../src/agent/llm/anthropic.ts";
import type { ModelOptions } from "../../../src/agent/llm/endpoint-model.ts";
import type { Message, ModelTurn } from "../../../src/agent/llm/model.ts";
import { ToolsRefused } from "../../../src/agent/llm/model.ts";
import { createOpenAiModel } from "../../../src/agent/llm/openai.ts";

interface Exchange {
  request: {
    url: string;
    headers?: Record<string, string | null>;
    body?: Record<string, unknown>;
    absent?: string[];
  };
  response: { status: number; body: unknown };
  turn?: Partial<ModelTurn>;
  refusesTools?: boolean;
  /** The code of the error that is reported. */
  fails?: string;
}

interface ProviderFile {
  provider: string;
  page: string;
  /** Default: Chat Completions. */
  api?: "anthropic";
  options: Pick<ModelOptions, "apiKey" | "baseUrl" | "model"> & Partial<ModelOptions>;
  exchanges: Exchange[];
  lists?: Record<string, unknown>;
  contextTokens?: number;
}

const folder = join(import.meta.dirname, "../../../fixtures/exchanges");
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
const open = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8")) as ProviderFile;
const never = new AbortController().signal;
const tools = [
  { name: "diff_file", description: "Shows a diff.", parameters: { type: "object", properties: {} } },
];

function modelOf({ api, options }: ProviderFile, fetch: typeof globalThis.fetch) {
  const given = { contextTokens: 1, prices: {}, timeoutMs: 5_000, maxRetries: 0, ...options, fetch };
  return api === "anthropic" ? createAnthropicModel(given) : createOpenAiModel(given);
}

/** Answers each request with the next exchange, once it is the request that the exchange tells. */
function replaying(exchanges: readonly Exchange[]) {
  let next = 0;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const exchange = exchanges[next++];
    if (!exchange) throw new Error(`no exchange for request ${next}`);
    const { url, headers = {}, body = {}, absent = [] } = exchange.request;
    expect(String(input)).toBe(url);
    const sent = new Headers(init?.headers);
    for (const [name, value] of Object.entries(headers)) expect(sent.get(name)).toBe(value);
    const sentBody = JSON.parse(String(init?.body)) as Record<string, unknown>;
    expect(sentBody).toMatchObject(body);
    for (const name of [...absent, "temperature"]) expect(sentBody).not.toHaveProperty(name);
    return Response.json(exchange.response.body, { status: exchange.response.status });
  };
  return { fetch, asked: () => next };
}

const after = ({ content, toolCalls, extras }: ModelTurn): Message[] => [
  { role: "assistant", content, toolCalls, extras },
  ...toolCalls.map(({ id }): Message => ({ role: "tool", callId: id, content: "read" })),
];

describe.each(files.map((name) => [name.replace(".json", ""), open(name)] as const))("%s", (_, file) => {
  it("Names the page it was made after", () => expect(file.page).toMatch(/^https:\/\//));

  it("This provider is asked as its documentation shows", async () => {
    const { fetch, asked } = replaying(file.exchanges);
    const model = modelOf(file, fetch);
    let messages: Message[] = [{ role: "user", content: "Review this." }];
    // An exchange without an outcome is a refusal that the adapter overcomes by itself.
    const ends = file.exchanges.filter((one) => one.turn || one.refusesTools || one.fails);
    for (const { turn, refusesTools, fails } of ends) {
      const answer = model.respond({ messages, tools, maxOutputTokens: 4_000 }, never);
      if (fails) {
        await expect(answer).rejects.toMatchObject({ code: fails, retryable: false });
        continue;
      }
      if (refusesTools) {
        const error = await answer.catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(ToolsRefused);
        expect(error).toMatchObject({
          retryable: false,
          remedy: expect.stringContaining("HUNKWISE_PROTOCOL=text"),
        });
        continue;
      }
      const got = await answer;
      const { usage, ...expected } = turn ?? {};
      expect(got).toEqual({ ...expected, usage: expect.objectContaining(usage ?? {}) });
      messages = [...messages, ...after(got)];
    }
    expect(asked()).toBe(file.exchanges.length);
  });

  it.runIf(file.lists)("This provider reports its context window", async () => {
    const { lists = {} } = file;
    const fetch: typeof globalThis.fetch = async (input) => {
      const answer = lists[String(input)];
      return answer === undefined ? new Response("not found", { status: 404 }) : Response.json(answer);
    };
    expect(await modelOf(file, fetch).findContextTokens(never)).toBe(file.contextTokens);
  });
});
