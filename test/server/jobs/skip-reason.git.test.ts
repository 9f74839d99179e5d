import { expect, it } from "vitest";
import { RepoConfig } from "../../../src/config/repo-config.ts";
import type { PullRequest, SourceBranch } from "../../../src/pull/github/pull-request-api.ts";
import { skipOf } from "../../../src/server/jobs/review-pull.ts";

const branch: SourceBranch = {
  owner: "octo-org",
  repo: "shop",
  branch: "renovate/zod",
  isFork: false,
  isDefault: false,
  maintainersMayPush: false,
};
const pull: PullRequest = {
  number: 7,
  title: "Add a thing",
  body: "",
  author: "octocat",
  state: "open",
  closed: null,
  draft: false,
  labels: ["bug"],
  headSha: "h",
  baseSha: "b",
  baseRef: "release/2.0",
  source: branch,
};
const skip = (review: object, over: Partial<PullRequest> = {}, pushers: string[] | null = ["octocat"]) =>
  skipOf(
    RepoConfig.parse({ review }),
    { ...pull, ...over },
    {
      pushers: async (branch, headSha) => (branch === "renovate/zod" && headSha === "h" ? pushers : null),
    },
  );
const why = async (...given: Parameters<typeof skip>) => (await skip(...given))?.reason;

it("The reason why an event starts no review is the author's choice for a draft and a title, unless the configuration leaves the pull request out anyway", async () => {
  const title = { ignore_titles: ["thing"] };
  expect([await skip({}, { draft: true }), await skip(title)]).toMatchObject([
    { byAuthor: true },
    { byAuthor: true },
  ]);
  const both = await skip({ ...title, ignore_labels: ["bug"] }, { draft: true });
  expect(both).toEqual({ reason: "it has the label bug", byAuthor: false });
});

it("The reason why an event starts no review is none for an ordinary pull request", async () => {
  expect(await why({})).toBeUndefined();
});

it.each([
  ["switched off", { enabled: false }, {}, "switched off"],
  ["a draft", {}, { draft: true }, "a draft"],
  ["another base branch", { base_branches: ["main"] }, {}, "release/2.0"],
  ["an ignored author, in any case", { ignore_authors: ["OctoCat"] }, {}, "octocat"],
  ["no label of those that are wanted", { labels: ["ready", "go"] }, {}, "ready, go"],
  ["an ignored label among the wanted", { labels: ["bug"], ignore_labels: ["bug"] }, {}, "bug"],
  ["an ignored label", { ignore_labels: ["Bug"] }, {}, "Bug"],
  ["an ignored word in the title", { ignore_titles: ["a THING"] }, {}, "a THING"],
])("The reason why an event starts no review is given for %s", async (_what, review, over, word) => {
  expect(await why(review, over)).toContain(word);
});

it.each([
  ["drafts where they are wanted", { drafts: true }, { draft: true }],
  ["base branches that match a pattern", { base_branches: ["release/*"] }, {}],
  ["one of the labels that are wanted, in any case", { labels: ["ready", "BUG"] }, {}],
  ["other authors", { ignore_authors: ["renovate[bot]"] }, {}],
])("Nothing skips %s", async (_what, review, over) => {
  expect(await why(review, over)).toBeUndefined();
});

it.each(["[WIP] Pay", "wip: pay", "Pay (Wip)", "wip"])("The title %s has the word wip", async (title) => {
  expect(await why({ ignore_titles: ["wip"] }, { title })).toContain("wip");
});

it.each(["Add swipe", "wiped", "wip2", "éwip", "wi.p"])(
  "The title %s does not have the word wip",
  async (title) => {
    expect(await why({ ignore_titles: ["wip", ""] }, { title })).toBeUndefined();
  },
);

it("Punctuation of an ignored title is taken as it is written", async () => {
  expect(await why({ ignore_titles: ["[skip-review]"] }, { title: "x[Skip-Review]y" })).toContain(
    "skip-review",
  );
  expect(await why({ ignore_titles: ["a.*b"] }, { title: "a and b" })).toBeUndefined();
});

it("The reason why an event starts no review is given for an ignored author if ignored people pushed all of it", async () => {
  const ignored = { ignore_authors: ["octocat", "Renovate[bot]"] };
  expect(await why(ignored, {}, ["octocat", "renovate[bot]"])).toContain("octocat");
});

it.each<[what: string, over: Partial<PullRequest>, pushers: string[] | null]>([
  ["if somebody else pushed as well", {}, ["octocat", "mallory"]],
  ["if GitHub does not say who pushed", {}, null],
  ["from a fork, of which nobody says who pushed", { source: { ...branch, isFork: true } }, ["octocat"]],
  ["from a repository that is gone", { source: null }, ["octocat"]],
])("A pull request of an ignored author is reviewed %s", async (_what, over, pushers) => {
  expect(await why({ ignore_authors: ["octocat"] }, over, pushers)).toBeUndefined();
});

it("GitHub is asked who pushed only for ignored authors", async () => {
  const asked: string[] = [];
  const pushers = async (branch: string) => {
    asked.push(branch);
    return null;
  };
  await skipOf(RepoConfig.parse({ review: { ignore_authors: ["mallory"] } }), pull, { pushers });
  expect(asked).toEqual([]);
});
