import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, Model, ModelRequest } from "../../../src/agent/llm/model.ts";
import { withTextProtocol } from "../../../src/agent/llm/text-fallback.ts";
import { AppError } from "../../../src/core/errors.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";
import { calls, finish, look, runLoop, task } from "./loop-fixture.ts";

const tokens = (promptTokens: number, completionTokens: number, costUsd: number | null = null) => ({
  promptTokens,
  completionTokens,
  costUsd,
});
const limits = { turns: 50, tokens: 10_000_000, costUsd: null, milliseconds: 600_000 };
const userTexts = (messages: readonly Message[]) =>
  messages.slice(task.length).flatMap((message) => (message.role === "user" ? [message.content] : []));

describe("a loop", () => {
  it("A loop works with tools until the model finishes, and keeps what was reported", async () => {
    const run = await runLoop([
      { ...look("a"), usage: { ...tokens(100, 10, 0.5), cachedTokens: 0 } },
      { ...calls(["report", { title: "bug" }]), usage: { ...tokens(200, 20, 0.25), cachedTokens: 100 } },
      finish,
    ]);

    expect(run.result).toMatchObject({ stopReason: "finished", turns: 3, modelError: null });
    expect(run.answers).toEqual(["text of a", "kept: bug", "finished"]);
    expect(run.reported).toEqual(["bug"]);
    expect(run.result.usage).toEqual({
      requests: 3,
      promptTokens: 300,
      cachedTokens: 100,
      completionTokens: 30,
      // The third turn's price was not known: neither is the sum.
      costUsd: null,
    });
  });

  it("A loop sums up what the turns cost", async () => {
    const priced = (turn: ScriptedTurn) => ({ ...turn, usage: tokens(1, 1, 0.25) });
    const { result } = await runLoop([priced(look("a")), priced(finish)]);

    expect(result.usage.costUsd).toBe(0.5);
  });

  it("A loop puts each turn on record before it acts on it, and the answers after", async () => {
    const order: string[] = [];
    await runLoop([look("a"), finish], {
      trajectory: { append: async (entry) => void order.push(entry.kind) },
      emit: (event) => {
        if (event.type.startsWith("tool_")) order.push(event.type);
      },
    });

    expect(order).toEqual([
      ...["messages", "turn", "tool_started", "tool_finished", "tool_results"],
      ...["turn", "tool_started", "tool_finished", "tool_results", "stopped"],
    ]);
  });

  it("A loop acts on nothing that could not be put on record", async () => {
    const full = new AppError("data_folder_unusable", "disk full");
    const events: string[] = [];

    const run = runLoop([calls(["report", { title: "bug" }])], {
      trajectory: { append: async (entry) => (entry.kind === "turn" ? Promise.reject(full) : undefined) },
      emit: (event) => events.push(event.type),
    });

    await expect(run).rejects.toBe(full);
    expect(events).toEqual(["turn_started"]);
  });

  it("A loop keeps the prefix of its requests, so that providers can cache it", async () => {
    const { model } = await runLoop([look("a"), look("b", "c"), { content: "hm" }, look("d"), finish]);

    for (const [n, request] of model.requests.entries()) {
      const before = model.requests[n - 1];
      if (!before) continue;
      expect(request.messages.slice(0, before.messages.length)).toEqual(before.messages);
      expect(request.tools).toEqual(before.tools);
    }
  });
});

