import { createServer } from "node:net";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import { chatAnswer, endpointFetch, statusError } from "../../src/llm/endpoint.ts";
import { type Message, ModelAbsent, type ModelRequest, NothingListens } from "../../src/llm/model.ts";
import { createOpenAiModel, type OpenAiOptions } from "../../src/llm/openai.ts";
import { openAi } from "../../src/llm/openai-client.ts";
import { readPrices } from "../../src/llm/prices.ts";
import { registerSecret } from "../../src/secrets/live-secrets.ts";
import { type FakeAnswer, type FakeOpenAiOptions, startFakeOpenAi } from "../support/fake-openai.ts";

const KEY = "sk-secret-1234567890";
const tools = [
  { name: "look", description: "Looks.", parameters: { type: "object", properties: {}, required: [] } },
];
const ask = (
  messages: Message[] = [{ role: "user", content: "hello" }],
  more: Partial<ModelRequest> = {},
) => ({
  messages,
  tools,
  maxOutputTokens: 4_000,
  ...more,
});
const never = new AbortController().signal;

/** A model in front of a fake endpoint, with pauses of milliseconds. */
async function setUp(
  script: FakeOpenAiOptions["script"],
  more: Partial<OpenAiOptions> = {},
  server: Partial<FakeOpenAiOptions> = {},
) {
  const endpoint = await startFakeOpenAi({ script, apiKey: KEY, ...server });
  const model = createOpenAiModel({
    apiKey: KEY,
    baseUrl: endpoint.url,
    model: "gpt-5-2025-08-07",
    contextTokens: 100_000,
    prices: readPrices(null),
    timeoutMs: 5_000,
    maxRetries: 3,
    firstPauseMs: 1,
    ...more,
  });
  return { endpoint, model, [Symbol.asyncDispose]: endpoint.close };
}

async function failure(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  // Whatever went wrong, and however deep it is printed: one line, and never the key.
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(KEY);
  expect((error as AppError).line).not.toContain("\n");
  return error as AppError;
}

describe("a model behind Chat Completions", () => {
  it("answers in neutral terms, with what it cost", async () => {
    const usage = { prompt_tokens: 1_000_000, completion_tokens: 100_000, cached_tokens: 400_000 };
    await using set = await setUp([
      { content: "I look.", tool_calls: [{ id: "a", name: "look", arguments: { at: 1 } }], usage },
    ]);

    const turn = await set.model.respond(ask(), never);

    expect(turn).toEqual({
      content: "I look.",
      toolCalls: [{ id: "a", name: "look", arguments: '{"at":1}' }],
      finishReason: "tool_calls",
      usage: {
        promptTokens: 1_000_000,
        cachedTokens: 400_000,
        completionTokens: 100_000,
        costUsd: expect.closeTo(1.8),
      },
    });
    expect(set.endpoint.requests[0]?.body).toMatchObject({
      model: "gpt-5-2025-08-07",
      parallel_tool_calls: true,
    });
    expect(set.endpoint.complaints).toEqual([]);
  });

  it("sends back a conversation that the endpoint takes, whatever the model wrote before", async () => {
    await using set = await setUp([{ content: "ok" }, { content: "ok" }]);
    const messages: Message[] = [
      { role: "system", content: "s" },
      { role: "user", content: "lone surrogate \ud800" },
      {
        role: "assistant",
        content: "",
        toolCalls: [
          { id: "a", name: "functions.look", arguments: "{broken" },
          { id: "b", name: "", arguments: "[1]" },
          { id: "c", name: "look", arguments: '{"x": 1}' },
        ],
      },
      ...["a", "b", "c"].map((callId): Message => ({ role: "tool", callId, content: "seen" })),
      { role: "assistant", content: "", toolCalls: [] },
      { role: "user", content: "go on" },
    ];

    await set.model.respond(ask(messages), never);
    await set.model.respond(ask(messages, { tools: [] }), never);

    expect(set.endpoint.complaints).toEqual([]);
    const sent = set.endpoint.requests[0]?.body.messages[2]?.tool_calls?.map((call) => call.function);
    expect(sent?.map((call) => call.name)).toEqual(["functions_look", "unnamed", "look"]);
    expect(sent?.map((call) => JSON.parse(call.arguments))).toEqual([
      { not_json: "{broken" },
      { not_json: "[1]" },
      { x: 1 },
    ]);
    expect(set.endpoint.requests[1]?.body.tools).toBeUndefined();
  });

  it("sends no Authorization header where there is no key", async () => {
    const seen: (string | null)[] = [];
    await using set = await setUp([], {
      apiKey: null,
      fetch: async (_, init) => {
        seen.push(new Headers(init?.headers).get("authorization"));
        return Response.json({ choices: [{ message: { content: "hi" } }] });
      },
    });

    await set.model.respond(ask(), never);

    expect(seen).toEqual([null]);
  });

  it("lists the models of an endpoint, or says that it has no list", async () => {
    await using set = await setUp([], {}, { models: ["one", "two"] });
    await using none = await setUp([], { fetch: async () => new Response("no", { status: 404 }) });

    expect(await set.model.listModels(never)).toEqual(["one", "two"]);
    expect(await none.model.listModels(never)).toBeNull();
  });
});

