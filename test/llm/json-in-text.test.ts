import { describe, expect, it } from "vitest";
import { jsonIn, withoutThinking } from "../../src/llm/json-in-text.ts";

describe("JSON in a model's answer", () => {
  it("is found in order, with what stands around it", () => {
    expect(jsonIn('First {"a": 1}, then [{"b": 2}] and {"c": {"d": 3}}.', {})).toEqual({
      values: [{ a: 1 }, [{ b: 2 }], { c: { d: 3 } }],
      prose: "First , then  and .",
    });
  });

  it("is not what only looks like it", () => {
    const code = "if (x) { return list[0]; } and {x: y}";
    expect(jsonIn(code, {})).toEqual({ values: [], prose: code });
  });

  it.each([
    ["opening brackets alone", "{".repeat(100_000)],
    ["lists of nothing", "[ {".repeat(50_000)],
    ["strings without end", '{"a": "'.repeat(20_000)],
    ["thoughts without end", "<think>".repeat(20_000)],
    ["many objects", '{"a": 1} '.repeat(20_000)],
  ])("is looked for no longer than it is worth in %s", (_, text) => {
    expect(jsonIn(withoutThinking(text), {}).values.length).toBeLessThanOrEqual(100);
  });
});
