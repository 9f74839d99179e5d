import { inspect } from "node:util";
import nock from "nock";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { registerSecret } from "../../../src/core/secrets/live-secrets.ts";
import { createGitHubClient } from "../../../src/pull/github/client.ts";
import { createRateLimiter } from "../../../src/pull/github/rate-limit.ts";
import { failure } from "../../support/failure.ts";
import { anywhere } from "../../support/reach.ts";
import { clientFor, host, newLimits, stopwatch, useNock } from "./support.ts";

useNock();

const get = { owner: "octo", repo: "shop", pull_number: 7 };
const comment = { owner: "octo", repo: "shop", issue_number: 7, body: "Hello" };
const pullPath = "/repos/octo/shop/pulls/7";
const commentsPath = "/repos/octo/shop/issues/7/comments";

describe("Reading from GitHub", () => {
  it("A read carries the token, the version of the API and our name", async () => {
    nock(host, {
      reqheaders: {
        authorization: "Bearer ghs_secret",
        "x-github-api-version": "2022-11-28",
        "user-agent": /^hunkwise-test/,
      },
    })
      .get(pullPath)
      .reply(200, { number: 7 });
    const { client } = clientFor();
    expect((await client.rest.pulls.get(get)).data.number).toBe(7);
  });

  it("A read is repeated after a fault of the server or the connection, each time after a longer wait", async () => {
    nock(host).get(pullPath).reply(502, "<html>Bad gateway</html>");
    nock(host)
      .get(pullPath)
      .replyWithError(Object.assign(new Error("boom"), { code: "ECONNRESET" }));
    nock(host).get(pullPath).reply(200, { number: 7 });
    const { client, waited } = clientFor();
    await client.rest.pulls.get(get);
    expect(waited()).toBe(0.5 + 2);
  });

  it("A read fails after four tries and names call and status", async () => {
    nock(host).get(pullPath).times(4).reply(503, { message: "Service Unavailable" });
    const error = await failure(clientFor().client.rest.pulls.get(get));
    expect(error).toMatchObject({ code: "github_failed", retryable: true });
    expect(error.message).toBe("GitHub answered GET /repos/octo/shop/pulls/7 with 503: Service Unavailable");
  });

  it("A read is repeated if its JSON was cut off", async () => {
    nock(host).get(pullPath).reply(200, '{"number": 7, "ti', { "content-type": "application/json" });
    nock(host).get(pullPath).reply(200, { number: 7 });
    expect((await clientFor().client.rest.pulls.get(get)).data.number).toBe(7);
  });

  it("A read that GitHub refuses is not repeated", async () => {
    nock(host).get(pullPath).reply(404, { message: "Not Found" });
    expect(await failure(clientFor().client.rest.pulls.get(get))).toMatchObject({
      code: "github_not_found",
      retryable: false,
    });
  });

  it("A read ends after the time-out, also in the middle of a body", async () => {
    const never = (async (_url: unknown, init: RequestInit) => {
      const body = new ReadableStream({
        start(controller) {
          init.signal?.addEventListener("abort", () => controller.error(init.signal?.reason));
        },
      });
      return new Response(body, { headers: { "content-type": "application/json" } });
    }) as typeof fetch;
    const error = await failure(clientFor({ fetch: never, timeoutMs: 5 }).client.rest.pulls.get(get));
    expect(error.message).toContain(
      "GET /repos/octo/shop/pulls/7 got no answer from GitHub: it took too long",
    );
    expect(error).toMatchObject({ code: "github_failed", retryable: true });
  });

  it("An aborted read ends as aborted", async () => {
    const controller = new AbortController();
    controller.abort();
    expect(await failure(clientFor({ signal: controller.signal }).client.rest.pulls.get(get))).toMatchObject({
      code: "aborted",
    });
  });
});

