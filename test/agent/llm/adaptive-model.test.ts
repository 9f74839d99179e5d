import { describe, expect, it } from "vitest";
import {
  type AdaptiveModel,
  type AdaptiveOptions,
  createAdaptiveModel,
  isForGood,
  withFallback,
} from "../../../src/agent/llm/adaptive-model.ts";
import {
  type Avoidable,
  EndpointUnreachable,
  ModelAbsent,
  ModelUnavailable,
  ToolsRefused,
} from "../../../src/agent/llm/model.ts";
import type { Ability } from "../../../src/agent/llm/probe.ts";
import { AppError } from "../../../src/core/errors.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

const never = new AbortController().signal;
const add = (a: number, b: number) => ({ name: "add_numbers", arguments: { a, b } });
const callsTools: ScriptedTurn = { toolCalls: [add(2, 3), add(20, 30)] };
const inProse: ScriptedTurn = { content: "5 and 50" };
const asJson: ScriptedTurn = { content: JSON.stringify({ calls: [add(2, 3), add(20, 30)] }) };
const refused = new ToolsRefused("model_refused", "http://x takes no tools (400)");
const request = {
  messages: [{ role: "user" as const, content: "Review this." }],
  tools: [{ name: "look", description: "Looks.", parameters: {} }],
  maxOutputTokens: 100,
};

function setUp(
  script: Parameters<typeof scriptedModel>[0],
  more: Partial<AdaptiveOptions> & { told?: number } = {},
) {
  const { told, ...options } = more;
  const scripted = scriptedModel(script, { name: "m", contextTokens: 128_000 });
  const kept = new Map<string, Ability>();
  const warnings: string[] = [];
  const model = createAdaptiveModel({
    native: { ...scripted, findContextTokens: async () => told ?? null },
    protocol: "auto",
    contextIsConfigured: false,
    key: "k",
    known: {
      recall: async (key) => kept.get(key) ?? null,
      remember: async (key, ability) => void kept.set(key, ability),
    },
    leastContextTokens: 16_000,
    warn: (text) => warnings.push(text),
    ...options,
  });
  return { model, scripted, kept, warnings };
}

