import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAnthropicModel } from "../../../src/agent/llm/anthropic.ts";
import type { ModelOptions } from "../../../src/agent/llm/endpoint-model.ts";
import { createModelGuard } from "../../../src/agent/llm/guarded-model.ts";
import {
  type EndpointModel,
  type Message,
  ModelAbsent,
  type ModelRequest,
  type ModelTurn,
} from "../../../src/agent/llm/model.ts";
import { readPrices } from "../../../src/agent/llm/prices.ts";
import { AppError } from "../../../src/core/errors.ts";
import { registerSecret } from "../../../src/core/secrets/live-secrets.ts";
import {
  type ClaudeBlock,
  type ClaudeScript,
  type ClaudeTurn,
  cutAnswer,
  type FakeAnthropicOptions,
  type MessagesBody,
  overloaded,
  rateLimited,
  refused,
  startFakeAnthropic,
} from "../../support/fake-anthropic.ts";

const KEY = "sk-ant-secret-1234567890";
const tools = [
  { name: "look", description: "Looks.", parameters: { type: "object", properties: {}, required: [] } },
];
const start: Message[] = [
  { role: "system", content: "You review." },
  { role: "user", content: "Review this." },
];
const ask = (messages: readonly Message[] = start, more: Partial<ModelRequest> = {}): ModelRequest => ({
  ...{ messages, tools, maxOutputTokens: 16_000 },
  ...more,
});
const never = new AbortController().signal;
const look = (at: number) => ({ name: "look", arguments: { at } });

type Server = Partial<Omit<FakeAnthropicOptions, "script">>;

/** A model in front of the double, with pauses of milliseconds. */
async function setUp(script: ClaudeScript, more: Partial<ModelOptions> = {}, server: Server = {}) {
  const service = await startFakeAnthropic({ script, apiKey: KEY, ...server });
  const modelOf = (over: Partial<ModelOptions> = {}) =>
    createAnthropicModel({
      ...{ apiKey: KEY, baseUrl: service.url, model: "claude-opus-4-8", contextTokens: 200_000 },
      ...{ prices: readPrices(null), timeoutMs: 5_000, maxRetries: 3, firstPauseMs: 1 },
      ...more,
      ...over,
    });
  return { service, model: modelOf(), modelOf, [Symbol.asyncDispose]: service.close };
}

async function failure(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(KEY);
  expect((error as AppError).line).not.toContain("\n");
  return error as AppError;
}

/** A turn and the answers of its tools, as the agent loop adds them. */
const turnAndAnswers = ({ content, toolCalls, extras }: ModelTurn): Message[] => [
  { role: "assistant", content, toolCalls, extras },
  ...toolCalls.map(({ id }): Message => ({ role: "tool", callId: id, content: `answer of ${id}` })),
];

/** Plays a tool loop to its end. Between turns, the conversation goes through JSON, as a record of it does. */
async function loop(models: readonly Pick<EndpointModel, "respond">[], begun: readonly Message[] = start) {
  let messages = [...begun];
  const turns: ModelTurn[] = [];
  for (const model of models) {
    const turn = await model.respond(ask(messages), never);
    turns.push(turn);
    messages = JSON.parse(JSON.stringify([...messages, ...turnAndAnswers(turn)]));
  }
  return { turns, messages };
}

