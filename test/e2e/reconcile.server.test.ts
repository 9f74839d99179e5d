import { existsSync, globSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type AppUnderTest, startApp } from "../support/app-under-test.ts";
import { deliver } from "../support/github-double/deliver.ts";
import type { Pull } from "../support/github-double/model.ts";
import { headOf } from "../support/github-double/model.ts";
import { installationPayload } from "../support/github-double/payloads.ts";
import { shortTimes } from "../support/short-times.ts";

/*
 * One App through all events, with one data folder: each case starts where the previous one ended. Every start of the server looks for
 * missed events; after that, it does so every second.
 */
const patience = { timeout: 500_000 };
const day = 24 * 3_600_000;
let app: AppUnderTest;

beforeAll(async () => {
  app = await startApp({
    base: { "a.js": "export const a = 1;\n" },
    head: { "a.js": "export const a = 2;\ndebugger;\n" },
    env: shortTimes({ reconcileEveryMs: 1_000 }),
  });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  expect(app.github.violations).toEqual([]);
});

const checksOf = (pull: Pull) => pull.repository.checkRuns.filter(({ headSha }) => headSha === headOf(pull));
const isReviewed = (pull: Pull) => checksOf(pull).some(({ status }) => status === "completed");
const reviewed = (pull: Pull) => app.github.until(() => isReviewed(pull), 500_000);
const oursOf = ({ reviews, comments, reviewComments }: Pull) =>
  [reviews, comments, reviewComments].map((all) => all.filter(({ via }) => via === app.app).length);
const one = { reviews: 1, summaries: 1, comments: 1 };
const endOf = (pull: Pull) => {
  const [reviews, summaries, comments] = oursOf(pull);
  return { reviews, summaries, comments };
};
const open = (repository = app.repository) =>
  app.people.openPull(repository, {
    title: "More",
    author: "octocat",
    commits: [{ files: { "a.js": "export const a = 3;\ndebugger;\n" } }],
  });

/** Resolves when the App has done a complete reconciliation that started after this moment. */
async function lookedAround(): Promise<void> {
  const since = app.github.requests.length;
  const listed = () =>
    app.github.requests.slice(since).filter(({ path }) => path === "/app/installations").length;
  await app.github.until(() => listed() >= 2, 500_000);
}

it("A pull request without a webhook is reviewed, and old ones of a fresh installation are not", async () => {
  const elsewhere = app.people.createRepository("late-org/old", { "a.js": "export const a = 1;\n" });
  const old = Array.from({ length: 30 }, () => open(elsewhere));
  for (const pull of old) pull.updatedAt = new Date(Date.now() - 3 * day);
  app.github.state.install(app.app, [elsewhere]);
  await reviewed(app.pull);
  await lookedAround();
  expect(endOf(app.pull)).toEqual(one);
  expect(elsewhere.checkRuns).toEqual([]);
});

it("A run without news asks for the lists alone", async () => {
  await lookedAround();
  const since = app.github.requests.length;
  await lookedAround();
  const asked = app.github.requests.slice(since);
  expect(new Set(asked.map(({ operation }) => operation))).toEqual(
    new Set([
      "apps/list-webhook-deliveries",
      "apps/list-installations",
      "apps/list-repos-accessible-to-installation",
      "pulls/list",
    ]),
  );
});

it("A command whose delivery failed while the server was down is done once it is up", async () => {
  await app.kill();
  expect(await app.comment("octocat", "/review full")).toBe(502);
  await app.restart();
  const asked = app.pull.comments.find(({ body }) => body === "/review full");
  const key = `${headOf(app.pull)}:comment:${asked?.id}`;
  const checks = () => checksOf(app.pull).filter(({ externalId }) => externalId === key);
  await app.github.until(() => checks().some(({ status }) => status === "completed"), 500_000);
  await lookedAround();
  expect(checks()).toHaveLength(1);
});

it("After the database is lost every pull request has its review, none a second one, and no command is done again", async () => {
  const { summaries } = endOf(app.pull);
  await app.kill();
  for (const file of globSync(join(app.dataFolder, "queue.db*"))) rmSync(file);
  // A command was done for another head.
  app.people.push(app.pull, { "a.js": "export const a = 4;\ndebugger;\n" });
  const third = open();
  await app.restart();
  await Promise.all([reviewed(third), reviewed(app.pull)]);
  await lookedAround();
  expect(endOf(third)).toEqual(one);
  expect(checksOf(app.pull).map(({ externalId }) => externalId)).toEqual([
    `${headOf(app.pull)}:event#${app.pull.number}@main`,
  ]);
  expect(endOf(app.pull).summaries).toBe(summaries);
});

it("When the App is uninstalled, all traces are deleted", async () => {
  const traces = () => globSync(join(app.dataFolder, "{mirrors,checkouts}/*/id/*"));
  expect(traces()).not.toEqual([]);
  const payload = installationPayload(app.github.state, app.installation, "deleted");
  app.github.state.uninstall(app.installation);
  await deliver(app.github.state, "installation", payload, {
    url: app.server.webhookUrl,
    secret: app.webhookSecret,
  });
  await vi.waitFor(() => expect(traces()).toEqual([]), { ...patience, interval: 100 });
  expect(existsSync(app.dataFolder)).toBe(true);
});
