import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import {
  type ClaudeScript,
  cutAnswer,
  type FakeAnthropic,
  type FakeAnthropicOptions,
  overloaded,
  rateLimited,
  refused,
  startFakeAnthropic,
} from "./fake-anthropic.ts";

type Body = Anthropic.MessageCreateParamsNonStreaming;
type Message = Anthropic.MessageParam;

const clientOf = (server: FakeAnthropic, apiKey = "test-key") =>
  new Anthropic({ baseURL: server.url, apiKey, authToken: null, maxRetries: 0 });
const start = (script: ClaudeScript, more: Partial<FakeAnthropicOptions> = {}) =>
  startFakeAnthropic({ script, ...more });

const tool = { name: "look", description: "Looks.", input_schema: { type: "object" as const } };
const mark = (ttl?: "5m" | "1h") => ({ type: "ephemeral" as const, ...(ttl ? { ttl } : {}) });
const text = (words: string, more = {}) => ({ type: "text" as const, text: words, ...more });
const call = (id: string, more = {}) => ({ type: "tool_use" as const, id, name: "look", input: {}, ...more });
const result = (id: string, more = {}) => ({
  type: "tool_result" as const,
  tool_use_id: id,
  content: "seen",
  ...more,
});
const user = (content: Message["content"]): Message => ({ role: "user", content });
const assistant = (content: Message["content"]): Message => ({ role: "assistant", content });
const hello = user("hello");

/** What the types forbid is what is tested, hence the cast. */
const body = (more: Record<string, unknown> = {}) =>
  ({ model: "claude-a", max_tokens: 4000, messages: [hello], tools: [tool], ...more }) as Body;
/** A conversation after "hello": contents of the assistant and the user in turn. */
const said = (...contents: unknown[]) => ({
  messages: [hello, ...contents.map((content, i) => ({ role: i % 2 ? "user" : "assistant", content }))],
});
const asked = (...blocks: unknown[]) => ({ messages: [{ role: "user", content: blocks }] });
const thinking = { type: "enabled", budget_tokens: 2000 };
const adaptive = { type: "adaptive" };
const thought = (more = {}) => ({ type: "thinking", thinking: "a", signature: "s", ...more });
const sealed = { type: "redacted_thinking", data: "a" };
const forced = { type: "tool", name: "look" };
const document = { type: "document", source: { type: "text", media_type: "text/plain", data: "a" } };
const of = (cache_control: unknown, words = "a") => text(words, { cache_control });

