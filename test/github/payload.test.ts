import examples from "@octokit/webhooks-examples" with { type: "json" };
import { describe, expect, it } from "vitest";
import {
  parseIssueCommentEvent,
  parseMergeGroupEvent,
  parsePullRequestEvent,
} from "../../src/github/payload.ts";

const installation = { id: 3 };
const repository = { id: 1, name: "shop", owner: { login: "octo" } };
const sender = { login: "octocat", type: "User" };
const envelope = { action: "opened", installation, repository, sender };
const pull = {
  number: 7,
  title: "T",
  body: "B",
  user: sender,
  state: "open",
  draft: true,
  labels: [{ name: "bug" }],
  head: { sha: "h" },
  base: { sha: "b", ref: "main" },
};

const payloads = (examples as unknown as { name: string; examples: object[] }[]).flatMap(
  ({ name, examples }) => examples.map((payload) => ({ name, payload })),
);
const of = (event: string) => payloads.filter(({ name }) => name === event).map(({ payload }) => payload);

describe("GitHub's own examples", () => {
  it("of pull requests are understood as soon as they name an installation", () => {
    expect(of("pull_request").length).toBeGreaterThan(20);
    for (const payload of of("pull_request")) {
      const event = parsePullRequestEvent({ installation, ...payload });
      expect(event?.pull.headSha).toMatch(/^[0-9a-f]{40}$/);
      expect(event?.repository.name).not.toBe("");
    }
  });

  it("of any event throw nowhere", () => {
    for (const { payload } of payloads) {
      for (const parse of [parsePullRequestEvent, parseIssueCommentEvent, parseMergeGroupEvent]) {
        expect(() => parse(payload)).not.toThrow();
      }
    }
  });

  it("without an installation lead nowhere", () => {
    for (const payload of of("pull_request").filter((one) => !("installation" in one))) {
      expect(parsePullRequestEvent(payload)).toBeUndefined();
    }
  });
});

describe("a pull request event", () => {
  it("says what happened, where and by whom", () => {
    expect(parsePullRequestEvent({ ...envelope, pull_request: pull })).toEqual({
      action: "opened",
      repository: { installation: 3, id: 1, owner: "octo", name: "shop" },
      sender: { login: "octocat", isBot: false },
      pull: {
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
      },
    });
  });

  it("with values that GitHub did not have yet is still understood", () => {
    const tomorrow = {
      ...pull,
      user: { login: "x", type: "Agent" },
      state: "merging",
      labels: null,
      body: undefined,
    };
    const event = parsePullRequestEvent({
      ...envelope,
      action: "teleported",
      sender: { login: 1 },
      pull_request: tomorrow,
    });
    expect(event).toMatchObject({
      action: "teleported",
      sender: null,
      pull: { author: "x", state: "closed", labels: [], body: "" },
    });
  });

  it.each([
    [null],
    ["text"],
    [{}],
    [{ ...envelope, pull_request: null }],
    [{ ...envelope, installation: null, pull_request: pull }],
  ])("is none without what it needs: %j", (payload) => {
    expect(parsePullRequestEvent(payload)).toBeUndefined();
  });
});

describe("a comment event", () => {
  const comment = {
    id: 9,
    body: "/review",
    user: { login: "dependabot[bot]", type: "Bot" },
    performed_via_github_app: { id: 4 },
  };
  const issue = { number: 7, state: "open", pull_request: { url: "https://api.github.com/x" } };

  it("names the comment, its author and the App that wrote it", () => {
    expect(parseIssueCommentEvent({ ...envelope, action: "created", issue, comment })).toMatchObject({
      action: "created",
      pull: 7,
      pullIsOpen: true,
      comment: { id: 9, body: "/review", author: { login: "dependabot[bot]", isBot: true }, app: 4 },
    });
  });

  it("of a deleted author with no body is understood", () => {
    const empty = { id: 9, body: null, user: null };
    expect(
      parseIssueCommentEvent({ ...envelope, issue: { ...issue, state: "closed" }, comment: empty }),
    ).toMatchObject({
      pullIsOpen: false,
      comment: { body: "", author: null, app: null },
    });
  });

  it.each([[undefined], [null]])("on an issue that is no pull request is none (%s)", (link) => {
    expect(
      parseIssueCommentEvent({ ...envelope, issue: { number: 7, pull_request: link }, comment }),
    ).toBeUndefined();
  });
});

describe("a merge group event", () => {
  it("names the commit that waits for the check", () => {
    const payload = {
      ...envelope,
      action: "checks_requested",
      merge_group: { head_sha: "m", base_ref: "refs/heads/main" },
    };
    expect(parseMergeGroupEvent(payload)).toMatchObject({ action: "checks_requested", headSha: "m" });
  });

  it("without a commit is none", () => {
    expect(parseMergeGroupEvent(envelope)).toBeUndefined();
  });
});
