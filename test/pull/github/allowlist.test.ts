import { describe, expect, it } from "vitest";
import {
  appReach,
  callOf,
  credentialsReach,
  endingReach,
  exchangeReach,
  filesReach,
  type GitHubCall,
  lookingReach,
  noOwnIds,
  type OwnIds,
  proposingReach,
  pullReach,
  type Reach,
  repositoryReach,
  resolvingMutation,
  resolvingReach,
  revokingReach,
  threadsQuery,
  userReach,
} from "../../../src/pull/github/allowlist.ts";

const place = { owner: "octo", repo: "shop", id: 42 };
const app = { id: 4711, slug: "hunkwise" };
const bot = { login: "hunkwise[bot]", type: "Bot" };

/** As `fetch` sends it, for that is what is looked at. */
function callTo(request: string, body?: unknown, root = ""): GitHubCall {
  const [method = "", address = ""] = request.split(" ");
  const url = new URL(`https://github.test${root}${address}`);
  return callOf({ method, url, body: body === undefined ? null : JSON.stringify(body) }, root);
}

const isSent = (reach: Reach, request: string, body?: unknown) => {
  try {
    reach.check(callTo(request, body));
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: "not_allowed", retryable: false });
    return false;
  }
};

function job(): { reach: Reach; resolving: Reach; own: OwnIds } {
  const own = noOwnIds();
  return { reach: pullReach(place, 7, app, own), resolving: resolvingReach(own), own };
}

describe("The requests of a job on a pull request", () => {
  const { reach } = job();
  const variables = { owner: "octo", repo: "shop", pull: 7, after: null };

  it.each([
    ["GET /repos/octo/shop/pulls/7"],
    ["GET /repos/octo/shop/issues/7/comments?per_page=100&page=2"],
    ["GET /repos/octo/shop/contents/.github/hunkwise.yml?ref=main"],
    ["GET /repos/octo/shop/contents/a%20b/%C3%A9.ts"],
    ["GET /repos/octo/shop/git/ref/heads%2Fmain"],
    // Where GitHub's own links and redirects lead.
    ["GET /repositories/42/pulls/7/comments?per_page=100&page=2"],
    ["POST /repos/octo/shop/pulls/7/reviews", { commit_id: "a", event: "COMMENT", body: "b", comments: [] }],
    ["POST /repos/octo/shop/pulls/7/reviews", { commit_id: "a", comments: [] }],
    ["POST /repositories/42/issues/7/comments", { body: "b" }],
    ["POST /repos/octo/shop/issues/7/comments", { body: "b" }],
    ["POST /repos/octo/shop/pulls/7/comments/5/replies", { body: "b" }],
    ["POST /repos/octo/shop/issues/comments/5/reactions", { content: "eyes" }],
    ["POST /repos/octo/shop/check-runs", { name: "Hunkwise", head_sha: "a", status: "in_progress" }],
    ["POST /graphql", { query: threadsQuery, variables }],
  ])("A job on a pull request may send %s", (request, body?: unknown) => {
    expect(isSent(reach, request, body)).toBe(true);
  });
});

describe("The account of the App's bot", () => {
  it("A job learns the id of its own bot and of nobody else", () => {
    const { reach, own } = job();
    const learn = (user: unknown) =>
      reach.learn?.(callTo("GET /repos/octo/shop/pulls/7/comments"), [{ id: 5, user }]);
    learn({ id: 1, login: "another[bot]", type: "Bot" });
    learn({ id: 2, login: `${app.slug}[bot]`, type: "User" });
    learn({ id: 3, login: "octocat", type: "User" });
    expect([...own.accounts]).toEqual([]);
    learn({ ...bot, id: 4 });
    expect([...own.accounts]).toEqual([4]);
  });
});