type Case = [what: string, more: Record<string, unknown>, complaint: RegExp | null];
const newer: Case[] = [
  ["a plain conversation", {}, null],
  ["results in another order", said([call("a"), call("b")], [result("b"), result("a"), text("go on")]), null],
  ["two user messages in a row", { messages: [hello, hello] }, null],
  ["an effort", { thinking: adaptive, output_config: { effort: "high" } }, null],
  ["a forced tool with adaptive thinking", { thinking: adaptive, tool_choice: forced }, null],
  [
    "the longer marks first",
    { system: [of(mark("1h")), of(mark("1h"))], ...asked(of(mark()), of(mark())) },
    null,
  ],
  ["an unknown parameter", { temprature: 1 }, /^temprature: Extra inputs are not permitted/],
  ["even the default temperature", { temperature: 1 }, /^temperature: Extra inputs are not permitted/],
  ["no max_tokens", { max_tokens: undefined }, /^max_tokens: Field required/],
  ["max_tokens of nothing", { max_tokens: 0 }, /greater than or equal to 1/],
  [
    "too large max_tokens",
    { max_tokens: 6000 },
    /^max_tokens: 6000 > 5000, which is the maximum .* claude-a/,
  ],
  ["an unknown thinking", { thinking: { type: "deep" } }, /Input tag 'deep'/],
  ["thinking between tools", { thinking: { type: "between_tools" } }, /"thinking.type.between_tools" is not/],
  ["a stray budget", { thinking: { ...adaptive, budget_tokens: 1 } }, /adaptive.budget_tokens: Extra inputs/],
  ["half a token", { max_tokens: 0.5 }, /should be a valid integer/],
  ["a tool without a schema", { tools: [{ name: "look" }] }, /input_schema: Field required/],
  ["a forced tool without tools", { tools: [], tool_choice: { type: "any" } }, /may only be specified while/],
  ["an empty system block", { system: [text("")] }, /system: text content blocks must be non-empty/],
  ["an unknown role", { messages: [hello, { ...hello, role: "tool" }] }, /role: Input should be 'user'/],
  ["a text that is a number", asked({ type: "text", text: 1 }), /text.text: Input should be a valid string/],
  [
    "a call of an odd name",
    said([call("a", { name: "a b" })], [result("a")]),
    /tool_use.name: String should/,
  ],
  ["a result without an id", asked({ type: "tool_result" }), /tool_use_id: Field required/],
  ["no model", { model: "" }, /model: Field required/],
  ["a budget", { thinking }, /"thinking.type.enabled" is not supported for this model/],
  ["an unknown effort", { output_config: { effort: "most" } }, /output_config.effort: Input should be/],
  [
    "a binding without its beta",
    { thinking: { ...adaptive, block_binding: {} } },
    /block_binding: Extra inputs/,
  ],
  [
    "a tool name with a dot",
    { tools: [{ ...tool, name: "a.b" }] },
    /tools.0.custom.name: String should match/,
  ],
  ["a tool twice", { tools: [tool, tool] }, /Tool names must be unique/],
  [
    "a tool for text",
    { tools: [{ ...tool, input_schema: { type: "string" } }] },
    /type: Input should be 'object'/,
  ],
  [
    "a numbered description",
    { tools: [{ ...tool, description: 1 }] },
    /description: Input should be a valid/,
  ],
  ["calls without tools", { ...said([call("a")], [result("a")]), tools: undefined }, /must define tools/],
  ["an unknown tool forced", { tool_choice: { ...forced, name: "b" } }, /Tool 'b' not found/],
  ["no message", { messages: [] }, /at least one message/],
  [
    "an assistant message first",
    { messages: [assistant("a"), hello] },
    /first message must use the "user" role/,
  ],
  ["a system message", { messages: [hello, { ...hello, role: "system" }] }, /role 'system' is not supported/],
  ["an empty message", said([], "a"), /messages.1: all messages must have non-empty content/],
  ["an empty text", asked(text("")), /must be non-empty/],
  [
    "an empty text in a result",
    said([call("a")], [result("a", { content: [text("")] })]),
    /must be non-empty/,
  ],
  ["a text of white space", asked(text(" \n")), /must contain non-whitespace text/],
  [
    "a silent failure",
    said([call("a")], [result("a", { content: "", is_error: true })]),
    /content cannot be empty/,
  ],
  ["an assistant message last", said("a"), /does not support assistant message prefill/],
  ["an unknown block", asked({ type: "refusal" }), /Input tag 'refusal'/],
  ["a document of the assistant", said([document, text("b")], "a"), /`document` blocks are not permitted/],
  ["citations of the user", asked(text("a", { citations: [{}] })), /citations: not permitted/],
  [
    "an input that is text",
    said([call("a", { input: "{}" })], [result("a")]),
    /input: Input should be a valid dict/,
  ],
  ["an id with a dot", said([call("a.b")], [result("a.b")]), /tool_use.id: String should match pattern/],
  ["an id twice", said([call("a"), call("a")], [result("a")]), /ids must be unique/],
  ["a call of the user", asked(call("a")), /can only be in `assistant` messages/],
  ["a result of the assistant", said([result("a")], "a"), /can only be in `user` messages/],
  [
    "a call without a result",
    said([call("a"), call("b")], [result("a")]),
    /messages.1: .*immediately after: b\./,
  ],
  ["a text before the results", said([call("a")], [text("so"), result("a")]), /immediately after: a\./],
  ["a result without its call", asked(result("a")), /0.content.0: unexpected `tool_use_id` found in .*: a\./],
  ["two results for a call", said([call("a")], [result("a"), result("a")]), /Found multiple .* with id: a/],
  ["five marks", asked(...Array.from("aaaaa", () => of(mark()))), /A maximum of 4 blocks .* Found 5/],
  ["an unknown mark", { cache_control: { type: "persistent" } }, /Input should be 'ephemeral'/],
  ["a mark for a day", { cache_control: { ...mark(), ttl: "1d" } }, /Input should be '5m' or '1h'/],
  ["the longer mark last", asked(of(mark()), of(mark("1h"))), /ttl='1h' .* must not come after a ttl='5m'/],
  [
    "two marks at the end",
    { ...asked(of(mark("1h"))), cache_control: mark() },
    /Top-level cache_control has ttl='5m'/,
  ],
  ["a mark on an empty text", asked(of(mark(), "")), /cannot be set for empty text blocks/],
  [
    "a mark on a thought",
    said([thought({ cache_control: mark() }), text("a")], "a"),
    /thinking.cache_control: Extra/,
  ],
  [
    "an invented thought",
    said([thought(), text("a")], "a"),
    /1.content.0: Invalid `signature` in `thinking` block/,
  ],
  [
    "an invented seal",
    said([sealed, text("a")], "a"),
    /1.content.0: Invalid `data` in `redacted_thinking` block/,
  ],
  ["a thought last", said([sealed], "a"), /final block in an assistant message cannot be `thinking`/],
  ["a thought after text", said([text("a"), sealed, text("b")], "a"), /first block must be `thinking`/],
  ["a long prompt", { system: "a".repeat(200_000) }, /^prompt is too long: \d+ tokens > 50000 maximum/],
  ["the key", { system: "test-key" }, /holds the key/],
];
const budget: Case[] = [
  ["a budget", { thinking }, null],
  ["prefill", said("a"), null],
  ["prefill that ends in white space", said("a "), /cannot end with trailing whitespace/],
  ["adaptive thinking", { thinking: adaptive }, /adaptive thinking is not supported on this model/],
  ["thinking between tools", { thinking: { type: "between_tools" } }, /"thinking.type.between_tools" is not/],
  ["an effort", { output_config: { effort: "low" } }, /does not support the effort parameter/],
  ["a small budget", { thinking: { ...thinking, budget_tokens: 1000 } }, /greater than or equal to 1024/],
  [
    "a budget for all",
    { thinking: { ...thinking, budget_tokens: 4000 } },
    /`max_tokens` must be greater than/,
  ],
  [
    "a forced tool with thinking",
    { thinking, tool_choice: forced },
    /Thinking may not be enabled when tool_choice/,
  ],
  [
    "a loop without thinking",
    { thinking, ...said([call("a")], [result("a")]) },
    /Expected `thinking` .* `tool_use`/,
  ],
  ["an earlier turn without thinking", { thinking, ...said("a", "b") }, null],
];
const newAndOld = [
  ...newer.map((one) => ["adaptive", ...one] as const),
  ...budget.map((one) => ["budget", ...one] as const),
];