const blocksOf = (body: MessagesBody | undefined, at: number): ClaudeBlock[] => {
  const content = body?.messages.at(at)?.content ?? [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
};
const kinds = (blocks: readonly ClaudeBlock[]) => blocks.map(({ type }) => type);

describe("createAnthropicModel", () => {
  it("An answer arrives in neutral terms with its cost", async () => {
    await using set = await setUp([
      {
        content: "I look.",
        tool_calls: [{ id: "toolu_a", ...look(1) }],
        usage: { prompt_tokens: 1_000_000, completion_tokens: 100_000, cached_tokens: 400_000 },
      },
    ]);
    expect(await set.model.respond(ask(), never)).toEqual({
      content: "I look.",
      toolCalls: [{ id: "toolu_a", name: "look", arguments: '{"at":1}' }],
      finishReason: "tool_calls",
      usage: {
        ...{ promptTokens: 1_000_000, cachedTokens: 400_000, completionTokens: 100_000 },
        costUsd: expect.closeTo(0.6 * 5 + 0.4 * 0.5 + 2.5),
      },
    });
    const [{ body, headers } = { body: undefined, headers: {} }] = set.service.requests;
    expect(body).toMatchObject({ model: "claude-opus-4-8", max_tokens: 16_000, tools: [{ name: "look" }] });
    expect(body).not.toHaveProperty("temperature");
    expect(body).not.toHaveProperty("thinking");
    expect(headers).toMatchObject({ authorization: `Bearer ${KEY}`, "anthropic-version": "2026-10-21" });
    expect(set.service.complaints).toEqual([]);
  });

  const thoughtful: ClaudeTurn[] = [
    { thinking: ["First."], redacted: 1, content: "I look.", tool_calls: [look(1), look(2)] },
    { thinking: ["Second.", "Third."], tool_calls: [look(3)] },
    { tool_calls: [look(4)] },
    { thinking: ["Last."], content: "Done." },
  ];

  const thinker = { model: "claude-sonnet-5-5", reasoningEffort: "high" } as const;

  it("A tool loop replays its thinking untouched and in place", async () => {
    await using set = await setUp(thoughtful, thinker);
    const { turns } = await loop([set.model, set.model, set.model, set.model]);
    expect(set.service.complaints).toEqual([]);
    expect(turns.map(({ content }) => content)).toEqual(["I look.", "", "", "Done."]);
    const last = set.service.requests[3]?.body;
    expect(last?.messages.map(({ role }) => role)).toEqual([
      ...["user", "assistant", "user", "assistant", "user", "assistant", "user"],
    ]);
    expect(kinds(blocksOf(last, 1))).toEqual([
      "thinking",
      "redacted_thinking",
      "text",
      "tool_use",
      "tool_use",
    ]);
    expect(kinds(blocksOf(last, 3))).toEqual(["thinking", "thinking", "tool_use"]);
    expect(kinds(blocksOf(last, 2))).toEqual(["tool_result", "tool_result"]);
  });

  it("A recorded conversation goes on after a restart", async () => {
    await using set = await setUp(thoughtful, thinker);
    const { messages } = await loop([set.model, set.model]);
    await loop([set.modelOf()], messages);
    expect(set.service.complaints).toEqual([]);
    expect(set.service.requests).toHaveLength(3);
  });

  it("Claude takes over the conversation of another model and never sees its extras", async () => {
    await using set = await setUp(() => ({ thinking: ["Mine."], tool_calls: [look(1)] }), thinker);
    const foreign: Message[] = [
      ...start,
      {
        role: "assistant",
        content: "",
        toolCalls: [
          { id: "call_1", name: "functions.look", arguments: "{broken" },
          { id: "call_2", name: "", arguments: "[1]" },
        ],
        extras: {
          of: "another",
          given: { blocks: [{ type: "thinking", thinking: "x", signature: "forged" }] },
        },
      },
      { role: "tool", callId: "call_1", content: "" },
      { role: "tool", callId: "call_2", content: "seen \ud800" },
    ];
    const { guard } = createModelGuard({ ...clock, onRequest: () => {} });
    const guarded = guard(set.model, null, "own");
    await loop([guarded, guarded], foreign);
    expect(set.service.complaints).toEqual([]);
    const [first] = set.service.requests;
    expect(JSON.stringify(first?.body)).not.toContain("forged");
    expect(blocksOf(first?.body, 1)).toMatchObject([
      { type: "tool_use", name: "functions_look", input: { not_json: "{broken" } },
      { type: "tool_use", name: "unnamed", input: { not_json: "[1]" } },
    ]);
  });

  it("Claude's thinking goes to no other Claude and returns to its own model", async () => {
    await using set = await setUp(() => ({ thinking: ["Mine."], tool_calls: [look(1)] }), {
      reasoningEffort: "low",
    });
    const { guard } = createModelGuard({ ...clock, onRequest: () => {} });
    const opus = guard(set.model, null, "opus");
    const sonnet = guard(set.modelOf({ model: "claude-sonnet-5-5" }), null, "sonnet");
    await loop([opus, sonnet, opus, sonnet]);
    expect(set.service.complaints).toEqual([]);
    const thinking = (at: number) =>
      set.service.requests[at]?.body.messages.flatMap((_, index) =>
        blocksOf(set.service.requests[at]?.body, index).filter(({ type }) => type === "thinking"),
      );
    expect([thinking(1), thinking(2), thinking(3)].map((blocks) => blocks?.length)).toEqual([0, 1, 1]);
  });

  it("A request whose thinking the service refuses is sent again without it", async () => {
    await using set = await setUp(() => ({ thinking: ["Mine."], tool_calls: [look(1)] }), {
      reasoningEffort: "low",
    });
    const { messages } = await loop([set.model]);
    const forged = JSON.parse(JSON.stringify(messages).replace(/("signature":")..../, "$1AAAA")) as Message[];
    const turn = await set.model.respond(ask(forged), never);
    expect(turn.toolCalls).toHaveLength(1);
    expect(set.service.complaints).toEqual([expect.stringMatching(/signature/i)]);
    expect(kinds(blocksOf(set.service.requests.at(-1)?.body, 1))).toEqual(["tool_use"]);
  });

  it("A conversation goes on when a secret is masked in text that thinking is bound to", async () => {
    await using set = await setUp(
      () => ({ thinking: ["Mine."], tool_calls: [look(1)] }),
      {},
      { preserved: true },
    );
    const { messages } = await loop([set.model, set.model]);
    const masked = messages.map(
      (message): Message => ({ ...message, content: message.content.replace("Review", "*secret-1*") }),
    );
    const turn = await set.model.respond(ask(masked), never);
    expect(turn.toolCalls).toHaveLength(1);
    expect(set.service.complaints).toHaveLength(1);
    await set.model.respond(ask([...masked, ...turnAndAnswers(turn)]), never);
    expect(set.service.complaints).toHaveLength(2);
    expect(JSON.stringify(set.service.requests.at(-1)?.body)).not.toContain('"signature"');
  });

  const turn = fc.record({
    thinking: fc.array(fc.string(), { maxLength: 2 }),
    redacted: fc.nat(2),
    content: fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => (text.trim() === "" ? "" : text)),
    tool_calls: fc.array(
      fc.record({
        name: fc.constant("look"),
        arguments: fc
          .dictionary(
            fc.string().filter((key) => key !== "__proto__"),
            fc.jsonValue(),
            { maxKeys: 3, noNullPrototype: true },
          )
          // As they arrive: JSON knows no -0.
          .map((value): typeof value => JSON.parse(JSON.stringify(value))),
      }),
      { maxLength: 3 },
    ),
  });

  it("The service accepts every conversation again, whatever its turns hold", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (script, preserved) => {
          await using set = await setUp(
            [...script, { content: "End." }],
            { reasoningEffort: "high" },
            { preserved },
          );
          let messages = start;
          for (const _ of [...script, "end"]) {
            const answer = await set.model.respond(ask(messages), never);
            messages = [...messages, ...turnAndAnswers(answer)];
            if (answer.toolCalls.length === 0) messages.push({ role: "user", content: "Go on." });
          }
          expect(set.service.complaints).toEqual([]);
        },
      ),
      { numRuns: process.env.HUNKWISE_LONG === "1" ? 2_000 : 60 },
    ));

  it.each([
    ["claude-opus-4-8", "high", { thinking: { type: "adaptive" }, output_config: { effort: "high" } }],
    ["claude-sonnet-5-5", "low", { thinking: { type: "adaptive" }, output_config: { effort: "low" } }],
    ["claude-opus-5", "minimal", { output_config: { effort: "low" } }],
    ["claude-opus-5", null, {}],
  ] as const)("%s is asked for effort %s as %j", async (model, reasoningEffort, fields) => {
    await using set = await setUp([{ content: "ok" }], { model, reasoningEffort });
    await set.model.respond(ask(), never);
    const { thinking, output_config } = set.service.requests[0]?.body ?? ({} as MessagesBody);
    expect(JSON.parse(JSON.stringify({ thinking, output_config }))).toEqual(fields);
    expect(set.service.complaints).toEqual([]);
  });

  it("A model that refuses adaptive thinking is asked without it from then on", async () => {
    await using set = await setUp(
      () => ({ content: "ok" }),
      { model: "claude-haiku-4-5", reasoningEffort: "high" },
      { family: "budget" },
    );
    for (const _ of [1, 2]) expect((await set.model.respond(ask(), never)).content).toBe("ok");
    expect(set.service.complaints).toHaveLength(1);
    expect(set.service.requests).toHaveLength(3);
    expect(set.service.requests.at(-1)?.body).not.toHaveProperty("thinking");
  });

  it("A later request reads the shared beginning from the cache, and the cost counts what was written", async () => {
    const begun: Message[] = [
      { role: "system", content: "s".repeat(8_000) },
      { role: "user", content: "u".repeat(40_000) },
    ];
    await using set = await setUp(() => ({
      thinking: ["Mine."],
      content: "I look.",
      tool_calls: [look(1), look(2)],
    }));
    const { turns } = await loop([set.model, set.model, set.model, set.model], begun);
    expect(set.service.complaints).toEqual([]);
    const [first, ...later] = turns.map(({ usage }) => usage);
    expect(first).toMatchObject({ cachedTokens: 0, promptTokens: expect.any(Number) });
    // A write costs a quarter more than the price for a million tokens, 5 US dollars.
    expect(first?.costUsd).toBeCloseTo(
      ((first?.promptTokens ?? 0) * 5 * 1.25 + (first?.completionTokens ?? 0) * 25) / 1e6,
      3,
    );
    for (const usage of later) expect(usage.cachedTokens / usage.promptTokens).toBeGreaterThan(0.95);
    const marks = set.service.requests.map(
      ({ body }) => JSON.stringify(body).split('"cache_control"').length - 1,
    );
    expect(Math.max(...marks)).toBeLessThanOrEqual(4);
    expect(set.model.costOf({ promptTokens: 1e6, cachedTokens: 0, completionTokens: 0 })).toBe(6.25);
  });

  it("A request without tools marks nothing for the cache", async () => {
    await using set = await setUp([{ content: "ok" }]);
    await set.model.respond(ask(start, { tools: [] }), never);
    expect(JSON.stringify(set.service.requests[0]?.body)).not.toContain("cache_control");
  });

  it("A request without tools may follow a conversation with calls", async () => {
    await using set = await setUp([{ tool_calls: [look(1)] }, { content: "Summed up." }]);
    const { messages } = await loop([set.model]);
    const turn = await set.model.respond(ask(messages, { tools: [] }), never);
    expect(turn.content).toBe("Summed up.");
    expect(set.service.complaints).toEqual([]);
  });

  it.each<[string, ClaudeTurn, Partial<ModelTurn>]>([
    ["a refusal", refused, { content: "", finishReason: "content_filter", toolCalls: [] }],
    ["an answer that was cut", cutAnswer("I lo"), { content: "I lo", finishReason: "length" }],
    [
      "cut thoughts",
      { thinking: ["Hm"], stop_reason: "max_tokens" },
      { content: "", finishReason: "length" },
    ],
    [
      "a call that was cut",
      { tool_calls: [{ name: "look", arguments: "" }], stop_reason: "max_tokens" },
      { finishReason: "length" },
    ],
    [
      "a full window",
      { content: "x", stop_reason: "model_context_window_exceeded" },
      { finishReason: "length" },
    ],
    ["thoughts and no text", { thinking: ["Hm"], content: " \n" }, { content: " \n", finishReason: "stop" }],
    ["a pause", { content: "x", stop_reason: "pause_turn" }, { finishReason: "other" }],
  ])("A turn reports %s, and the conversation goes on after it", async (_, answer, expected) => {
    await using set = await setUp([answer, { content: "ok" }], { reasoningEffort: "low" });
    const turn = await set.model.respond(ask(), never);
    expect(turn).toMatchObject(expected);
    const more: Message[] = [...start, ...turnAndAnswers(turn), { role: "user", content: "Go on." }];
    expect((await set.model.respond(ask(more), never)).content).toBe("ok");
    expect(set.service.complaints).toEqual([]);
  });

  it("A request waits while the service is overloaded or limits the rate, and is sent again", async () => {
    await using set = await setUp([overloaded, rateLimited(0), { content: "ok" }]);
    expect((await set.model.respond(ask(), never)).content).toBe("ok");
    await using down = await setUp(() => overloaded, { maxRetries: 1 });
    expect(await failure(down.model.respond(ask(), never))).toMatchObject({
      code: "model_failed",
      retryable: true,
    });
    expect(down.service.requests).toHaveLength(2);
    await using limited = await setUp(() => rateLimited(120));
    const error = await failure(limited.model.respond(ask(), never));
    expect(error).toMatchObject({ code: "model_rate_limited", retryable: true, retryAfterMs: 120_000 });
    expect(limited.service.requests).toHaveLength(1);
  });

  const status = (code: number, message: string, type = "invalid_request_error") => ({
    ...{ fault: "status" as const, status: code },
    body: { type: "error", error: { type, message }, request_id: "r" },
  });

  it.each([
    [
      "no credit",
      status(400, "Your credit balance is too low to access the Anthropic API."),
      "model_rate_limited",
      /quota/,
    ],
    ["403", status(403, "no access", "permission_error"), "model_unauthorized", /may not use the model/],
    [
      "400",
      status(400, "messages: broken"),
      "model_refused",
      /refused the request \(400\): messages: broken/,
    ],
    ["a large body", status(413, "too large", "request_too_large"), "too_large", /too long for the model/],
    [
      "a long prompt",
      status(400, "prompt is too long: 201000 tokens > 200000 maximum"),
      "too_large",
      /too long for the model/,
    ],
    ["a web page", { fault: "html" as const }, "model_failed", /answered with a web page/],
    ["half an answer", { fault: "truncated" as const }, "model_failed", /cut off or is not JSON/],
    ["a lost connection", { fault: "reset" as const }, "model_failed", /Cannot reach the model endpoint/],
    ["other JSON", { fault: "json" as const, body: { hello: KEY } }, "model_failed", /no usable answer/],
  ])("The error for %s says what to do", async (_, fault, code, message) => {
    await using set = await setUp(() => fault, { maxRetries: 0 });
    const error = await failure(set.model.respond(ask(), never));
    expect(error).toMatchObject({
      code,
      message: expect.stringMatching(message),
      remedy: expect.any(String),
    });
    expect(error.remedy).not.toContain("OPENAI");
  });

  it("Errors for a wrong key, address and model name the variables of Anthropic", async () => {
    await using set = await setUp(
      [],
      { apiKey: "sk-ant-other-0987654321", maxRetries: 0 },
      { models: ["claude-opus-5"] },
    );
    expect((await failure(set.model.respond(ask(), never))).line).toMatch(
      /refused the API key \(401\)\. Set ANTHROPIC_API_KEY/,
    );
    const unknown = await failure(set.modelOf({ apiKey: KEY }).respond(ask(), never));
    expect(unknown).toBeInstanceOf(ModelAbsent);
    const lost = await failure(
      set.modelOf({ apiKey: KEY, baseUrl: `${set.service.url}/elsewhere` }).respond(ask(), never),
    );
    expect(lost.line).toMatch(/does not support Anthropic's Messages API \(404\)\. Check ANTHROPIC_BASE_URL/);
    expect(() => set.modelOf({ baseUrl: "ftp://x" })).toThrow(/ANTHROPIC_BASE_URL is not an http/);
  });

  it("A request carries its own key and no header from ANTHROPIC_CUSTOM_HEADERS", async () => {
    const name = "ANTHROPIC_CUSTOM_HEADERS";
    const before = process.env[name];
    process.env[name] = "x-secret: hunter2\nauthorization: Bearer of-another\nanthropic-beta: x";
    try {
      await using set = await setUp([{ content: "ok" }]);
      await set.model.respond(ask(), never);
      const headers = set.service.requests[0]?.headers ?? {};
      expect(headers.authorization).toBe(`Bearer ${KEY}`);
      for (const other of ["x-secret", "anthropic-beta"]) expect(headers).not.toHaveProperty(other);
    } finally {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    }
  });

  it("An address with or without /v1 reaches the same service", async () => {
    await using set = await setUp(() => ({ content: "ok" }));
    for (const end of ["", "/", "/v1", "/v1/"])
      expect((await set.modelOf({ baseUrl: set.service.url + end }).respond(ask(), never)).content).toBe(
        "ok",
      );
  });

  it("A request for more output than the model allows is sent again with a smaller limit", async () => {
    await using small = await setUp(() => ({ content: "ok" }), {}, { mostOutputTokens: 8_000 });
    await small.model.respond(ask(), never);
    await small.model.respond(ask(), never);
    expect(small.service.requests.map(({ body }) => body.max_tokens)).toEqual([16_000, 8_000, 8_000]);
  });

  it("A refusal without an explanation is followed by the most careful form, without thinking and effort", async () => {
    const isCareful = (body: MessagesBody) =>
      !/"null"|additionalProperties|"effort"|"signature"|id":"toolu_/.test(JSON.stringify(body));
    const optional = {
      ...tools[0]!,
      parameters: { type: "object", properties: { at: { type: ["integer", "null"] } } },
    };
    await using set = await setUp(
      (body, n) => {
        if (n === 0) return { thinking: ["Mine."], tool_calls: [look(1)] };
        return isCareful(body) ? { content: "ok" } : status(400, "something");
      },
      { reasoningEffort: "low" },
    );
    const { messages } = await loop([set.model]);
    const more: Message[] = [...messages, { role: "user", content: "Go on." }];
    for (const _ of [1, 2])
      expect((await set.model.respond(ask(more, { tools: [optional] }), never)).content).toBe("ok");
    expect(set.service.requests.map(({ body }) => isCareful(body)).slice(1)).toEqual([false, true, true]);
    expect(blocksOf(set.service.requests[2]?.body, 2)).toMatchObject([
      { type: "tool_result", content: expect.stringMatching(/\n\nGo on\.$/) },
    ]);
    expect(set.service.complaints).toEqual([]);
  });

  it("A request that does not fit is sent again with a shorter answer, and a broken answer is asked for again", async () => {
    const full =
      "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000, decrease input length or `max_tokens`";
    await using set = await setUp([status(400, full), { content: "ok" }]);
    expect((await set.model.respond(ask(), never)).content).toBe("ok");
    expect(set.service.requests.map(({ body }) => body.max_tokens)).toEqual([
      16_000,
      200_000 - 190_000 - 950,
    ]);
    const broken = [
      {},
      { content: null },
      { type: "error", error: { type: "overloaded_error", message: "x" } },
    ];
    for (const body of broken) {
      await using flaky = await setUp([{ fault: "json", body }, { content: "ok" }]);
      expect((await flaky.model.respond(ask(), never)).content).toBe("ok");
    }
    await using cut = await setUp([{ stop_reason: "refusal", content: "I", tool_calls: [look(1)] }]);
    expect(await cut.model.respond(ask(), never)).toMatchObject({
      finishReason: "content_filter",
      toolCalls: [],
    });
  });

  it("A request holds no secret of this server", async () => {
    registerSecret("canary-of-the-server-42");
    await using set = await setUp(() => ({ thinking: ["x"], content: "I look.", tool_calls: [look(1)] }));
    const { messages } = await loop([set.model]);
    const leaking = messages.map(
      (message): Message =>
        message.role === "assistant"
          ? {
              ...message,
              content: "canary-of-the-server-42",
              toolCalls: message.toolCalls.map((call) => ({
                ...call,
                arguments: '{"at":"canary-of-the-server-42"}',
              })),
            }
          : { ...message, content: `${message.content} canary-of-the-server-42` },
    );
    await set.model.respond(ask(leaking), never);
    expect(JSON.stringify(set.service.requests.map(({ body }) => body))).not.toContain(
      "canary-of-the-server-42",
    );
  });

  it("An abort ends a running request at once", async () => {
    await using set = await setUp(() => ({ fault: "hang" }));
    const abort = new AbortController();
    const answer = failure(set.model.respond(ask(), abort.signal));
    await expect.poll(() => set.service.requests.length).toBe(1);
    abort.abort();
    expect((await answer).code).toBe("aborted");
    await expect.poll(() => set.service.requests[0]?.hungUp).toBe(true);
  });

  it("The service reports its models and its context window", async () => {
    await using set = await setUp(
      [],
      {},
      { models: ["claude-opus-4-8", "claude-opus-5"], contextTokens: 1_000_000 },
    );
    expect(await set.model.listModels(never)).toEqual(["claude-opus-4-8", "claude-opus-5"]);
    expect(await set.model.findContextTokens(never)).toBe(1_000_000);
    expect(await set.modelOf({ model: "gone" }).findContextTokens(never)).toBeNull();
    expect(await set.modelOf({ baseUrl: `${set.service.url}/x` }).listModels(never)).toBeNull();
  });
});

const clock = { now: () => 0, random: () => 0, warn: () => {} };
