import examples from "@octokit/webhooks-examples" with { type: "json" };
import { describe, expect, it } from "vitest";
import {
  PullRequestShape,
  parseCheckRunEvent,
  parseCheckSuiteEvent,
  parseIssueCommentEvent,
  parseMergeGroupEvent,
  parsePullRequestEvent,
  parseReviewCommentEvent,
} from "../../../src/pull/github/payload.ts";

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

describe("GitHub's own examples of payloads", () => {
  it("An example of a pull request is parsed once it names an installation", () => {
    const parsed = of("pull_request").map((payload) =>
      parsePullRequestEvent({ installation: { id: 3 }, ...payload }),
    );

    expect(parsed.length).toBeGreaterThan(20);
    expect(parsed.filter((one) => "lacks" in one)).toEqual([]);
  });

  it("An example without an installation is refused with the missing field", () => {
    const without = of("pull_request").filter((one) => !("installation" in one));

    expect(without.map(parsePullRequestEvent)).toEqual(without.map(() => ({ lacks: "installation" })));
  });

  it.each([
    ["issue_comment", parseIssueCommentEvent, 2],
    ["pull_request_review_comment", parseReviewCommentEvent, 3],
    ["check_run", parseCheckRunEvent, 5],
    ["check_suite", parseCheckSuiteEvent, 5],
  ] as const)("The examples of %s are parsed", (name, parse, least) => {
    const parsed = of(name).map((payload) => parse({ installation: { id: 3 }, ...payload }));

    expect(parsed.length).toBeGreaterThan(least);
    expect(parsed.filter((one) => "lacks" in one)).toEqual([]);
  });

  it("No example of any event throws", () => {
    const parsers = [
      ...[parsePullRequestEvent, parseIssueCommentEvent, parseReviewCommentEvent],
      ...[parseCheckRunEvent, parseCheckSuiteEvent, parseMergeGroupEvent],
    ];
    for (const { payload } of payloads) {
      for (const parse of parsers) {
        expect(() => parse(payload)).not.toThrow();
      }
    }
  });
});