describe("Waiting for a token", () => {
  it("A wait for a token ends as aborted if the job is aborted", async () => {
    const controller = new AbortController();
    const token = () => {
      setImmediate(() => controller.abort());
      return new Promise<string>(() => {});
    };
    const { client } = clientFor({ token, signal: controller.signal });
    expect(await failure(client.rest.pulls.get(get))).toMatchObject({ code: "aborted" });
  });
});

describe("Writing to GitHub", () => {
  it.each([
    ["a fault of the server", () => nock(host).post(commentsPath).reply(500, { message: "Oops" })],
    ["a lost connection", () => nock(host).post(commentsPath).replyWithError("socket hang up")],
    [
      "an answer that was cut off",
      () => nock(host).post(commentsPath).reply(201, '{"id": 1', { "content-type": "application/json" }),
    ],
  ])("A write is never repeated after %s, because it may have been carried out", async (_name, fault) => {
    fault();
    expect(await failure(clientFor().client.rest.issues.createComment(comment))).toMatchObject({
      code: "github_failed",
      retryable: true,
    });
  });

  it.each([
    { what: "a comment, which notifies people", path: commentsPath, seconds: [0, 1, 2] },
    { what: "a check run", path: "/repos/octo/shop/check-runs", seconds: [0, 1, 2] },
  ])(
    "A write waits after the one before, whichever client of the installation sent that: $what",
    async ({ path, seconds }) => {
      const limits = newLimits();
      const since = stopwatch();
      const times: number[] = [];
      nock(host)
        .post(path)
        .times(3)
        .reply(() => {
          times.push(Math.floor(since()));
          return [201, { id: 1 }];
        });
      const one = clientFor({ limits }).client;
      const other = clientFor({ limits }).client;
      await Promise.all([one, other, one].map((client) => client.request({ method: "POST", url: path })));
      expect(times).toEqual(seconds);
    },
  );

  it("A write does not wait for those of another installation", async () => {
    const limiter = createRateLimiter();
    nock(host).post(commentsPath).twice().reply(201, { id: 1 });
    const since = stopwatch();
    for (const limits of [limiter(1_001), limiter(1_002)])
      await clientFor({ limits }).client.rest.issues.createComment(comment);
    expect(since()).toBe(0);
  });

  it("A write goes on after another one failed", async () => {
    nock(host).post(commentsPath).reply(422, { message: "Validation Failed" });
    nock(host).post(commentsPath).reply(201, { id: 1 });
    const { client } = clientFor();
    const [first, second] = await Promise.allSettled([
      client.rest.issues.createComment(comment),
      client.rest.issues.createComment(comment),
    ]);
    expect([first.status, second.status]).toEqual(["rejected", "fulfilled"]);
  });
});

describe("A token that GitHub refuses", () => {
  it("A refused token is renewed once, and the call is sent again, also a write", async () => {
    const asked: boolean[] = [];
    nock(host)
      .post(commentsPath)
      .matchHeader("authorization", "Bearer old")
      .reply(401, { message: "Bad credentials" });
    nock(host).post(commentsPath).matchHeader("authorization", "Bearer new").reply(201, { id: 1 });
    const { client } = clientFor({
      token: async ({ renew }) => {
        asked.push(renew);
        return renew ? "new" : "old";
      },
    });
    await client.rest.issues.createComment(comment);
    expect(asked).toEqual([false, true]);
  });

  it("A second refusal of a token ends the call", async () => {
    nock(host).get(pullPath).twice().reply(401, { message: "Bad credentials" });
    expect(await failure(clientFor().client.rest.pulls.get(get))).toMatchObject({
      code: "github_unauthorized",
      retryable: false,
    });
  });

  it("A token that cannot be had causes an error about the token and not the call", async () => {
    const suspended = Object.assign(new Error("suspended"), {
      status: 403,
      response: { status: 403, headers: {}, data: { message: "This installation has been suspended" } },
      request: { headers: { authorization: "bearer JWT" } },
    });
    const { client } = clientFor({
      token: async () => {
        throw suspended;
      },
    });
    const error = await failure(client.rest.pulls.get(get));
    expect(error).toMatchObject({ code: "github_forbidden" });
    expect(error.message).toBe(
      "GitHub answered the request for an installation token with 403: This installation has been suspended",
    );
  });
});