describe("the first use of a model", () => {
  it.each<[string, (ScriptedTurn | Error)[], number | undefined, string, number]>([
    ["that calls tools", [callsTools], undefined, "native", 128_000],
    ["whose endpoint tells its window", [callsTools], 40_960, "native", 40_960],
    ["that only writes them as JSON", [inProse, asJson], 40_960, "text", 40_960],
    ["whose endpoint refuses tools", [refused, asJson], undefined, "text", 128_000],
    ["that can neither", [inProse, inProse], undefined, "native", 128_000],
  ])(
    "The first use of %s finds out how to speak with it, and keeps it",
    async (_, script, told, protocol, contextTokens) => {
      const { model, kept, scripted, warnings } = setUp(script, told === undefined ? {} : { told });
      await Promise.all([model.ready(never), model.ready(never)]);

      expect(model).toMatchObject({ protocol, contextTokens });
      expect(kept.size).toBe(1);
      expect(scripted.requests).toHaveLength(script.length);
      await model.ready(never);
      expect(scripted.requests).toHaveLength(script.length);
      expect(warnings).toEqual([]);
    },
  );

  it("The first use of a model finds out that a server says length at the end of whole answers", async () => {
    const length = { finishReason: "length" as const };
    const whole = { ...callsTools, ...length };
    const cut = { toolCalls: [{ name: "look", arguments: '{"path": "a' }], ...length };
    const long = { ...whole, usage: { completionTokens: 4_000 } };
    const ends = async (first: ScriptedTurn) => {
      const { model, kept } = setUp([first, whole, cut, { content: "Thinking", ...length }]);
      await model.ready(never);
      expect(kept.get("k")?.saysLength).toBe(first === whole);
      const answers = [1, 2, 3].map(() => model.respond(request, never));
      return (await Promise.all(answers)).map(({ finishReason }) => finishReason);
    };
    expect(await ends(whole)).toEqual(["tool_calls", "length", "length"]);
    for (const one of [callsTools, long]) expect(await ends(one)).toEqual(["length", "length", "length"]);
  });

  it("The first use of a model asks nothing of a model that is known", async () => {
    const known = setUp([]);
    known.kept.set("k", { callsTools: false, writesJson: true, contextTokens: 64_000, avoids: [] });
    await known.model.ready(never);
    expect(known.model).toMatchObject({ protocol: "text", contextTokens: 64_000 });

    for (const protocol of ["native", "text"] as const) {
      const configured = setUp([], { protocol });
      await configured.model.ready(never);
      expect(configured.model).toMatchObject({ protocol, contextTokens: 128_000 });
      expect([...configured.kept]).toEqual([]);
    }
  });

  it("The first use of a model leaves a configured window as it is", async () => {
    const { model } = setUp([callsTools], { told: 8_192, contextIsConfigured: true });
    await model.ready(never);
    expect(model).toMatchObject({ protocol: "native", contextTokens: 128_000 });
  });

  it("The first use of a model asks nothing more of a model whose window is too small", async () => {
    let reported = 8_192;
    const scripted = scriptedModel([callsTools, callsTools, { content: "ok" }], { name: "m" });
    const { model, kept } = setUp([], {
      native: { ...scripted, findContextTokens: async () => reported },
    });
    // As an earlier version kept it.
    kept.set("k", { callsTools: true, writesJson: true, contextTokens: 8_192, avoids: [] });
    await model.ready(never);
    await expect(model.respond(request, never)).rejects.toMatchObject({
      code: "model_refused",
      message: 'The model "m" has a context window of 8,192 tokens, but a review needs 16,000',
      remedy: expect.stringContaining("OLLAMA_CONTEXT_LENGTH"),
    });
    expect(scripted.requests).toHaveLength(1);

    reported = 16_000;
    await model.ready(never);
    expect((await model.respond(request, never)).content).toBe("ok");
    expect(kept.get("k")).toMatchObject({ contextTokens: 16_000 });
  });

  it("The first use of a model that fails takes the model to call tools, warns", async () => {
    const fault = new AppError("model_failed", "Cannot reach it", { remedy: "Start it." });
    const { model, kept, warnings } = setUp([fault, callsTools]);
    await model.ready(never);
    expect(model.protocol).toBe("native");
    expect(warnings).toEqual([
      "The probe of m failed, so Hunkwise assumes that it supports tool calls: Cannot reach it. Start it.",
    ]);
    expect(kept.size).toBe(0);
    await model.ready(never);
    expect(kept.size).toBe(1);
  });

  it("The first use of a model that fails ends the asking of a process that makes one review", async () => {
    const fault = new AppError("model_failed", "Cannot reach it", { remedy: "Start it.", retryable: true });
    const { model, scripted, warnings } = setUp([fault, callsTools], { forOneRun: true });
    await model.ready(never);
    await expect(model.respond(request, never)).rejects.toBe(fault);
    await model.ready(never);
    await expect(model.respond(request, never)).rejects.toBe(fault);
    expect(scripted.requests).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  it("The first use of a model ends its waiting when it is aborted, and not that of others", async () => {
    const { promise, resolve } = Promise.withResolvers<null>();
    const { model, kept } = setUp([callsTools], {
      known: { recall: () => promise, remember: async () => {} },
    });
    const other = model.ready(never);
    await expect(model.ready(AbortSignal.abort())).rejects.toMatchObject({ code: "aborted" });
    resolve(null);
    await other;
    expect(kept.size).toBe(0);
    expect(model.protocol).toBe("native");
  });
});

describe("refused tools", () => {
  const answer = { content: '{"calls": [{"name": "look", "arguments": {"at": 1}}]}' };

  it("After a refusal of tools, calls are text in this and the next process", async () => {
    const { model, scripted, kept, warnings } = setUp([refused, answer, answer]);
    for (const _ of [1, 2]) {
      const turn = await model.respond(request, never);
      expect(turn.toolCalls).toMatchObject([{ name: "look", arguments: '{"at":1}' }]);
    }
    expect(scripted.requests.map(({ tools }) => tools.length)).toEqual([1, 0, 0]);
    expect(model.protocol).toBe("text");
    expect(kept.get("k")).toMatchObject({ callsTools: false });
    expect(warnings).toEqual([
      "http://x takes no tools (400). From now on, the model calls tools in its text",
    ]);
  });

  it("Tools are given up only if the model can be asked in text", async () => {
    const limited = new AppError("model_rate_limited", "slow", { retryable: true });
    const broken = new AppError("model_refused", "no");
    for (const [second, reported] of [
      [limited, limited],
      [broken, refused],
    ] as const) {
      const { model, kept, warnings } = setUp([refused, second]);
      await expect(model.respond(request, never)).rejects.toBe(reported);
      expect([model.protocol, kept.size, warnings]).toEqual(["native", 0, []]);
    }
  });

  it("A refusal of tools is an error if the configuration asks for them", async () => {
    const { model } = setUp([refused], { protocol: "native" });
    await expect(model.respond(request, never)).rejects.toBe(refused);
  });
});

describe("a refused form", () => {
  const avoids = () => new Set<Avoidable>();

  it("A refused form of a request is known to the next process, which begins without it", async () => {
    const native = { ...scriptedModel([callsTools, { content: "ok" }, { content: "ok" }]), avoids: avoids() };
    const { model, kept } = setUp([], { native });
    await model.ready(never);
    expect(kept.get("k")?.avoids).toEqual([]);
    // As an adapter learns it, from a refusal in the middle of a review.
    native.avoids.add("rich_schemas").add("effort");
    await model.respond(request, never);
    expect(kept.get("k")).toMatchObject({ callsTools: true, avoids: ["rich_schemas"] });

    const next = { ...scriptedModel([]), avoids: avoids() };
    const second = setUp([], { native: next });
    second.kept.set("k", kept.get("k")!);
    await second.model.ready(never);
    expect([...next.avoids]).toEqual(["rich_schemas"]);
  });

  it("A refused form of a request is found by a probe", async () => {
    const tooLong = new AppError("too_large", "too long");
    const { model, scripted, kept } = setUp([tooLong, callsTools], { tools: async () => request.tools });
    await model.ready(never);
    expect(scripted.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ["add_numbers", "look"],
      ["add_numbers"],
    ]);
    expect(kept.get("k")).toMatchObject({ callsTools: true });
  });
});

it("A configured protocol is spoken from the first request on", async () => {
  const text = setUp([{ content: "ok" }], { protocol: "text" });
  await text.model.respond(request, never);
  expect(text.scripted.requests[0]).toMatchObject({
    tools: [],
    messages: [{ role: "system" }, { role: "user" }],
  });
});

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

describe("a model with a fallback", () => {
  it("The fallback is not asked as long as the first model answers", async () => {
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
    ["has its content refused", fail("content_refused")],
  ])("The fallback answers if the first model %s, and the answer says so", async (_, fault) => {
    const answer = { content: "yes", usage: { costUsd: 0.25 } };
    const { model, warnings, found } = pair([fault, fault, { content: "back" }], [answer, answer]);
    const turn = await model.respond(ask(), never);
    expect(turn).toMatchObject({ content: "yes", usage: { answeredBy: "small", costUsd: 0.25 } });
    expect(found()).toBe(1);
    await model.respond(ask(), never);
    expect(warnings).toEqual([expect.stringMatching(/^small answers instead of big: /)]);
    expect((await model.respond(ask(), never)).content).toBe("back");
  });

  it.each([
    ["a refused key", fail("model_unauthorized")],
    ["a refused request", fail("model_refused")],
    ["an abort", fail("aborted")],
  ])("The fallback is not asked after %s", async (_, fault) => {
    const { model, small } = pair([fault], [{ content: "yes" }]);
    await expect(model.respond(ask(), never)).rejects.toBe(fault);
    expect(small.requests).toEqual([]);
  });

  it("A model that may replace another after every failure does so, except after an abort or a prompt to shorten", async () => {
    const replacing = (fault: AppError) => {
      const { big, small } = pair([fault], [{ content: "yes", usage: { answeredBy: "spare" } }]);
      return withFallback(big, small, () => {}, isForGood).respond(ask(), never);
    };
    // What stands in may itself have been replaced.
    for (const fault of [fail("model_unauthorized"), fail("model_refused"), overloaded])
      expect((await replacing(fault)).usage.answeredBy).toBe("spare");
    for (const fault of [fail("aborted"), fail("too_large")])
      await expect(replacing(fault)).rejects.toBe(fault);
  });

  it("The fallback answers what the provider filtered, and both costs count", async () => {
    const filtered = { finishReason: "content_filter", usage: { costUsd: 0.5, promptTokens: 9 } } as const;
    const answer = { content: "yes", usage: { costUsd: 0.25, promptTokens: 10 } };
    const { model } = pair([filtered], [answer]);
    const turn = await model.respond(ask(), never);
    expect(turn).toMatchObject({
      content: "yes",
      usage: { answeredBy: "small", costUsd: 0.75, promptTokens: 10 },
    });
    for (const second of [{ ...filtered, content: "x" }, fail("content_refused"), overloaded])
      expect(await pair([filtered], [second]).model.respond(ask(), never)).toMatchObject({
        content: "",
        usage: { promptTokens: 9 },
      });
    const refusal = fail("content_refused");
    await expect(pair([refusal], [filtered]).model.respond(ask(), never)).rejects.toBe(refusal);
    await expect(pair([filtered], [fail("aborted")]).model.respond(ask(), never)).rejects.toMatchObject({
      code: "aborted",
    });
  });

  it("The fallback gets no request that does not fit its window", async () => {
    const { model, small } = pair([overloaded, overloaded], [{ content: "yes" }], 16_000);
    await expect(model.respond(ask("x".repeat(40_000)), never)).rejects.toBe(overloaded);
    await model.respond(ask("x".repeat(30_000)), never);
    expect(small.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([4_000]);
  });

  it("If both models fail, the error that passes sooner is reported with both texts", async () => {
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
    for (const [first, second, { code, retryable, retryAfterMs }] of cases)
      await expect(pair([first], [second]).model.respond(ask(), never)).rejects.toMatchObject({
        ...{ code, retryable, retryAfterMs },
        message: `${first.message}; small was asked instead and failed too: ${second.message}`,
      });
  });
});