describe("the calls of a turn", () => {
  it("The calls of a turn run together, eight at most, and are answered in their order", async () => {
    const paths = Array.from({ length: 20 }, (_, n) => `f${n}`);
    const run = await runLoop([look(...paths), finish], { contextTokens: 1_000_000 });

    expect(run.together).toBe(8);
    expect(run.answers).toEqual([...paths.map((path) => `text of ${path}`), "finished"]);
  });

  it("The calls of a turn run one by one where the context window is small", async () => {
    const run = await runLoop([look("a", "b", "c"), finish], { contextTokens: 16_000 });

    expect(run.together).toBe(1);
  });

  it("The calls of a turn that report come after those that read, wherever the model put them", async () => {
    const turn = calls(
      ["report", { title: "one" }],
      ["finish"],
      ["look", { path: "a" }],
      ["report", { title: "two" }],
    );
    const run = await runLoop([turn], { limits: { ...limits, turns: 1 } });

    expect(run.executed).toEqual(["look a", "report one", "report two", "finish"]);
    expect(run.answers).toEqual(["kept: one", "finished", "text of a", "kept: two"]);
    expect(run.result.stopReason).toBe("finished");
  });

  it.each([
    ["was read", { path: "a" }],
    ["could not be read", { path: "/etc/passwd" }],
  ])("The calls of a turn do not finish before the model has seen what %s", async (_, path) => {
    const run = await runLoop([calls(["look", path], ["report", { title: "bug" }], ["finish"]), finish]);

    expect(run.executed).toEqual([`look ${path.path}`, "report bug", "finish"]);
    expect(run.answers.slice(-2)).toEqual([
      "Not executed: read the answers to the other calls of this turn first, then call this again.",
      "finished",
    ]);
    expect(run.result).toMatchObject({ stopReason: "finished", turns: 2 });
  });

  it("The calls of a turn do not finish before it has seen it if it writes its calls as text", async () => {
    const both = [{ name: "look", arguments: { path: "a" } }, { name: "finish" }];
    const said = [{ calls: both }, { calls: [{ name: "finish", arguments: {} }] }];
    const scripted = scriptedModel(said.map((one) => ({ content: JSON.stringify(one) })));
    const run = await runLoop([], { model: withTextProtocol(scripted) });

    expect(scripted.requests.at(-1)?.messages.at(-1)?.content).toContain(
      "Answer to call 2, finish:\nNot executed: read the answers to the other calls of this turn first",
    );
    expect(run.executed).toEqual(["look a", "finish"]);
    expect(run.result).toMatchObject({ stopReason: "finished", turns: 2 });
  });

  it("The calls of a turn finish beside the reading calls of the turn before", async () => {
    const run = await runLoop(() => calls(["look", { path: "a" }], ["finish"]));

    expect(run.result).toMatchObject({ stopReason: "finished", turns: 2 });
  });

  it("A finish beside a call that reads is accepted if no turn follows", async () => {
    const turn = calls(["look", { path: "b" }], ["finish"]);
    const run = await runLoop([look("a"), turn], { limits: { ...limits, turns: 2 } });

    expect(run.result).toMatchObject({ stopReason: "finished", turns: 2 });
  });

  it.each([
    ["whose report is refused", calls(["finish"], ["report", { title: "misquoted" }])],
    ["whose report has wrong arguments", calls(["report", { titel: "bug" }], ["finish"])],
    [
      "with a cut report",
      { ...calls(["finish"], ["report", '{"title": "b']), finishReason: "length" as const },
    ],
  ])("A turn %s does not finish: the finding would be lost", async (_, turn) => {
    const run = await runLoop([turn, calls(["report", { title: "bug" }]), finish]);

    expect(run.answers).toContain(
      "Not executed: a report of this turn was refused; correct it or finish in the next turn.",
    );
    expect(run.reported).toEqual(["bug"]);
    expect(run.executed.filter((one) => one === "finish")).toHaveLength(1);
    expect(run.result).toMatchObject({ stopReason: "finished", turns: 3 });
  });

  it("A turn whose sixty-fifth call would report does not finish", async () => {
    const reads = Array.from({ length: 63 }, (_, n): [string, { path: string }] => [
      "look",
      { path: `f${n}` },
    ]);
    const turn = calls(["finish"], ...reads, ["report", { title: "bug" }]);
    const run = await runLoop([turn, calls(["report", { title: "bug" }], ["finish"])]);

    expect(run.answers[0]).toMatch(/a report of this turn was refused/);
    expect(run.reported).toEqual(["bug"]);
    expect(run.result).toMatchObject({ stopReason: "finished", turns: 2 });
  });

  it.each([
    ["a tool is unknown", calls(["peek", { path: "a" }], ["finish"])],
    ["a report was twice", calls(["report", { title: "bug" }], ["report", { title: "bug" }], ["finish"])],
  ])("The calls of a turn finish although %s", async (_, turn) => {
    expect((await runLoop([turn])).result).toMatchObject({ stopReason: "finished", turns: 1 });
  });

  it("The calls of a turn beyond the sixty-fourth are answered without being executed", async () => {
    const paths = Array.from({ length: 1_000 }, (_, n) => `f${n}`);
    const run = await runLoop([look(...paths), finish]);

    expect(run.executed.filter((one) => one.startsWith("look"))).toHaveLength(64);
    expect(run.answers).toHaveLength(1_001);
    expect(run.answers[64]).toMatch(/Not executed: only the first 64 calls/);
  });

  it("Calls wait for the next turn once answers fill a good part of the window", async () => {
    const run = await runLoop([look("a", "b", "c"), finish], {
      contextTokens: 16_000,
      textFor: () => "x".repeat(20_000),
    });

    expect(run.executed).toEqual(["look a", "finish"]);
    expect(run.answers.slice(1, 3)).toEqual([
      expect.stringMatching(/Not executed: the answers of this turn have reached their limit/),
      expect.stringMatching(/Not executed: the answers of this turn have reached their limit/),
    ]);
  });

  it("The calls of a turn get an answer when the tool is unknown", async () => {
    const run = await runLoop([
      calls(
        ["rm_rf", { path: "/" }],
        ["look", "{broken"],
        ["look", { paht: "a" }],
        ["look", { path: "/etc/passwd" }],
        ["look", { path: "crash" }],
      ),
      finish,
    ]);

    expect(run.answers).toEqual([
      expect.stringMatching(/no tool 'rm_rf'.*look, report, finish/),
      expect.stringMatching(/error/),
      expect.stringMatching(/path/),
      "error: no such file '/etc/passwd' at head",
      expect.stringMatching(/internal error/),
      "finished",
    ]);
    expect(run.events).toContainEqual({
      type: "tool_crashed",
      turn: 1,
      tool: "look",
      error: "TypeError: a fault of ours",
    });
    expect(run.result.stopReason).toBe("finished");
  });

  it("Whole calls of an answer that was cut off are executed", async () => {
    const run = await runLoop([
      { ...calls(["look", { path: "a" }], ["look", '{"path": "b']), finishReason: "length" },
      finish,
    ]);

    expect(run.executed).toEqual(["look a", "finish"]);
    expect(run.answers[1]).toMatch(/cut off at the output limit in the middle of this call/);
  });

  it.each([
    [
      "the last call, though its JSON is whole",
      calls(["look", { path: "a" }], ["report", { title: "half" }]),
    ],
    ["a finish, wherever it is", calls(["finish"], ["look", { path: "a" }], ["report", { title: "half" }])],
    ["a finish that is the last call", calls(["look", { path: "a" }], ["finish", { ready: true }])],
  ])("Calls of an answer that was cut off are not executed: %s", async (_, turn) => {
    const whole = calls(["report", { title: "whole" }]);
    const run = await runLoop([{ ...turn, finishReason: "length" }, whole, finish]);

    expect(run.executed).toEqual(["look a", "report whole", "finish"]);
    expect(run.result).toMatchObject({ stopReason: "finished", turns: 3 });
  });

  it.each([
    "functions.look",
    "look<|channel|>commentary",
    "mcp__hunkwise__look",
    "default_api:look",
    "Look",
    "functions.look<|constrain|>json",
    "look()",
    "mcp__git\\_hub__look",
    "functions.look:0",
    "look</tool_name>",
    "<|python_tag|>look",
    "assistant<|channel|>commentary to=functions.look",
  ])("The calls of a turn reach the tool that %s means", async (name) => {
    const run = await runLoop([calls([name, { path: "a" }]), finish]);

    expect(run.executed).toEqual(["look a", "finish"]);
    expect(run.model.requests[1]?.messages.at(-2)).toMatchObject({ toolCalls: [{ name: "look" }] });
  });

  it.each(["lookup", "functions.", "look_report", "look, finish"])(
    "The calls of a turn reach no tool by %s",
    async (name) => {
      const run = await runLoop([calls([name, { path: "a" }]), finish]);

      expect(run.executed).toEqual(["finish"]);
      expect(run.answers[0]).toContain("there is no tool");
    },
  );

  it("The calls of a turn go on after a finish that was refused", async () => {
    const run = await runLoop([calls(["finish", { ready: false }]), look("a"), finish]);

    expect(run.answers[0]).toBe("error: 2 hunks were never read");
    expect(run.result).toMatchObject({ stopReason: "finished", turns: 3 });
  });
});

