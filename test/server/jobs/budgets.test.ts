import { describe, expect, it } from "vitest";
import type { LoopEntry } from "../../../src/agent/record/trajectory.ts";
import { budgetOf, type SpendingLimits, withinBudget } from "../../../src/server/jobs/budgets.ts";
import {
  dayOf,
  type PaidTurn,
  type Payer,
  type Spender,
  type Spending,
} from "../../../src/server/queue/usage.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

/** Accounts in memory. */
class MemorySpending implements Spending {
  readonly charges: { by: Spender; day: string; tokens: number; costUsd: number }[] = [];

  async charge(by: Payer, { promptTokens, completionTokens, costUsd }: PaidTurn, at: number): Promise<void> {
    const tokens = promptTokens + completionTokens;
    this.charges.push({ by, day: dayOf(at), tokens, costUsd: costUsd ?? 0 });
  }

  async spentOn(period: string, scope: Spender | { installation: number }) {
    const counted = this.charges.filter((one) => {
      const isOf = "pull" in scope ? one.by.pull === scope.pull : true;
      return one.day.startsWith(period) && one.by.installation === scope.installation && isOf;
    });
    return {
      tokens: counted.reduce((sum, one) => sum + one.tokens, 0),
      costUsd: counted.reduce((sum, one) => sum + one.costUsd, 0),
    };
  }
}

const none: SpendingLimits = { tokens: null, costUsd: null };
const noon = Date.UTC(2026, 10, 22, 12);
const request = { messages: [], tools: [], maxOutputTokens: 1 };
const { signal } = new AbortController();
const turn = (tokens: number, costUsd: number | null = null): ScriptedTurn => ({
  usage: { promptTokens: tokens - 10, completionTokens: 10, costUsd },
});

interface Given {
  ofPull?: SpendingLimits;
  ofInstallation?: SpendingLimits;
  ofMonth?: SpendingLimits;
  pull?: number;
  installation?: number;
  spending?: MemorySpending;
  now?: () => number;
}

function budget({
  ofPull = none,
  ofInstallation = none,
  ofMonth = none,
  pull = 3,
  installation = 1,
  spending = new MemorySpending(),
  now = () => noon,
}: Given) {
  const job = { id: "job", task: { repository: { installation, id: 7 }, pull } };
  const written = ({ tokens, costUsd }: SpendingLimits) => ({ tokens, cost_usd: costUsd });
  const config = { budget: { day: written(ofPull) }, policy: { month: written(ofMonth) } };
  return budgetOf(job, config, { limits: { spending, dailyBudget: ofInstallation }, now });
}

it("A day's budget without limits is never used up", async () => {
  const spending = new MemorySpending();
  const mine = budget({ spending });
  await mine.meter(scriptedModel([turn(1e12, 1e6)])).respond(request, signal);

  expect(await mine.left()).toEqual({ tokens: null, costUsd: null, usedUp: null });
  await mine.require();
});

it("A day's budget leaves what its model's turns have not taken", async () => {
  const mine = budget({ ofPull: { tokens: 10_000, costUsd: 1 } });
  const model = mine.meter(scriptedModel([turn(3_000, 0.25), turn(2_000, null)]));
  await model.respond(request, signal);
  await model.respond(request, signal);

  expect(await mine.left()).toEqual({ tokens: 5_000, costUsd: 0.75, usedUp: null });
});

it("A day's budget leaves what the tighter of the limits of pull request and installation leaves", async () => {
  const spending = new MemorySpending();
  const ofInstallation = { tokens: 10_000, costUsd: 1 };
  const other = budget({ spending, ofInstallation, pull: 4 });
  await other.meter(scriptedModel([turn(8_000, 0.5)])).respond(request, signal);

  const mine = budget({ spending, ofInstallation, ofPull: { tokens: 5_000, costUsd: 0.25 } });
  expect(await mine.left()).toEqual({ tokens: 2_000, costUsd: 0.25, usedUp: null });
});

it.each([
  ["tokens", { tokens: 5_000, costUsd: null }],
  ["dollars", { tokens: null, costUsd: 0.5 }],
])(
  "A day's budget of %s stops the model once it is used up, for a reason that does not pass",
  async (_, ofPull) => {
    const mine = budget({ ofPull });
    const scripted = scriptedModel([turn(5_000, 0.5), turn(5_000, 0.5)]);
    const model = mine.meter(scripted);
    await model.respond(request, signal);

    await expect(model.respond(request, signal)).rejects.toMatchObject({
      code: "budget_spent",
      message: "today's budget for this pull request is used up",
      retryable: false,
    });
    expect(scripted.requests).toHaveLength(1);
  },
);

