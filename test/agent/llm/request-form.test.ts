import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Avoidable, Message } from "../../../src/agent/llm/model.ts";
import { formed, plainSchema } from "../../../src/agent/llm/request.ts";
import * as tools from "../../../src/agent/tools/index.ts";
import { toDefinition } from "../../../src/agent/tools/to-openai.ts";

const ajv = new Ajv({ strict: false });
type Schema = Record<string, unknown>;
const all = Object.values(tools).flat().map(toDefinition);

/** Schemas as our tools have them: any of these may be absent or null. */
const leaf = fc.constantFrom<Schema>(
  { type: "string" },
  { type: ["integer", "null"], minimum: 1 },
  { type: ["string", "null"], enum: ["a", "b", null], default: "a" },
  { type: "string", pattern: "^[a-z]*$", maxLength: 9 },
  { anyOf: [{ type: "number", description: "x" }, { type: "null" }], description: "y" },
  { type: "boolean", const: true },
);
const schema = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.record({
      type: fc.constantFrom("array", ["array", "null"]),
      items: tie("schema"),
      minItems: fc.constant(0),
    }),
    fc
      .dictionary(fc.constantFrom("a", "type", "default", "enum", "null"), tie("schema"))
      .map((properties) => ({
        type: ["object", "null"],
        properties,
        required: Object.keys(properties).slice(1),
        additionalProperties: false,
      })),
  ),
})).schema;

/** Names of keywords, and not of properties, with their values. */
const keywords = (one: Schema): [string, unknown][] => [
  ...Object.entries(one).filter(([name]) => name !== "properties"),
  ...[one.items, ...Object.values((one.properties ?? {}) as Schema)].flatMap((inner) =>
    inner ? keywords(inner as Schema) : [],
  ),
];
const known = new Set(["type", "description", "required", "items", "enum"]);

function expectPlain(plain: Schema): void {
  for (const [name, value] of keywords(plain)) {
    expect(known).toContain(name);
    if (name === "type") expect(value).toBeTypeOf("string");
    if (name !== "items") expect(JSON.stringify(value)).not.toMatch(/\bnull\b(?!")/);
  }
}
const withoutNull = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(withoutNull);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (one === null ? [] : [[name, withoutNull(one)]])),
  );
};

describe("a plain schema", () => {
  it("A plain schema has none but the simplest keywords, one type each and no null", () => {
    fc.assert(
      fc.property(schema, (given) => {
        const plain = plainSchema(given);
        expectPlain(plain);
        expect(plainSchema(plain)).toEqual(plain);
      }),
    );
    for (const { parameters } of all) expectPlain(plainSchema(parameters));
  });

  it("A plain schema accepts what the schema of a tool accepts", () => {
    for (const list of Object.values(tools))
      for (const tool of list) {
        const { parameters } = toDefinition(tool);
        const [strict, plain] = [ajv.compile(parameters), ajv.compile(plainSchema(parameters))];
        const example = tool.example ?? {};
        expect([tool.name, strict(example), plain(withoutNull(example))]).toEqual([tool.name, true, true]);
        expect(plainSchema(parameters).required ?? []).toEqual(parameters.required);
      }
  });
});

const turn = fc.array(fc.constantFrom("user", "call", "text"), { maxLength: 8 }).map((kinds) =>
  kinds.flatMap((kind, at): Message[] => {
    if (kind === "user") return [{ role: "user", content: `u${at}` }];
    if (kind === "text") return [{ role: "assistant", content: `a${at}`, toolCalls: [] }];
    const toolCalls = ["call_1-", "toolu_"].map((id) => ({
      id: `${id}${at}`,
      name: "look",
      arguments: "{}",
    }));
    const answers = toolCalls.map(({ id }): Message => ({ role: "tool", callId: id, content: `t${at}` }));
    return [{ role: "assistant", content: "", toolCalls }, ...answers];
  }),
);
const form = (messages: readonly Message[], ...avoids: Avoidable[]) =>
  formed({ messages, tools: [], maxOutputTokens: 1 }, new Set(avoids)).messages;

describe("the messages of a careful request", () => {
  it("The messages of a careful request never have our text after an answer or another text", () => {
    fc.assert(
      fc.property(turn, turn, (begun, more) => {
        const sent = form([{ role: "user", content: "task" }, ...begun], "user_after_tool");
        for (const [at, { role }] of sent.entries())
          if (role === "user") expect([undefined, "assistant"]).toContain(sent[at - 1]?.role);
        for (const { content } of begun) expect(JSON.stringify(sent)).toContain(content);
        const later: Message[] = [
          { role: "user", content: "task" },
          ...begun,
          { role: "assistant", content: "x", toolCalls: [] },
          ...more,
        ];
        expect(form(later, "user_after_tool").slice(0, sent.length)).toEqual(sent);
      }),
    );
  });

  it("The messages of a careful request have ids of nine letters and digits, each its own", () => {
    fc.assert(
      fc.property(turn, (messages) => {
        const sent = form(messages, "long_ids");
        const ids = sent.flatMap((one) =>
          one.role === "assistant" ? one.toolCalls.map(({ id }) => id) : [],
        );
        expect(new Set(ids).size).toBe(ids.length);
        for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
        expect(sent.flatMap((one) => (one.role === "tool" ? [one.callId] : []))).toEqual(ids);
        expect(form([...messages, { role: "user", content: "more" }], "long_ids").slice(0, -1)).toEqual(sent);
      }),
    );
  });
});
