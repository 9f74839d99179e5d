import { afterEach, expect, it } from "vitest";
import { dayOf } from "../../../src/server/queue/usage.ts";
import { commandJob } from "../../contract/queue.ts";
import { paidTurn, payer } from "../../support/paid-turn.ts";
import { type ScriptedModel, type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";
import { WorkedQueue } from "./job-fixture.ts";

const dayMs = 24 * 3_600_000;
const usage = { promptTokens: 900, completionTokens: 100, costUsd: 0.5 };
const call = (name: string, input: object): ScriptedTurn => ({
  toolCalls: [{ name, arguments: { ...input } }],
  usage,
});
const finish = call("finish_review", { summary: "All of it was read." });
const look = call("list_changed_files", {});

let jobs: WorkedQueue;
afterEach(() => jobs[Symbol.asyncDispose]());

/** A worker whose model answers each request with the next of these turns. */
function working(turns: (n: number) => ScriptedTurn): ScriptedModel {
  const model = scriptedModel((_request, n) => turns(n));
  jobs = new WorkedQueue(model);
  return model;
}

/** As other reviews did, of this pull request or of another one. */
const spend = (pull: number, tokens: number, costUsd = 0) =>
  jobs.spending.charge(
    payer({ installation: 1, repository: 7, pull }),
    paidTurn({ tokens, costUsd }),
    Date.now(),
  );
const spentOf = (pull: number) =>
  jobs.spending.spentOn(dayOf(Date.now()), { installation: 1, repository: 7, pull });
const summaryOf = (nth: number) => jobs.github.checks.at(nth)?.history.at(-1)?.summary;

it("The budget of a day is charged with each turn of a review", async () => {
  const model = working(() => finish);
  jobs.github.state.body = "Fixes #1";
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(model.requests.length).toBeGreaterThan(0);
  const { tokens, costUsd } = await spentOf(7);
  expect({ tokens, costUsd }).toEqual({
    tokens: 1_000 * model.requests.length,
    costUsd: 0.5 * model.requests.length,
  });
  const around = ["failedChecks", "issue"] as const;
  expect(around.map((method) => jobs.github.count(method))).toEqual([1, 1]);
});

it("The budget of a day of a pull request that is used up withholds the review until the next day, and says so", async () => {
  const model = working(() => finish);
  await spend(7, 10_000_000);
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  await jobs.queue.enqueue(commandJob(7, 55));
  await jobs.work();

  expect(model.requests).toEqual([]);
  expect(jobs.checkouts).toEqual([]);
  expect(jobs.checks()).toEqual(["neutral: Not reviewed", "neutral: Not reviewed"]);
  expect(summaryOf(1)).toContain("Not reviewed: today's budget for this pull request is used up.");
  expect(jobs.github.comments).toEqual([]);
  expect(jobs.logged("error")).toEqual([]);

  jobs.pass(dayMs);
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  expect(jobs.checks()[0]).toBe("success: No problems found");
});

it("read-for-another: A used-up budget leaves a head unread for one branch, though it was read for another", async () => {
  working(() => finish);
  Object.assign(jobs.github, { fileAt: async () => "check: { fail: true }\n" });
  jobs.github.state.baseRef = "release";
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  await spend(7, 10_000_000);
  await jobs.queue.enqueue(commandJob(7, 55));
  await jobs.work();
  expect(jobs.checks()).toEqual(["success: No problems found", "neutral: Not reviewed"]);

  jobs.github.state.baseRef = "main";
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  expect(jobs.checks().at(-1)).toBe("failure: Not reviewed");
});

it("The budget of a day of an installation that is used up withholds the reviews of all its pull requests", async () => {
  const model = working(() => finish);
  jobs.dailyBudget = { tokens: null, costUsd: 2 };
  await spend(8, 10, 2);
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(model.requests).toEqual([]);
  expect(summaryOf(0)).toContain("Not reviewed: today's budget for its installation is used up.");
});

it("The budget of a day that another review uses up meanwhile ends a review with what it has", async () => {
  const model = working((n) => {
    if (n === 1) void spend(8, 50_000_000);
    return look;
  });
  jobs.dailyBudget = { tokens: 50_000_000, costUsd: null };
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(model.requests).toHaveLength(2);
  expect(jobs.checks()).toHaveLength(1);
  expect(jobs.checks()[0]).toMatch(/^neutral: Incomplete review/);
  expect(jobs.github.comments[0]?.body).toContain(
    "a budget of the pull request, its installation or its organization",
  );
});

it("The budget of a day that another review uses up before the first turn withholds this one", async () => {
  const model = working(() => finish);
  jobs.dailyBudget = { tokens: 50_000_000, costUsd: null };
  jobs.beforeCheckout = () => void spend(8, 50_000_000);
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(model.requests).toEqual([]);
  expect(jobs.checks()).toEqual(["neutral: Not reviewed"]);
});