describe("Texts that a job may change", () => {
  const changes: [keyof OwnIds, string, string, string, unknown][] = [
    ["comments", "issues/7/comments", "PATCH issues/comments/5", "DELETE issues/comments/5", { body: "b" }],
    ["lineComments", "pulls/7/comments", "DELETE pulls/comments/5", "DELETE pulls/comments/5", undefined],
    ["reviews", "pulls/7/reviews", "PUT pulls/7/reviews/5", "DELETE pulls/7/reviews/5", { body: "b" }],
  ];
  const send = (reach: Reach, change: string, body?: unknown) =>
    isSent(reach, change.replace(" ", " /repos/octo/shop/"), change.startsWith("DELETE") ? undefined : body);

  it.each(changes)(
    "A job may change %s that GitHub showed it to be its own",
    (kind, list, one, other, body) => {
      const { reach, own } = job();
      const learn = (data: unknown, at = list) => reach.learn?.(callTo(`GET /repos/octo/shop/${at}`), data);
      learn([{ id: 5, user: { login: "octocat", type: "User" }, performed_via_github_app: { id: app.id } }]);
      learn([{ id: 5, user: { login: "another[bot]", type: "Bot" } }]);
      // Of another pull request.
      learn([{ id: 5, user: bot }], list.replace("7", "8"));
      learn({ id: 5, user: bot }, "pulls/comments/5");
      expect([...own[kind]]).toEqual([]);
      expect([send(reach, one, body), send(reach, other, body)]).toEqual([false, false]);

      learn([
        { id: 4, user: { login: "octocat", type: "User" } },
        { id: 5, user: bot, body: "b" },
      ]);
      expect([send(reach, one, body), send(reach, other, body)]).toEqual([true, true]);
      expect(send(reach, one.replace("5", "4"), body)).toBe(false);
    },
  );

  it("A job may change what it has just created", () => {
    const { reach } = job();
    reach.learn?.(callTo("POST /repos/octo/shop/issues/7/comments"), { id: 6, user: bot });
    expect(send(reach, "PATCH issues/comments/6", { body: "b" })).toBe(true);
  });

  it("A job may change check runs of its own App", () => {
    const { reach } = job();
    const check_runs = [
      { id: 5, app: { id: 4711 } },
      { id: 6, app: { id: 1 } },
    ];
    reach.learn?.(callTo("GET /repos/octo/shop/commits/abc/check-runs"), { check_runs });
    const update = { status: "completed", conclusion: "neutral", output: {} };
    expect(send(reach, "PATCH check-runs/5", update)).toBe(true);
    expect(send(reach, "PATCH check-runs/6", update)).toBe(false);
  });

  it("A job may resolve threads that begin with a comment of its own", () => {
    const { reach, resolving } = job();
    const node = (id: string, login: string, type = "Bot") => ({
      ...{ id, opening: { nodes: [{ author: { __typename: type, login } }] } },
    });
    const nodes = [
      null,
      node("A", "hunkwise"),
      node("B", "hunkwise", "User"),
      node("C", "other"),
      { id: "D" },
    ];
    const data = { data: { repository: { pullRequest: { reviewThreads: { nodes } } } } };
    reach.learn?.(callTo("POST /graphql"), data);
    const resolve = (id: string) =>
      isSent(resolving, "POST /graphql", { query: resolvingMutation, variables: { id } });
    expect(["A", "B", "C", "D"].filter(resolve)).toEqual(["A"]);
  });
});

describe("The requests of a job without a pull request", () => {
  const reach = repositoryReach(place, app, noOwnIds());

  it("A job without a pull request may read, react and write check runs", () => {
    expect(isSent(reach, "GET /repos/octo/shop/pulls?state=open")).toBe(true);
    expect(isSent(reach, "POST /repos/octo/shop/check-runs", { name: "x", head_sha: "a" })).toBe(true);
    expect(isSent(reach, "POST /repos/octo/shop/issues/0/comments", { body: "b" })).toBe(false);
    expect(isSent(reach, "POST /repos/octo/shop/pulls/0/reviews", { event: "COMMENT" })).toBe(false);
  });
});

describe("The writer of proposals", () => {
  const reach = proposingReach(place);
  const branch = "hunkwise/remember-7";

  it("The writer proposes a change of the configuration on a branch of its own", () => {
    expect(isSent(reach, "GET /repos/octo/shop/git/ref/heads%2Fmain")).toBe(true);
    expect(isSent(reach, "POST /repos/octo/shop/git/refs", { ref: `refs/heads/${branch}`, sha: "a" })).toBe(
      true,
    );
    const file = { branch, message: "m", content: "YQ==" };
    expect(isSent(reach, "PUT /repos/octo/shop/contents/.github/hunkwise.yml", file)).toBe(true);
    const pull = { title: "t", body: "b", base: "main", head: branch };
    expect(isSent(reach, "POST /repos/octo/shop/pulls", pull)).toBe(true);
  });

  it("The writer cannot change branches and tags of others", () => {
    const refs = ["refs/heads/main", `refs/tags/${branch}`, branch, `refs/heads/${branch}/../../main`];
    for (const ref of refs)
      expect(isSent(reach, "POST /repos/octo/shop/git/refs", { ref, sha: "a" }), ref).toBe(false);
    const file = { branch: "main", message: "m", content: "" };
    expect(isSent(reach, "PUT /repos/octo/shop/contents/.github/hunkwise.yml", file)).toBe(false);
  });

  it.each([
    ["PATCH /repos/octo/shop/git/refs/heads/main", { sha: "a", force: true }],
    ["DELETE /repos/octo/shop/git/refs/heads/main"],
    ["PUT /repos/octo/shop/contents/.github/workflows/ci.yml", { branch, message: "m", content: "" }],
    ["PUT /repos/octo/shop/contents/.github/hunkwise.yml", { branch: "main", message: "m", content: "" }],
    ["PUT /repos/octo/shop/contents/.github/hunkwise.yml", { message: "m", content: "" }],
    ["PUT /repos/octo/shop/contents/.github/hunkwise.yml/../workflows/ci.yml", { branch, message: "m" }],
    ["DELETE /repos/octo/shop/contents/.github/hunkwise.yml", { branch, message: "m", sha: "a" }],
    ["POST /repos/octo/shop/pulls", { title: "t", base: "main", head: "someone:evil" }],
    ["POST /repos/octo/shop/pulls", { title: "t", base: "main", head: branch, head_repo: "evil/shop" }],
    ["POST /repos/octo/shop/issues/7/comments", { body: "b" }],
    ["GET /repos/octo/shop/actions/secrets"],
    ["GET /repos/octo/other/contents/a"],
  ])("The writer sends nothing else: %s", (request, body?: unknown) => {
    expect(isSent(reach, request, body)).toBe(false);
  });
});

