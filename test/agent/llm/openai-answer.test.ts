import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAnswer } from "../../../src/agent/llm/openai.ts";
import { AppError } from "../../../src/core/errors.ts";

const asIs = (text: string) => text;
const read = (message: unknown, more: Record<string, unknown> = {}, taken: string[] = []) =>
  readAnswer({ choices: [{ message, finish_reason: "stop", ...more }] }, new Set(taken), 4_000, asIs);
const call = (more: Record<string, unknown>) => ({ function: { name: "look", arguments: "{}" }, ...more });

describe("an answer", () => {
  it.each<[string, unknown, string]>([
    ["text", { content: "hi" }, "hi"],
    ["null", { content: null }, ""],
    ["nothing", {}, ""],
    ["parts", { content: [{ type: "text", text: "a" }, "b", { type: "odd" }] }, "ab"],
    ["a refusal", { content: null, refusal: "I will not" }, "I will not"],
  ])("An answer may hold %s as content", (_, message, expected) => {
    expect(read(message).content).toBe(expected);
  });

  it.each<[string, unknown, string]>([
    ["a string", '{"a":1}', '{"a":1}'],
    ["broken JSON, kept for the loop to answer", '{"a":', '{"a":'],
    ["an object", { a: 1 }, '{"a":1}'],
    ["nothing", undefined, "{}"],
    ["null", null, "{}"],
    ["an empty string", " ", "{}"],
  ])("An answer may hold %s as arguments", (_, given, expected) => {
    const turn = read({ tool_calls: [{ id: "a", function: { name: "look", arguments: given } }] });

    expect(turn.toolCalls).toEqual([{ id: "a", name: "look", arguments: expected }]);
    expect(turn.finishReason).toBe("tool_calls");
  });

  it("An answer may use the old form of a call", () => {
    const turn = read({ content: null, function_call: { name: "look", arguments: "{}" } });

    expect(turn.toolCalls).toMatchObject([{ name: "look", arguments: "{}" }]);
  });

  it("An answer may come in several choices, text in one and calls in another", () => {
    const turn = readAnswer(
      { choices: [{ message: { content: "I look" } }, { message: { tool_calls: [call({ id: "a" })] } }] },
      new Set(),
      0,
      asIs,
    );

    expect(turn).toMatchObject({ content: "I look", toolCalls: [{ id: "a" }], finishReason: "tool_calls" });
  });

  it.each([
    ["length", "length"],
    ["max_tokens", "length"],
    ["content_filter", "content_filter"],
    [null, "stop"],
    [undefined, "stop"],
    [7, "stop"],
    ["eos", "other"],
  ])("An answer with the finish reason %s ends by %s", (told, expected) => {
    expect(read({ content: "x" }, { finish_reason: told }).finishReason).toBe(expected);
  });

  it.each<[string, unknown, object]>([
    ["none, estimated then", undefined, { promptTokens: 1_000, cachedTokens: 0, completionTokens: 1 }],
    ["junk", { prompt_tokens: -5, completion_tokens: "many" }, { promptTokens: 1_000, completionTokens: 1 }],
    [
      "OpenAI's",
      { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } },
      { promptTokens: 10, cachedTokens: 4, completionTokens: 2 },
    ],
    [
      "DeepSeek's",
      { prompt_tokens: 10, completion_tokens: 2, prompt_cache_hit_tokens: 6 },
      { promptTokens: 10, cachedTokens: 6, completionTokens: 2 },
    ],
    [
      "more cached than sent",
      { prompt_tokens: 10, completion_tokens: 0, cached_tokens: 60 },
      { promptTokens: 10, cachedTokens: 10, completionTokens: 0 },
    ],
  ])("An answer with the usage of %s", (_, usage, expected) => {
    const raw = { choices: [{ message: { content: "hi" } }], usage };

    expect(readAnswer(raw, new Set(), 4_000, asIs).usage).toMatchObject(expected);
  });

  it("An answer never has a call id that is missing, taken, or refused by servers", () => {
    const anyId = fc.oneof(
      fc.constantFrom("a", "call_1", "call_2", "", null, undefined),
      fc.string({ maxLength: 60 }),
    );
    fc.assert(
      fc.property(
        fc.array(anyId, { minLength: 1 }),
        fc.uniqueArray(fc.constantFrom("a", "b", "call_1")),
        (ids, taken) => {
          const { toolCalls } = read({ tool_calls: ids.map((id) => call({ id })) }, {}, taken);
          const all = [...taken, ...toolCalls.map((one) => one.id)];

          expect(new Set(all).size).toBe(taken.length + ids.length);
          for (const { id } of toolCalls) expect(id).toMatch(/^[\w-]{1,40}$/);
        },
      ),
    );
  });

  it("An answer that is none is a model_failed with what came, whatever came", () => {
    for (const raw of [
      undefined,
      null,
      "",
      "plain",
      "<!DOCTYPE html><html>",
      {},
      { choices: [] },
      { choices: [{}] },
      [],
    ]) {
      expect(() => readAnswer(raw, new Set(), 0, asIs)).toThrow(AppError);
    }
    expect(() => readAnswer({ choices: [], detail: "no GPU" }, new Set(), 0, asIs)).toThrow(/no GPU/);
  });

  it("An answer of any JSON is read or refused, never a crash", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (message, usage) => {
        try {
          const turn = readAnswer({ choices: [{ message }], usage }, new Set(), 10, asIs);
          expect(typeof turn.content).toBe("string");
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }),
    );
  });
});
