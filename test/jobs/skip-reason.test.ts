import { describe, expect, it } from "vitest";
import { RepoConfig } from "../../src/config/repo-config.ts";
import type { PullRequest } from "../../src/github/pull-request-api.ts";
import { skipReason } from "../../src/jobs/skip-reason.ts";

const pull: PullRequest = {
  number: 7,
  title: "Add a thing",
  body: "",
  author: "octocat",
  state: "open",
  draft: false,
  labels: ["bug"],
  headSha: "h",
  baseSha: "b",
  baseRef: "release/2.0",
  source: null,
};
const why = (review: object, over: Partial<PullRequest> = {}) =>
  skipReason(RepoConfig.parse({ review }), { ...pull, ...over });

describe("skipReason", () => {
  it("is none for an ordinary pull request", () => {
    expect(why({})).toBeUndefined();
  });

  it.each([
    ["switched off", { enabled: false }, {}, "switched off"],
    ["a draft", {}, { draft: true }, "a draft"],
    ["another base branch", { base_branches: ["main"] }, {}, "release/2.0"],
    ["an ignored author, in any case", { ignore_authors: ["OctoCat"] }, {}, "OctoCat"],
    ["no label of those that are wanted", { labels: ["ready", "go"] }, {}, "ready, go"],
    ["an ignored label among the wanted", { labels: ["bug"], ignore_labels: ["bug"] }, {}, "bug"],
    ["an ignored label", { ignore_labels: ["Bug"] }, {}, "Bug"],
    ["an ignored word in the title", { ignore_titles: ["a THING"] }, {}, "a THING"],
  ])("is given for %s", (_what, review, over, word) => {
    expect(why(review, over)).toContain(word);
  });

  it.each([
    ["drafts where they are wanted", { drafts: true }, { draft: true }],
    ["base branches that match a pattern", { base_branches: ["release/*"] }, {}],
    ["one of the labels that are wanted, in any case", { labels: ["ready", "BUG"] }, {}],
    ["other authors", { ignore_authors: ["renovate[bot]"] }, {}],
  ])("lets %s through", (_what, review, over) => {
    expect(why(review, over)).toBeUndefined();
  });

  it.each(["[WIP] Pay", "wip: pay", "Pay (Wip)", "wip"])(
    "takes %s for a title with the word wip",
    (title) => {
      expect(why({ ignore_titles: ["wip"] }, { title })).toContain("wip");
    },
  );

  it.each(["Add swipe", "wiped", "wip2", "éwip", "wi.p"])(
    "does not take %s for a title with the word wip",
    (title) => {
      expect(why({ ignore_titles: ["wip", ""] }, { title })).toBeUndefined();
    },
  );

  it("takes punctuation of an ignored title as it is written", () => {
    expect(why({ ignore_titles: ["[skip-review]"] }, { title: "x[Skip-Review]y" })).toContain("skip-review");
    expect(why({ ignore_titles: ["a.*b"] }, { title: "a and b" })).toBeUndefined();
  });
});
