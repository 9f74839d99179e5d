import { createServer } from "node:net";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { chatAnswer, endpointFetch, statusError } from "../../../src/agent/llm/endpoint.ts";
import type { ModelOptions } from "../../../src/agent/llm/endpoint-model.ts";
import {
  type Message,
  ModelAbsent,
  type ModelRequest,
  NothingListens,
  ToolsRefused,
} from "../../../src/agent/llm/model.ts";
import { createOpenAiModel, openAi } from "../../../src/agent/llm/openai.ts";
import { readPrices } from "../../../src/agent/llm/prices.ts";
import { AppError } from "../../../src/core/errors.ts";
import { registerSecret } from "../../../src/core/secrets/live-secrets.ts";
import {
  type ChatRequestBody,
  type FakeAnswer,
  type FakeOpenAiOptions,
  startFakeOpenAi,
} from "../../support/fake-openai.ts";

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
  more: Partial<ModelOptions> = {},
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

describe("createOpenAiModel", () => {
  it("An answer arrives in neutral terms with its cost", async () => {
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

  it("The endpoint accepts the conversation whatever the model wrote before", async () => {
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

  it("A request without a key has no Authorization header", async () => {
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

  it("listModels returns the names, or null if the endpoint has no list", async () => {
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
    ["an overload with status 200", { fault: "json", body: { error: { code: 502, message: "upstream" } } }],
  ])("A request is repeated after %s until there is an answer", async (_, fault) => {
    await using set = await setUp([fault, fault, { content: "at last" }]);

    const turn = await set.model.respond(ask(), never);

    expect(turn.content).toBe("at last");
    expect(set.endpoint.requests).toHaveLength(3);
  });

  it("Retries are bounded, and the last error is retryable", async () => {
    await using set = await setUp(() => down(500), { maxRetries: 2 });

    const error = await failure(set.model.respond(asking, never));

    expect([error.code, error.retryable]).toEqual(["model_failed", true]);
    expect(set.endpoint.requests.map(({ body }) => isRich(body))).toEqual([true, true, true, false]);
  });

  it.each([
    [down(429, { "retry-after": "7" }), 7_000, 7_000],
    [down(429, { "retry-after-ms": "1200", "retry-after": "99" }), 1_200, 1_200],
    [down(503, { "retry-after": new Date(Date.now() + 1_800_000).toUTCString() }), 1, 1_800_000],
  ])("The error holds the pause that the endpoint asks for: %o", async (fault, least, most) => {
    await using set = await setUp([fault], { maxRetries: 0 });

    const { retryAfterMs } = await failure(set.model.respond(ask(), never));

    expect(retryAfterMs).toBeGreaterThanOrEqual(least);
    expect(retryAfterMs).toBeLessThanOrEqual(most);
  });

  it("A pause of an hour is not waited for: the error says when to come back", async () => {
    await using set = await setUp([down(429, { "retry-after": "3600" })]);

    const error = await failure(set.model.respond(ask(), never));

    expect(error).toMatchObject({ code: "model_rate_limited", retryable: true, retryAfterMs: 3_600_000 });
    expect(set.endpoint.requests).toHaveLength(1);
  });

  it.each([
    { "retry-after": "99999999" },
    { "retry-after": "Fri, 01 Jan 2100 00:00:00 GMT" },
    { "retry-after-ms": "Infinity" },
  ])("A pause is an hour at most, whatever the endpoint says (%o)", async (headers) => {
    await using set = await setUp([down(429, headers)]);
    expect((await failure(set.model.respond(ask(), never))).retryAfterMs).toBe(3_600_000);
  });

  it.each([400, 401, 402, 403, 404, 413, 422])("A request is not retried after %i", async (status) => {
    await using set = await setUp(() => down(status));

    const error = await failure(set.model.respond(ask(), never));

    expect(error.retryable).toBe(false);
    // An unexplained refusal is followed by the most careful form of the request.
    expect(set.endpoint.requests).toHaveLength(status === 400 || status === 422 ? 2 : 1);
  });

  it("A request is repeated after a time-out, and each try has its own", async () => {
    await using set = await setUp([{ fault: "hang" }, { content: "ok" }], { timeoutMs: 2_000 });

    expect((await set.model.respond(ask(), never)).content).toBe("ok");
    expect(set.endpoint.requests.map((one) => one.hungUp)).toEqual([true, false]);
  });

  it("An abort ends the retries", async () => {
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
  it("max_tokens is exchanged for max_completion_tokens once, and that is remembered", async () => {
    await using set = await setUp(() => ({ content: "ok" }), {}, { tokenParameter: "max_completion_tokens" });

    await set.model.respond(ask(), never);
    await set.model.respond(ask(), never);

    expect(set.endpoint.requests.map(({ body }) => [body.max_tokens, body.max_completion_tokens])).toEqual([
      [4_000, undefined],
      [undefined, 4_000],
      [undefined, 4_000],
    ]);
  });

  it("parallel_tool_calls and answers beyond the server's limit are given up", async () => {
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

  it("A limit is lowered only for the request that was too long", async () => {
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

  it("A request that is refused in every form changes no parameter of later ones", async () => {
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

  it("A server that refuses both limits ends the request after two tries", async () => {
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

describe("errors of an endpoint", () => {
  it("The error for a refused key never shows the key, even if the endpoint repeats it", async () => {
    await using set = await setUp([], {}, { apiKey: "another" });
    await using echo = await setUp([
      { fault: "status", status: 400, body: { error: { message: `your key ${KEY} is odd` } } },
    ]);

    const refused = await failure(set.model.respond(ask(), never));
    expect(refused.code).toBe("model_unauthorized");
    expect(refused.line).toMatch(/refused the API key \(401\)\. Set OPENAI_API_KEY/);
    expect((await failure(echo.model.respond(ask(), never))).line).toContain("your key [key] is odd");
  });

  it("An excerpt shows no part of a key at its cut", async () => {
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

  it("The remedy for a refused key names the variable of that endpoint", () => {
    const refusal = { status: 401, param: "", message: "", words: "", headers: undefined };
    const at = (address: string) =>
      statusError(refusal, { provider: openAi, model: "m", address, timeoutMs: 1, hideKey: (text) => text })
        .remedy;
    expect(at("https://api.openai.com/v1")).toBe("Set OPENAI_API_KEY to a valid key.");
    expect(at("https://mine.openai.azure.com/openai/v1")).toBe("Set AZURE_OPENAI_API_KEY to a valid key.");
  });

  it("The error for an unknown model names the model", async () => {
    await using set = await setUp([], { model: "gpt-99" }, { models: ["one"] });

    expect((await failure(set.model.respond(ask(), never))).line).toMatch(
      /has no model "gpt-99" \(404\)\. Set HUNKWISE_MODEL/,
    );
  });

  it("An unknown model is recognized in the words of each provider", async () => {
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

  it("The error for a wrong address says what is wrong with it", async () => {
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
      /^Node refuses to connect to port 9 \(http:\/\/127.0.0.1:9\/v1\)\. Run the model's server on another/,
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

  it("The remedy for an unreachable OpenAI names the network and not OPENAI_BASE_URL", async () => {
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
  ])("A conversation that is too long is recognized by its code or words (%s)", async (code, message) => {
    await using set = await setUp([{ fault: "status", status: 400, body: { error: { code, message } } }]);

    const error = await failure(set.model.respond(ask(), never));

    expect(error.code).toBe("too_large");
    expect(error.line).toMatch(/too long for the model .* Set HUNKWISE_CONTEXT_TOKENS/);
  });

  it("A used-up quota is not retried", async () => {
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

/** A tool as a review describes it: with optional arguments, defaults and rare keywords. */
const rich = {
  name: "report",
  description: "Reports.",
  parameters: {
    type: "object",
    properties: {
      side: {
        type: ["string", "null"],
        enum: ["LEFT", "RIGHT", null],
        default: "RIGHT",
        description: "Which.",
      },
      note: { anyOf: [{ type: "string" }, { type: "null" }] },
      lines: { type: "array", minItems: 1, items: { type: "integer" } },
    },
    required: ["lines"],
    additionalProperties: false,
  },
};
const status = (code: number, message: string, more: object = {}): FakeAnswer => ({
  ...{ fault: "status", status: code, body: { error: { message, ...more } } },
});
const isRich = (body: ChatRequestBody) =>
  /"null"|null\]|additionalProperties|default|minItems|anyOf/.test(JSON.stringify(body.tools));
/** After answers of tools, with ids of another provider and a text of ours. */
const conversation: Message[] = [
  { role: "user", content: "Review this." },
  {
    role: "assistant",
    content: "",
    toolCalls: ["call_abc-1", "call_abc-2"].map((id) => ({ id, name: "report", arguments: "{}" })),
  },
  { role: "tool", callId: "call_abc-1", content: "one" },
  { role: "tool", callId: "call_abc-2", content: "two" },
  { role: "user", content: "Go on." },
];
const asking = ask(conversation, { tools: [rich] });
const userAfterTool = ({ messages }: ChatRequestBody) =>
  messages.some(({ role }, at) => role === "user" && messages[at - 1]?.role === "tool");
const longIds = ({ messages }: ChatRequestBody) =>
  messages.some(({ tool_calls }) => tool_calls?.some(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(id)));

describe("a refusal of the form of a request", () => {
  it.each<[string, FakeAnswer]>([
    [
      "a list of types",
      status(400, "Proto field is not repeating, cannot start list. (tools[0].function_declarations)"),
    ],
    [
      "a list of types in Go",
      status(400, "json: cannot unmarshal array into Go struct field .tools.function.parameters"),
    ],
    [
      "null in an enum",
      status(
        400,
        "GenerateContentRequest.tools[0].function_declarations[1].parameters.enum[3]: cannot be empty",
      ),
    ],
    ["a keyword", status(422, 'Unknown name "additionalProperties"')],
    ["a template", status(500, "Value is not callable: null at row 62 (chat template)")],
    ["a grammar", status(500, "failed to parse grammar")],
    ["words of a template's language", status(500, "'list' object has no attribute 'upper'")],
  ])("A refusal because of %s is followed by plain schemas, which are remembered", async (_, refusal) => {
    await using set = await setUp((body) => (isRich(body) ? refusal : { content: "ok" }), { maxRetries: 0 });
    for (const _ of [1, 2]) expect((await set.model.respond(asking, never)).content).toBe("ok");
    expect(set.endpoint.requests.map(({ body }) => isRich(body))).toEqual([true, false, false]);
    expect(set.endpoint.requests[1]?.body.tools?.[0]?.function.parameters).toEqual({
      type: "object",
      properties: {
        side: { type: "string", enum: ["LEFT", "RIGHT"], description: "Which." },
        note: { type: "string" },
        lines: { type: "array", items: { type: "integer" } },
      },
      required: ["lines"],
    });
    expect([...set.model.avoids]).toContain("rich_schemas");
  });

  it("A refusal of the order of messages is followed by our text at the end of the last answer", async () => {
    const order = {
      fault: "status",
      status: 400,
      body: { object: "error", message: "Unexpected role 'user' after role 'tool'" },
    } as const;
    await using set = await setUp((body) => (userAfterTool(body) ? order : { content: "ok" }));
    await set.model.respond(asking, never);
    await set.model.respond(
      ask([...conversation, { role: "assistant", content: "Hm.", toolCalls: [] }], { tools: [rich] }),
      never,
    );
    const [first, second, third] = set.endpoint.requests.map(({ body }) => body);
    expect(second?.messages.at(-1)).toMatchObject({ role: "tool", content: "two\n\nGo on." });
    // Only what the refusal names has changed, and a later request begins as the earlier one.
    expect(second?.tools).toEqual(first?.tools);
    expect(third?.messages.slice(0, -1)).toEqual(second?.messages);
    expect([...set.model.avoids]).toEqual(["user_after_tool"]);
  });

  it("A refusal of ids is followed by ids of nine letters and digits", async () => {
    const ids = status(400, "Tool call id was call_abc-1 but must be a-z, A-Z, 0-9, with a length of 9.");
    await using set = await setUp((body) => (longIds(body) ? ids : { content: "ok" }));
    for (const _ of [1, 2]) await set.model.respond(asking, never);
    expect(set.endpoint.complaints).toEqual([]);
    const [, second, third] = set.endpoint.requests.map(({ body }) => body.messages);
    expect(third).toEqual(second);
    expect(second?.[2]?.tool_call_id).toBe(second?.[1]?.tool_calls?.[0]?.id);
    expect([...set.model.avoids]).toEqual(["long_ids"]);
  });

  it.each<[string, FakeAnswer]>([
    ["a bare 400", { fault: "status", status: 400, body: {} }],
    ["words that say nothing", status(400, "Bad request")],
    ["a 422 in another language", status(422, "Ungültige Anfrage")],
    ["an error, status 200", { fault: "json", body: { error: { code: 400, message: "no" }, choices: null } }],
  ])("A refusal that explains nothing (%s) is followed once by the most careful form", async (_, refusal) => {
    const isCareful = (body: ChatRequestBody) =>
      !isRich(body) &&
      !userAfterTool(body) &&
      !longIds(body) &&
      !("parallel_tool_calls" in body) &&
      !("reasoning_effort" in body);
    await using set = await setUp((body) => (isCareful(body) ? { content: "ok" } : refusal), {
      reasoningEffort: "low",
    });
    for (const _ of [1, 2]) expect((await set.model.respond(asking, never)).content).toBe("ok");
    expect(set.endpoint.requests.map(({ body }) => isCareful(body))).toEqual([false, true, true]);
  });

  it("A refusal of the most careful form is reported as the first one, and nothing is remembered", async () => {
    let count = 0;
    await using set = await setUp(() => status(400, `reason ${++count}`));
    expect((await failure(set.model.respond(asking, never))).message).toMatch(/\(400\): reason 1$/);
    expect(count).toBe(2);
    expect([...set.model.avoids]).toEqual([]);
  });

  it("A refusal of tools in every form is a ToolsRefused error", async () => {
    await using set = await setUp(() => status(400, "Invalid schema for function 'report'"));
    const error = await failure(set.model.respond(asking, never));
    expect(error).toBeInstanceOf(ToolsRefused);
    expect(error.message).toContain("Invalid schema for function");
    // One without any tool is no such refusal.
    expect(await failure(set.model.respond(ask(conversation, { tools: [] }), never))).not.toBeInstanceOf(
      ToolsRefused,
    );
  });

  it.each([
    [401, "bad key"],
    [404, "model x is unknown"],
    [400, "credit balance is too low"],
    [400, "content_filter"],
    [503, "out of memory"],
    [500, "Failed to parse tool call arguments as JSON"],
  ])(
    "An error that another form cannot change is not tried in another form (%i %s)",
    async (code, message) => {
      await using set = await setUp(() => status(code, message), { maxRetries: 0 });
      await failure(set.model.respond(asking, never));
      expect(set.endpoint.requests).toHaveLength(1);
    },
  );
});

describe("a conversation that does not fit", () => {
  const window = (most: number) => (body: ChatRequestBody) => {
    const prompt = Math.ceil(JSON.stringify([body.messages, body.tools]).length / 3.3);
    const asked = Number(body.max_tokens);
    if (prompt + asked <= most) return { content: "ok" };
    const message = `This model's maximum context length is ${most} tokens. However, you requested ${asked} output tokens and your prompt contains ${prompt} input tokens, for a total of ${prompt + asked} tokens.`;
    return status(400, message, { code: 400 });
  };

  it("A conversation that does not fit with its answer is sent again with a shorter answer", async () => {
    await using set = await setUp(window(6_000));
    const messages: Message[] = [{ role: "user", content: "x".repeat(10_000) }];
    await set.model.respond(ask(messages, { maxOutputTokens: 4_000 }), never);
    await set.model.respond(ask(undefined, { maxOutputTokens: 4_000 }), never);
    const limits = set.endpoint.requests.map(({ body }) => Number(body.max_tokens));
    expect(limits).toEqual([4_000, expect.any(Number), 4_000]);
    expect(limits[1]).toBeGreaterThan(2_500);
  });

  it.each([
    ["leaves no room for an answer", window(3_100)],
    ["is too long by itself", window(2_000)],
    ["is too long in words without numbers", () => status(400, "Input is too long for requested model.")],
  ])("A conversation is too large, and is not sent again, if it %s", async (_, script) => {
    await using set = await setUp(script);
    const messages: Message[] = [{ role: "user", content: "x".repeat(10_000) }];
    const error = await failure(set.model.respond(ask(messages, { maxOutputTokens: 4_000 }), never));
    expect(error).toMatchObject({ code: "too_large", retryable: false });
    expect(set.endpoint.requests).toHaveLength(1);
  });

  it("A request ends with an error however the server changes its numbers", async () => {
    let room = 100_000;
    await using set = await setUp((body) => {
      const prompt = 10_000;
      room -= 1;
      return status(
        400,
        `maximum context length is ${prompt + room} tokens, prompt ${prompt + Number(body.max_tokens)} input tokens + ${room}`,
      );
    });
    await failure(set.model.respond(ask(undefined, { maxOutputTokens: 16_000 }), never));
    expect(set.endpoint.requests.length).toBeLessThan(12);
  });
});

describe("an answer with status 200", () => {
  const broken: [string, unknown][] = [
    ["no choices", { choices: [] }],
    ["choices of null", { choices: null }],
    ["no field of choices", { id: "x" }],
    ["no message", { choices: [{ finish_reason: "stop" }] }],
    ["a message of null", { choices: [{ message: null, finish_reason: "stop" }] }],
    ["a late error", { choices: [{ message: { content: "half" } }], error: { code: 502, message: "lost" } }],
    ["an error as text", { error: "lost" }],
    [
      "calls, and an error as its end",
      {
        choices: [
          { finish_reason: "error", message: { tool_calls: [{ id: "a", function: { name: "look" } }] } },
        ],
      },
    ],
  ];
  it.each(broken)("An answer with %s is asked for again", async (_, body) => {
    await using set = await setUp([{ fault: "json", body }, { content: "ok" }]);
    expect((await set.model.respond(ask(), never)).content).toBe("ok");
    await using always = await setUp(() => ({ fault: "json", body }), { maxRetries: 1 });
    expect(await failure(always.model.respond(ask(), never))).toMatchObject({
      code: "model_failed",
      retryable: true,
    });
    expect(always.endpoint.requests).toHaveLength(2);
  });

  it("An answer with an empty body is asked for again", async () => {
    const empty: FakeAnswer = { fault: "packed", body: Buffer.from(""), encoding: "identity" };
    await using set = await setUp([empty, { content: "ok" }]);
    expect((await set.model.respond(ask(), never)).content).toBe("ok");
  });

  it("An answer without text and calls goes to the loop", async () => {
    await using set = await setUp([{ fault: "json", body: { choices: [{ message: { content: null } }] } }]);
    expect(await set.model.respond(ask(), never)).toMatchObject({
      content: "",
      toolCalls: [],
      finishReason: "stop",
    });
  });

  it.each([
    ["401", "model_unauthorized"],
    [402, "model_rate_limited"],
    [429, "model_rate_limited"],
    [400, "model_refused"],
  ])("An error with the code %s counts as one of that status", async (code, expected) => {
    await using set = await setUp(
      () => ({ fault: "json", body: { error: { code, message: "x" }, choices: [] } }),
      { maxRetries: 0 },
    );
    expect((await failure(set.model.respond(ask(), never))).code).toBe(expected);
  });

  it.each<[string, object]>([
    ["Azure", { finish_reason: "content_filter", message: { content: "half" } }],
    ["Gemini", { finish_reason: "PROHIBITED_CONTENT", message: null }],
    ["Vertex", { finish_reason: "SAFETY" }],
    ["others in another case", { finish_reason: "Content_Filter", message: {} }],
    [
      "OpenAI, in the model's words",
      { finish_reason: "stop", message: { content: null, refusal: "I will not." } },
    ],
    [
      "a filter in the middle of a call",
      { finish_reason: "recitation", message: { tool_calls: [{ id: "a", function: { name: "look" } }] } },
    ],
  ])("A refusal of the content by %s is a turn without calls, which is paid", async (_, choice) => {
    const usage = { prompt_tokens: 7, completion_tokens: 1 };
    await using set = await setUp([{ fault: "json", body: { choices: [choice], usage } }]);
    const turn = await set.model.respond(ask(), never);
    expect(turn).toMatchObject({ toolCalls: [], finishReason: "content_filter", usage: { promptTokens: 7 } });
  });

  it("An answer that a filter emptied is a refusal of the content", async () => {
    const marks = [
      { prompt_filter_results: [{ content_filter_results: { hate: { filtered: true } } }] },
      { promptFeedback: { blockReason: "SAFETY" } },
    ];
    for (const mark of marks) {
      await using set = await setUp([{ fault: "json", body: { choices: [], ...mark } }]);
      expect((await set.model.respond(ask(), never)).finishReason).toBe("content_filter");
    }
  });
});

describe("the endpoint's words", () => {
  it("An error quotes 500 characters of the endpoint, without the key and secrets of this server", async () => {
    registerSecret("hush-4f9a2b7c1d8e");
    const raw = JSON.stringify({ error: { message: `bad ${KEY} hush-4f9a2b7c1d8e ${"y".repeat(900)}` } });
    await using set = await setUp(() =>
      status(400, "Provider returned error", { metadata: { raw, provider_name: "P" } }),
    );
    const { message, remedy } = await failure(set.model.respond(ask(), never));
    expect(message).toMatch(/\(400\): Provider returned error: P: bad \[key\] \[secret\] y+\.\.\.$/);
    expect(message.length).toBeLessThan(600);
    expect(remedy).toContain("hunkwise doctor");
  });

  it("An error keeps a placeholder for a key as it is", async () => {
    for (const apiKey of ["1", "x", "key"]) {
      await using set = await setUp(() => status(400, "x1 key"), { apiKey }, { apiKey });
      expect((await failure(set.model.respond(ask(), never))).message).toMatch(
        /^http:\/\/127\.0\.0\.1:\d+\/v1 .*: x1 key$/,
      );
    }
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

it("A request holds no secret of the server, even if the repository does", async () => {
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

it("A request that still holds a secret is not sent", async () => {
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
