import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { installationNote } from "../../../../src/server/jobs/reconcile/reconcile-app.ts";
import { eventReview, purgeJob } from "../../../../src/server/queue/job.ts";
import { paidTurn, payer } from "../../../support/paid-turn.ts";
import { hour, RememberedApp, start } from "./remembered-app.ts";

let app: RememberedApp;
const refOf = (id: number) => ({ installation: 1, id, owner: "octo", name: `repo-${id}` });
const review = (id: number, pull: number) => eventReview(refOf(id), pull, "a".repeat(40));
const named = [{ id: 7, owner: "octo", name: "repo-7" }];
const note = () => app.stores.notes.read(installationNote(1));

beforeEach(async () => {
  app = new RememberedApp();
  app.install(1, start - 100 * hour, app.repository(7), app.repository(8));
  await app.reconcile();
  await app.stores.queue.enqueue(review(7, 1));
  await app.stores.queue.enqueue(review(8, 2));
});
afterEach(() => app[Symbol.asyncDispose]());

describe("when the App is taken off an account", () => {
  it("nothing of it is left: neither jobs nor spending, notes nor mirrors", async () => {
    await app.stores.spending.charge(
      payer({ installation: 1, repository: 7, pull: 1 }),
      paidTurn({ tokens: 5, costUsd: 1 }),
      start,
    );
    app.installed.clear();
    expect(await app.run(purgeJob(1, null).task)).toMatchObject({ kind: "done" });
    expect(await app.missed()).toEqual([]);
    expect(app.removed).toEqual([7, 8]);
    expect(await note()).toBeNull();
    const spent = await app.stores.spending.spentOn("2026-11-22", { installation: 1 });
    expect(spent.tokens).toBe(0);
  });

  it("and on it again meanwhile, everything stays", async () => {
    expect(await app.run(purgeJob(1, null).task)).toMatchObject({ kind: "skipped" });
    expect(await app.missed()).toEqual([1, 2]);
    expect(app.removed).toEqual([]);
  });

  it("it is found out by the next run where nobody told", async () => {
    app.installed.clear();
    await app.reconcile();
    expect(await app.takeJobs()).toContainEqual(purgeJob(1, null).task);
  });

  it("a job that runs is left to end, and the purge comes back for what is in use", async () => {
    const { queue } = app.stores;
    await queue.claim("worker", hour);
    app.installed.clear();
    const purging = app.run(purgeJob(1, null).task);
    await expect(purging).rejects.toMatchObject({ retryable: true, retryAfterMs: 60_000 });
    expect(await note()).not.toBeNull();
  });
});

describe("when the App is taken off a repository", () => {
  const takeOff = () => void app.installed.get(1)!.repositories.shift();

  it("nothing of it is left, and all of the others", async () => {
    takeOff();
    await app.run(purgeJob(1, named).task);
    expect(await app.missed()).toEqual([2]);
    expect(app.removed).toEqual([7]);
    expect(await note()).not.toContain("repo-7");
    expect(await note()).toContain("repo-8");
  });

  it("and on it again meanwhile, everything stays", async () => {
    expect(await app.run(purgeJob(1, named).task)).toMatchObject({ kind: "skipped" });
    expect(await app.missed()).toEqual([1, 2]);
  });

  it("it is found out by the next run where nobody told", async () => {
    takeOff();
    app.time += hour;
    await app.reconcile();
    expect(await app.takeJobs()).toContainEqual(purgeJob(1, named).task);
  });

  it("a checkout in use has the purge come back", async () => {
    takeOff();
    app.inUse.add(7);
    await expect(app.run(purgeJob(1, named).task)).rejects.toMatchObject({ retryable: true });
    app.inUse.clear();
    expect(await app.run(purgeJob(1, named).task)).toMatchObject({ kind: "done" });
  });
});