it.each(newAndOld)(
  "a model with %s thinking judges %s as the service does",
  async (family, _, more, complaint) => {
    await using server = await start([{ content: "hi" }], {
      family,
      contextTokens: 50_000,
      mostOutputTokens: 5000,
    });

    const answer = clientOf(server).messages.create(body(more));

    if (complaint === null) await expect(answer).resolves.toMatchObject({ stop_reason: "end_turn" });
    else {
      const error = {
        status: 400,
        type: "invalid_request_error",
        apiMessage: expect.stringMatching(complaint),
      };
      await expect(answer).rejects.toMatchObject(error);
    }
    expect(server.complaints).toEqual(complaint === null ? [] : [expect.stringMatching(complaint)]);
  },
);

it.each<[...Case, "adaptive" | "budget"]>([
  ["the default temperature", { temperature: 1 }, null, "adaptive"],
  ["another temperature", { temperature: 0 }, /`temperature` is deprecated for this model/, "adaptive"],
  ["top_k", { top_k: 5 }, /`top_k` is deprecated/, "adaptive"],
  ["a temperature without thinking", { temperature: 0 }, null, "budget"],
  [
    "a temperature with thinking",
    { thinking, temperature: 0 },
    /`temperature` may only be set to 1/,
    "budget",
  ],
  ["top_k with thinking", { thinking, top_k: 1 }, /`top_k` must be unset/, "budget"],
  ["a low top_p with thinking", { thinking, top_p: 0.5 }, /`top_p` must be greater/, "budget"],
])("version 2023-06-01 judges %s as the service does", async (_, more, complaint, family) => {
  await using server = await start([{ content: "hi" }], { family });

  const answer = clientOf(server).messages.create(body(more), {
    headers: { "anthropic-version": "2023-06-01" },
  });

  if (complaint === null) await answer;
  else await expect(answer).rejects.toThrow(complaint);
});