describe("a model that gets nowhere", () => {
  it("A model that gets nowhere is told twice how to end when it writes prose", async () => {
    const run = await runLoop(() => ({ content: "Looks good to me!" }));

    expect(run.result).toMatchObject({ stopReason: "no_tool_calls", turns: 3 });
    expect(userTexts(run.result.messages)).toEqual([
      expect.stringMatching(/Nobody reads text outside of tool calls.*with report, finish/),
      expect.stringMatching(/Nobody reads text outside of tool calls/),
    ]);
  });

  it("A model that gets nowhere is not asked again after its provider refused the content", async () => {
    const run = await runLoop([{ ...look("a"), finishReason: "content_filter" }, finish]);

    expect(run.result).toMatchObject({ stopReason: "content_refused", turns: 1 });
    expect(run.result.modelError?.code).toBe("content_refused");
    expect(run.executed).toEqual([]);
  });

  it("A model that gets nowhere ends like that too if the provider answers with an error", async () => {
    const run = await runLoop(() => new AppError("content_refused", "filtered"));

    expect(run.result).toMatchObject({ stopReason: "content_refused", turns: 0 });
  });

  it("A conversation that is too long is shortened once and sent again", async () => {
    const long = (path: string) => `${path} `.repeat(4_000);
    const sizes: number[] = [];
    const script = (request: ModelRequest, n: number) => {
      sizes.push(JSON.stringify(request.messages).length);
      if (sizes.length === 4) return new AppError("too_large", "too long");
      return n < 3 ? look(`f${n}`) : finish;
    };
    const run = await runLoop(script, { textFor: long });

    expect(run.result.stopReason).toBe("finished");
    expect(sizes[4]).toBeLessThan(0.7 * (sizes[3] ?? 0));
  });

  it("A conversation that cannot be shortened is not sent again", async () => {
    const run = await runLoop(() => new AppError("too_large", "too long"));

    expect(run.result.stopReason).toBe("too_long");
    expect(run.model.requests).toHaveLength(1);
  });

  it("A model that gets nowhere may come back from prose at any time", async () => {
    const prose = { content: "Let me think." };
    const run = await runLoop([prose, prose, look("a"), prose, prose, finish]);

    expect(run.result).toMatchObject({ stopReason: "finished", turns: 6 });
  });

  it("A model that gets nowhere is told that its prose was cut off", async () => {
    const run = await runLoop([{ content: "Firstly", finishReason: "length" }, finish]);

    expect(userTexts(run.result.messages)).toEqual([expect.stringMatching(/^Your answer was cut off/)]);
  });

  it("A model that gets nowhere is warned at the second same call and stopped at the third", async () => {
    const spelled = ['{"path":"a"}', '{ "path" : "a" }', '{"path":"\\u0061"}'];
    const run = await runLoop((_, n) => calls(["look", spelled[n % 3] ?? ""]));

    expect(run.result).toMatchObject({ stopReason: "repeated_calls", turns: 3 });
    expect(run.executed).toEqual(["look a", "look a"]);
    expect(run.answers).toEqual([
      "text of a",
      expect.stringMatching(/^text of a\n\nNote: .*third time in a row ends this run/),
      expect.stringMatching(/Not executed: this is the third turn in a row/),
    ]);
  });

  it("Fifty equal calls in one turn are executed once and answered fifty times", async () => {
    const run = await runLoop([look(...Array.from({ length: 50 }, () => "a")), finish]);

    expect(run.executed).toEqual(["look a", "finish"]);
    expect(run.answers).toHaveLength(51);
    expect(run.answers[49]).toMatch(/makes the same call already/);
    expect(run.result.stopReason).toBe("finished");
  });

  it("A model that gets nowhere that alternates between two calls is stopped by the turn limit", async () => {
    const run = await runLoop((_, n) => look(n % 2 ? "a" : "b"), { limits: { ...limits, turns: 9 } });

    expect(run.result).toMatchObject({ stopReason: "turn_limit", turns: 9 });
  });

  it("A model that gets nowhere always gets answers and the run always ends", async () => {
    const call = fc.record({
      name: fc.oneof(fc.constantFrom("look", "report", "finish", "nothing"), fc.string({ maxLength: 5 })),
      arguments: fc.oneof(
        fc.constantFrom(
          '{"path":"a"}',
          '{"path":"b"}',
          '{"title":"t"}',
          "{",
          "[]",
          "null",
          '{"ready":false}',
        ),
        fc.json({ maxDepth: 1 }),
      ),
    });
    const turn = fc.record({
      content: fc.string({ maxLength: 10 }),
      toolCalls: fc.array(call, { maxLength: 4 }),
      finishReason: fc.constantFrom("stop", "tool_calls", "length", "content_filter", "other"),
    }) as fc.Arbitrary<ScriptedTurn>;
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 6 }), async (turns) => {
        const run = await runLoop((_, n) => turns[n % turns.length] ?? finish, {
          limits: { ...limits, turns: 12 },
        });

        const ends = ["finished", "no_tool_calls", "repeated_calls", "turn_limit", "content_refused"];
        expect(ends).toContain(run.result.stopReason);
        expect(run.result.turns).toBeLessThanOrEqual(12);
        expect(run.events.filter((event) => event.type === "tool_started")).toHaveLength(run.answers.length);
        expect(run.events.filter((event) => event.type === "tool_finished")).toHaveLength(run.answers.length);
        expect(run.events.at(-1)).toEqual({ type: "stopped", reason: run.result.stopReason });
      }),
      { numRuns: 150 },
    );
  });
});

