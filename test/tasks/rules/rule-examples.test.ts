import { describe, expect, it } from "vitest";
import { createMasking } from "../../../src/agent/llm/masked-request.ts";
import type { ModelRequest } from "../../../src/agent/llm/model.ts";
import { withTextProtocol } from "../../../src/agent/llm/text-fallback.ts";
import type { NamedRule } from "../../../src/config/named-rules.ts";
import { Masks } from "../../../src/core/secrets/masks.ts";
import { examplesOf, tryExamplesOf } from "../../../src/tasks/rules/rule-examples.ts";
import { fiveSecrets } from "../../attacks/five-secrets.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

const rule: NamedRule = {
  name: "no-raw-sql",
  what: "Handlers send no SQL of their own.",
  where: ["src/**"],
  severity: "high",
  blocking: true,
  examples: { right: ["find(id)", "store.all()"], wrong: ['db.query("select 1")'] },
};
const order = examplesOf(rule);

/** Verdicts on the examples; each is said to break the rule if `breaks` says so. */
const verdicts = (breaks: (kind: "right" | "wrong", at: number) => boolean): ScriptedTurn => ({
  toolCalls: [
    {
      name: "judge_examples",
      arguments: {
        verdicts: order.map(({ kind, at }, index) => ({
          example: index + 1,
          breaks: breaks(kind, at),
          why: `of ${kind} ${at}`,
        })),
      },
    },
  ],
});
const tried = (model: Parameters<typeof tryExamplesOf>[1], one = rule) =>
  tryExamplesOf(one, model, createMasking(new Masks()), new AbortController().signal);
const textOf = ({ messages }: ModelRequest) => messages.map(({ content }) => content).join("\n");

describe("the examples of a named rule", () => {
  it("One request shows the rule and its examples without their kinds", async () => {
    const model = scriptedModel([verdicts((kind) => kind === "wrong")]);

    expect((await tried(model)).mistaken).toEqual([]);

    expect(model.requests).toHaveLength(1);
    const [, question] = model.requests[0]?.messages ?? [];
    expect(question?.content).toContain(rule.what);
    for (const { code } of order) expect(question?.content).toContain(code);
    expect(question?.content).not.toMatch(/right|wrong/i);
  });

  it("An example that the model takes for the opposite is mistaken, with its reason", async () => {
    const model = scriptedModel([verdicts((kind, at) => kind === "right" && at === 1)]);

    expect((await tried(model)).mistaken).toEqual([
      { kind: "right", at: 1, why: "of right 1" },
      { kind: "wrong", at: 0, why: "of wrong 0" },
    ]);
  });

  it("The model is asked again after an incomplete or invalid answer, or none", async () => {
    const partial = verdicts(() => true);
    const call = partial.toolCalls?.[0];
    const { verdicts: all } = (call ?? { arguments: {} }).arguments as { verdicts: unknown[] };
    const some = all.slice(1);
    const model = scriptedModel([
      { toolCalls: [{ name: "judge_examples", arguments: { verdicts: some } }] },
      { content: "The first one breaks it." },
      verdicts((kind) => kind === "wrong"),
    ]);

    expect(await tried(model)).toMatchObject({ mistaken: [], usage: [{}, {}, {}] });
    expect(textOf(model.requests[1] as ModelRequest)).toContain("there is no verdict on example 1");
  });

  it("A model that never answers is an error that names the rule", async () => {
    const model = scriptedModel(() => ({ content: "No." }));

    await expect(tried(model)).rejects.toMatchObject({
      code: "model_failed",
      message: expect.stringContaining("no-raw-sql"),
    });
    expect(model.requests).toHaveLength(3);
  });

  it("The model gets masks in place of secrets", async () => {
    const { text, values } = fiveSecrets();
    const leaking = { ...rule, examples: { right: ["find(id)", "store.all()"], wrong: [text] } };
    const count = examplesOf(leaking).length;
    const all = Array.from({ length: count }, (_, at) => ({ example: at + 1, breaks: true, why: "x" }));
    const model = scriptedModel([{ toolCalls: [{ name: "judge_examples", arguments: { verdicts: all } }] }]);

    await tried(model, leaking);

    for (const value of values) expect(textOf(model.requests[0] as ModelRequest)).not.toContain(value);
  });

  it("Examples are tried with a model that calls tools in its text", async () => {
    const [call] = verdicts((kind) => kind === "wrong").toolCalls ?? [];
    const text = JSON.stringify({ name: call?.name, arguments: call?.arguments });
    const model = scriptedModel([{ content: `<tool_call>\n${text}\n</tool_call>` }]);

    expect((await tried(withTextProtocol(model))).mistaken).toEqual([]);
  });
});