const thoughtful: ClaudeScript = [
  {
    thinking: ["first", "second"],
    redacted: 2,
    content: "I look.",
    tool_calls: [{ name: "look", arguments: { at: 1 } }],
  },
  { thinking: ["third"], content: "done" },
  { content: "again" },
];
type Turn = (given: Anthropic.ContentBlock[]) => Anthropic.ContentBlockParam[];

/** Plays the loop of `thoughtful` and a further turn, with the first answer as `change` sends it back. */
async function loop(
  server: FakeAnthropic,
  request: Partial<Body>,
  change: Turn = (given) => given,
  last: Partial<Body> = {},
) {
  const { messages } = clientOf(server);
  const first = await messages.create(body(request));
  const called = first.content.find((block) => block.type === "tool_use");
  const history = [hello, assistant(change(first.content)), user([result(called?.id ?? "")])];
  const second = await messages.create(body({ ...request, messages: history }));
  history.push(assistant(second.content), user("more"));
  await messages.create(body({ ...request, messages: history, ...last }));
  return { first, second };
}

it.each([
  ["budget", { thinking }, "first"],
  ["adaptive", { thinking: { type: "adaptive" } }, ""],
] as const)(
  "a loop of tools with %s thinking passes if the answers come back as they were given",
  async (family, request, shown) => {
    await using server = await start(thoughtful, { family, preserved: family === "adaptive" });

    const { first, second } = await loop(server, request as Partial<Body>);

    expect(server.complaints).toEqual([]);
    expect(first.content.map(({ type }) => type)).toEqual([
      "thinking",
      "thinking",
      "redacted_thinking",
      "redacted_thinking",
      "text",
      "tool_use",
    ]);
    expect(first.content[0]).toMatchObject({
      thinking: shown,
      signature: expect.stringMatching(/^\S{80,}$/),
    });
    expect(first.content[5]).toMatchObject({ name: "look", input: { at: 1 } });
    expect([first.stop_reason, second.stop_reason]).toEqual(["tool_use", "end_turn"]);
    expect(first.usage.output_tokens_details?.thinking_tokens).toBeGreaterThan(0);
  },
);

it.each<[string, Turn, RegExp]>([
  ["without one thought", (given) => given.slice(1), /cannot be modified/],
  [
    "without its encrypted thoughts",
    (given) => given.filter(({ type }) => type !== "redacted_thinking"),
    /cannot be modified/,
  ],
  ["in another order", ([a, b, ...rest]) => [b!, a!, ...rest], /cannot be modified/],
  [
    "with another thought",
    ([a, ...rest]) => [{ ...(a as Anthropic.ThinkingBlock), thinking: "else" }, ...rest],
    /Invalid `signature`/,
  ],
  [
    "with another encrypted thought",
    (given) =>
      given.map((one) => (one.type === "redacted_thinking" ? { ...one, data: `${one.data}A` } : one)),
    /content.2: .*cannot be modified/,
  ],
  [
    "with another text",
    (given) => given.map((one) => (one.type === "text" ? { ...one, text: "else" } : one)),
    /content.4: .*cannot be modified/,
  ],
  [
    "with another input",
    (given) => given.map((one) => (one.type === "tool_use" ? { ...one, input: {} } : one)),
    /content.5: .*cannot be modified/,
  ],
])("an answer that comes back %s is refused", async (_, change, complaint) => {
  await using server = await start(thoughtful);

  await expect(loop(server, {}, change)).rejects.toThrow(complaint);

  expect(server.complaints).toHaveLength(1);
});