describe("limits", () => {
  it("Limits on turns hold to the turn", async () => {
    const run = await runLoop((_, n) => look(`f${n}`), { limits: { ...limits, turns: 1 } });

    expect(run.result).toMatchObject({ stopReason: "turn_limit", turns: 1 });
    expect(run.model.requests).toHaveLength(1);
  });

  it("Limits on tokens and money are checked before spending", async () => {
    const run = await runLoop([], { limits: { ...limits, tokens: 100 } });

    expect(run.result).toMatchObject({ stopReason: "token_limit", turns: 0, usage: { requests: 0 } });
  });

  it("Limits on tokens and money charge turns that were of no use", async () => {
    const prose = { content: "hm", usage: tokens(400, 100, 1) };

    const byTokens = await runLoop([prose, prose, prose], { limits: { ...limits, tokens: 1_400 } });
    const byCost = await runLoop([prose, prose, prose], { limits: { ...limits, costUsd: 2 } });

    expect(byTokens.result).toMatchObject({ stopReason: "token_limit", turns: 2 });
    expect(byCost.result).toMatchObject({ stopReason: "cost_limit", turns: 2 });
  });

  it("Limits on time are seen between turns", async () => {
    let time = 0;
    const run = await runLoop((_, n) => look(`f${n}`), {
      limits: { ...limits, milliseconds: 10_000 },
      now: () => (time += 1_000),
    });

    expect(run.result.stopReason).toBe("time_limit");
    expect(run.result.turns).toBeGreaterThan(0);
  });

  it("Limits on time end a request that takes longer", async () => {
    const slow: Model = {
      name: "slow",
      contextTokens: 100_000,
      protocol: "native",
      respond: (_, signal) =>
        delay(60_000, undefined as never, { signal }).catch(() => {
          throw new AppError("aborted", "aborted");
        }),
    };
    const { result } = await runLoop([], { model: slow, limits: { ...limits, milliseconds: 50 } });

    expect(result).toMatchObject({ stopReason: "time_limit", turns: 0, modelError: null });
  });

  it("Limits bound the answer that a request asks for", async () => {
    const wide = await runLoop([finish]);
    const narrow = await runLoop([finish], { contextTokens: 8_000 });
    const poor = await runLoop([finish], { limits: { ...limits, tokens: 1_500 } });

    expect(wide.model.requests[0]?.maxOutputTokens).toBe(16_000);
    expect(narrow.model.requests[0]?.maxOutputTokens).toBe(2_000);
    expect(poor.model.requests[0]?.maxOutputTokens).toBeLessThan(1_500);
  });

  it("Limits are announced once, a few turns before", async () => {
    const byTurns = await runLoop((_, n) => look(`f${n}`), { limits: { ...limits, turns: 6 } });
    const byTokens = await runLoop((_, n) => ({ ...look(`f${n}`), usage: tokens(900, 100) }), {
      limits: { ...limits, tokens: 8_000 },
    });

    expect(userTexts(byTurns.result.messages)).toEqual([
      "About 3 turns are left before a limit ends this run. Report what you have found and finish; report and finish with report, finish.",
    ]);
    expect(
      byTurns.result.messages.findIndex((one) => one.role === "user" && one.content.startsWith("About")),
    ).toBe(8);
    expect(userTexts(byTokens.result.messages)).toEqual([expect.stringMatching(/^About \d turns are left/)]);
  });
});

