import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Joiner, joinChunks, joinEvents, NoBody, readBody } from "../../../src/agent/llm/answer-body.ts";
import { readAnswer as readClaude } from "../../../src/agent/llm/anthropic.ts";
import { readAnswer } from "../../../src/agent/llm/openai.ts";
import { errorInside } from "../../../src/agent/llm/refusal.ts";

const tooMuch = () => new Error("too much");
const asIs = (text: string) => text;

/** A response whose body arrives in pieces of these sizes, again and again. */
function responseOf(text: string, sizes: readonly number[] = [1_000], type = "text/event-stream"): Response {
  const bytes = Buffer.from(text);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      for (const size of sizes) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.subarray(at, at + size));
        at += size;
      }
    },
  });
  return new Response(body, { headers: { "content-type": type } });
}
const read = (text: string, joiner: Joiner = joinChunks(), ...more: [number[]?, string?]) =>
  readBody(responseOf(text, ...more), joiner, tooMuch);

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: unknown, finish: string | null = null) =>
  event({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] });

/** A text in parts, cut at these places. */
function parts(text: string, cuts: readonly number[]): string[] {
  const at = [...new Set([0, ...cuts.map((cut) => cut % (text.length + 1)), text.length])].toSorted(
    (a, b) => a - b,
  );
  return text === "" ? [text] : at.slice(1).map((end, index) => text.slice(at[index], end));
}

const text = fc.string({ unit: "grapheme", maxLength: 30 });
const cuts = fc.array(fc.nat(40), { maxLength: 4 });
const call = fc.record({ name: fc.constantFrom("look", "report"), arguments: fc.json({ maxDepth: 1 }) });
const answer = fc.record({
  content: text,
  reasoning_content: fc.option(text, { nil: undefined }),
  calls: fc.array(call, { maxLength: 3 }),
  cuts,
  sizes: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 3 }),
  lineEnd: fc.constantFrom("\n", "\r\n"),
});
const usage = { prompt_tokens: 10, completion_tokens: 2 };

