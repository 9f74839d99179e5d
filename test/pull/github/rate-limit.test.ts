import { setImmediate as turn } from "node:timers/promises";
import nock from "nock";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { AppError } from "../../../src/core/errors.ts";
import { toAppError } from "../../../src/pull/github/errors.ts";
import { createRateLimiter } from "../../../src/pull/github/rate-limit.ts";
import { failure } from "../../support/failure.ts";
import { clientFor, host, newLimits, stopwatch, useNock } from "./support.ts";

useNock();

const pullPath = "/repos/octo/shop/pulls/7";
const get = { owner: "octo", repo: "shop", pull_number: 7 };
const json = { "content-type": "application/json" };

describe("The limit of GraphQL", () => {
  const spent = (seconds: number) => ({
    ...json,
    "x-ratelimit-resource": "graphql",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": String(Math.floor(Date.now() / 1_000) + seconds),
  });
  const limited = { errors: [{ type: "RATE_LIMITED", message: "API rate limit exceeded" }] };
  const ask = (client: ReturnType<typeof clientFor>["client"]) =>
    client.query("query { a }", {}, z.object({}));

  it("A short limit with status 200 is waited for", async () => {
    nock(host).post("/graphql").reply(200, limited, spent(30));
    nock(host).post("/graphql").reply(200, { data: {} }, json);
    const { client, waited } = clientFor();
    await ask(client);
    expect(waited()).toBe(31);
  });

  it("A long limit of GraphQL parks the job, and REST goes on", async () => {
    nock(host).post("/graphql").reply(200, limited, spent(2_400));
    nock(host).get(pullPath).reply(200, { number: 7 });
    const { client } = clientFor();
    for (const _ of ["asked", "known"]) {
      const error = await failure(ask(client));
      expect(error).toMatchObject({ code: "github_rate_limited", retryable: true });
      expect(Math.ceil((error.retryAfterMs ?? 0) / 1_000)).toBeGreaterThanOrEqual(2_400);
    }
    await client.rest.pulls.get(get);
  });

  it("A secondary limit of GraphQL stops everything, and the mutation is sent again", async () => {
    const secondary = { errors: [{ message: "You have exceeded a secondary rate limit." }] };
    nock(host)
      .post("/graphql")
      .reply(200, secondary, { ...json, "retry-after": "7" });
    nock(host).post("/graphql").reply(200, { data: {} }, json);
    const { client, waited } = clientFor();
    await client.mutate("mutation { a }", {}, z.object({}));
    expect(waited()).toBe(7);
  });
});

describe("a limit that the throttling plugin alone does not obey", () => {
  const comment = { owner: "octo", repo: "shop", issue_number: 7, body: "Hello" };
  const commentsPath = "/repos/octo/shop/issues/7/comments";

  it("A limit with a time and other words is waited for, and the write is sent once more", async () => {
    nock(host).post(commentsPath).reply(403, { message: "Slow down." }, { "retry-after": "20" });
    nock(host).post(commentsPath).reply(201, { id: 1 });
    const { client, waited } = clientFor();
    await client.rest.issues.createComment(comment);
    expect(waited()).toBe(20);
  });

  it("A limit of an enterprise server, with another path for GraphQL, is waited for", async () => {
    const ghe = "https://ghe.test";
    const headers = { ...json, "x-ratelimit-resource": "graphql", "x-ratelimit-remaining": "0" };
    const reset = String(Math.floor(Date.now() / 1_000) + 30);
    nock(ghe)
      .post("/api/graphql")
      .reply(
        200,
        { errors: [{ type: "RATE_LIMITED", message: "x" }] },
        { ...headers, "x-ratelimit-reset": reset },
      );
    nock(ghe).post("/api/graphql").reply(200, { data: {} }, json);
    const { client, waited } = clientFor({ baseUrl: `${ghe}/api/v3` });
    await client.query("query { a }", {}, z.object({}));
    expect(waited()).toBe(31);
  });

  it("A limit holds every other call of the installation, also one that waited for its turn", async () => {
    const limits = newLimits();
    const since = stopwatch();
    const sent: [string, number][] = [];
    const note = (name: string) => () => {
      sent.push([name, Math.floor(since())]);
      return [201, { id: 1 }];
    };
    nock(host).post("/first").reply(201, { id: 1 });
    nock(host).post("/second").reply(201, note("second"));
    nock(host).get("/limited").reply(429, {}, { "retry-after": "30" });
    nock(host).get("/limited").reply(201, note("limited"));
    nock(host).get("/late").reply(201, note("late"));
    const { client } = clientFor({ limits });
    const first = client.request({ method: "POST", url: "/first" });
    const second = client.request({ method: "POST", url: "/second" });
    const limited = client.request({ method: "GET", url: "/limited" });
    await first;
    const late = clientFor({ limits }).client.request({ method: "GET", url: "/late" });
    await Promise.all([second, limited, late]);
    expect(sent.map(([name]) => name).toSorted()).toEqual(["late", "limited", "second"]);
    expect(Math.min(...sent.map(([, at]) => at))).toBeGreaterThanOrEqual(30);
  });
});

