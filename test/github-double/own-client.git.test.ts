import { afterAll, beforeAll, expect, it } from "vitest";
import type { PullRequestApi } from "../../src/pull/github/pull-request-api.ts";
import { publicText } from "../../src/pull/publish/public-text.ts";
import { headOf } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";
import { apiOf } from "../support/reach.ts";

let scenario: Scenario;
let api: PullRequestApi;

beforeAll(async () => {
  scenario = await createScenario({
    base: { "a.txt": "a\nb\nc\n", ".github/hunkwise.yml": "x: 1\n" },
    head: { "a.txt": "A\nb\nc\n" },
  });
  api = apiOf(scenario, scenario.pull);
});
afterAll(() => scenario.github.close());

const on = (line: number) =>
  ({ path: "a.txt", side: "RIGHT", line, startLine: null, body: publicText("x") }) as const;
const output = { title: publicText("t"), summary: publicText("s") };

it("GitHub's double accepts every request of the bot's own client", async () => {
  const { people, pull, github } = scenario;
  const head = headOf(pull);
  expect(await api.pull()).toMatchObject({
    headSha: head,
    baseSha: pull.baseSha,
    author: "octocat",
    labels: [],
  });
  expect(await api.permissionOf("octocat")).toBe("write");
  const { id } = github.state.account("octocat");
  expect(await api.permissionOf("octocat", id)).toBe("write");
  expect(await api.permissionOf("octocat", id + 1)).toBe("none");
  expect(await api.fileAt(".github/hunkwise.yml", "main")).toBe("x: 1\n");
  expect(await api.fileAt("missing", "main")).toBeUndefined();
  await api.react({ id: people.comment(pull, "octocat", "/review").id, thread: null }, "eyes");
  expect(await api.acceptsReview(head, [on(2)])).toBe(true);
  await api.createReview(head, publicText("Body."), [on(1), { ...on(3), startLine: 1 }]);
  await api.createFileComment(head, "a.txt", publicText("On the file."));
  await api.createComment(publicText("Summary."));
  const [summary] = await api.ownComments();
  await api.updateComment(summary!.id, publicText("Summary, again."));
  const check = await api.createCheckRun(head, "id", { status: "in_progress", ...output });
  await api.updateCheckRun(check, { status: "completed", conclusion: "success", ...output });
  expect(await api.checkRuns(head)).toMatchObject([{ id: check, externalId: "id", conclusion: "success" }]);
  expect(await api.pullState(pull.number)).toMatchObject({ state: "open", headSha: head });
  expect(await api.pullState(999)).toBeUndefined();
  expect((await api.ownReviews()).map((one) => one.body)).toEqual(["Body.", ""]);
  expect((await api.ownReviewComments()).map((one) => one.body)).toEqual(["x", "x", "On the file."]);
  expect(await api.ownComments()).toMatchObject([{ body: "Summary, again." }]);
  expect(github.violations).toEqual([]);
});

it("GitHub's double refuses a review with a comment outside the diff", async () => {
  await expect(api.createReview(headOf(scenario.pull), publicText("x"), [on(9)])).rejects.toMatchObject({
    code: "github_invalid",
  });
  expect(await api.acceptsReview(headOf(scenario.pull), [on(2), on(9)])).toBe(false);
  expect(scenario.github.violations.map((one) => one.kind)).toEqual(["refused", "refused"]);
});
