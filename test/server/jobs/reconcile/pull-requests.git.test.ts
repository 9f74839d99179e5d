import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/core/errors.ts";
import { eventReview } from "../../../../src/server/queue/job.ts";
import { hour, RememberedApp, start } from "./remembered-app.ts";

const yearAgo = start - 365 * 24 * hour;
let app: RememberedApp;

beforeEach(() => {
  app = new RememberedApp();
});
afterEach(() => app[Symbol.asyncDispose]());

const refOf = (id: number) => ({ installation: 1, id, owner: "octo", name: `repo-${id}` });

it("Every open pull request since the installation whose head has no review is taken up", async () => {
  const [old, reviewed, open] = [app.pull(yearAgo - hour), app.pull(yearAgo + hour), app.pull(start - hour)];
  app.install(1, yearAgo, app.repository(7, old, reviewed, open));
  app.conclude(reviewed, { conclusion: "success" });
  await app.reconcile();
  expect(await app.takeJobs()).toEqual([eventReview(refOf(7), open.number, open.headSha).task]);
});

it("A missed review waits behind what people ask for", async () => {
  app.install(1, yearAgo, app.repository(7, app.pull(start - hour)));
  await app.reconcile();
  await app.stores.queue.enqueue(eventReview(refOf(8), 99, "b".repeat(40)));
  expect(await app.takeJobs()).toMatchObject([{ pull: 99 }, { pull: 1 }]);
});

it("Old pull requests stay as they are when the App was just installed", async () => {
  const old = Array.from({ length: 30 }, () => app.pull(start - 49 * hour));
  app.install(1, start - hour, app.repository(7, ...old));
  await app.reconcile();
  expect(await app.missed()).toEqual([]);
});

it("Of the pull requests from shortly before the installation, at most twenty are taken up", async () => {
  const recent = Array.from({ length: 30 }, (_, n) => app.pull(start - (n + 2) * hour));
  app.install(1, start - hour, app.repository(7, ...recent));
  await app.reconcile();
  expect(await app.missed()).toEqual(recent.slice(0, 20).map(({ number }) => number));
  app.time += hour;
  await app.reconcile();
  expect(await app.missed()).toEqual([]);
});

it("A repository that is added later brings no flood of old pull requests", async () => {
  const installed = app.install(1, yearAgo, app.repository(7));
  await app.reconcile();
  app.time += hour;
  installed.repositories.push(app.repository(8, app.pull(start - 100 * hour), app.pull(start - hour)));
  await app.reconcile();
  expect(await app.missed()).toEqual([2]);
});

it("Archived, disabled and empty repositories and suspended installations are left alone", async () => {
  app.install(1, yearAgo, { ...app.repository(7, app.pull(start)), isBusy: false });
  app.install(2, yearAgo, app.repository(8, app.pull(start))).isSuspended = true;
  await app.reconcile();
  expect(await app.missed()).toEqual([]);
  expect(app.asked).toEqual(["deliveries", "installations", "repositories 1"]);
});

it("A head that the queue knows costs no request", async () => {
  const pull = app.pull(start - hour);
  app.install(1, yearAgo, app.repository(7, pull));
  await app.stores.queue.enqueue(eventReview(refOf(7), pull.number, pull.headSha));
  await app.takeJobs();
  await app.reconcile();
  expect(app.asked.filter((one) => one.startsWith("check"))).toEqual([]);
});

it("A run without news asks for the lists alone", async () => {
  const [reviewed, missed] = [app.pull(start - hour), app.pull(start - hour)];
  app.install(1, yearAgo, app.repository(7, reviewed, missed));
  app.conclude(reviewed, { conclusion: "success" });
  await app.reconcile();
  await app.takeJobs();
  app.asked.length = 0;
  app.time += hour;
  await app.reconcile();
  expect(app.asked).toEqual(["deliveries", "installations", "repositories 1", "pulls repo-7"]);
});

it("A run without news reads no further than to the last one", async () => {
  const pulls = Array.from({ length: 9 }, (_, n) => app.pull(start - (n + 1) * 24 * hour));
  app.install(1, yearAgo, app.repository(7, ...pulls));
  await app.reconcile();
  await app.takeJobs();
  app.asked.length = 0;
  app.time += hour;
  pulls[8]!.updatedAt = app.time;
  app.installed.get(1)!.repositories[0]!.pulls = pulls;
  await app.reconcile();
  expect(app.asked.filter((one) => one.startsWith("pulls"))).toEqual(["pulls repo-7"]);
});

