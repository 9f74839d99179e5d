import { beforeEach, describe, expect, it } from "vitest";
import { createUsageLimits, type MostUsage } from "../../../src/server/jobs/budgets.ts";
import type { Task } from "../../../src/server/queue/job.ts";
import type { QuotaEntry, QuotaLimit } from "../../../src/server/queue/usage.ts";
import { claimed } from "./dependencies.ts";

const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
const noon = Date.UTC(2026, 10, 22, 12);
const most = {
  ...{ commandsAnHour: 60, pullReviewsADay: 50, authorReviewsADay: 300, installationReviewsADay: 1_000 },
};
const at = { repository, pull: 3, headSha: null };
const review: Task = {
  ...{ kind: "review", mode: "new", again: false, ...at, trigger: "event#3" },
  ...{ thread: null, commentId: null, requestedBy: null },
};

let entered: { entry: QuotaEntry; limits: readonly QuotaLimit[] }[];
let reached: (limits: readonly QuotaLimit[]) => QuotaLimit | null;
beforeEach(() => {
  entered = [];
  reached = () => null;
});

const limitsOf = (over: Partial<MostUsage> = {}) =>
  createUsageLimits({
    quotas: {
      async take(entry, limits) {
        entered.push({ entry, limits });
        return reached(limits);
      },
    },
    most: { ...most, ...over },
    now: () => noon,
  });
const jobOf = (task: Task) => claimed(task, { id: "job-1" });

it.each<[string, Task]>([
  ["a review", { ...review, requestedBy: "Ada" }],
  ["a dry run", { ...review, mode: "dry_run", requestedBy: "Ada" }],
  ["a check run again", { ...review, again: true, requestedBy: "Ada" }],
  [
    "help",
    {
      ...{
        kind: "command",
        command: { name: "help" },
        ...at,
        thread: null,
        commentId: 5,
        requestedBy: "Ada",
      },
      writtenAt: "2026-01-01T00:01:00Z",
    },
  ],
  ["a reply", { kind: "reply", ...at, commentId: 5, thread: 4, author: "Ada", body: "Why?" }],
])("What is asked of %s counts for whoever asks, by the hour", async (_, task) => {
  expect(await limitsOf().mayAsk(jobOf(task))).toBe(true);
  expect(entered).toEqual([
    {
      entry: { installation: 1, repository: 7, name: "job-1", at: noon },
      limits: [{ scope: "person ada", most: 60, since: noon - 3_600_000 }],
    },
  ]);
  reached = ([limit]) => limit ?? null;
  expect(await limitsOf().mayAsk(jobOf(task))).toBe(false);
});

it.each<[string, Task]>([
  ["an event", review],
  ["a merge queue", { kind: "pass_check", repository, headSha: "a".repeat(40), reason: "" }],
  ["reconciling", { kind: "reconcile", installation: 1, headSha: null }],
  ["a purge", { kind: "purge", installation: 1, repositories: null, headSha: null }],
])("A job that no person asked for counts for nobody: %s", async (_, task) => {
  reached = ([limit]) => limit ?? null;
  expect(await limitsOf().mayAsk(jobOf(task))).toBe(true);
  expect(entered).toEqual([]);
});

describe("a review", () => {
  const of = { id: "job-1", repository, pull: 3, head: "b".repeat(40), author: "Ada" };

  it("A review counts for its pull request, its author and its installation, since midnight, and once for each head", async () => {
    await limitsOf().requireReview(of);
    const since = Date.UTC(2026, 10, 22);
    expect(entered).toEqual([
      {
        entry: { installation: 1, repository: 7, name: `job-1 ${of.head}`, at: noon },
        limits: [
          { scope: "pull 7#3", most: 50, since },
          { scope: "author ada", most: 300, since },
          { scope: "installation", most: 1_000, since },
        ],
      },
    ]);
  });

  it.each([
    [0, "today's 50 reviews for this pull request are used up"],
    [1, "today's 300 reviews for the pull requests of its author are used up"],
    [2, "today's 1000 reviews for its installation are used up"],
  ])("A review beyond a limit is refused, and says which limit", async (nth, words) => {
    reached = (limits) => limits[nth] ?? null;
    await expect(limitsOf().requireReview(of)).rejects.toMatchObject({
      ...{ code: "budget_spent", retryable: false, message: expect.stringContaining(words) },
    });
  });

  it("A review is not counted by a limit of 0", async () => {
    await limitsOf({ pullReviewsADay: 0 }).requireReview(of);
    await limitsOf({ pullReviewsADay: 0, authorReviewsADay: 0, installationReviewsADay: 0 }).requireReview(
      of,
    );
    expect(entered.map(({ limits }) => limits.map(({ scope }) => scope))).toEqual([
      ["author ada", "installation"],
    ]);
  });
});
