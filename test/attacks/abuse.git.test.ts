import { afterEach, expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { commandRules, renderCommandTable } from "../../src/pull/publish/command-answers.ts";
import { publicText } from "../../src/pull/publish/public-text.ts";
import type { MostUsage } from "../../src/server/jobs/budgets.ts";
import { Flood, head } from "./flood.ts";

const minute = 60_000;
const hour = 60 * minute;
const notReviewed = "neutral: Not reviewed";

let flood: Flood;
afterEach(() => flood[Symbol.asyncDispose]());
const start = (most: Partial<MostUsage> = {}) => {
  flood = new Flood(most);
};
const times = (n: number) => Array.from({ length: n }, (_, at) => at);

it("cost-drain: A hundred pushes a minute start one review a minute, and none beyond the daily limit", async () => {
  start({ pullReviewsADay: 3 });
  for (const n of times(400)) {
    await flood.push(n);
    await flood.pass(600);
  }
  await flood.pass(hour);

  expect(flood.begun).toHaveLength(3);
  const checks = flood.checks();
  expect(checks.length).toBeGreaterThan(3);
  expect(checks.length).toBeLessThanOrEqual(6);
  expect(checks.slice(3).every((check) => check === notReviewed)).toBe(true);
  expect(flood.lastWord()).toBe(
    "Not reviewed: today's 3 reviews for this pull request are used up; a push or a command after midnight (UTC) starts a review of everything that was added since.",
  );
});

it("cost-drain: Skipped changes are reviewed with the first push of the next day", async () => {
  start({ pullReviewsADay: 1 });
  for (const n of [1, 2, 3]) {
    await flood.push(n);
    await flood.pass(minute);
  }
  expect(flood.begun).toHaveLength(1);
  await flood.pass(16 * hour);
  expect(flood.begun).toHaveLength(1);
  await flood.push(4);
  await flood.pass(minute);

  expect(flood.begun).toHaveLength(2);
  expect(flood.checks().at(-1)).not.toBe(notReviewed);
});

it("cost-drain: One person's commands are finally ignored, without a request to GitHub or a model", async () => {
  start();
  flood.permissions.set("ada", "write");
  const bodies = ["/review full", "/help", "/ask Why?", "/review --dry-run", "/resolve", "/pause"];
  for (const n of times(120)) await flood.comment(n % 2 ? "ada" : "Ada", bodies[n % bodies.length] ?? "");
  await flood.pass(1);

  const { calls } = flood.github();
  expect(flood.asked).toBeGreaterThan(0);
  expect(calls.filter((call) => call === "react").length).toBeLessThanOrEqual(60);
  const before = { asked: flood.asked, calls: calls.length, begun: flood.begun.length };
  for (const n of times(50)) await flood.comment("ada", `/ask Why not ${n}?`);
  await flood.pass(1);
  expect({ asked: flood.asked, calls: calls.length, begun: flood.begun.length }).toEqual(before);

  await flood.pass(hour);
  await flood.comment("ada", "/help");
  await flood.pass(1);
  expect(flood.asked).toBeGreaterThan(before.asked);
});

it("cost-drain: Reviews that many people request repeatedly stay within the limit of the pull request", async () => {
  start({ pullReviewsADay: 10 });
  for (const n of times(30)) flood.permissions.set(`writer-${n}`, "write");
  for (const n of times(90)) await flood.comment(`writer-${n % 30}`, n % 2 ? "/review full" : "/review");
  await flood.pass(1);

  expect(flood.begun).toHaveLength(10);
  expect(flood.checks().filter((check) => check === notReviewed)).toHaveLength(80);
});

it("cost-drain: A stranger's permission is checked a limited number of times, and the stranger gets no answer", async () => {
  start();
  for (const n of times(150)) await flood.comment("mallory", n % 3 ? "/review full" : "/ask Why?");
  await flood.pass(1);

  const { calls, comments, checks } = flood.github();
  expect(flood.asked).toBeLessThanOrEqual(60);
  expect([...new Set(calls)]).toEqual(["permissionOf"]);
  expect(calls).toHaveLength(60);
  expect([comments, checks, flood.begun, flood.model.requests]).toEqual([[], [], [], []]);
});

it("cost-drain: Many strangers cost one permission check each, and no review or answer", async () => {
  start();
  for (const n of times(50)) await flood.comment(`mallory-${n}`, "/review");
  await flood.pass(1);

  expect([...new Set(flood.github().calls)]).toEqual(["permissionOf"]);
  expect(flood.github().calls).toHaveLength(50);
  expect([flood.begun, flood.model.requests]).toEqual([[], []]);
});

it("cost-drain: Requests of strangers do not use up the limits of others", async () => {
  start({ commandsAnHour: 5, pullReviewsADay: 2, installationReviewsADay: 2 });
  flood.permissions.set("ada", "write");
  for (const _ of times(20)) await flood.comment("mallory", "/review");
  await flood.comment("ada", "/review");
  await flood.pass(1);

  expect(flood.begun).toHaveLength(1);
});

it("cost-drain: A hundred pull requests stay within the limit of their installation, and do not affect others", async () => {
  start({ installationReviewsADay: 20 });
  for (const n of times(100)) await flood.push(n, n + 1);
  await flood.push(1, 1, 2);
  await flood.pass(minute);

  expect(flood.begun.filter((pull) => pull.startsWith("1/"))).toHaveLength(20);
  expect(flood.begun.filter((pull) => pull.startsWith("2/"))).toHaveLength(1);
  expect(times(100).filter((n) => flood.checks(n + 1)[0] === notReviewed)).toHaveLength(80);
});

it("cost-drain: One author's pull requests stay within the author's limit, and do not affect those of others", async () => {
  start({ authorReviewsADay: 3 });
  for (const n of times(10)) flood.github(n + 1).state.author = "Mallory";
  for (const n of times(11)) await flood.push(n, n + 1);
  await flood.pass(minute);

  expect(flood.begun).toHaveLength(4);
  expect(flood.begun).toContain("1/11");
  expect(times(11).filter((n) => flood.checks(n + 1)[0] === notReviewed)).toHaveLength(7);
});

it("cost-drain: A retried review counts once, and a review of another head counts again", async () => {
  start({ pullReviewsADay: 2 });
  let faults = 4;
  flood.beforeCheckout = () => {
    if (faults-- > 0) throw new AppError("repository_unavailable", "away", { retryable: true });
  };
  await flood.push(1);
  for (const _ of times(10)) await flood.pass(minute);
  expect(flood.begun).toHaveLength(1);
  for (const n of [2, 3]) {
    await flood.push(n);
    await flood.pass(minute);
  }
  expect(flood.begun).toHaveLength(2);
  expect(flood.checks().at(-1)).toBe(notReviewed);
});

it("cost-drain: A change that needs no review does not count against a limit", async () => {
  start({ pullReviewsADay: 1 });
  const github = flood.github();
  const done = { status: "completed", conclusion: "success" } as const;
  await github.createCheckRun(head(1), `${head(1)}:event#7@main`, {
    ...{ ...done, title: publicText("No problems found"), summary: publicText("") },
  });
  for (const _ of times(10)) {
    await flood.push(1);
    await flood.pass(minute);
  }
  github.state.draft = true;
  await flood.push(2);
  await flood.pass(minute);
  expect(flood.begun).toEqual([]);
  github.state.draft = false;
  await flood.push(3);
  await flood.pass(minute);
  expect(flood.begun).toHaveLength(1);
});

it("cost-drain: A limit of zero means no limit", async () => {
  start({ commandsAnHour: 0, pullReviewsADay: 0, installationReviewsADay: 0 });
  flood.permissions.set("ada", "write");
  for (const _ of times(70)) await flood.comment("ada", "/review");
  await flood.pass(1);
  expect(flood.begun).toHaveLength(70);
});

it("cost-drain: Nothing that a bot, an App or this App itself writes starts an answer", async () => {
  start();
  const texts = [
    ...["/review", "/ask Why?", "@hunk-bot why?", "@hunk-bot review full", "Is this right?"],
    ...[renderCommandTable({ describe: true, prove: true }), commandRules],
  ];
  const authors = [
    { login: "hunk-bot[bot]", user: { type: "Bot" } },
    { login: "other[bot]", user: { type: "Bot" } },
    { login: "other[bot]", user: { type: "User" } },
    { login: "machine", user: { type: "Organization" } },
    { login: "ada", via: { id: 7 } },
  ];
  for (const _ of times(5))
    for (const body of texts)
      for (const { login, ...over } of authors) expect(await flood.comment(login, body, over)).toBe(0);
  await flood.pass(minute);
  expect(flood.asked).toBe(0);
});
