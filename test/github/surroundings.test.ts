import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGitHubClient } from "../../src/github/client.ts";
import { createPacing } from "../../src/github/pacing.ts";
import { createPullRequestApi } from "../../src/github/pull-request-client.ts";
import { endCheck, openIssue, otherApp, setStatus } from "../support/github-double/around.ts";
import type { Permissions, Pull, ReviewComment } from "../support/github-double/model.ts";
import { headOf } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

let scenario: Scenario;
beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\nb\n" }, head: { "a.txt": "A\nB\n" } });
});
afterAll(async () => {
  const { github } = scenario;
  await github.close();
  expect(github.violations).toEqual([]);
});

/** A pull request of its own, so that cases do not see each other. */
function opened(): { pull: Pull; sha: string } {
  const commits = [{ files: { "a.txt": "A\nB\n" } }];
  const pull = scenario.people.openPull(scenario.repository, {
    title: "Change it",
    author: "octocat",
    commits,
  });
  return { pull, sha: headOf(pull) };
}

function apiOf(pull: number, permissions?: Permissions) {
  const { github, installation, app } = scenario;
  const token = github.state.issueToken(installation, permissions ? { permissions } : {}).value;
  const client = createGitHubClient({
    baseUrl: github.apiUrl,
    token: async () => token,
    userAgent: "test",
    pacing: createPacing(),
  });
  return createPullRequestApi({ client, owner: "octo-org", repo: "shop", pull, app });
}

describe("an issue", () => {
  it("is told with its title and body, and so is a pull request", async () => {
    const issue = openIssue(scenario.github, scenario.repository, { title: "Broken", body: "It is." });
    const { pull } = opened();
    const api = apiOf(pull.number);

    expect(await api.issue(issue.number)).toEqual({ number: issue.number, title: "Broken", body: "It is." });
    expect(await api.issue(pull.number)).toEqual({ number: pull.number, title: "Change it", body: "" });
  });

  it("that is not there, or not ours to see, is none", async () => {
    const issue = openIssue(scenario.github, scenario.repository, { title: "Broken" });

    expect(await apiOf(1).issue(9_999)).toBeUndefined();
    expect(await apiOf(1, { pull_requests: "read" }).issue(issue.number)).toBeUndefined();
  });
});

describe("checks of a head", () => {
  it("are those of others that ended without success, with where they point", async () => {
    const { pull, sha } = opened();
    const { github, repository, app } = scenario;
    const ci = otherApp(github);
    const annotations = [{ path: "a.txt", startLine: 1, endLine: 2, message: "B was expected" }];
    const ended = { app: ci, title: "1 failed", summary: "a.txt differs" };
    endCheck(github, repository, sha, { ...ended, name: "test", conclusion: "failure", annotations });
    endCheck(github, repository, sha, { app: ci, name: "slow", conclusion: "timed_out" });
    for (const conclusion of ["success", "neutral", "skipped", "cancelled"])
      endCheck(github, repository, sha, { app: ci, name: conclusion, conclusion });
    endCheck(github, repository, sha, { app, name: "Hunkwise", conclusion: "failure" });
    setStatus(github, repository, sha, { context: "build", state: "error", description: "no disk left" });
    setStatus(github, repository, sha, { context: "lint", state: "failure", description: null });
    setStatus(github, repository, sha, { context: "lint", state: "success", description: null });

    const found = await apiOf(pull.number).failedChecks(sha);

    expect(found.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: "build", conclusion: "error", title: "no disk left", summary: "", annotations: [] },
      { name: "slow", conclusion: "timed_out", title: "", summary: "", annotations: [] },
      {
        ...{ name: "test", conclusion: "failure", title: "1 failed", summary: "a.txt differs" },
        annotations: [
          { path: "a.txt", startLine: 1, endLine: 2, level: "failure", message: "B was expected" },
        ],
      },
    ]);
  });

  it("are ten at most, with fifty annotations together", async () => {
    const { pull, sha } = opened();
    const { github, repository } = scenario;
    const annotations = Array.from({ length: 60 }, (_, n) => ({
      ...{ path: "a.txt", startLine: n + 1, endLine: n + 1 },
      message: "wrong",
    }));
    for (let n = 0; n < 12; n++) {
      endCheck(github, repository, sha, {
        ...{ app: otherApp(github), name: `test ${n}`, conclusion: "failure" },
        annotations: n % 2 ? annotations : [],
      });
    }

    const found = await apiOf(pull.number).failedChecks(sha);

    expect(found).toHaveLength(10);
    expect(found.flatMap((one) => one.annotations)).toHaveLength(50);
  });

  it("are those that an installation may see", async () => {
    const { pull, sha } = opened();
    const { github, repository } = scenario;
    endCheck(github, repository, sha, { app: otherApp(github), name: "test", conclusion: "failure" });
    setStatus(github, repository, sha, { context: "build", state: "error", description: null });
    const seen = async (permissions: Permissions) =>
      (await apiOf(pull.number, permissions).failedChecks(sha)).map(({ name }) => name);

    expect(await seen({ checks: "read" })).toEqual(["test"]);
    expect(await seen({ statuses: "read" })).toEqual(["build"]);
    expect(await seen({})).toEqual([]);
  });
});

/** A comment of an App on a line, as its own review brings it. */
async function commentOf(
  pull: Pull,
  bot: "ours" | "another",
  body: string,
  line = 1,
): Promise<ReviewComment> {
  const app = bot === "ours" ? scenario.app : otherApp(scenario.github);
  const comment = await scenario.people.reviewComment(pull, app.bot.login, { path: "a.txt", line, body });
  return Object.assign(comment, { via: app });
}

describe("threads of ours", () => {
  it("are told with where they stand and what people answered", async () => {
    const { pull } = opened();
    const { people, app } = scenario;
    const first = await commentOf(pull, "ours", "First");
    const second = await commentOf(pull, "ours", "Second", 2);
    people.reply(first, "octocat", "On purpose");
    people.reply(first, app.bot.login, "Fixed in abc");
    people.reply(first, otherApp(scenario.github).bot.login, "Beep");
    people.resolve(second, "octocat");

    expect(await apiOf(pull.number).ownThreads()).toEqual([
      { body: "First", path: "a.txt", line: 1, resolved: false, outdated: false, replies: ["On purpose"] },
      { body: "Second", path: "a.txt", line: 2, resolved: true, outdated: false, replies: [] },
    ]);
  });

  it("whose line has changed since have none", async () => {
    const { pull } = opened();
    await commentOf(pull, "ours", "First");
    scenario.people.push(pull, { "a.txt": "other\nB\n" });

    expect(await apiOf(pull.number).ownThreads()).toMatchObject([{ line: null, outdated: true }]);
  });

  it("are not those of people or other Apps, whatever they say", async () => {
    const { pull } = opened();
    await scenario.people.reviewComment(pull, "hunkwise", { path: "a.txt", line: 1, body: "Mine" });
    await commentOf(pull, "another", "Theirs");

    expect(await apiOf(pull.number).ownThreads()).toEqual([]);
  });

  it("are read page by page", async () => {
    const { pull } = opened();
    for (let n = 0; n < 27; n++) await commentOf(pull, "ours", `Comment ${n}`);

    const found = await apiOf(pull.number).ownThreads();

    expect(found.map(({ body }) => body)).toEqual(Array.from({ length: 27 }, (_, n) => `Comment ${n}`));
  });
});