describe("A refusal without a time", () => {
  const limits = newLimits;
  const write = { kind: "write", graphql: false } as const;
  const read = { kind: "read", graphql: false } as const;
  const untold = { waitMs: undefined, stops: "everything" } as const;
  const waitOf = (error: Error) => (error.cause as AppError).retryAfterMs ?? 0;

  it("The wait without a given time doubles up to an hour", () => {
    const one = limits();
    const waits: number[] = [];
    for (let refusals = 0; refusals < 8; refusals++) {
      const wait = waitOf(one.refused(write, untold));
      waits.push(wait / 60_000);
      vi.setSystemTime(Date.now() + wait);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it("Concurrent refusals count once, and none after a call of their kind went through", () => {
    const one = limits();
    expect([1, 2, 3].map(() => waitOf(one.refused(write, untold)))).toEqual([60_000, 60_000, 60_000]);
    vi.setSystemTime(Date.now() + 60_000);
    one.carriedOut(read, {});
    expect(waitOf(one.refused(write, untold))).toBe(120_000);
    vi.setSystemTime(Date.now() + 120_000);
    one.carriedOut(write, {});
    expect(waitOf(one.refused(write, untold))).toBe(60_000);
  });
});

describe("a call that waits in a plugin", () => {
  const post = { method: "POST", url: "/x" } as const;

  it("A call that waits for a limit ends with its job, and is never sent", async () => {
    const controller = new AbortController();
    nock(host).post("/x").reply(429, {}, { "retry-after": "30" });
    let asked = 0;
    const { client } = clientFor({ signal: controller.signal, beforeWrite: async () => void asked++ });
    const sent = client.request(post).catch((error: unknown) => error);
    while (asked === 0) await turn();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const { waited } = clientFor();
    controller.abort(new AppError("aborted", "the server stops"));
    expect(await sent).toMatchObject({ code: "aborted" });
    expect(waited()).toBe(0);
    // `useNock` fails if anything leaves.
    await new Promise((resolve) => setTimeout(resolve, 120_000));
    expect(asked).toBe(1);
  });

  it("A call that waits for its turn ends with its job, and delays no other", async () => {
    const controller = new AbortController();
    const limits = newLimits();
    nock(host)
      .post("/first")
      .reply(() => {
        controller.abort(new AppError("aborted", "the server stops"));
        return [201, {}];
      });
    nock(host).post("/third").reply(201, {});
    const { client } = clientFor({ limits });
    const stopping = clientFor({ limits, signal: controller.signal }).client;
    const first = client.request({ method: "POST", url: "/first" });
    const second = failure(stopping.request(post));
    const third = client.request({ method: "POST", url: "/third" });
    await Promise.all([first, third]);
    expect(await second).toMatchObject({ code: "aborted" });
  });

  it("A call that waits after a fault ends with its job", async () => {
    const controller = new AbortController();
    nock(host)
      .get("/y")
      .reply(() => {
        setImmediate(() => controller.abort(new AppError("aborted", "the server stops")));
        return [502, ""];
      });
    const { client, waited } = clientFor({ signal: controller.signal });
    expect(await failure(client.request({ method: "GET", url: "/y" }))).toMatchObject({ code: "aborted" });
    expect(waited()).toBeLessThanOrEqual(0.5);
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  });
});

describe("A limit that lasts for days", () => {
  it.each([
    [{ "retry-after": "999999999999" }, 3_600_000],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999" }, 3_601_000],
  ])("A limit of days is tried again after an hour: %j", async (headers, retryAfterMs) => {
    nock(host).get(pullPath).reply(403, { message: "Wait." }, headers);
    const { client } = clientFor();
    const error = await failure(client.rest.pulls.get(get));
    expect(error).toMatchObject({ code: "github_rate_limited", retryAfterMs });
  });
});

describe("The hook before writes", () => {
  const created = () => nock(host).post("/x").reply(201, {});
  const write = { method: "POST", url: "/x" } as const;

  it("The hook is called when a write has its turn and again after a limit, and never for a read", async () => {
    const asked: number[] = [];
    const since = stopwatch();
    const { client } = clientFor({ beforeWrite: async () => void asked.push(Math.floor(since())) });
    created();
    nock(host).post("/x").reply(429, {}, { "retry-after": "7" });
    created();
    nock(host).get("/x").reply(200, {});
    await client.request(write);
    await client.request(write);
    await client.request({ method: "GET", url: "/x" });
    expect(asked).toEqual([0, 1, 8]);
  });

  it("The hook learns what was written, and of a mutation its name and subject", async () => {
    const told: unknown[] = [];
    const { client } = clientFor({ beforeWrite: async () => async (written) => void told.push(written) });
    nock(host).post("/x").reply(201, { id: 5, html_url: "https://github.com/x" });
    nock(host)
      .post("/graphql")
      .reply(200, { data: { close: null } });
    await client.request(write);
    const mutation = "mutation ($id: ID!) {\n  close(input: { id: $id }) { id }\n}";
    await client.mutate(mutation, { id: "PRRT_1" }, z.object({ close: z.null() }));
    expect(told).toEqual([
      { request: "POST /x", id: 5, url: "https://github.com/x" },
      { request: "close PRRT_1", id: null, url: null },
    ]);
  });

  it("A hook that rejects lets nothing be sent, and its error is kept", async () => {
    const said = new AppError("lease_lost", "another worker has this job now");
    const { client } = clientFor({ beforeWrite: () => Promise.reject(said) });
    expect(await failure(client.request(write))).toBe(said);
    expect(await failure(client.mutate("mutation { a }", {}, z.object({})))).toBe(said);
  });
});

describe("The reported rate limit", () => {
  it("Each answer reports the limit, also a refusal", async () => {
    const seen: unknown[] = [];
    const left = (remaining: number) => ({
      "x-ratelimit-remaining": String(remaining),
      "x-ratelimit-reset": "1800000000",
    });
    nock(host).get(pullPath).reply(200, { number: 7 }, left(5));
    nock(host)
      .get(pullPath)
      .reply(404, { message: "Not Found" }, { ...left(4), "x-ratelimit-resource": "search" });
    const { client } = clientFor({ onRateLimit: (one) => void seen.push(one) });
    await client.rest.pulls.get(get);
    await failure(client.rest.pulls.get(get));
    expect(seen).toEqual([
      { resource: "core", remaining: 5, resetAt: 1_800_000_000_000 },
      { resource: "search", remaining: 4, resetAt: 1_800_000_000_000 },
    ]);
  });
});

describe("A limit of a request outside of the client", () => {
  const refusal = (status: number, message: string, headers = {}) =>
    Object.assign(new Error(message), { status, response: { status, headers, data: { message } } });

  it("A limit of a request for a token is retryable, and no missing permission", () => {
    const error = refusal(403, "You have exceeded a secondary rate limit", { "retry-after": "30" });
    expect(toAppError(error, "POST /app/installations/1/access_tokens")).toMatchObject({
      ...{ code: "github_rate_limited", retryable: true, retryAfterMs: 30_000 },
    });
    expect(toAppError(refusal(429, "Too many requests"), "GET /app")).toMatchObject({ retryAfterMs: 60_000 });
    expect(toAppError(refusal(403, "Resource not accessible by integration"), "GET /app")).toMatchObject({
      code: "github_forbidden",
    });
  });
});

describe("a clock that is set back by an hour", () => {
  it("A clock that is set back delays no client that is opened afterwards", async () => {
    const reply = () => nock(host).get(pullPath).reply(200, { number: 7 });
    const limiter = createRateLimiter();
    reply();
    await clientFor({ limits: limiter(1) }).client.rest.pulls.get(get);
    vi.setSystemTime(Date.now() - 3_600_000);
    reply();
    const { client, waited } = clientFor({ limits: limiter(1) });
    await client.rest.pulls.get(get);
    expect(waited()).toBe(0);
  });
});
