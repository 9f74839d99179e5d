import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAt, readLenient, readLenientObject } from "../../../src/agent/llm/lenient-json.ts";

describe("JSON as models write it", () => {
  it.each<[string, string, unknown]>([
    ["a trailing comma", '{"a": [1, 2,], }', { a: [1, 2] }],
    ["single quotes", "{'a': 'say \"x\"'}", { a: 'say "x"' }],
    ["bare keys", "{a: 1, b_c: 2}", { a: 1, b_c: 2 }],
    ["line breaks and tabs in a string", '{"a": "one\n\ttwo"}', { a: "one\n\ttwo" }],
    ["lone backslashes, as in code", '{"a": "\\s+\\d \\n \\u0041 \\u12"}', { a: "\\s+\\d \n A \\u12" }],
    ["an escaped single quote", '{"a": "don\\\'t"}', { a: "don't" }],
    ["Python's constants", '{"a": True, "b": None, "c": [False]}', { a: true, b: null, c: [false] }],
    ["JSON within a string", JSON.stringify('{"a": 1}'), { a: 1 }],
    ["a code fence", '```json\n{"a": 1,}\n```', { a: 1 }],
    ["brackets that are missing at the end", '{"a": {"b": [1, "x"', { a: { b: [1, "x"] } }],
    ["a bracket too many", '{"a": 1}}', { a: 1 }],
  ])("JSON as models write it is read with %s", (_, text, value) => expect(readLenient(text)).toEqual(value));

  it.each([
    ["a quote within quotes", '{"a": "he said "hi" to me"}'],
    ["a string without its end", '{"title": "One attempt too'],
    ["a missing comma", '{"a": 1 "b": 2}'],
    ["a missing value", '{"a": }'],
    ["a value cut off behind its key", '{"a":'],
    ["a bare word", '{"path": src/a.ts}'],
    ["the wrong bracket", '{"a": [1}'],
    ["a number that is none", '{"a": 01}'],
    ["prose", "I would look at a.ts"],
    ["prose behind it", '{"a": 1} and so on'],
    ["nesting without end", `${"[".repeat(10_000)}`],
  ])("JSON as models write it is not guessed at with %s", (_, text) =>
    expect(readLenient(text)).toBeUndefined(),
  );

  it("JSON as models write it is not closed where it was cut off at a limit", () => {
    expect(readLenient('{"a": {"line": 12', { isCut: true })).toBeUndefined();
    expect(readLenient('{"a": 12,}', { isCut: true })).toEqual({ a: 12 });
  });

  it("JSON as models write it is an object where arguments are asked for", () => {
    expect(readLenientObject("{'a': 1}")).toEqual({ a: 1 });
    expect(readLenientObject("[1,]")).toBeUndefined();
    expect(readLenientObject('"text"')).toBeUndefined();
  });

  it("JSON as models write it means what JSON.parse says where both can read it", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(3), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(readAt(text, 0)).toEqual({ value: JSON.parse(text), end: text.length });
      }),
    );
  });

  it("JSON as models write it has each escape of a string, and each backslash that begins none", () => {
    const pieces = fc.constantFrom(
      ...[["\\n", "\n"] as const, ["\\\\", "\\"] as const, ['\\"', '"'] as const, ["\\'", "'"] as const],
      ...[["\\u0041", "A"] as const, ["\\ud83d", "\ud83d"] as const, ["\\/", "/"] as const],
      ...["\\s", "\\u12", "\\u{41}", "\\x41", "\n", "é", "\u2028", "n", "u0041"].map(
        (one) => [one, one] as const,
      ),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), fc.constantFrom('"', "'"), (all, quote) => {
        const [written, meant] = [0, 1].map((side) => all.map((piece) => piece[side]).join(""));
        const text = `${quote}${written}${quote}`;
        expect(readAt(`${text} and so on`, 0)).toEqual({ value: meant, end: text.length });
        expect(readAt(text.slice(0, -1), 0)).toEqual({ value: undefined, end: text.length - 1 });
      }),
    );
  });

  it("JSON as models write it means the same with what can be mended", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const text = JSON.stringify(value);
        const expected = JSON.parse(text);
        expect(readLenient(text.replace(/[}\]]+$/, ""))).toEqual(expected);
        expect(readLenient(JSON.stringify(text))).toEqual(expected);
        expect(readLenient(`\`\`\`json\n${text}\n\`\`\``)).toEqual(expected);
        if (text !== "{}") expect(readLenient(text.replace(/\}$/, ",}"))).toEqual(expected);
      }),
    );
  });

  it("JSON as models write it is none where it nests deeper than any call of a tool", () => {
    const nested = (depth: number) => `${'{"a":['.repeat(depth)}${"]}".repeat(depth)}`;
    expect(readLenient(nested(32))).toEqual(JSON.parse(nested(32)));
    expect(readLenient(nested(33))).toBeUndefined();
    expect(readLenient("[".repeat(1_000_000))).toBeUndefined();
  });

  it("JSON as models write it may hold any number of brackets in its strings", () => {
    const value = { content: '"[{\\'.repeat(1_000) };
    expect(readLenient(JSON.stringify(value))).toEqual(value);
  });
});