describe("retries", () => {
  const down = (status: number, headers: Record<string, string> = {}): FakeAnswer => ({
    fault: "status",
    status,
    headers,
  });

  it.each<[string, FakeAnswer]>([
    ["408", down(408)],
    ["409", down(409)],
    ["429", down(429)],
    ["500", down(500)],
    ["503", down(503)],
    ["529", down(529)],
    ["a reset connection", { fault: "reset" }],
    ["an answer that was cut off", { fault: "truncated" }],
    [
      "an overload told with status 200",
      { fault: "json", body: { error: { code: 502, message: "upstream" } } },
    ],
  ])("come after %s, until there is an answer", async (_, fault) => {
    await using set = await setUp([fault, fault, { content: "at last" }]);

    const turn = await set.model.respond(ask(), never);

    expect(turn.content).toBe("at last");
    expect(set.endpoint.requests).toHaveLength(3);
  });

  it("are bounded, and tell that it may work later", async () => {
    await using set = await setUp(() => down(500), { maxRetries: 2 });

    const error = await failure(set.model.respond(ask(), never));

    expect([error.code, error.retryable]).toEqual(["model_failed", true]);
    expect(set.endpoint.requests).toHaveLength(3);
  });

  it.each([
    [down(429, { "retry-after": "7" }), 7_000, 7_000],
    [down(429, { "retry-after-ms": "1200", "retry-after": "99" }), 1_200, 1_200],
    [down(503, { "retry-after": new Date(Date.now() + 1_800_000).toUTCString() }), 1, 1_800_000],
  ])("know the pause that the endpoint asks for: %o", async (fault, least, most) => {
    await using set = await setUp([fault], { maxRetries: 0 });

    const { retryAfterMs } = await failure(set.model.respond(ask(), never));

    expect(retryAfterMs).toBeGreaterThanOrEqual(least);
    expect(retryAfterMs).toBeLessThanOrEqual(most);
  });

  it("do not wait for an hour: the fault says when to come back", async () => {
    await using set = await setUp([down(429, { "retry-after": "3600" })]);

    const error = await failure(set.model.respond(ask(), never));

    expect(error).toMatchObject({ code: "model_rate_limited", retryable: true, retryAfterMs: 3_600_000 });
    expect(set.endpoint.requests).toHaveLength(1);
  });

  it.each([
    { "retry-after": "99999999" },
    { "retry-after": "Fri, 01 Jan 2100 00:00:00 GMT" },
    { "retry-after-ms": "Infinity" },
  ])("come in an hour at the latest, whatever the endpoint says (%o)", async (headers) => {
    await using set = await setUp([down(429, headers)]);
    expect((await failure(set.model.respond(ask(), never))).retryAfterMs).toBe(3_600_000);
  });

  it.each([400, 401, 402, 403, 404, 413, 422])("never come after %i", async (status) => {
    await using set = await setUp(() => down(status));

    const error = await failure(set.model.respond(ask(), never));

    expect(error.retryable).toBe(false);
    // An unexplained refusal is followed by the most careful form of the request.
    expect(set.endpoint.requests).toHaveLength(status === 400 || status === 422 ? 2 : 1);
  });

  it("come after a time-out, which every try has", async () => {
    await using set = await setUp([{ fault: "hang" }, { content: "ok" }], { timeoutMs: 2_000 });

    expect((await set.model.respond(ask(), never)).content).toBe("ok");
    expect(set.endpoint.requests.map((one) => one.hungUp)).toEqual([true, false]);
  });

  it("end when the caller aborts a request", async () => {
    const abort = new AbortController();
    await using set = await setUp(() => {
      abort.abort();
      return { fault: "hang" };
    });

    const error = await failure(set.model.respond(ask(), abort.signal));

    expect(error.code).toBe("aborted");
    expect(set.endpoint.requests).toHaveLength(1);
  });
});