describe("Rate limits", () => {
  const secondary = { message: "You have exceeded a secondary rate limit. Please wait a few minutes." };

  it("A call waits for a limit with a given end, whether it reads or writes", async () => {
    nock(host).post(commentsPath).reply(403, secondary, { "retry-after": "7" });
    nock(host).post(commentsPath).reply(201, { id: 1 });
    const { client, waited } = clientFor();
    await client.rest.issues.createComment(comment);
    expect(waited()).toBe(7);
  });

  it.each([403, 429])(
    "A call waits a minute for a limit without an end (%i), then the job is parked",
    async (status) => {
      nock(host).get(pullPath).twice().reply(status, secondary);
      const { client, waited } = clientFor();
      expect(await failure(client.rest.pulls.get(get))).toMatchObject({
        code: "github_rate_limited",
        retryable: true,
        retryAfterMs: 120_000,
      });
      expect(waited()).toBe(60);
    },
  );

  it("A long limit parks the job, and no other call is sent meanwhile", async () => {
    const reset = String(Date.now() / 1_000 + 2_400);
    nock(host)
      .get(pullPath)
      .reply(
        403,
        { message: "API rate limit exceeded" },
        { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset },
      );
    const { client, waited } = clientFor();
    for (const call of [() => client.rest.pulls.get(get), () => client.rest.issues.createComment(comment)]) {
      const error = await failure(call());
      expect(error).toMatchObject({ code: "github_rate_limited" });
      expect(Math.ceil((error.retryAfterMs ?? 0) / 1_000)).toBeGreaterThanOrEqual(2_400);
    }
    expect(waited()).toBe(0);
  });

  it("A limit is measured by GitHub's clock if GitHub sends it", async () => {
    const theirs = Date.now() + 3_600_000;
    nock(host)
      .get(pullPath)
      .reply(
        429,
        { message: "API rate limit exceeded" },
        {
          "x-ratelimit-remaining": "0",
          "x-ratelimit-reset": String(theirs / 1_000 + 30),
          date: new Date(theirs).toUTCString(),
        },
      );
    nock(host).get(pullPath).reply(200, { number: 7 });
    const { client, waited } = clientFor();
    await client.rest.pulls.get(get);
    expect(waited()).toBe(31);
  });

  it("The last request that was left is the last one sent", async () => {
    const reset = String(Date.now() / 1_000 + 600);
    nock(host)
      .get(pullPath)
      .reply(200, { number: 7 }, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset });
    const { client } = clientFor();
    await client.rest.pulls.get(get);
    expect(await failure(client.rest.pulls.get(get))).toMatchObject({ code: "github_rate_limited" });
  });

  it("A limit of GraphQL does not stop REST", async () => {
    const used = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(Date.now() / 1_000 + 600) };
    nock(host)
      .post("/graphql")
      .reply(200, { data: {} }, { ...used, "x-ratelimit-resource": "graphql" });
    nock(host).get(pullPath).reply(200, { number: 7 });
    const { client } = clientFor();
    await client.query("query { viewer { login } }", {}, z.object({}));
    expect((await client.rest.pulls.get(get)).data).toEqual({ number: 7 });
  });

  it("A call gives up after it waited three times for a limit", async () => {
    nock(host).get(pullPath).times(4).reply(429, secondary, { "retry-after": "1" });
    const { client, waited } = clientFor();
    expect(await failure(client.rest.pulls.get(get))).toMatchObject({ code: "github_rate_limited" });
    expect(waited()).toBe(3);
  });

  it("A missing permission is not taken for a limit", async () => {
    const left = { "x-ratelimit-remaining": "4999" };
    nock(host).post(commentsPath).reply(403, { message: "Resource not accessible by integration" }, left);
    expect(await failure(clientFor().client.rest.issues.createComment(comment))).toMatchObject({
      code: "github_forbidden",
    });
  });
});