it("keys that say nothing may be left out of an answer that comes back, and marks may be added", async () => {
  await using server = await start(thoughtful, { preserved: true });

  await loop(server, {}, (given) =>
    given.map((one) =>
      one.type === "text"
        ? text(one.text)
        : one.type === "tool_use"
          ? { ...call(one.id), input: one.input, cache_control: mark() }
          : one,
    ),
  );

  expect(server.complaints).toEqual([]);
});

it("thinking of another model is refused, or dropped", async () => {
  for (const otherModels of ["refuse", "drop"] as const) {
    await using server = await start(thoughtful, { otherModels });
    const moved = loop(server, {}, undefined, { model: "claude-b" });

    if (otherModels === "drop") await moved;
    else await expect(moved).rejects.toThrow("messages.1.content.0: Invalid `signature` in `thinking` block");
  }
});

it.each<[string, Partial<Body>, boolean]>([
  ["another system prompt", { system: "new" }, true],
  ["a new tool", { tools: [tool, { ...tool, name: "b" }] }, true],
  ["another effort and mark", { output_config: { effort: "low" }, cache_control: mark() }, false],
])("preserved thinking and %s", async (_, last, breaks) => {
  await using preserved = await start(thoughtful, { preserved: true });
  await using older = await start(thoughtful);
  const changed = loop(preserved, {}, undefined, last);

  if (breaks)
    await expect(changed).rejects.toThrow(/The block is bound to a different conversation.*anthropic-beta/);
  else await changed;
  await loop(older, {}, undefined, last);
});

it.each([
  ["a forced tool", { tool_choice: forced }, /are not supported for this model/],
  ["no thinking", { thinking: { type: "disabled" } }, /thinking.type.disabled/],
])("a model with preserved thinking refuses %s", async (_, more, complaint) => {
  await using preserved = await start([], { preserved: true });
  await using older = await start([{ thinking: ["a"], content: "b" }]);

  await expect(clientOf(preserved).messages.create(body(more))).rejects.toThrow(complaint);
  expect((await clientOf(older).messages.create(body(more))).content.at(-1)).toMatchObject({ text: "b" });
});

it("preserved thinking may be left out from the start of a conversation, but not from its middle", async () => {
  await using server = await start(() => ({ thinking: ["a"], content: "b" }), { preserved: true });
  const { messages } = clientOf(server);
  const history: Message[] = [hello];
  for (let i = 0; i < 3; i++) {
    history.push(assistant((await messages.create(body({ messages: history }))).content), user("more"));
  }
  const without = (index: number) =>
    messages.create(body({ messages: history.map((one, i) => (i === index ? assistant("b") : one)) }));

  await without(1);
  await expect(without(3)).rejects.toThrow("messages.5.content.0: Invalid `signature`");
});

it("preserved thinking is dropped from a changed conversation if the request says so", async () => {
  await using server = await start(thoughtful, { preserved: true });
  const { messages } = clientOf(server).beta;
  const betas = ["thinking-binding-controls-2026-08-01"];
  const bound = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } as const;
  const first = await messages.create({
    ...(body() as Anthropic.Beta.MessageCreateParamsNonStreaming),
    betas,
  });
  const back = [{ role: "assistant" as const, content: first.content }, user([result("toolu_0_0")])];

  const second = await messages.create({
    model: "claude-a",
    max_tokens: 4000,
    tools: [tool],
    thinking: bound,
    betas,
    messages: [user("changed"), ...back],
  });

  expect(first.input_transformations).toEqual([]);
  expect(second.input_transformations).toHaveLength(4);
  expect(second.input_transformations?.[0]).toEqual({
    type: "thinking_dropped",
    path: "messages.1.content.0",
    reason: "prefix_binding_mismatch",
  });
});