describe("The other clients", () => {
  const reaches: Record<string, Reach> = {
    files: filesReach({ owner: "octo", repo: ".github", id: null }),
    app: appReach,
    looking: lookingReach,
    credentials: credentialsReach,
    ending: endingReach,
    user: userReach,
    exchange: exchangeReach,
    revoking: revokingReach("Iv23li.x-y"),
  };
  const only: [string, string][] = [
    ["GET /repos/octo/.github/contents/.github/hunkwise.yml", "files"],
    ["GET /repositories/5/contents/.github/hunkwise.yml", "files"],
    ["GET /app/installations?per_page=100", "app"],
    ["GET /app/installations/5", "app credentials"],
    ["GET /app/hook/deliveries/5", "app"],
    ["GET /installation/repositories?per_page=100", "looking"],
    ["GET /repos/octo/other/pulls?state=open", "looking"],
    ["GET /app", "credentials"],
    ["POST /app/installations/5/access_tokens", "credentials"],
    ["POST /app-manifests/abc/conversions", "credentials"],
    ["DELETE /installation/token", "ending"],
    ["DELETE /app/installations/5", ""],
    ["PUT /app/installations/5/suspended", ""],
    ["POST /app/hook/deliveries/5/attempts", ""],
    ["PATCH /app/hook/config", ""],
    ["POST /repos/octo/other/issues/7/comments", ""],
    ["POST /graphql", ""],
    ["GET /user", "user"],
    ["GET /user/installations?per_page=100", "user"],
    ["GET /user/installations/5/repositories?per_page=100&page=2", "user"],
    ["DELETE /user/installations/5/repositories/7", ""],
    ["GET /user/installations/../keys", ""],
    ["GET /user/installations/05/repositories", ""],
    ["GET /user/emails", ""],
    ["GET /users/octocat", ""],
    ["POST /login/oauth/access_token?client_secret=a", ""],
    ["GET /login/oauth/access_token", ""],
    ["GET /repos/octo/.github", ""],
    ["POST /app/installations/5/access_tokens/../suspended", ""],
  ];

  it.each(only)("Only the client of %s may send its request: %s", (request, who) => {
    const body = request === "POST /graphql" ? { query: "{ viewer { login } }" } : undefined;
    const sending = Object.entries(reaches).filter(([, reach]) => isSent(reach, request, body));
    expect(sending.map(([name]) => name).join(" ")).toBe(who);
  });
});

describe("The requests that log a person in or out", () => {
  const exchange = { client_id: "a", client_secret: "b", code: "c", code_verifier: "d" };

  it("A log-in sends only its own fields", () => {
    expect(isSent(exchangeReach, "POST /login/oauth/access_token", exchange)).toBe(true);
    const more = { ...exchange, redirect_uri: "https://evil.test" };
    expect(isSent(exchangeReach, "POST /login/oauth/access_token", more)).toBe(false);
    expect(isSent(exchangeReach, "POST /login/device/code", exchange)).toBe(false);
  });

  it("A log-out ends a token of this App, and never an authorization", () => {
    const reach = revokingReach("Iv23li");
    expect(isSent(reach, "DELETE /applications/Iv23li/token", { access_token: "a" })).toBe(true);
    expect(isSent(reach, "DELETE /applications/Iv23li/grant", { access_token: "a" })).toBe(false);
    expect(isSent(reach, "DELETE /applications/other/token", { access_token: "a" })).toBe(false);
    expect(isSent(reach, "POST /applications/Iv23li/token", { access_token: "a" })).toBe(false);
  });
});

it("The paths of an enterprise server are read below its root, and GraphQL beside it", () => {
  const { path } = callTo("GET /repos/octo/shop/pulls/7", undefined, "/api/v3");
  expect(path).toBe("/repos/octo/shop/pulls/7");
  // A page of that server.
  const page = { method: "GET", url: new URL("https://github.test/repos/octo/shop/pulls"), body: null };
  expect(() => job().reach.check(callOf(page, "/api/v3"))).toThrow("not sent");
  const url = new URL("https://github.test/api/graphql");
  expect(callOf({ method: "POST", url, body: null }, "/api/v3").path).toBe("/graphql");
});
