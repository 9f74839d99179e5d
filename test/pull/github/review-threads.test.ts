import nock from "nock";
import { describe, expect, it } from "vitest";
import { failure } from "../../support/failure.ts";
import { apiFor, host, useNock } from "./support.ts";

useNock();

const github = () => nock(host);
const bot = { __typename: "Bot", login: "hunkwise" };

/** A thread as GraphQL answers with it; ids of comments are BigInts, which it writes as text. */
const thread = (id: number, over: object = {}, opening: object = {}) => {
  const author = { id: `PRRC_${id}`, fullDatabaseId: String(id), body: `Comment ${id}`, author: bot };
  const first = {
    ...{ ...author, createdAt: "2026-01-01T00:00:00Z" },
    ...{
      url: `https://github.test/${id}`,
      state: "SUBMITTED",
      reactions: { nodes: [], totalCount: 0 },
      upvotes: { totalCount: 0 },
      ...opening,
    },
  };
  return {
    ...{ id: `PRRT_${id}`, isResolved: false, isOutdated: false, path: "a.ts", diffSide: "RIGHT" },
    ...{ line: 3, startLine: null, originalLine: 3, subjectType: "LINE", resolvedBy: null },
    ...{ opening: { nodes: [first] }, latest: { nodes: [first], totalCount: 1 }, ...over },
  };
};

const page = (nodes: unknown[], endCursor: string | null = null) => ({
  data: {
    repository: {
      pullRequest: { reviewThreads: { nodes, pageInfo: { hasNextPage: endCursor !== null, endCursor } } },
    },
  },
});

describe("Threads of ours", () => {
  it("Our threads are read on all pages", async () => {
    const from = (cursor: string | null) => (body: { variables?: unknown }) => {
      expect(body.variables).toEqual({ owner: "octo", repo: "shop", pull: 7, after: cursor });
      return true;
    };
    const emptied = { ...thread(2), opening: { nodes: [null] } };
    github()
      .post("/graphql", from(null))
      .reply(200, page([thread(1), emptied, null], "c1"));
    github()
      .post("/graphql", from("c1"))
      .reply(200, page([thread(3_000_000_004)]));

    const found = await apiFor().api.ownThreads();

    expect(found.map(({ comment }) => comment)).toEqual([1, 3_000_000_004]);
  });

  it("Our threads are requested beside the REST API of an enterprise server, again after a fault", async () => {
    github().post("/api/graphql").reply(502, "<html></html>");
    github()
      .post("/api/graphql")
      .reply(200, page([thread(1)]));

    expect(await apiFor({ baseUrl: `${host}/api/v3` }).api.ownThreads()).toHaveLength(1);
  });

  it("A refusal with status 200 is an error with GitHub's words", async () => {
    const message = "Resource not accessible by integration";
    github()
      .post("/graphql")
      .reply(200, { data: null, errors: [{ type: "FORBIDDEN", message }] });
    expect(await failure(apiFor().api.ownThreads())).toMatchObject({
      code: "github_forbidden",
      message: expect.stringContaining(message),
    });

    github()
      .post("/graphql")
      .reply(200, { data: { repository: null } });
    expect(await failure(apiFor().api.ownThreads())).toMatchObject({ code: "github_failed" });
  });

  it("A time-out of GitHub is retryable", async () => {
    const message = "Something went wrong while executing your query on 2026-01-01T00:00:00Z.";
    github()
      .post("/graphql")
      .times(4)
      .reply(200, { data: null, errors: [{ message }] });
    expect(await failure(apiFor().api.ownThreads())).toMatchObject({
      code: "github_failed",
      retryable: true,
    });
  });

  it("The threads of a person with our name are not ours", async () => {
    github()
      .post("/graphql")
      .reply(200, page([thread(1, {}, { author: { __typename: "User", login: "hunkwise" } })]));
    expect(await apiFor().api.ownThreads()).toEqual([]);
  });

  it.each([
    ["us, by our bot's name", "hunkwise[bot]", "us"],
    ["us, without its brackets", "Hunkwise", "us"],
    ["another bot", "dependabot[bot]", "bot"],
    ["a person", "octocat", "person"],
  ])(
    "A thread that %s resolved is attributed to them, although GitHub calls everybody a user",
    async (_who, login, kind) => {
      const resolvedBy = { __typename: "User", login };
      github()
        .post("/graphql")
        .reply(200, page([thread(1, { isResolved: true, resolvedBy })]));
      expect(await apiFor().api.ownThreads()).toMatchObject([
        { resolved: true, resolvedBy: { login, kind } },
      ]);
    },
  );

  it("A deleted account that answered counts as a person", async () => {
    const gone = { ...thread(2).opening.nodes[0], author: null };
    github()
      .post("/graphql")
      .reply(200, page([thread(1, { latest: { nodes: [gone], totalCount: 1 } })]));
    const [found] = await apiFor().api.ownThreads();
    expect(found?.replies).toMatchObject([{ id: 2, author: { login: null, kind: "person" } }]);
  });
});

describe("Resolving a thread", () => {
  const done = { data: { resolveReviewThread: { thread: { isResolved: true } } } };

  it("A thread is resolved by its id, again if the answer was lost", async () => {
    github().post("/graphql").replyWithError("reset");
    github()
      .post("/graphql", (body) => body.variables.id === "PRRT_1" && body.query.startsWith("mutation"))
      .reply(200, done);
    await apiFor().api.resolveThread("PRRT_1");
  });

  it("Resolving waits for its turn like any write", async () => {
    github().post("/graphql").times(2).reply(200, done);
    const { api, waited } = apiFor();
    await Promise.all([api.resolveThread("PRRT_1"), api.resolveThread("PRRT_2")]);
    expect(waited()).toBe(1);
  });

  it("A refusal to resolve names the missing permission", async () => {
    const message = "Resource not accessible by integration";
    github()
      .post("/graphql")
      .reply(200, { data: { resolveReviewThread: null }, errors: [{ type: "FORBIDDEN", message }] });
    expect(await failure(apiFor().api.resolveThread("PRRT_1"))).toMatchObject({
      code: "github_forbidden",
      remedy: expect.stringContaining('"Contents: Read and write"'),
    });
  });
});