describe("a fault of the model", () => {
  it("A fault of the model ends the loop as a value and keeps what was found", async () => {
    const error = new AppError("model_rate_limited", "too fast", { retryable: true });
    const run = await runLoop([calls(["report", { title: "bug" }]), error]);

    expect(run.result).toMatchObject({ stopReason: "model_error", turns: 1, modelError: error });
    expect(run.reported).toEqual(["bug"]);
    expect(run.entries.at(-1)).toEqual({
      ...{ kind: "stopped", loop: "review", reason: "model_error" },
      fault: { code: "model_rate_limited", message: "too fast" },
    });
  });

  it("A fault of the model that is none of ours to explain is thrown as what it is", async () => {
    await expect(runLoop([new TypeError("bug in the adapter")])).rejects.toThrow("bug in the adapter");
  });

  it("A fault of the model does not hide an abort", async () => {
    const abort = new AbortController();
    const run = await runLoop(
      () => {
        abort.abort();
        return new AppError("aborted", "aborted");
      },
      { signal: abort.signal },
    );

    expect(run.result).toMatchObject({ stopReason: "aborted", modelError: null });
  });

  it("An abort while tools run ends the loop and leaves no half answers on record", async () => {
    const abort = new AbortController();
    const run = await runLoop([look("a", "b")], {
      signal: abort.signal,
      textFor: (path) => {
        abort.abort();
        return path;
      },
    });

    expect(run.result.stopReason).toBe("aborted");
    expect(run.entries.map((entry) => entry.kind)).toEqual(["messages", "turn", "stopped"]);
  });
});
