import examples from "@octokit/webhooks-examples" with { type: "json" };
import { describe, expect, it } from "vitest";
import {
  PullRequestShape,
  parseIssueCommentEvent,
  parseMergeGroupEvent,
  parsePullRequestEvent,
} from "../../src/github/payload.ts";

const sha = "a".repeat(40);
const user = { login: "octocat", type: "User" };
const envelope = {
  action: "opened",
  installation: { id: 3 },
  repository: { id: 1, name: "shop", owner: { login: "octo" } },
  sender: user,
};
const repository = { installation: 3, id: 1, owner: "octo", name: "shop" };

const payloads = (examples as unknown as { name: string; examples: object[] }[]).flatMap(
  ({ name, examples }) => examples.map((payload) => ({ name, payload })),
);
const of = (event: string) => payloads.filter(({ name }) => name === event).map(({ payload }) => payload);

describe("GitHub's own examples", () => {
  it("of pull requests are understood as soon as they name an installation", () => {
    const parsed = of("pull_request").map((payload) =>
      parsePullRequestEvent({ installation: { id: 3 }, ...payload }),
    );

    expect(parsed.length).toBeGreaterThan(20);
    expect(parsed.filter((one) => "lacks" in one)).toEqual([]);
  });

  it("without an installation say what they lack", () => {
    const without = of("pull_request").filter((one) => !("installation" in one));

    expect(without.map(parsePullRequestEvent)).toEqual(without.map(() => ({ lacks: "installation" })));
  });

  it("of any event throw nowhere", () => {
    for (const { payload } of payloads) {
      for (const parse of [parsePullRequestEvent, parseIssueCommentEvent, parseMergeGroupEvent]) {
        expect(() => parse(payload)).not.toThrow();
      }
    }
  });
});

describe("an event", () => {
  it("of a pull request says where, which one and which head", () => {
    expect(parsePullRequestEvent({ ...envelope, pull_request: { number: 7, head: { sha } } })).toEqual({
      event: { repository, pull: 7, headSha: sha },
    });
  });

  it("of a comment names it, its author and whether a bot has a hand in it", () => {
    const issue = { number: 7, pull_request: { url: "https://example.com" } };
    const comment = { id: 9, body: "/review", user: { login: "dependabot[bot]", type: "Bot" } };

    expect(parseIssueCommentEvent({ ...envelope, issue, comment })).toEqual({
      event: {
        repository,
        issue: 7,
        isPull: true,
        comment: { id: 9, body: "/review", author: "dependabot[bot]" },
        byBot: true,
      },
    });
    expect(
      parseIssueCommentEvent({ ...envelope, issue: { number: 7 }, comment: { ...comment, user } }),
    ).toMatchObject({
      event: { isPull: false, byBot: false },
    });
  });

  it("of a merge group names its head", () => {
    expect(parseMergeGroupEvent({ ...envelope, merge_group: { head_sha: sha } })).toEqual({
      event: { repository, headSha: sha },
    });
  });

  it.each([
    [
      "a name that would lead to another address",
      { repository: { ...envelope.repository, name: "../x" } },
      "repository.name",
    ],
    [
      "a head that is no commit",
      { pull_request: { number: 7, head: { sha: "--output=x" } } },
      "pull_request.head.sha",
    ],
    ["no pull request", { pull_request: null }, "pull_request"],
  ])("with %s is not acted on", (_what, over, lacks) => {
    const payload = { ...envelope, pull_request: { number: 7, head: { sha } }, ...over };

    expect(parsePullRequestEvent(payload)).toEqual({ lacks });
  });
});

describe("a pull request", () => {
  const pull = {
    number: 7,
    title: "T",
    body: "B",
    user,
    state: "open",
    draft: true,
    labels: [{ name: "bug" }],
    head: { sha: "h" },
    base: { sha: "b", ref: "main" },
  };

  it("is read as the bot needs it", () => {
    expect(PullRequestShape.parse(pull)).toEqual({
      number: 7,
      title: "T",
      body: "B",
      author: "octocat",
      state: "open",
      draft: true,
      labels: ["bug"],
      headSha: "h",
      baseSha: "b",
      baseRef: "main",
    });
  });

  it("with values that GitHub did not have yet is still understood, and one that is not open is closed", () => {
    const tomorrow = { ...pull, user: null, state: "merging", labels: null, body: undefined };

    expect(PullRequestShape.parse(tomorrow)).toMatchObject({
      author: "ghost",
      state: "closed",
      labels: [],
      body: "",
    });
  });
});
