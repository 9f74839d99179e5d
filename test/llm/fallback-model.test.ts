import { describe, expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import type { AdaptiveModel } from "../../src/llm/adaptive-model.ts";
import { withFallback } from "../../src/llm/fallback-model.ts";
import { EndpointUnreachable, ModelAbsent, ModelUnavailable } from "../../src/llm/model.ts";
import { type ScriptedTurn, scriptedModel } from "../../src/llm/scripted.ts";

const never = new AbortController().signal;
const ask = (text = "Review this.") => ({
  messages: [{ role: "user" as const, content: text }],
  tools: [],
  maxOutputTokens: 8_000,
});
const fail = (code: AppError["code"], options: ConstructorParameters<typeof AppError>[2] = {}) =>
  new AppError(code, `${code} of a test`, options);
const overloaded = fail("model_failed", { retryable: true });

/** Two scripted models, one of which stands in for the other. */
function pair(first: (ScriptedTurn | Error)[], second: (ScriptedTurn | Error)[], contextTokens = 128_000) {
  const warnings: string[] = [];
  let found = 0;
  const ready = async () => {
    found += 1;
  };
  const big = { ...scriptedModel(first, { name: "big" }), ready };
  const small = { ...scriptedModel(second, { name: "small", contextTokens, protocol: "text" }), ready };
  const model: AdaptiveModel = withFallback(big, small, (text) => warnings.push(text));
  return { model, big, small, warnings, found: () => found };
}

describe("a model with another one behind it", () => {
  it("is asked alone as long as it answers", async () => {
    const { model, small, found } = pair([{ content: "yes" }], []);
    const turn = await model.respond(ask(), never);
    expect(turn.content).toBe("yes");
    expect(turn.usage).not.toHaveProperty("answeredBy");
    expect([small.requests.length, found()]).toEqual([0, 0]);
    expect(model).toMatchObject({ name: "big", protocol: "native" });
  });

  it.each([
    ["is overloaded", overloaded],
    ["cannot be reached", new EndpointUnreachable("model_failed", "gone", { retryable: true })],
    ["is limited", fail("model_rate_limited", { retryable: true, retryAfterMs: 200_000 })],
    ["has no quota left", fail("model_rate_limited")],
    ["is absent", new ModelAbsent("model_refused", "404")],
    ["is left alone", new ModelUnavailable("big is left alone", 9_000)],
  ])("has it answer where it %s, and the answer says whose it is", async (_, fault) => {
    const answer = { content: "yes", usage: { costUsd: 0.25 } };
    const { model, warnings, found } = pair([fault, fault, { content: "back" }], [answer, answer]);
    const turn = await model.respond(ask(), never);
    expect(turn).toMatchObject({ content: "yes", usage: { answeredBy: "small", costUsd: 0.25 } });
    expect(found()).toBe(1);
    await model.respond(ask(), never);
    expect(warnings).toEqual([expect.stringMatching(/^small stands in for big: /)]);
    expect((await model.respond(ask(), never)).content).toBe("back");
  });

  it.each([
    ["a refused key", fail("model_unauthorized")],
    ["a refused request", fail("model_refused")],
    ["an abort", fail("aborted")],
  ])("fails with %s by itself", async (_, fault) => {
    const { model, small } = pair([fault], [{ content: "yes" }]);
    await expect(model.respond(ask(), never)).rejects.toBe(fault);
    expect(small.requests).toEqual([]);
  });

  it("sends it nothing that its window has no room for, and asks for no longer answer than it can give", async () => {
    const { model, small } = pair([overloaded, overloaded], [{ content: "yes" }], 16_000);
    await expect(model.respond(ask("x".repeat(40_000)), never)).rejects.toBe(overloaded);
    await model.respond(ask("x".repeat(30_000)), never);
    expect(small.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([4_000]);
  });

  it("fails with the fault that passes, and passes sooner, where both fail", async () => {
    const late = new ModelUnavailable("big", 60_000);
    const soon = new ModelUnavailable("small", 9_000);
    const absent = new ModelAbsent("model_refused", "404");
    const refused = fail("model_refused");
    const cases = [
      [late, soon, soon],
      [soon, late, soon],
      [late, overloaded, late],
      [late, refused, late],
      [absent, soon, soon],
      [absent, refused, absent],
    ] as const;
    for (const [first, second, told] of cases)
      await expect(pair([first], [second]).model.respond(ask(), never)).rejects.toBe(told);
  });
});
