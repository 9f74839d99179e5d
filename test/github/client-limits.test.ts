import nock from "nock";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AppError } from "../../src/errors.ts";
import { toAppError } from "../../src/github/errors.ts";
import { createPacing } from "../../src/github/pacing.ts";
import type { Traffic } from "../../src/github/shared-pace.ts";
import { failure } from "../support/failure.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { clientFor, host, useNock } from "./support.ts";

useNock();

const pullPath = "/repos/octo/shop/pulls/7";
const get = { owner: "octo", repo: "shop", pull_number: 7 };
const json = { "content-type": "application/json" };

describe("GraphQL's limit", () => {
  const spent = (clock: { now(): number }, seconds: number) => ({
    ...json,
    "x-ratelimit-resource": "graphql",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": String(clock.now() / 1_000 + seconds),
  });
  const limited = { errors: [{ type: "RATE_LIMITED", message: "API rate limit exceeded" }] };
  const ask = (client: ReturnType<typeof clientFor>["client"]) =>
    client.query("query { a }", {}, z.object({}));

  it("is told with status 200: a short one is sat out", async () => {
    const clock = fakeClock();
    nock(host).post("/graphql").reply(200, limited, spent(clock, 30));
    nock(host).post("/graphql").reply(200, { data: {} }, json);
    await ask(clientFor({ clock }).client);
    expect(clock.naps).toEqual([31_000]);
  });

  it("that lasts parks the job until it is renewed, and REST goes on", async () => {
    const clock = fakeClock();
    nock(host).post("/graphql").reply(200, limited, spent(clock, 2_400));
    nock(host).get(pullPath).reply(200, { number: 7 });
    const { client } = clientFor({ clock, pacing: createPacing(clock) });
    for (const _ of ["asked", "known"])
      expect(await failure(ask(client))).toMatchObject({
        ...{ code: "github_rate_limited", retryable: true, retryAfterMs: 2_401_000 },
      });
    await client.rest.pulls.get(get);
  });

  it("of the secondary kind stops everything, and a mutation is sent again: it was not carried out", async () => {
    const secondary = { errors: [{ message: "You have exceeded a secondary rate limit." }] };
    nock(host)
      .post("/graphql")
      .reply(200, secondary, { ...json, "retry-after": "7" });
    nock(host).post("/graphql").reply(200, { data: {} }, json);
    const { client, clock } = clientFor();
    await client.mutate("mutation { a }", {}, z.object({}));
    expect(clock.naps.reduce((sum, nap) => sum + nap, 0)).toBe(7_000);
  });
});

describe("a limit that GitHub, or what stands before it, says lasts for days", () => {
  it.each([
    [{ "retry-after": "999999999999" }, 3_600_000],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999" }, 3_601_000],
  ])("is asked about again after an hour: %j", async (headers, retryAfterMs) => {
    nock(host).get(pullPath).reply(403, { message: "Wait." }, headers);
    const { client } = clientFor();
    const error = await failure(client.rest.pulls.get(get));
    expect(error).toMatchObject({ code: "github_rate_limited", retryAfterMs });
  });
});

describe("what counts as creating", () => {
  it("is every POST and PUT of REST, and nothing that is changed, taken away or resolved", async () => {
    const traffic: Traffic[] = [];
    const pacing = createPacing(fakeClock());
    const { client } = clientFor({
      pacing: {
        ...pacing,
        send(of, send) {
          traffic.push(of);
          return send();
        },
      },
    });
    nock(host).get("/x").reply(200, {}).post("/x").reply(201, {}).put("/x").reply(201, {});
    nock(host).patch("/x").reply(200, {}).delete("/x").reply(204);
    nock(host).post("/graphql").twice().reply(200, { data: {} }, json);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"] as const)
      await client.request({ method, url: "/x" });
    await client.query("query { a }", {}, z.object({}));
    await client.mutate("mutation { a }", {}, z.object({}));
    expect(traffic.map(({ kind, creates }) => `${kind}${creates ? " creates" : ""}`)).toEqual([
      ...["read", "write creates", "write creates", "write", "write"],
      ...["read", "write"],
    ]);
  });
});

describe("whoever may forbid a write", () => {
  const created = () => nock(host).post("/x").reply(201, {});
  const write = { method: "POST", url: "/x" } as const;

  it("is asked when its turn has come, and again after a limit was waited for, and never for a question", async () => {
    const clock = fakeClock();
    const asked: number[] = [];
    const start = clock.now();
    const { client } = clientFor({ clock, beforeWrite: async () => void asked.push(clock.now() - start) });
    created();
    nock(host).post("/x").reply(429, {}, { "retry-after": "7" });
    created();
    nock(host).get("/x").reply(200, {});
    await client.request(write);
    await client.request(write);
    await client.request({ method: "GET", url: "/x" });
    expect(asked).toEqual([0, 1_000, 8_000]);
  });

  it("is told of what was written, of a mutation its name and what it is about", async () => {
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

  it("has nothing sent, and is told of as what it said", async () => {
    const said = new AppError("lease_lost", "another worker has this job now");
    const { client } = clientFor({ beforeWrite: () => Promise.reject(said) });
    expect(await failure(client.request(write))).toBe(said);
    expect(await failure(client.mutate("mutation { a }", {}, z.object({})))).toBe(said);
  });
});

describe("what an answer says of the limit", () => {
  it("is told for every answer, also a refusal", async () => {
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

describe("a limit that a request outside the client meets, such as one for a token", () => {
  const refusal = (status: number, message: string, headers = {}) =>
    Object.assign(new Error(message), { status, response: { status, headers, data: { message } } });

  it("is one to come back after, and no missing permission", () => {
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

describe("a page", () => {
  it("comes with its ETag and the next one, and is null where nothing has changed since", async () => {
    const next = `<${host}/app/installations?page=2>; rel="next"`;
    nock(host)
      .get("/app/installations")
      .reply(200, [{ id: 1 }], { etag: '"a"', link: next });
    nock(host, { reqheaders: { "if-none-match": '"a"' } })
      .get("/app/installations")
      .reply(304);
    const { client, clock } = clientFor();
    expect(await client.page("/app/installations")).toEqual({
      ...{ etag: '"a"', data: [{ id: 1 }], next: `${host}/app/installations?page=2` },
    });
    expect(await client.page("/app/installations", '"a"')).toBeNull();
    expect(clock.naps).toEqual([]);
  });
});
