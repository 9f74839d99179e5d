import { afterAll, beforeAll, expect, it } from "vitest";
import { publicText } from "../../src/pull/publish/public-text.ts";
import { otherApp } from "../support/github-double/around.ts";
import { headOf, type Pull, type ReviewComment } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";
import { apiOf } from "../support/reach.ts";

let scenario: Scenario;
beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\nb\nc\n" }, head: { "a.txt": "A\nB\nC\n" } });
});
afterAll(async () => {
  const { github } = scenario;
  await github.close();
  expect(github.violations).toEqual([]);
});

/** A pull request of its own, so that cases do not see each other. */
function opened(): Pull {
  const { people, repository } = scenario;
  const commits = [{ files: { "a.txt": "A\nB\nC\n" } }];
  return people.openPull(repository, { title: "Change it", author: "octocat", commits });
}

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

it("A thread has its place, its answers, its reactions and who resolved it", async () => {
  const pull = opened();
  const { people, app, github } = scenario;
  const first = await commentOf(pull, "ours", "First");
  const second = await commentOf(pull, "ours", "Second", 2);
  const replies = [
    people.reply(first, "octocat", "On purpose"),
    people.reply(first, app.bot.login, "Fixed in abc"),
    people.reply(first, otherApp(github).bot.login, "Beep"),
  ];
  people.resolve(second, "octocat");
  people.react(first, "eve", "-1");
  people.react(first, "octocat", "+1");
  people.react(first, otherApp(github).bot.login, "-1");

  const [one, two] = await apiOf(scenario, pull).ownThreads();

  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/);
  expect(one).toEqual({
    id: expect.stringMatching(/^PRRT_/),
    comment: first.id,
    body: "First",
    path: "a.txt",
    side: "RIGHT",
    ...{ line: 1, startLine: null, originalLine: 1, resolved: false, resolvedBy: null, outdated: false },
    url: `${github.url}/octo-org/shop/pull/${pull.number}#discussion_r${first.id}`,
    createdAt: at,
    replies: [
      { author: { login: "octocat", kind: "person" }, body: "On purpose" },
      { author: { login: "hunkwise", kind: "us" }, body: "Fixed in abc" },
      { author: { login: "ci", kind: "bot" }, body: "Beep" },
    ].map((reply, nth) => ({ id: replies[nth]?.id, ...reply, createdAt: at })),
    downvotes: [{ by: "eve", at }],
    upvotes: 1,
  });
  expect(two).toMatchObject({
    resolved: true,
    resolvedBy: { login: "octocat", kind: "person" },
    replies: [],
  });
});

it("A thread has a range, a file as a whole, or the original line of one that is outdated", async () => {
  const pull = opened();
  const api = apiOf(scenario, pull);
  const at = { path: "a.txt", side: "RIGHT", body: publicText("x") } as const;
  await api.createReview(headOf(pull), publicText("Body"), [{ ...at, line: 3, startLine: 2 }]);
  await api.createFileComment(headOf(pull), "a.txt", publicText("On the file"));

  expect(await api.ownThreads()).toMatchObject([
    { line: 3, startLine: 2, originalLine: 3, outdated: false },
    { line: null, startLine: null, originalLine: null, outdated: false },
  ]);
  scenario.people.push(pull, { "a.txt": "A\nB\nother\n" });
  expect((await api.ownThreads())[0]).toMatchObject({
    line: null,
    startLine: null,
    originalLine: 3,
    outdated: true,
  });
});

it("The list omits threads of people and other Apps, and pending ones", async () => {
  const pull = opened();
  await scenario.people.reviewComment(pull, "hunkwise", { path: "a.txt", line: 1, body: "Mine" });
  const pending = await commentOf(pull, "ours", "Later");
  pending.review.state = "PENDING";
  await commentOf(pull, "another", "Theirs");

  expect(await apiOf(scenario, pull).ownThreads()).toEqual([]);
});

it("A thread has all answers and all thumbs down beyond one page", async () => {
  const pull = opened();
  const first = await commentOf(pull, "ours", "First");
  const other = await commentOf(pull, "ours", "Second", 2);
  scenario.people.reply(other, "octocat", "Elsewhere");
  scenario.people.reply(first, scenario.app.bot.login, "Fixed in abc");
  scenario.people.reply(first, otherApp(scenario.github).bot.login, "Beep");
  for (let n = 1; n <= 230; n++) scenario.people.reply(first, "octocat", `Answer ${n}`);
  for (let n = 1; n <= 130; n++) {
    scenario.people.react(first, `eve${n}`, "-1");
    scenario.people.react(first, `eve${n}`, "+1");
  }

  const [found] = await apiOf(scenario, pull).ownThreads();

  expect(found?.body).toBe("First");
  expect(found?.replies.map(({ body }) => body)).toEqual([
    "Fixed in abc",
    "Beep",
    ...Array.from({ length: 230 }, (_, n) => `Answer ${n + 1}`),
  ]);
  expect(found?.replies.slice(0, 3).map(({ author }) => author)).toEqual([
    { login: "hunkwise", kind: "us" },
    { login: "ci", kind: "bot" },
    { login: "octocat", kind: "person" },
  ]);
  expect(found?.downvotes.map(({ by }) => by)).toEqual(Array.from({ length: 130 }, (_, n) => `eve${n + 1}`));
});

it("The list omits a thread whose first comment was deleted, and keeps one that lost an answer", async () => {
  const pull = opened();
  const { people } = scenario;
  const [first, second] = [
    await commentOf(pull, "ours", "First"),
    await commentOf(pull, "ours", "Second", 2),
  ];
  people.reply(first, "octocat", "Why?");
  const answer = people.reply(second, "octocat", "No");

  people.delete(first);
  people.delete(answer);
  people.edit(second, "Second, edited");

  expect(await apiOf(scenario, pull).ownThreads()).toMatchObject([{ body: "Second, edited", replies: [] }]);
});