it("the cache reads the longest prefix that was written, up to twenty steps before a mark, and writes at the last mark", async () => {
  await using server = await start(() => ({ content: "hi" }), { leastCachedTokens: 50 });
  const { messages } = clientOf(server);
  const long = (n: number, marked = false) =>
    text(`${n} ${"a".repeat(400)}`, marked ? { cache_control: mark() } : {});
  const ask = async (blocks: number, more = {}, upTo = blocks) => {
    const content = Array.from({ length: blocks }, (_, i) => long(i, i + 1 === upTo));
    return (await messages.create(body({ messages: [user(content)], ...more }))).usage;
  };

  const unmarked = await ask(3, {}, 0);
  const written = await ask(3, {}, 2);
  const grown = await ask(5);
  const tooFar = await ask(26);
  const otherTool = await ask(5, { tools: [{ ...tool, name: "b" }] });
  const hour = await ask(1, { system: [{ ...long(0), cache_control: mark("1h") }] });
  const short = (await messages.create(body({ tools: [], cache_control: mark() }))).usage;

  expect(unmarked).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
  expect(written.cache_creation_input_tokens).toBeGreaterThan(200);
  expect(written.input_tokens + (written.cache_creation_input_tokens ?? 0)).toBe(unmarked.input_tokens);
  expect(grown.cache_read_input_tokens).toBe(written.cache_creation_input_tokens);
  expect(grown.cache_creation_input_tokens).toBeGreaterThan(300);
  expect([tooFar, otherTool].map((usage) => usage.cache_read_input_tokens)).toEqual([0, 0]);
  expect(hour.cache_creation?.ephemeral_1h_input_tokens).toBeGreaterThan(100);
  expect(hour.cache_creation?.ephemeral_5m_input_tokens).toBeGreaterThan(100);
  expect(short).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
});

it("faults and stops have the service's shapes", async () => {
  const cut = { ...cutAnswer("half"), tool_calls: [{ name: "look", arguments: '{"at' }] };
  await using server = await start([
    overloaded,
    rateLimited(7),
    refused,
    cut,
    { tool_calls: [{ name: "look", arguments: '{"at' }] },
  ]);
  const { messages } = clientOf(server);

  await expect(messages.create(body())).rejects.toMatchObject({ status: 529, type: "overloaded_error" });
  const limited = await messages
    .create(body())
    .catch((error: unknown) => error as InstanceType<typeof Anthropic.APIError>);
  expect(limited).toMatchObject({ status: 429, type: "rate_limit_error" });
  expect((limited as InstanceType<typeof Anthropic.APIError>).headers?.get("retry-after")).toBe("7");
  expect(await messages.create(body())).toMatchObject({
    content: [],
    stop_reason: "refusal",
    stop_details: { type: "refusal" },
  });
  expect(await messages.create(body())).toMatchObject({
    content: [{ text: "half" }, { input: {} }],
    stop_reason: "max_tokens",
  });
  expect(server.complaints).toEqual([]);
  await expect(messages.create(body())).rejects.toThrow(/an input that is no object/);
});

it("keys, versions, models and paths are checked", async () => {
  await using server = await start([], {
    family: "budget",
    models: ["claude-a"],
    contextTokens: 1000,
    mostOutputTokens: 5000,
  });
  const client = clientOf(server);

  await expect(clientOf(server, "other").messages.create(body())).rejects.toMatchObject({
    status: 401,
    type: "authentication_error",
  });
  await expect(client.messages.create(body({ model: "claude-z" }))).rejects.toMatchObject({
    status: 404,
    type: "not_found_error",
  });
  const post = (headers: Record<string, string>) =>
    fetch(`${server.url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": "test-key", ...headers },
      body: "{",
    });
  expect((await post({})).status).toBe(400);
  expect((await post({ "anthropic-version": "2023-06-01" })).status).toBe(400);
  expect((await post({ "anthropic-version": "2023-06-01", "content-type": "application/json" })).status).toBe(
    400,
  );
  expect((await post({ "anthropic-version": "2020-01-01" })).status).toBe(400);
  expect(server.complaints).toEqual([
    expect.stringContaining("is required"),
    expect.stringContaining("Content-Type"),
    expect.stringContaining("JSON"),
    expect.stringContaining("is not a valid version"),
  ]);
  const listed = [];
  for await (const model of client.models.list()) listed.push(model.id);
  expect(listed).toEqual(["claude-a"]);
  expect(await client.models.retrieve("claude-a")).toMatchObject({
    max_input_tokens: 1000,
    max_tokens: 5000,
    capabilities: {
      effort: { supported: false },
      thinking: { types: { enabled: { supported: true }, adaptive: { supported: false } } },
    },
  });
  await expect(client.models.retrieve("claude-z")).rejects.toMatchObject({ status: 404 });
});
