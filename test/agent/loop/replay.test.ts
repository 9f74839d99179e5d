import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTokenBudget } from "../../../src/agent/loop/limits.ts";
import { AppError } from "../../../src/core/errors.ts";
import type { ScriptedTurn } from "../../support/scripted.ts";
import { calls, finish, look, runLoop } from "./loop-fixture.ts";

/** With ids of their own: a model that is asked again goes on with ids, it does not begin anew. */
const turns = [look("a"), { content: "hm" }, calls(["report", { title: "bug" }]), look("b"), finish].map(
  (turn: ScriptedTurn, n): ScriptedTurn => ({
    ...turn,
    toolCalls: turn.toolCalls?.map((call) => ({ ...call, id: `id_${n}` })) ?? [],
  }),
);
const limits = { turns: 7, tokens: 10_000_000, costUsd: null, milliseconds: 600_000 };

describe("a run that was cut short", () => {
  it("A run that was cut short goes on where it ended, wherever that was", async () => {
    const whole = await runLoop(turns, { limits });
    for (let kept = 0; kept <= whole.entries.length; kept++) {
      const replay = JSON.parse(JSON.stringify(whole.entries.slice(0, kept)));
      const paid = replay.filter((entry: { kind: string }) => entry.kind === "turn").length;

      const again = await runLoop((_, n) => turns[paid + n] ?? new Error("asked for too much"), {
        limits,
        replay,
      });

      expect(again.model.requests).toHaveLength(turns.length - paid);
      expect(again.result).toEqual(whole.result);
      expect(again.reported).toEqual(["bug"]);
      // Nothing is written again but the end.
      const before = replay.filter((entry: { kind: string }) => entry.kind !== "stopped");
      expect([...before, ...again.entries]).toEqual(whole.entries);
    }
  });

  it("A run that was cut short may have been cut by the model, and take up again several times", async () => {
    const down = new AppError("model_failed", "down", { retryable: true });
    const first = await runLoop([turns[0]!, down], { limits });
    const second = await runLoop([turns[1]!, turns[2]!, down], { limits, replay: first.entries });
    const recorded = [...first.entries, ...second.entries];
    const third = await runLoop([turns[3]!, turns[4]!], { limits, replay: recorded });

    expect(third.result).toMatchObject({ stopReason: "finished", turns: 5, usage: { requests: 5 } });
    expect(third.model.requests).toHaveLength(2);
  });

  it("A run that was cut short says how many answers another model gave", async () => {
    const down = new AppError("model_unavailable", "left alone", { retryable: true });
    const others = { ...turns[1], usage: { answeredBy: "small" } };
    const first = await runLoop([turns[0]!, others, down], { limits });
    const second = await runLoop(turns.slice(2), { limits, replay: first.entries });
    expect(second.result.usage).toMatchObject({ requests: 5, standIns: { small: 1 } });
  });

  it("A run that was cut short takes the messages of the earlier run as they were", async () => {
    const timed = { ...limits, turns: 50, milliseconds: 100_000 };
    let time = 0;
    const slow = await runLoop((_, n) => (n < 4 ? look(`f${n}`) : new AppError("model_failed", "down")), {
      limits: timed,
      now: () => (time += 6_000),
    });
    const warned = slow.entries.filter((entry) => entry.kind === "messages");
    expect(warned).toHaveLength(2);

    const quick = await runLoop([finish], { limits: timed, replay: slow.entries });

    expect(quick.model.requests).toHaveLength(1);
    expect(quick.model.requests[0]?.messages).toEqual(slow.model.requests[4]?.messages);
  });

  it("A run that was cut short is left alone from the first answer that differs", async () => {
    const old = await runLoop([look("a"), look("b"), finish], { textFor: () => "old text" });

    const fresh = await runLoop([look("c"), new AppError("model_failed", "down")], { replay: old.entries });
    const again = await runLoop([finish], { replay: [...old.entries, ...fresh.entries] });

    expect(fresh.executed).toEqual(["look a", "look c"]);
    expect(again.executed).toEqual(["look a", "look c", "finish"]);
    expect(again.model.requests).toHaveLength(1);
  });

  it("A run that was cut short counts as shown what the earlier run showed", async () => {
    const shown: string[] = [];
    const showing = (text: string) => ({
      interject: async () => ({ text, shown: () => void shown.push(text) }),
    });
    const down = new AppError("model_failed", "down");
    const first = await runLoop([look("a"), down], showing("hunk 1"));
    await runLoop([finish], { ...showing("hunk 1"), replay: first.entries });
    await runLoop([finish], { ...showing("hunk 2"), replay: first.entries });

    expect(shown).toEqual(["hunk 1", "hunk 1"]);
  });

  it("A run that was cut short is of no use to another task or another loop", async () => {
    const old = await runLoop(turns, { limits });
    const messages = [{ role: "user" as const, content: "Another pull request." }];

    const otherTask = await runLoop([finish], { messages, replay: old.entries });
    const otherLoop = await runLoop([finish], { loop: "verify", replay: old.entries });

    expect([otherTask.model.requests.length, otherLoop.model.requests.length]).toEqual([1, 1]);
  });

  it("A run that was cut short is that of the newest task", async () => {
    const down = new AppError("model_failed", "down");
    const messages = [
      { role: "system" as const, content: "You review." },
      { role: "user" as const, content: "The same pull request under a new title." },
    ];
    const old = await runLoop([look("a"), look("b"), down]);
    const renamed = await runLoop([look("c"), down], { messages, replay: old.entries });
    const recorded = [...old.entries, ...renamed.entries];

    const again = await runLoop([finish], { messages, replay: recorded });
    const titledBack = await runLoop([finish], { replay: recorded });

    expect(again.executed).toEqual(["look c", "finish"]);
    expect(again.model.requests).toHaveLength(1);
    expect(titledBack.executed).toEqual(["finish"]);
  });

  it("A replayed run finishes in the turn in which an older version finished", async () => {
    const script = [look("a"), calls(["look", { path: "b" }], ["finish"])];
    const old = await runLoop(script, { limits: { ...limits, turns: 2 } });
    expect(old.result).toMatchObject({ stopReason: "finished", turns: 2 });

    const again = await runLoop([], { limits, replay: old.entries });
    expect(again.result).toEqual(old.result);
    expect(again.model.requests).toEqual([]);

    const diedBeforeItsEnd = old.entries.filter(({ kind }) => kind !== "stopped");
    const goesOn = await runLoop([finish], { limits, replay: diedBeforeItsEnd });
    expect(goesOn.result).toMatchObject({ stopReason: "finished", turns: 3 });
    expect(goesOn.model.requests).toHaveLength(1);
  });

  it("A run that was cut short counts its turns against the limits", async () => {
    const first = await runLoop([look("a"), look("b"), new AppError("model_failed", "down")]);
    const second = await runLoop((_, n) => look(`c${n}`), {
      limits: { ...limits, turns: 3 },
      replay: first.entries,
    });

    expect(second.result).toMatchObject({ stopReason: "turn_limit", turns: 3 });
    expect(second.model.requests).toHaveLength(1);
  });

  it("A run that was cut short refuses no turn on record for a limit that is tighter now", async () => {
    const usage = { promptTokens: 900, completionTokens: 90 };
    const script = turns.map((turn) => ({ ...turn, usage }));
    const whole = await runLoop(script, { limits });
    const budget = createTokenBudget({ tokens: 2_000, costUsd: null });

    const again = await runLoop([], {
      ...{ replay: whole.entries, budget },
      limits: { ...limits, tokens: 2_000, turns: 2 },
    });

    expect(again.result).toEqual(whole.result);
    expect(again.model.requests).toEqual([]);
    expect(budget.usage).toEqual(whole.result.usage);
  });

  it("A run that was cut short may hold anything: what does not fit is ignored", async () => {
    const whole = await runLoop(turns, { limits });
    const entries = fc.shuffledSubarray(whole.entries, { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(entries, async (replay) => {
        const run = await runLoop((_, n) => turns[n] ?? finish, { limits, replay });

        expect(["finished", "turn_limit", "repeated_calls"]).toContain(run.result.stopReason);
      }),
      { numRuns: 60 },
    );
  });
});