describe("parameters that a server does not take", () => {
  it("are exchanged once and remembered: max_tokens for max_completion_tokens", async () => {
    await using set = await setUp(() => ({ content: "ok" }), {}, { tokenParameter: "max_completion_tokens" });

    await set.model.respond(ask(), never);
    await set.model.respond(ask(), never);

    expect(set.endpoint.requests.map(({ body }) => [body.max_tokens, body.max_completion_tokens])).toEqual([
      [4_000, undefined],
      [undefined, 4_000],
      [undefined, 4_000],
    ]);
  });

  it("are given up: parallel_tool_calls, and answers longer than the server allows", async () => {
    const refuse = (message: string, param: string): FakeAnswer => ({
      fault: "status",
      status: 400,
      body: { error: { message, param, code: "unsupported_parameter" } },
    });
    await using set = await setUp(({ parallel_tool_calls, max_tokens }) => {
      if (parallel_tool_calls)
        return refuse("Unsupported parameter: 'parallel_tool_calls'", "parallel_tool_calls");
      if (Number(max_tokens) > 2_000) return refuse("max_tokens is too large: at most 2048", "max_tokens");
      return { content: "ok" };
    });

    expect((await set.model.respond(ask(), never)).content).toBe("ok");
    expect(set.endpoint.requests).toHaveLength(3);
  });

  it("that one request was too long for are exchanged for it alone", async () => {
    await using set = await setUp(({ max_tokens, messages }) => {
      const long = (messages as unknown[]).length > 1;
      if (!long || Number(max_tokens) <= 1_192) return { content: "ok" };
      const message = `'max_tokens' or 'max_completion_tokens' is too large: ${max_tokens}. This model's maximum context length is 8192 tokens and your request has 7000 input tokens (${max_tokens} > 8192 - 7000).`;
      return { fault: "status", status: 400, body: { error: { message } } };
    });
    const long: Message[] = [
      { role: "system", content: "a" },
      { role: "user", content: "b" },
    ];
    await set.model.respond(ask(long, { maxOutputTokens: 4_000 }), never);
    await set.model.respond(ask(), never);
    expect(set.endpoint.requests.map(({ body }) => body.max_tokens)).toEqual([
      4_000,
      8_192 - 7_000 - 35,
      4_000,
    ]);
  });

  it("are as they were after a request that was refused whatever it was sent with", async () => {
    const words =
      "parallel_tool_calls, reasoning_content and max_tokens, as your message says, are not supported";
    await using set = await setUp(({ messages }) =>
      JSON.stringify(messages).includes("hostile")
        ? { fault: "status", status: 400, body: { error: { message: words } } }
        : { content: "ok" },
    );
    await failure(set.model.respond(ask([{ role: "user", content: "hostile" }]), never));
    await set.model.respond(ask(), never);
    expect(set.endpoint.requests.length).toBeGreaterThan(2);
    expect(set.endpoint.requests.at(-1)?.body).toMatchObject({
      parallel_tool_calls: true,
      max_tokens: 4_000,
    });
  });

  it("do not go on for ever: a server that refuses both bounds is told so", async () => {
    await using set = await setUp(({ max_tokens }) => ({
      fault: "status",
      status: 400,
      body: {
        error: { message: `Unknown parameter: ${max_tokens ? "max_tokens" : "max_completion_tokens"}` },
      },
    }));

    expect((await failure(set.model.respond(ask(), never))).code).toBe("model_refused");
    expect(set.endpoint.requests).toHaveLength(2);
  });
});

