import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ModelRequest } from "../../../src/agent/llm/model.ts";
import type { LoopEntry, ToldEntry, TrajectoryEntry } from "../../../src/agent/record/trajectory.ts";
import { pinPromptContext } from "../../../src/server/jobs/attempts.ts";
import { paidTurn, payer } from "../../support/paid-turn.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";
import { fault, WorkedQueue } from "./job-fixture.ts";

const usage = { promptTokens: 900, completionTokens: 100, costUsd: 0.5 };
const call = (name: string, input = {}): ScriptedTurn => ({
  toolCalls: [{ name, arguments: { ...input } }],
  usage,
});

let jobs: WorkedQueue | undefined;
afterEach(() => jobs?.[Symbol.asyncDispose]());

it("An attempt that follows another one at the same head pays for no turn again, whatever others wrote or spent", async () => {
  const requests: ModelRequest[] = [];
  const model = scriptedModel((request) => {
    requests.push(structuredClone(request));
    if (requests.length === 1) return call("list_changed_files");
    if (requests.length === 3) return call("finish_review", { summary: "All of it was read." });
    worked.github.state.title = "Another title";
    worked.github.failed.push({
      ...{ name: "lint", conclusion: "failure", title: "1 error", summary: "", annotations: [] },
    });
    const others = { installation: 1, repository: 7, pull: 8 };
    void worked.spending.charge(payer(others), paidTurn({ tokens: 10_000, costUsd: 0 }), Date.now());
    throw fault("model_failed", { retryable: true });
  });
  const worked = new WorkedQueue(model);
  jobs = worked;
  // So little that the length of an answer depends on it.
  worked.dailyBudget = { tokens: 45_000, costUsd: null };
  await worked.queue.enqueue(worked.event());
  await worked.work();

  expect(requests).toHaveLength(3);
  expect(requests[2]).toEqual(requests[1]);
  expect(requests[2]?.maxOutputTokens).toBeLessThan(16_000);
  expect(worked.checks()).toHaveLength(1);
});

describe("the pinned prompt context", () => {
  const about: ToldEntry["about"] = { head: "a", base: "b", after: null, private: ["secret/**"] };
  const asked: LoopEntry = { kind: "messages", loop: "review", messages: [] };
  const model = {
    content: "",
    toolCalls: [],
    finishReason: "stop",
    usage: { ...usage, cachedTokens: 0 },
  } as const;
  const turns: LoopEntry[] = [
    asked,
    { kind: "turn", loop: "review", turn: 1, model: { ...model, toolCalls: [] } },
  ];
  const known: TrajectoryEntry = { kind: "told", about, told: "then" };
  async function told(over: Partial<ToldEntry["about"]> = {}, paid: readonly LoopEntry[] = turns) {
    const entries: TrajectoryEntry[] = [known];
    const telling = { about: { ...about, ...over }, shape: z.string(), recorded: [known], turns: paid };
    const record = async (entry: TrajectoryEntry) => void entries.push(entry);
    return { said: await pinPromptContext(telling, { record }, async () => "now"), entries };
  }

  it("The prompt context stays the same while turns on record used it", async () => {
    expect(await told()).toEqual({ said: "then", entries: [known] });
  });

  it.each([{ head: "c" }, { base: "c" }, { after: "a event" }, { private: [] }])(
    "The prompt context is read again for another change: %j",
    async (over) => {
      expect(await told(over)).toEqual({
        ...{ said: "now", entries: [known, { kind: "told", about: { ...about, ...over }, told: "now" }] },
      });
    },
  );

  it("The prompt context is read again if no turn was paid, or if another version recorded it", async () => {
    expect(await told({}, [asked])).toMatchObject({ said: "now" });
    const telling = { about, shape: z.number(), recorded: [known], turns };
    expect(await pinPromptContext(telling, { record: async () => {} }, async () => 1)).toBe(1);
  });
});
