import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lookingReach } from "../../../src/pull/github/allowlist.ts";
import { createInstallationApi, type InstallationApi } from "../../../src/pull/github/app-client.ts";
import { createGitHubClient, wholeList } from "../../../src/pull/github/client.ts";
import { createRateLimiter } from "../../../src/pull/github/rate-limit.ts";
import { createScenario, type Scenario } from "../../support/github-double/scenario.ts";

let scenario: Scenario;
let api: InstallationApi;
const shop = { owner: "octo-org", name: "shop" };

beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
  const { github, app, installation } = scenario;
  const token = github.state.issueToken(installation).value;
  const client = createGitHubClient({
    ...{
      baseUrl: github.apiUrl,
      userAgent: "test",
      limits: createRateLimiter({ gapMs: 0 })(1),
      token: async () => token,
    },
    reach: lookingReach,
  });
  api = createInstallationApi(client, { id: app.id, slug: app.slug });
});
afterAll(() => scenario.github.close());

describe("The API of an installation", () => {
  it("An installation names the repositories that may have something to review", async () => {
    const { repository, people, installation } = scenario;
    const archived = people.createRepository("octo-org/archived", { a: "1" });
    people.openPull(archived, { title: "x", author: "octocat", commits: [{ files: { a: "2" } }] });
    archived.archived = true;
    const empty = people.createRepository("octo-org/empty", { a: "1" });
    installation.repositories.push(archived, empty);
    const items = await wholeList(api.repositories());
    installation.repositories.splice(1);
    expect(items).toEqual([
      { id: repository.id, ...shop, isBusy: true },
      { id: archived.id, owner: "octo-org", name: "archived", isBusy: false },
      { id: empty.id, owner: "octo-org", name: "empty", isBusy: false },
    ]);
  });

  it("An installation lists the pull requests with the most recent activity first", async () => {
    const { people, repository, pull } = scenario;
    people.openPullOfBranch(repository, pull.headRef, { title: "y", author: "octocat" });
    people.retitle(pull, "Another title");
    const items = await wholeList(api.pulls(shop, "open"));
    expect(items.map(({ number }) => number)).toContain(pull.number);
  });
});