describe("a stream that no request asked for", () => {
  it("A stream of Chat Completions is the same answer as without a stream", () =>
    fc.assert(
      fc.asyncProperty(answer, async ({ content, reasoning_content, calls, cuts: at, sizes, lineEnd }) => {
        const tool_calls = calls.map((one, index) => ({ id: `c${index}`, type: "function", function: one }));
        const message = { role: "assistant", content, reasoning_content, tool_calls };
        const finish = calls.length > 0 ? "tool_calls" : "stop";
        const stream = [
          ": OPENROUTER PROCESSING\n\n",
          chunk({ role: "assistant", content: null }),
          ...[reasoning_content]
            .flatMap((one) => (one === undefined ? [] : parts(one, at)))
            .map((one) => chunk({ reasoning_content: one })),
          ...parts(content, at).map((one) => chunk({ content: one })),
          ...calls.flatMap((one, index) => [
            chunk({
              tool_calls: [{ index, id: `c${index}`, type: "function", function: { ...one, arguments: "" } }],
            }),
            ...parts(one.arguments, at).map((json) =>
              chunk({ tool_calls: [{ index, function: { arguments: json } }] }),
            ),
          ]),
          chunk({}, finish),
          event({ choices: [], usage }),
          "data: [DONE]\n\n",
        ].join("");
        const joined = await read(stream.replaceAll("\n", lineEnd), joinChunks(), sizes);
        const whole = { choices: [{ index: 0, message, finish_reason: finish }], usage };
        expect(readAnswer(joined, new Set(), 9, asIs)).toEqual(readAnswer(whole, new Set(), 9, asIs));
      }),
    ));

  it("A stream of Anthropic's API is the same answer as without a stream", () =>
    fc.assert(
      fc.asyncProperty(
        answer,
        async ({ content, reasoning_content: thinking = "", calls, cuts: at, sizes }) => {
          const inputs = calls.map(({ name }, index) => ({
            type: "tool_use",
            id: `c${index}`,
            name,
            input: { content },
          }));
          const blocks = [
            { type: "thinking", thinking, signature: "s" },
            { type: "text", text: content },
            ...inputs,
          ];
          const typed = (type: string, more: object) => `event: ${type}\n${event({ type, ...more })}`;
          const deltas = (index: number, type: string, field: string, whole: string) =>
            parts(whole, at).map((one) =>
              typed("content_block_delta", { index, delta: { type, [field]: one } }),
            );
          const begun = (index: number, block: object) =>
            typed("content_block_start", { index, content_block: block });
          const stream = [
            typed("message_start", {
              message: { type: "message", content: [], stop_reason: null, usage: { input_tokens: 9 } },
            }),
            begun(0, { type: "thinking", thinking: "", signature: "" }),
            ...deltas(0, "thinking_delta", "thinking", thinking),
            ...deltas(0, "signature_delta", "signature", "s"),
            begun(1, { type: "text", text: "" }),
            ...deltas(1, "text_delta", "text", content),
            ...inputs.flatMap((block, index) => [
              begun(index + 2, { ...block, input: {} }),
              ...deltas(index + 2, "input_json_delta", "partial_json", JSON.stringify(block.input)),
            ]),
            typed("ping", {}),
            typed("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }),
            typed("message_stop", {}),
          ].join("");
          const joined = await read(stream, joinEvents(), sizes);
          const whole = {
            content: blocks,
            stop_reason: "end_turn",
            usage: { input_tokens: 9, output_tokens: 5 },
          };
          expect(readClaude(joined, new Set(), 9, asIs)).toEqual(readClaude(whole, new Set(), 9, asIs));
        },
      ),
    ));

  it("A stream that no request asked for is seen by its content type or by its first line", async () => {
    const bare = (chunk({ content: "hi" }) + chunk({}, "stop")).replaceAll("\n\n", "\n");
    for (const type of ["text/event-stream", "application/json", "text/plain"])
      expect(await read(`\n${bare}`, joinChunks(), [7], type)).toMatchObject({
        choices: [{ message: { content: "hi" } }],
      });
  });

  it("A stream that no request asked for may send whole calls with the same index", async () => {
    const whole = (id: string, more: object) => ({
      id,
      type: "function",
      function: { name: id, arguments: "{}" },
      ...more,
    });
    for (const more of [{ index: 0 }, {}]) {
      const joined = await read(
        chunk({ tool_calls: [whole("a", more), whole("b", more)] }) +
          chunk({ tool_calls: [whole("c", more)] }, "stop"),
      );
      expect(readAnswer(joined, new Set(), 9, asIs).toolCalls.map(({ name }) => name)).toEqual([
        "a",
        "b",
        "c",
      ]);
    }
  });

  it.each<[string, string, () => Joiner]>([
    ["ends before its reason", chunk({ content: "half" }), joinChunks],
    ["ends in the middle of an event", `${chunk({ content: "half" })}data: {"choices": [`, joinChunks],
    ["has an event that is broken", `data: {broken\n\n${chunk({}, "stop")}`, joinChunks],
    ["has no event", ": nothing\n\ndata: [DONE]\n\n", joinChunks],
    ["stops without a reason", event({ type: "message_start", message: {} }), joinEvents],
  ])("A stream that no request asked for is cut if it %s", async (_, stream, joiner) => {
    await expect(read(stream, joiner())).rejects.toBeInstanceOf(NoBody);
  });

  it.each<[string, () => Joiner]>([
    [chunk({ content: "half" }) + event({ error: { code: 429, message: "slow" } }), joinChunks],
    [
      `event: error\n${event({ type: "error", error: { type: "rate_limit_error", message: "slow" } })}`,
      joinEvents,
    ],
  ])("A stream that no request asked for is an error if it holds one (%#)", async (stream, joiner) => {
    expect(errorInside(await read(stream, joiner()))).toMatchObject({ status: 429, message: "slow" });
  });

  it("A stream that no request asked for cannot change the prototype of an answer", async () => {
    await read(`data: {"choices":[{"delta":{"__proto__":{"polluted":1}},"finish_reason":"stop"}]}\n\n`);
    expect({}).not.toHaveProperty("polluted");
    const many = { tool_calls: Array.from({ length: 5_000 }, (_, at) => ({ id: `i${at}` })) };
    const joined = (await read(chunk({}) + chunk(many) + chunk({}, "stop"))) as {
      choices: { message: typeof many }[];
    };
    expect(joined.choices[0]?.message.tool_calls).toHaveLength(2_001);
  });
});

describe("a body", () => {
  it.each(["", " \n", '{"choices": [', "[1,"])("A body that is empty or cut is none (%j)", async (body) => {
    await expect(read(body, joinChunks(), [9], "application/json")).rejects.toBeInstanceOf(NoBody);
  });

  it.each<[string, unknown]>([
    ['\ufeff{"a": 1}', { a: 1 }],
    ["<!doctype html>", "<!doctype html>\n"],
    ["plain words", "plain words\n"],
  ])("A body is read for what it is (%j)", async (body, value) => {
    expect(await read(body, joinChunks(), [3], "application/json")).toEqual(value);
  });

  it.each([
    ["JSON", `{"a": "${"x".repeat(2_000_001)}"}`],
    ["lines", "x\n".repeat(1_000_001)],
  ])("A body is not read beyond the length of any answer (%s)", async (_, body) => {
    await expect(read(body, joinChunks(), [65_536])).rejects.toThrow("too much");
  });
});
