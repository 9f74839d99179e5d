import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import type { Permissions, ReviewComment } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

let scenario: Scenario;
let first: ReviewComment;
let call: ReturnType<typeof clientOf>;

beforeAll(async () => {
  const permissions = { contents: "write", pull_requests: "write" } as const;
  scenario = await createScenario({
    base: { "a.txt": "a\nb\n" },
    head: { "a.txt": "A\nB\n" },
    permissions,
  });
  call = clientOf(scenario.github, scenario.installation);
  const { people, pull } = scenario;
  first = await people.reviewComment(pull, "octocat", { path: "a.txt", line: 1, body: "One" });
  await people.reviewComment(pull, "octocat", { path: "a.txt", line: 2, body: "Two" });
  people.reply(first, "octocat", "Indeed");
});
afterAll(() => scenario.github.close());

const threads = `
  query Threads($owner: String!, $name: String!, $number: Int!, $after: String) {
    repository(owner: $owner, name: $name) {
      pullRequest(number: $number) {
        reviewThreads(first: 1, after: $after) { # one at a time
          pageInfo { hasNextPage endCursor }
          nodes {
            __typename id isResolved isOutdated
            comments(first: 10) { nodes { fullDatabaseId text: body author { login ... on Bot { login } } } }
          }
        }
      }
    }
  }`;
const variables = { owner: "octo-org", name: "shop", number: 1 };
const ask = (query: string, values: object = variables) =>
  call("POST /graphql", { query, variables: values });
const threadsOf = (answer: Awaited<ReturnType<typeof ask>>) =>
  answer.body.data.repository.pullRequest.reviewThreads;

describe("review threads", () => {
  it("are listed with their comments, page by page", async () => {
    const page = threadsOf(await ask(threads));
    expect(page.nodes).toMatchObject([
      { __typename: "PullRequestReviewThread", isResolved: false, isOutdated: false },
    ]);
    expect(page.nodes[0].comments.nodes).toMatchObject([
      { fullDatabaseId: String(first.id), text: "One", author: { login: "octocat" } },
      { text: "Indeed" },
    ]);
    expect(page.pageInfo.hasNextPage).toBe(true);
    const next = threadsOf(await ask(threads, { ...variables, after: page.pageInfo.endCursor }));
    expect(next.nodes[0].comments.nodes).toMatchObject([{ text: "Two" }]);
    expect(next.pageInfo.hasNextPage).toBe(false);
  });

  it("are resolved and opened again", async () => {
    const { id } = threadsOf(await ask(threads)).nodes[0];
    const change = (name: string) =>
      ask(`mutation($id: ID!) { ${name}(input: {threadId: $id}) { thread { isResolved } } }`, { id });
    const resolved = await change("resolveReviewThread");
    expect(resolved.body).toEqual({ data: { resolveReviewThread: { thread: { isResolved: true } } } });
    expect(first.resolvedBy).toBe(scenario.app.bot);
    await change("unresolveReviewThread");
    expect(first.resolvedBy).toBeNull();
  });

  it.each<[string, Permissions]>([
    ["of pull requests alone", { contents: "read", pull_requests: "write" }],
    ["of contents alone", { contents: "write", pull_requests: "read" }],
  ])("are not resolved with the permission %s", async (_which, permissions) => {
    const { id } = threadsOf(await ask(threads)).nodes[0];
    const token = scenario.github.state.issueToken(scenario.installation, { permissions });
    const query = `mutation { resolveReviewThread(input: {threadId: "${id}"}) { thread { id } } }`;
    const answer = await clientOf(scenario.github, token)("POST /graphql", { query });
    expect(answer.body.errors).toMatchObject([{ type: "FORBIDDEN" }]);
    expect(first.resolvedBy).toBeNull();
  });
});

it.each([
  ["{ rateLimit { cost } }", "Field 'rateLimit' doesn't exist on type 'Query'"],
  [
    '{ repository(owner: "octo-org", name: "shop") { pullRequest(number: 1) { reviewThreads { totalCount } } } }',
    "`first` or `last`",
  ],
  ['{ repository(owner: "octo-org", name: "shop") { pullRequest(number: 1) } }', "must have selections"],
  ["{ repository(", "Unexpected end"],
])("refuses %s", async (query, message) => {
  const seen = scenario.github.violations.length;
  const { status, body } = await ask(query);
  expect(status).toBe(200);
  expect(body.errors[0].message).toContain(message);
  expect(scenario.github.violations.length).toBe(seen + 1);
});

it("asks for a token", async () => {
  expect((await clientOf(scenario.github, "x")("POST /graphql", { query: threads })).status).toBe(401);
});
