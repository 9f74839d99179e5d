import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGitHubClient } from "../../../src/pull/github/client.ts";
import { createPullRequestApi } from "../../../src/pull/github/pull-request-client.ts";
import { createRateLimiter } from "../../../src/pull/github/rate-limit.ts";
import { endCheck, openIssue, otherApp, setStatus } from "../../support/github-double/around.ts";
import type { Permissions, Pull } from "../../support/github-double/model.ts";
import { headOf } from "../../support/github-double/model.ts";
import { createScenario, type Scenario } from "../../support/github-double/scenario.ts";
import { reachOfJob } from "../../support/reach.ts";

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
    reach: reachOfJob({ owner: "octo-org", repo: "shop", id: scenario.repository.id }, pull, app),
    token: async () => token,
    userAgent: "test",
    limits: createRateLimiter({ gapMs: 0 })(1),
  });
  return createPullRequestApi({ client, writing: client, owner: "octo-org", repo: "shop", pull, app });
}

describe("An issue", () => {
  it("An issue has its title and body, and so has a pull request", async () => {
    const issue = openIssue(scenario.github, scenario.repository, { title: "Broken", body: "It is." });
    const { pull } = opened();
    const api = apiOf(pull.number);

    expect(await api.issue(issue.number)).toEqual({ number: issue.number, title: "Broken", body: "It is." });
    expect(await api.issue(pull.number)).toEqual({ number: pull.number, title: "Change it", body: "" });
  });

  it("An issue that is missing or hidden from us is undefined", async () => {
    const issue = openIssue(scenario.github, scenario.repository, { title: "Broken" });

    expect(await apiOf(1).issue(9_999)).toBeUndefined();
    expect(await apiOf(1, { pull_requests: "read" }).issue(issue.number)).toBeUndefined();
  });
});

describe("The failed checks of a head", () => {
  it("Failed checks are those of others, with the places that they name", async () => {
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

  it("Failed checks are ten at most, with fifty annotations together", async () => {
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

  it("Failed checks are read as an installation sees them", async () => {
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
