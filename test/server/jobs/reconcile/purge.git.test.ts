import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { installationNote } from "../../../../src/server/jobs/reconcile/reconcile.ts";
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

it("An uninstalled account leaves nothing: neither jobs nor spending, notes nor mirrors", async () => {
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

it("An account with the App installed again keeps everything", async () => {
  expect(await app.run(purgeJob(1, null).task)).toMatchObject({ kind: "skipped" });
  expect(await app.missed()).toEqual([1, 2]);
  expect(app.removed).toEqual([]);
});

it("The next run finds an uninstalled account without a webhook", async () => {
  app.installed.clear();
  await app.reconcile();
  expect(await app.takeJobs()).toContainEqual(purgeJob(1, null).task);
});

it("A running job of an uninstalled account ends, and the purge comes back", async () => {
  const { queue } = app.stores;
  await queue.claim("worker", hour);
  app.installed.clear();
  const purging = app.run(purgeJob(1, null).task);
  await expect(purging).rejects.toMatchObject({ retryable: true, retryAfterMs: 60_000 });
  expect(await note()).not.toBeNull();
});

describe("a repository that was removed from the App", () => {
  const takeOff = () => void app.installed.get(1)!.repositories.shift();

  it("A removed repository leaves nothing, and the others keep everything", async () => {
    takeOff();
    await app.run(purgeJob(1, named).task);
    expect(await app.missed()).toEqual([2]);
    expect(app.removed).toEqual([7]);
    expect(await note()).not.toContain("repo-7");
    expect(await note()).toContain("repo-8");
  });

  it("A repository that was added again keeps everything", async () => {
    expect(await app.run(purgeJob(1, named).task)).toMatchObject({ kind: "skipped" });
    expect(await app.missed()).toEqual([1, 2]);
  });

  it("The next run finds a removed repository without a webhook", async () => {
    takeOff();
    app.time += hour;
    await app.reconcile();
    expect(await app.takeJobs()).toContainEqual(purgeJob(1, named).task);
  });

  it("A purge comes back for a checkout in use", async () => {
    takeOff();
    app.inUse.add(7);
    await expect(app.run(purgeJob(1, named).task)).rejects.toMatchObject({ retryable: true });
    app.inUse.clear();
    expect(await app.run(purgeJob(1, named).task)).toMatchObject({ kind: "done" });
  });
});
