import { describe, expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import type { ScriptedTurn } from "../support/scripted.ts";
import { calls, finish, type LoopRun, look, runLoop, task } from "./loop-fixture.ts";

const turns: ScriptedTurn[] = [
  look("a"),
  { content: "hm" },
  calls(["report", { title: "bug" }]),
  look("b"),
  finish,
];
/** A last turn that finishes beside a call that reads: without a limit, it is refused. */
const oldTurns = [look("a"), calls(["look", { path: "b" }], ["finish"])];
const limits = { turns: 50, tokens: 10_000_000, costUsd: null, milliseconds: 100_000 };
const nobody = () => new AppError("model_failed", "nobody may be asked");

type Options = Parameters<typeof runLoop>[1];
const playBack = (run: LoopRun, options: Options = {}) =>
  runLoop(nobody, { limits, ...options, replay: run.entries, isPlayback: true });

describe("a run that is played back", () => {
  it("goes the same way, and asks no model", async () => {
    const recorded = await runLoop(turns, { limits });
    const played = await playBack(recorded);
    expect(played.model.requests).toEqual([]);
    expect(played.result).toEqual(recorded.result);
    expect(played.reported).toEqual(["bug"]);
    expect(played.entries).toEqual(recorded.entries);
  });

  it("takes its turns whatever the tools answer today, which is on its own record", async () => {
    const recorded = await runLoop(turns, { limits, textFor: () => "as it was" });
    const played = await playBack(recorded, { textFor: () => "as it is" });
    expect(played.result.stopReason).toBe("finished");
    expect(played.reported).toEqual(["bug"]);
    expect(played.answers.filter((text) => text.includes("as it is"))).toHaveLength(2);
    const results = played.entries.filter(({ kind }) => kind === "tool_results");
    expect(JSON.stringify(results)).not.toContain("as it was");
  });

  it("begins with the task as it is put today", async () => {
    const recorded = await runLoop(turns, { limits });
    const messages = [...task.slice(0, 1), { role: "user" as const, content: "Another title." }];
    const played = await playBack(recorded, { messages });
    expect(played.result.stopReason).toBe("finished");
    expect(played.entries[0]).toEqual({ kind: "messages", loop: "review", messages });
  });

  it("was told on the way what hung on the clock, and is told it again, however quick it is", async () => {
    let time = 0;
    const seen: (number | boolean)[] = [];
    const interject = async (state: { turnsLeft: number; isLimitNear: boolean }) => {
      seen.push(state.isLimitNear);
      return null;
    };
    const slow = await runLoop([look("a"), look("b"), look("c"), look("d"), finish], {
      ...{ limits, interject },
      now: () => (time += 8_000),
    });
    expect(seen.at(-1)).toBe(true);
    const then = seen.splice(0);

    const played = await playBack(slow, { interject });
    expect(seen).toEqual(then);
    expect(played.result.messages).toEqual(slow.result.messages);
  });

  it("ends where a limit ended it that is not reached today", async () => {
    let time = 0;
    const slow = await runLoop(() => look("a"), { limits, now: () => (time += 30_000) });
    expect(slow.result.stopReason).toBe("time_limit");
    const played = await playBack(slow);
    expect(played.result).toMatchObject({ stopReason: "time_limit", turns: slow.result.turns });
  });

  it("ends with the fault that the model ended it with", async () => {
    const refused = new AppError("model_unauthorized", "the key was refused");
    const failed = await runLoop([look("a"), refused], { limits });
    const played = await playBack(failed);
    expect(played.result).toMatchObject({
      ...{ stopReason: "model_error", turns: 1 },
      modelError: { code: "model_unauthorized", message: "the key was refused" },
    });
  });

  it("is the newest course where the run was cut short and left its course", async () => {
    const down = new AppError("model_failed", "down");
    const first = await runLoop([look("a"), look("b"), down], { limits, textFor: () => "old" });
    const second = await runLoop([look("c"), finish], {
      ...{ limits, replay: first.entries },
      textFor: () => "new",
    });
    const all = { ...second, entries: [...first.entries, ...second.entries] };
    const played = await playBack(all, { textFor: () => "new" });
    expect(played.executed).toEqual(["look a", "look c", "finish"]);
    expect(played.result.stopReason).toBe("finished");
  });

  it("finishes in the turn in which an older version finished beside a call that reads", async () => {
    const recorded = await runLoop(oldTurns, { limits: { ...limits, turns: 2 } });
    expect(recorded.result).toMatchObject({ stopReason: "finished", turns: 2 });

    const played = await playBack(recorded);
    expect(played.result).toEqual(recorded.result);
    expect(played.entries).toEqual(recorded.entries);
  });

  it("stops at a turn that was taken out of the record, and names it, although the loop ended by itself", async () => {
    const recorded = await runLoop(turns, { limits });
    const entries = recorded.entries.filter((entry) => !("turn" in entry && entry.turn === 4));
    const { result, model } = await playBack({ ...recorded, entries });
    expect(model.requests).toEqual([]);
    expect(result).toMatchObject({
      ...{ stopReason: "model_error", turns: 3 },
      modelError: { message: "The record has no turn 4 of review" },
    });
  });

  it("stops at a loop that is not on record, and names it", async () => {
    const recorded = await runLoop(turns, { limits });
    const { result, model } = await playBack(recorded, { loop: "verify:1" });
    expect(model.requests).toEqual([]);
    expect(result).toMatchObject({
      stopReason: "model_error",
      modelError: { message: "The record has no turn 1 of verify:1" },
    });
  });
});