it("A pull request that was looked at is taken up once more if its review failed, and then left alone until something happens in it", async () => {
  const pull = app.pull(start - hour);
  app.install(1, yearAgo, app.repository(7, pull));
  const taken: number[][] = [];
  for (let run = 0; run < 4; run++) {
    await app.reconcile();
    taken.push(await app.missed("failed"));
    app.conclude(pull, { conclusion: "failure", title: "The review failed" });
    app.time += hour / 4;
  }
  expect(taken).toEqual([[1], [1], [], []]);
  pull.updatedAt = app.time;
  await app.reconcile();
  expect(await app.missed()).toEqual([1]);
});

it("A pull request that a job skipped is not taken up again until that may have changed", async () => {
  const draft = app.pull(start - hour);
  app.install(1, yearAgo, app.repository(7, draft));
  await app.reconcile();
  expect(await app.missed("skipped")).toEqual([1]);
  app.conclude(draft, { conclusion: "skipped", title: "Not reviewed: it is a draft." });
  await app.reconcile();
  await app.reconcile();
  expect(await app.missed()).toEqual([]);
  expect(app.asked.filter((one) => one.startsWith("check"))).toHaveLength(2);
  draft.updatedAt = app.time;
  await app.reconcile();
  expect(await app.missed()).toEqual([1]);
});

it("A pull request whose checks may not be read is left to the job, once", async () => {
  app.install(1, yearAgo, app.repository(7, app.pull(start - hour)));
  app.fault = { question: "check", error: new AppError("github_forbidden", "No") };
  await app.reconcile();
  expect(await app.missed("skipped")).toEqual([1]);
  await app.reconcile();
  expect(await app.missed()).toEqual([]);
});

describe("a repository", () => {
  const broken = new AppError("github_failed", "502", { retryable: true });

  it("A repository for which GitHub has no answer does not keep the others waiting", async () => {
    const [first, second] = [app.repository(7, app.pull(start)), app.repository(8, app.pull(start))];
    app.install(1, yearAgo, first, second);
    app.fault = { question: "pulls repo-7", error: broken };
    await app.reconcile();
    expect(await app.missed()).toEqual([2]);
  });

  it.each([
    ["fails", broken],
    ["refuses", new AppError("github_forbidden", "No")],
  ])(
    "A repository that GitHub %s for days is caught up with from where the last look ended",
    async (_, error) => {
      const pull = app.pull(start - hour);
      app.install(1, yearAgo, app.repository(7, pull));
      await app.reconcile();
      await app.missed();
      app.time += 3 * hour;
      Object.assign(pull, { headSha: "b".repeat(40), updatedAt: app.time });
      app.fault = { question: "pulls", error };
      for (let run = 0; run < 5; run++, app.time += 24 * hour) await app.reconcile();
      app.fault = undefined;
      await app.reconcile();
      expect(await app.missed()).toEqual([1]);
    },
  );
});

it("Many pull requests are looked at two hundred requests at a time, each once", async () => {
  const pulls = Array.from({ length: 250 }, (_, n) => app.pull(start - (n + 1) * hour));
  for (const pull of pulls.slice(0, 245)) app.conclude(pull, { conclusion: "neutral" });
  app.install(1, yearAgo, app.repository(7, ...pulls));
  await app.reconcile();
  const first = app.asked.length;
  expect(first).toBeLessThan(210);
  expect(await app.missed()).toEqual([]);
  app.time += hour;
  await app.reconcile();
  expect(await app.missed()).toEqual([246, 247, 248, 249, 250]);
  const checks = app.asked.filter((one) => one.startsWith("check"));
  expect(new Set(checks).size).toBe(checks.length);
});

it("Many pull requests of a repository do not keep the others waiting for ever", async () => {
  const many = Array.from({ length: 250 }, (_, n) => app.pull(start - (n + 1) * hour));
  const other = app.pull(start - hour);
  app.install(1, yearAgo, app.repository(7, ...many), app.repository(8, other));
  const taken: number[] = [];
  for (let run = 0; run < 3; run++) {
    await app.reconcile();
    taken.push(...(await app.missed()));
    app.time += hour;
  }
  expect(taken).toContain(other.number);
  expect(new Set(taken).size).toBe(251);
  expect(taken).toHaveLength(251);
});

it("A lost database costs requests, and no second review", async () => {
  const pulls = [app.pull(start - hour), app.pull(start - 50 * hour)];
  app.install(1, yearAgo, app.repository(7, ...pulls));
  await app.reconcile();
  expect(await app.missed()).toEqual([1, 2]);
  for (const pull of pulls) app.conclude(pull, { conclusion: "success" });
  await app.loseDatabase();
  const third = app.pull(app.time);
  app.installed.get(1)!.repositories[0]!.pulls.push(third);
  await app.reconcile();
  expect(await app.missed()).toEqual([third.number]);
});