describe("Errors of the client", () => {
  it("An error has GitHub's reasons and neither token nor headers, however it is printed", async () => {
    nock(host)
      .post(commentsPath)
      .reply(422, {
        message: "Unprocessable Entity",
        errors: [
          "Line could not be resolved",
          { message: "Body is too long" },
          { code: "custom", field: "body" },
        ],
      });
    const error = await failure(clientFor().client.rest.issues.createComment(comment));
    expect(error).toMatchObject({ code: "github_invalid", retryable: false });
    expect(error.message).toBe(
      'GitHub answered POST /repos/octo/shop/issues/7/comments with 422: Unprocessable Entity; Line could not be resolved; Body is too long; {"code":"custom","field":"body"}',
    );
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("ghs_secret");
  });

  it("An error after a lost connection has neither token nor headers", async () => {
    nock(host)
      .post(commentsPath)
      .replyWithError(Object.assign(new Error("lost"), { code: "ECONNRESET" }));
    const error = await failure(clientFor().client.rest.issues.createComment(comment));
    expect(error.message).toBe(
      "POST /repos/octo/shop/issues/7/comments got no answer from GitHub: ECONNRESET",
    );
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("ghs_secret");
  });
});

describe("Texts with a secret of this server", () => {
  it.each([
    ["as it is", (secret: string) => secret],
    ["as base64", (secret: string) => Buffer.from(`x${secret}`).toString("base64")],
    ["backwards", (secret: string) => [...secret].reverse().join("")],
    ["a character a line", (secret: string) => [...secret].join("\n")],
  ])("A text with %s is not sent, and the request is not repeated", async (_, spell) => {
    const secret = "whsec-0b5fd18c7e2a4963";
    registerSecret(secret);
    const { client, waited } = clientFor();
    const error = await failure(client.rest.issues.createComment({ ...comment, body: spell(secret) }));
    expect(error).toMatchObject({ code: "github_failed", retryable: false });
    expect(error.message).toContain("a secret of this server");
    expect(waited()).toBe(0);
  });
});

describe("Redirects", () => {
  it("A redirect within GitHub is followed with the token", async () => {
    nock(host).get(pullPath).reply(301, "", { location: "/repositories/1/pulls/7" });
    nock(host, { reqheaders: { authorization: "Bearer ghs_secret" } })
      .get("/repositories/1/pulls/7")
      .reply(200, { number: 7 });
    expect((await clientFor().client.rest.pulls.get(get)).data.number).toBe(7);
  });

  it("A redirect keeps a write's method and body if its status says so", async () => {
    nock(host)
      .post(commentsPath)
      .reply(307, "", { location: `${host}/repositories/1/issues/7/comments` });
    nock(host).post("/repositories/1/issues/7/comments", { body: "Hello" }).reply(201, { id: 5 });
    expect((await clientFor().client.rest.issues.createComment(comment)).data.id).toBe(5);
  });

  it.each([
    ["another host", "https://evil.test/repos/octo/shop/pulls/7"],
    ["plain http", "http://api.github.test/repos/octo/shop/pulls/7"],
  ])("A redirect to %s is refused", async (_name, location) => {
    nock(host).get(pullPath).reply(302, "", { location });
    expect(await failure(clientFor().client.rest.pulls.get(get))).toMatchObject({
      code: "github_failed",
      retryable: false,
    });
  });

  it("A redirect that would turn a write into a read is refused", async () => {
    nock(host).post(commentsPath).reply(301, "", { location: "/elsewhere" });
    expect((await failure(clientFor().client.rest.issues.createComment(comment))).message).toContain(
      "redirected a POST with 301",
    );
  });

  it("A circle of redirects ends", async () => {
    nock(host).get(pullPath).times(6).reply(302, "", { location: pullPath });
    expect((await failure(clientFor().client.rest.pulls.get(get))).message).toContain("too often");
  });
});