describe("failures name cause and remedy", () => {
  it("a bad key, even where the endpoint repeats it", async () => {
    await using set = await setUp([], {}, { apiKey: "another" });
    await using echo = await setUp([
      { fault: "status", status: 400, body: { error: { message: `your key ${KEY} is odd` } } },
    ]);

    const refused = await failure(set.model.respond(ask(), never));
    expect(refused.code).toBe("model_unauthorized");
    expect(refused.line).toMatch(/refused the API key \(401\)\. Set OPENAI_API_KEY/);
    expect((await failure(echo.model.respond(ask(), never))).line).toContain("your key [key] is odd");
  });

  it("in an excerpt, no part of a key that stands where it is cut", async () => {
    const said = (before: number) => `${"x".repeat(before)}${KEY}${"!".repeat(30)}`;
    const lengths = Array.from({ length: KEY.length }, (_, at) => 500 - at);
    const answers = lengths.flatMap((length): FakeAnswer[] => [
      { fault: "status", status: 400, body: { error: { message: said(length) } } },
      { fault: "json", body: { error: { code: 400, message: said(length) } } },
      { fault: "json", body: { answer: said(length - '{"answer":"'.length) } },
    ]);
    for (const answer of answers) {
      await using set = await setUp(() => answer, { maxRetries: 0 });
      expect((await failure(set.model.respond(ask(), never))).message).toMatch(/x(\[k?e?y?\]?!*)?\.\.\.$/);
    }
  });

  it("a bad key, by the variable that holds the key of such an endpoint", () => {
    const refusal = { status: 401, param: "", message: "", words: "", headers: undefined };
    const at = (address: string) =>
      statusError(refusal, { provider: openAi, model: "m", address, timeoutMs: 1, hideKey: (text) => text })
        .remedy;
    expect(at("https://api.openai.com/v1")).toBe("Set OPENAI_API_KEY to a valid key.");
    expect(at("https://mine.openai.azure.com/openai/v1")).toBe("Set AZURE_OPENAI_API_KEY to a valid key.");
  });

  it("an unknown model", async () => {
    await using set = await setUp([], { model: "gpt-99" }, { models: ["one"] });

    expect((await failure(set.model.respond(ask(), never))).line).toMatch(
      /has no model "gpt-99" \(404\)\. Set HUNKWISE_MODEL/,
    );
  });

  it("an unknown model, in whatever words: another one may stand in for it", async () => {
    const words: [number, string][] = [
      [404, "The API deployment for this resource does not exist."],
      [400, "gpt-99 is not a valid model ID"],
      [400, "Invalid model: gpt-99"],
    ];
    const refusals = words.map(
      ([status, message]): FakeAnswer => ({
        ...{ fault: "status", status, body: { error: { message } } },
      }),
    );
    await using set = await setUp(refusals, { model: "gpt-99" });
    for (const _ of words) {
      const absent = await failure(set.model.respond(ask(), never));
      expect(absent).toBeInstanceOf(ModelAbsent);
      expect(absent.message).toContain('has no model "gpt-99"');
    }
  });

  it("a base URL without its /v1, one that nobody listens on, one that is a web page, one that is no address", async () => {
    await using set = await setUp([]);
    await using page = await setUp([{ fault: "html" }]);
    const free = createServer().listen(0, "127.0.0.1");
    await new Promise((listening) => free.once("listening", listening));
    const { port } = free.address() as { port: number };
    await new Promise((closed) => free.close(closed));
    const at = (baseUrl: string) =>
      createOpenAiModel({
        apiKey: KEY,
        baseUrl,
        model: "m",
        contextTokens: 1,
        prices: {},
        timeoutMs: 5_000,
        maxRetries: 0,
      });

    const wrongPath = await failure(at(set.endpoint.url.replace("/v1", "")).respond(ask(), never));
    const nobody = await failure(at(`http://127.0.0.1:${port}/v1`).respond(ask(), never));
    const blocked = await failure(at("http://127.0.0.1:9/v1").respond(ask(), never));
    const web = await failure(page.model.respond(ask(), never));

    expect(wrongPath.line).toMatch(
      /does not support chat completions \(404\)\. Check OPENAI_BASE_URL: it usually ends with \/v1/,
    );
    expect(nobody.line).toMatch(
      /Cannot reach the model endpoint http:\/\/127.0.0.1:\d+\/v1 \(ECONNREFUSED\)\. Start the model's server, or correct OPENAI/,
    );
    expect(nobody).toBeInstanceOf(NothingListens);
    expect(nobody.retryable).toBe(true);
    expect(blocked.line).toMatch(
      /^Node refuses to connect to port 9 \(http:\/\/127.0.0.1:9\/v1\)\. Run the model's server/,
    );
    expect(blocked.retryable).toBe(false);
    expect(web.line).toMatch(/answered with a web page.*Check OPENAI_BASE_URL/);
    expect(() => at("localhost:8080")).toThrow(/not an http or https address/);
    for (const secret of [`http://user:${KEY}@host/v1`, `http://host/v1?key=${KEY}`]) {
      expect(() => at(secret)).toThrow(
        /^OPENAI_BASE_URL contains a user name, a password, a query or a fragment$/,
      );
    }
  });

  it("no way to OpenAI itself: OPENAI_BASE_URL is not what to look at", async () => {
    const noNetwork = Object.assign(new TypeError("fetch failed"), {
      cause: Object.assign(new Error("x"), { code: "ENETUNREACH", syscall: "connect" }),
    });
    await using set = await setUp([], {
      baseUrl: null,
      maxRetries: 0,
      fetch: () => Promise.reject(noNetwork),
    });

    const error = await failure(set.model.respond(ask(), never));

    expect(error.line).toBe(
      "Cannot reach the model endpoint https://api.openai.com/v1 (ENETUNREACH). Check the network or set HTTPS_PROXY.",
    );
  });

  it.each([
    ["context_length_exceeded", "This model's maximum context length is 8192 tokens."],
    [null, "prompt is too long: 210000 tokens > 200000 maximum"],
  ])("a conversation that is too long (%s)", async (code, message) => {
    await using set = await setUp([{ fault: "status", status: 400, body: { error: { code, message } } }]);

    const error = await failure(set.model.respond(ask(), never));

    expect(error.code).toBe("too_large");
    expect(error.line).toMatch(/too long for the model .* Set HUNKWISE_CONTEXT_TOKENS/);
  });

  it("a quota that is used up, which no retry helps", async () => {
    await using set = await setUp([
      {
        fault: "status",
        status: 429,
        body: { error: { code: "insufficient_quota", message: "You exceeded" } },
      },
    ]);

    const error = await failure(set.model.respond(ask(), never));

    expect(error).toMatchObject({ code: "model_rate_limited", retryable: false });
    expect(set.endpoint.requests).toHaveLength(1);
  });
});

const secret = "whsec-51d84b067f3a9c2e";
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
  const send = endpointFetch(new URL("https://model.example.com/v1"), far, chatAnswer, openAi, {});
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