describe("Parsed events", () => {
  it("An event of a pull request says where, which one and which head", () => {
    expect(parsePullRequestEvent({ ...envelope, pull_request: { number: 7, head: { sha } } })).toEqual({
      event: { repository, pull: 7, headSha: sha },
    });
  });

  const createdAt = "2026-01-01T00:00:00Z";
  const said = { id: 9, body: "/review", user, created_at: createdAt };
  const issue = { number: 7, pull_request: { url: "https://example.com" } };

  it("An event of a comment has its id, author and place", () => {
    const comment = { id: 9, body: "/review", author: "octocat", createdAt };
    const event = {
      repository,
      issue: 7,
      isPull: true,
      comment,
      thread: null,
      isReply: false,
      byPerson: true,
    };

    expect(parseIssueCommentEvent({ ...envelope, issue, comment: said })).toEqual({ event });
    expect(parseIssueCommentEvent({ ...envelope, issue: { number: 7 }, comment: said })).toEqual({
      event: { ...event, isPull: false },
    });
  });

  it("An event of a review comment names the comment that opens the thread", () => {
    const around = { ...envelope, pull_request: { number: 7 } };

    expect(parseReviewCommentEvent({ ...around, comment: said })).toMatchObject({
      event: { issue: 7, isPull: true, thread: 9, isReply: false },
    });
    expect(parseReviewCommentEvent({ ...around, comment: { ...said, in_reply_to_id: 4 } })).toMatchObject({
      event: { issue: 7, isPull: true, thread: 4, isReply: true },
    });
  });

  it.each([
    ["a person", {}, {}, true],
    ["a person through no App", { performed_via_github_app: null }, {}, true],
    [
      "a bot",
      { user: { login: "b[bot]", type: "Bot" } },
      { sender: { login: "b[bot]", type: "Bot" } },
      false,
    ],
    ["a bot for a person", {}, { sender: { login: "octocat", type: "Bot" } }, false],
    ["somebody else for a person", {}, { sender: { login: "mona", type: "User" } }, false],
    ["an App for a person", { performed_via_github_app: { id: 1 } }, {}, false],
    ["what is no person yet", { user: { login: "octocat", type: "Agent" } }, {}, false],
    ["somebody without a type", { user: { login: "octocat" } }, {}, false],
  ])(
    "An event of a comment by %s says whether a person wrote it themselves",
    (_who, over, around, byPerson) => {
      const payload = { ...envelope, issue, comment: { ...said, ...over }, ...around };

      expect(parseIssueCommentEvent(payload)).toMatchObject({ event: { byPerson } });
    },
  );

  it("An event of a check names its App and the pull requests of this repository", () => {
    const at = (number: unknown, id: unknown) => ({ number, base: { repo: { id } } });
    const pull_requests = [at(7, 1), at(8, 2), at(7, 1), null, at("9", 1), at(10, 1), {}];
    const check = { head_sha: sha, app: { id: 5 }, pull_requests };
    const event = { repository, headSha: sha, app: 5, pulls: [7, 10], sender: "octocat", byPerson: true };

    expect(parseCheckRunEvent({ ...envelope, check_run: { ...check, external_id: "x" } })).toEqual({
      event: { ...event, externalId: "x" },
    });
    expect(parseCheckRunEvent({ ...envelope, check_run: { ...check, pull_requests: null } })).toEqual({
      event: { ...event, externalId: null, pulls: [] },
    });
    expect(parseCheckSuiteEvent({ ...envelope, check_suite: check })).toEqual({
      event: { ...event, externalId: null },
    });
  });

  it("An event of a merge group names its head", () => {
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
  ])("An event with %s starts nothing", (_what, over, lacks) => {
    const payload = { ...envelope, pull_request: { number: 7, head: { sha } }, ...over };

    expect(parsePullRequestEvent(payload)).toEqual({ lacks });
  });
});

describe("A parsed pull request", () => {
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

  it("A pull request is parsed into our own shape", () => {
    expect(PullRequestShape.parse(pull)).toEqual({
      number: 7,
      title: "T",
      body: "B",
      author: "octocat",
      state: "open",
      closed: null,
      draft: true,
      labels: ["bug"],
      headSha: "h",
      baseSha: "b",
      baseRef: "main",
      source: null,
    });
  });

  it("A pull request names its source branch and whether maintainers may push to it", () => {
    const [own, fork] = [7, 8].map((id) => ({
      id,
      name: "shop",
      owner: { login: id === 7 ? "octo" : "ann" },
      default_branch: "main",
    }));
    const from = (repo: unknown, over = {}) =>
      PullRequestShape.parse({
        ...{ ...pull, head: { sha: "h", ref: "topic", repo }, base: { ...pull.base, repo: own } },
        ...over,
      }).source;
    const there = { repo: "shop", branch: "topic", maintainersMayPush: false };
    expect(from(own)).toEqual({ ...there, owner: "octo", isFork: false, isDefault: false });
    expect(from(fork)).toEqual({ ...there, owner: "ann", isFork: true, isDefault: false });
    const main = (repo: unknown) => from(repo, { head: { sha: "h", ref: "main", repo } });
    expect([main(own)?.isDefault, main(fork)?.isDefault]).toEqual([true, false]);
    expect(from(fork, { maintainer_can_modify: true })).toMatchObject({ maintainersMayPush: true });
    for (const gone of [null, undefined, { id: "x" }]) expect(from(gone)).toBeNull();
  });

  it("A pull request with unknown values is parsed, and an unknown state counts as closed", () => {
    const tomorrow = { ...pull, user: null, state: "merging", labels: null, body: undefined };

    expect(PullRequestShape.parse(tomorrow)).toMatchObject({
      author: "ghost",
      state: "closed",
      labels: [],
      body: "",
    });
  });
});
