import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headOf, type Pull, type Review } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";
import { apiOf } from "../support/reach.ts";

let scenario: Scenario;
beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
});
afterAll(async () => {
  const { github } = scenario;
  await github.close();
  expect(github.violations).toEqual([]);
});

/** A pull request on which we, another bot and a person wrote so many comments, reviews and threads each, in turn. */
function crowded(count: number): Pull {
  const { people, repository, github, app } = scenario;
  const commits = [{ files: { "a.txt": "b\n" } }];
  const pull = people.openPull(repository, { title: "Crowded", author: "octocat", commits });
  const logins = [app.bot.login, github.state.account("other[bot]", "Bot").login, "eve"];
  for (let n = 0; n < count; n++) {
    const login = logins[n % logins.length] ?? "";
    const { id, author, via, body, createdAt, updatedAt } = people.comment(pull, login, `Text ${n}`);
    const written = { author, via, body, createdAt, updatedAt, reactions: [] };
    const review: Review = { ...written, id, pull, state: "COMMENTED", commitId: headOf(pull) };
    pull.reviews.push(review);
    pull.reviewComments.push({
      ...{ ...written, id: github.state.nextId(), pull, review, path: "a.txt", commitId: headOf(pull) },
      ...{ anchor: null, inReplyTo: null, resolvedBy: null },
    });
  }
  return pull;
}

describe("a crowded pull request", () => {
  it.each([
    { count: 31, pages: 1 },
    { count: 150, pages: 3 },
    { count: 1_200, pages: 24 },
  ])("The client reads all $count texts of each kind in $pages pages", async ({ count, pages }) => {
    const pull = crowded(count);
    const api = apiOf(scenario, pull);
    const { requests } = scenario.github;
    const asked = async (list: Promise<{ body: string }[]>) => {
      const before = requests.length;
      const bodies = (await list).map(({ body }) => body);
      return { bodies, requests: requests.length - before };
    };
    const ours = Array.from({ length: Math.ceil(count / 3) }, (_, n) => `Text ${3 * n}`);

    expect(await asked(api.ownComments())).toEqual({ bodies: ours, requests: pages });
    expect(await asked(api.ownReviews())).toEqual({ bodies: ours, requests: pages });
    expect(await asked(api.ownReviewComments())).toEqual({ bodies: ours, requests: pages });
    expect(await asked(api.ownThreads())).toEqual({ bodies: ours, requests: pages });
  });
});

it("The client finds the pull requests of a commit on the second page", async () => {
  const { people, repository, github } = scenario;
  const commits = [{ files: { "a.txt": "one\n" } }];
  const forked = people.openPull(repository, { title: "F", author: "eve", fork: "eve", commits });
  const twin = people.openPullOfBranch(repository, forked.headRef, {
    title: "T",
    author: "eve",
    fork: "eve",
  });
  const closed = people.openPullOfBranch(repository, forked.headRef, {
    title: "C",
    author: "eve",
    fork: "eve",
  });
  people.close(closed);
  for (let n = 0; n < 100; n++) {
    const number = 1_000 + n;
    repository.pulls.set(number, {
      ...scenario.pull,
      id: github.state.nextId(),
      number,
      updatedAt: new Date(),
    });
  }
  const before = github.requests.length;

  const found = await apiOf(scenario, scenario.pull).commitPulls(headOf(forked));

  expect(found.toSorted((a, b) => a - b)).toEqual([forked.number, twin.number]);
  expect(github.requests.length - before).toBe(2);
  expect(await apiOf(scenario, scenario.pull).commitPulls("0".repeat(40))).toEqual([]);
});
