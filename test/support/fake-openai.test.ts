import { expect, it } from "vitest";
import { startFakeOpenAi } from "./fake-openai.ts";
import { type ChatRequestBody, complaintAbout, type WireMessage } from "./openai-request-rules.ts";

const call = (id: string) => ({ id, type: "function", function: { name: "look", arguments: "{}" } });
const user: WireMessage = { role: "user", content: "hello" };
const asks: WireMessage = { role: "assistant", content: null, tool_calls: [call("a"), call("b")] };
const answer = (id: string): WireMessage => ({ role: "tool", tool_call_id: id, content: "seen" });
const body = (messages: WireMessage[], more: Partial<ChatRequestBody> = {}): ChatRequestBody => ({
  model: "m",
  messages,
  ...more,
});
const tool = (parameters: Record<string, unknown>) => ({
  type: "function",
  function: { name: "look", parameters },
});

interface Answer {
  choices: { message: { content: string | null; tool_calls: { function: unknown }[] } }[];
  usage: { prompt_tokens_details: { cached_tokens: number } };
}

it.each<[string, ChatRequestBody, RegExp | null]>([
  ["a plain conversation", body([user]), null],
  ["answered calls", body([user, asks, answer("b"), answer("a"), user]), null],
  ["no message", body([]), /too short/],
  ["a call left unanswered at the end", body([user, asks, answer("a")]), /did not have response messages: b/],
  ["a call left unanswered before the next message", body([user, asks, answer("a"), user]), /messages: b/],
  ["an answer without its call", body([user, answer("a")]), /must be a response to a preceding message/],
  ["the same call answered twice", body([user, asks, answer("a"), answer("a")]), /must be a response/],
  [
    "an assistant message with nothing",
    body([user, { role: "assistant", content: null }]),
    /expected a string/,
  ],
  ["an empty list of tools", body([user], { tools: [] }), /too short/],
  ["parallel calls without tools", body([user], { parallel_tool_calls: true }), /only allowed when/],
  ["a schema that is no object", body([user], { tools: [tool({ type: "string" })] }), /type "object"/],
  [
    "an array without items deep in a schema",
    body([user], { tools: [tool({ type: "object", properties: { a: { anyOf: [{ type: "array" }] } } })] }),
    /array schema missing items/,
  ],
  ["a key nobody knows", body([user], { temprature: 1 }), /Unrecognized request argument/],
])("the fake endpoint judges %s as OpenAI does", (_, request, expected) => {
  const complaint = complaintAbout(request);

  if (expected === null) expect(complaint).toBeNull();
  else expect(complaint).toMatch(expected);
});

it("the fake endpoint answers from its script, counts a shared prefix as cached, and keeps what it was asked", async () => {
  await using server = await startFakeOpenAi({
    script: [{ content: "hi" }, { tool_calls: [{ name: "look" }] }],
  });
  const post = (messages: WireMessage[], key = "test-key") =>
    fetch(`${server.url}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body(messages)),
    });

  const first = (await (await post([user])).json()) as Answer;
  const second = (await (await post([user, { role: "assistant", content: "hi" }, user])).json()) as Answer;
  const third = await post([user]);
  const fourth = await post([user], "another");

  expect(first.choices[0]).toMatchObject({ message: { content: "hi" }, finish_reason: "stop" });
  expect(first.usage.prompt_tokens_details.cached_tokens).toBe(0);
  expect(second.choices[0]?.message.tool_calls[0]?.function).toEqual({ name: "look", arguments: "{}" });
  expect(second.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(0);
  expect([third.status, fourth.status]).toEqual([400, 401]);
  expect(server.complaints).toEqual(["Error: the script ended before request 2"]);
  expect(server.requests.map((one) => one.body.messages.length)).toEqual([1, 3, 1, 1]);
});
