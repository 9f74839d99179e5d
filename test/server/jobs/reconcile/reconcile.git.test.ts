import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/core/errors.ts";
import type { NewJob } from "../../../../src/server/queue/job.ts";
import { eventReview } from "../../../../src/server/queue/job.ts";
import { hour, RememberedApp, start } from "./remembered-app.ts";

let app: RememberedApp;
const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
const broken = new AppError("github_failed", "502", { retryable: true });
const event = (pull: number) => eventReview(repository, pull, "a".repeat(40));

/** A review that somebody asked for in a comment. */
function asked(pull: number, commentId: number): NewJob {
  const { task } = event(pull);
  const review = {
    ...task,
    commentId,
    requestedBy: "ann",
    trigger: `comment:${commentId}`,
  } as NewJob["task"];
  return { task: review, concurrencyKey: `7#${pull}`, coalesce: false, priority: 10 };
}

beforeEach(async () => {
  app = new RememberedApp();
  // The App has been at work before.
  app.attempt("long ago", start - hour, true);
  await app.reconcile();
});
afterEach(() => app[Symbol.asyncDispose]());

it("A failed delivery is taken up under its own id, so that a redelivery does no more", async () => {
  app.attempt("d1", start + 1, false, [asked(1, 5)]);
  await app.reconcile();
  expect(await app.missed()).toEqual([1]);
  const { queue } = app.stores;
  expect(await queue.accept({ id: "d1", event: "issue_comment", action: "created" }, [event(1)])).toBe(false);
});

it("A failed delivery is not taken up twice", async () => {
  app.attempt("d1", start + 1, false, [asked(1, 5)]);
  for (let run = 0; run < 3; run++) await app.reconcile();
  expect(await app.missed()).toEqual([1]);
  expect(app.asked.filter((one) => one.startsWith("payload"))).toEqual(["payload 2"]);
});

it("A delivery that failed and succeeded later is fine, whichever attempt is listed first", async () => {
  app.attempt("d1", start + 1, false, [asked(1, 5)]);
  app.attempt("d1", start + 2, true);
  app.attempt("d2", start + 3, true);
  app.attempt("d2", start + 4, false, [asked(2, 6)]);
  await app.reconcile();
  expect(await app.missed()).toEqual([]);
});

it("A failed delivery that began earlier and is listed later is not overlooked", async () => {
  app.attempt("d1", start + 60_000, true);
  await app.reconcile();
  app.attempt("d0", start + 50_000, false, [asked(1, 5)]);
  await app.reconcile();
  expect(await app.missed()).toEqual([1]);
});

it("A failed delivery of which nothing follows costs its payload once", async () => {
  app.attempt("d1", start + 1, false, []);
  for (let run = 0; run < 3; run++) await app.reconcile();
  expect(app.asked.filter((one) => one.startsWith("payload"))).toHaveLength(1);
});

it("A failed delivery whose payload GitHub has no more does not hold up the others", async () => {
  app.attempt("d1", start + 1, false, [asked(1, 5)]);
  app.attempt("d2", start + 2, false, [asked(2, 6)]);
  app.fault = { question: "payload 2", error: new AppError("github_not_found", "gone") };
  await app.reconcile();
  expect(await app.missed()).toEqual([2]);
});

it("A failed delivery is taken up by the next run where this one breaks off, and what was stored is not asked for again", async () => {
  for (const n of [1, 2, 3]) app.attempt(`d${n}`, start + n, false, [asked(n, n)]);
  const limit = new AppError("github_rate_limited", "later", { retryable: true });
  app.fault = { question: "payload 3", error: limit };
  await expect(app.reconcile()).rejects.toMatchObject({ code: "github_rate_limited" });
  app.fault = undefined;
  await app.reconcile();
  expect(await app.missed()).toEqual([1, 2, 3]);
  expect(app.asked.filter((one) => one.startsWith("payload"))).toEqual([
    "payload 2",
    "payload 3",
    "payload 4",
  ]);
});

it("A failed delivery whose payload GitHub cannot give holds up neither the others nor the installations, and is asked for again", async () => {
  app.install(1, start - 100 * hour, app.repository(7, app.pull(start)));
  for (const n of [1, 2, 3]) app.attempt(`d${n}`, start + n * hour, false, [asked(10 + n, n)]);
  app.fault = { question: "payload 3", error: broken };
  for (let run = 0; run < 2; run++) await app.reconcile();
  expect(await app.missed()).toEqual([1, 11, 13]);
  app.fault = undefined;
  for (let run = 0; run < 2; run++) await app.reconcile();
  expect(await app.missed()).toEqual([12]);
  expect(app.asked.filter((one) => one.startsWith("payload"))).toHaveLength(3);
});

it("A delivery that GitHub cannot list is taken up later, and the installations are looked at", async () => {
  app.install(1, start - 100 * hour, app.repository(7, app.pull(start)));
  app.attempt("d1", start + 1, false, [asked(11, 5)]);
  app.fault = { question: "deliveries", error: broken };
  await app.reconcile();
  expect(await app.missed()).toEqual([1]);
  app.fault = undefined;
  await app.reconcile();
  expect(await app.missed()).toEqual([11]);
});

it("A delivery is left for the next run if GitHub cannot give the payload of any", async () => {
  for (let n = 1; n <= 9; n++) app.attempt(`d${n}`, start + n * hour, false, [asked(n, n)]);
  app.fault = { question: "payload", error: broken };
  await app.reconcile();
  app.fault = undefined;
  await app.reconcile();
  expect(await app.missed()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

it("A run takes up a hundred deliveries, the oldest first", async () => {
  for (let n = 1; n <= 120; n++) app.attempt(`d${n}`, start + n * 60_000, false, [asked(n, n)]);
  await app.reconcile();
  expect(await app.missed()).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
  await app.reconcile();
  expect(await app.missed()).toEqual(Array.from({ length: 20 }, (_, n) => n + 101));
});

describe("a delivery older than the database", () => {
  beforeEach(() => app.loseDatabase());

  it("What a person asked for is left out after a lost database, and a review of an event is not", async () => {
    app.attempt("d1", app.time - 2, false, [asked(1, 5)]);
    app.attempt("d2", app.time - 1, false, [event(2)]);
    await app.reconcile();
    expect(await app.missed()).toEqual([2]);
  });

  it("A delivery older than the database is recognized after the first run broke off", async () => {
    app.attempt("d1", app.time - 2, false, [asked(1, 5)]);
    app.fault = { question: "installations", error: broken };
    await expect(app.reconcile()).rejects.toThrow();
    app.fault = undefined;
    app.time += hour;
    await app.reconcile();
    expect(await app.missed()).toEqual([]);
  });
});