it("A day's budget of an installation stops every pull request of it, and no other installation's", async () => {
  const spending = new MemorySpending();
  const ofInstallation = { tokens: 5_000, costUsd: null };
  await budget({ spending, ofInstallation, pull: 4 })
    .meter(scriptedModel([turn(5_000)]))
    .respond(request, signal);

  await expect(budget({ spending, ofInstallation }).require()).rejects.toThrow("budget for its installation");
  await budget({ spending, ofInstallation, installation: 2 }).require();
});

it("A day's budget of an organization's month counts all of its days and repositories, and ends with the month", async () => {
  const spending = new MemorySpending();
  const ofMonth = { tokens: null, costUsd: 1 };
  const yesterday = budget({ spending, pull: 4, now: () => noon - 24 * 3_600_000 });
  await yesterday.meter(scriptedModel([turn(10, 0.75)])).respond(request, signal);
  const mine = budget({ spending, ofMonth });
  expect(await mine.left()).toEqual({ tokens: null, costUsd: 0.25, usedUp: null });
  await mine.meter(scriptedModel([turn(10, 0.25)])).respond(request, signal);
  await expect(mine.require()).rejects.toMatchObject({
    ...{ code: "budget_spent", message: "this month's budget of its organization is used up" },
  });
  await budget({ spending, ofMonth, now: () => Date.UTC(2026, 11, 1) }).require();
});

it("A day's budget is there again on the next day in UTC", async () => {
  let now = Date.UTC(2026, 10, 22, 23, 59);
  const mine = budget({ ofPull: { tokens: 5_000, costUsd: null }, now: () => now });
  const model = mine.meter(scriptedModel([turn(5_000), turn(1_000)]));
  await model.respond(request, signal);
  await expect(model.respond(request, signal)).rejects.toThrow("used up");
  now += 60_000;
  await model.respond(request, signal);

  expect((await mine.left()).tokens).toBe(4_000);
});

it("A day's budget is not charged for a turn that failed", async () => {
  const spending = new MemorySpending();
  const model = budget({ spending }).meter(scriptedModel([new Error("down")]));
  await expect(model.respond(request, signal)).rejects.toThrow("down");

  expect(spending.charges).toEqual([]);
});

describe("the limits of a review", () => {
  const limits = { turns: 60, tokens: 2_000_000, costUsd: null, milliseconds: 1_000 };
  const recorded = (promptTokens: number, costUsd: number | null): LoopEntry => ({
    ...{ kind: "turn", loop: "review", turn: 1 },
    model: {
      ...{ content: "", toolCalls: [], finishReason: "stop" },
      usage: { promptTokens, cachedTokens: 0, completionTokens: 0, costUsd },
    },
  });

  it.each([
    ["its own where the day has none", none, limits],
    ["its own where the day leaves more", { tokens: 3_000_000, costUsd: null }, limits],
    [
      "the day's where it leaves less",
      { tokens: 7_000, costUsd: 0.5 },
      { ...limits, tokens: 7_000, costUsd: 0.5 },
    ],
  ])("The limits of a review are %s", (_, left, expected) => {
    expect(withinBudget(limits, left, [])).toEqual(expected);
  });

  it("The limits of a review keep its own dollars if the day leaves more", () => {
    expect(withinBudget({ ...limits, costUsd: 1 }, { tokens: null, costUsd: 4 }, []).costUsd).toBe(1);
  });

  it("The limits of a review count turns on record, which were charged when they were made, on top of what the day leaves", () => {
    const left = { tokens: 1_000, costUsd: 0.5 };
    const within = withinBudget(limits, left, [recorded(4_000, 0.25), recorded(2_000, null)]);
    expect(within).toMatchObject({ tokens: 7_000, costUsd: 0.75 });
  });

  it("The limits of a review stay limits when nothing is left for more than what is on record", () => {
    const { tokens, costUsd } = withinBudget(limits, { tokens: 0, costUsd: 0 }, [recorded(10, null)]);
    expect(tokens).toBe(10);
    expect(costUsd).toBeGreaterThan(0);
    expect(costUsd).toBeLessThan(0.001);
  });
});