describe("Lists", () => {
  const path = "/repos/octo/shop/pulls/7/reviews";

  it("A list is read page by page", async () => {
    const next = `<${host}${path}?per_page=50&page=2>; rel="next", <${host}${path}?page=2>; rel="last"`;
    nock(host)
      .get(path)
      .query({ per_page: 50 })
      .reply(200, [{ id: 1 }], { link: next });
    nock(host)
      .get(path)
      .query({ per_page: 50, page: 2 })
      .reply(200, [{ id: 2 }]);
    expect(await clientFor().client.list(path, 5)).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it("A list does not follow a link to another host", async () => {
    nock(host)
      .get(path)
      .query(true)
      .reply(200, [{ id: 1 }], { link: '<https://evil.test/x>; rel="next"' });
    expect((await failure(clientFor().client.list(path, 5))).message).toContain("another origin");
  });

  it("A list that is longer than allowed is an error and never half a list", async () => {
    nock(host)
      .get(path)
      .query(true)
      .times(4)
      .reply(200, [{ id: 1 }], { link: `<${host}${path}?page=2>; rel="next"` });
    expect(await failure(clientFor().client.list(path, 2))).toMatchObject({ code: "too_large" });
  });

  it("A list is an error if a page has more items than were requested", async () => {
    nock(host)
      .get(path)
      .query(true)
      .reply(200, Array(101).fill({ id: 1 }));
    expect((await failure(clientFor().client.list(path, 5))).message).toContain("more than 100 items");
  });

  it("A list keeps of each page only what was requested", async () => {
    const next = { link: `<${host}${path}?page=2>; rel="next"` };
    nock(host)
      .get(path)
      .query({ per_page: 50 })
      .reply(200, [{ id: 1, body: "x" }], next);
    nock(host)
      .get(path)
      .query({ page: 2 })
      .reply(200, [{ id: 2 }]);
    const lengths = await clientFor().client.list(path, 5, (page) => [page.length]);
    expect(lengths).toEqual([1, 1]);
  });

  it("A list works below the path of an enterprise server", async () => {
    nock("https://ghe.test")
      .get(`/api/v3${path}`)
      .query({ per_page: 50 })
      .reply(404, { message: "Not Found" });
    const client = createGitHubClient({
      baseUrl: "https://ghe.test/api/v3",
      reach: anywhere,
      token: async () => "t",
      userAgent: "x",
      limits: newLimits(),
    });
    expect((await failure(client.list(path, 1))).message).toBe(
      "GitHub answered GET /repos/octo/shop/pulls/7/reviews with 404: Not Found",
    );
  });
});

describe("Huge answers", () => {
  it("An answer with a number of megabytes is refused before it is parsed", async () => {
    nock(host)
      .get(pullPath)
      .reply(200, `[${"9".repeat(2_000_000)}]`, { "content-type": "application/json" });
    const { message } = await failure(clientFor().client.rest.pulls.get(get));
    expect(message).toContain("a number that is too long");
  });

  it("An error repeats a few hundred characters of an answer at most", async () => {
    const long = "a ".repeat(1_000_000);
    nock(host)
      .get(pullPath)
      .reply(404, { message: long, errors: Array(1_000).fill({ message: long.slice(0, 99) }) });
    nock(host)
      .post("/graphql")
      .reply(200, { errors: [{ message: long }] });
    const nodes = Array(5_000).fill({ id: 1 });
    nock(host).post("/graphql").reply(200, { data: { nodes } });
    const { client } = clientFor();
    const shape = z.object({ nodes: z.array(z.object({ id: z.string() })) });
    const asked = [
      () => client.rest.pulls.get(get),
      () => client.query("{x}", {}, shape),
      () => client.query("{x}", {}, shape),
    ];
    for (const ask of asked) expect((await failure(ask())).message.length).toBeLessThan(500);
  });
});
