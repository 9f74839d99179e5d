import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

let scenario: Scenario;
let call: ReturnType<typeof clientOf>;
const comments = "/repos/octo-org/shop/issues/1/comments";
const post = () => call(`POST ${comments}`, { body: "Hi." });
const match = /^POST .*\/comments$/;

beforeEach(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
  call = clientOf(scenario.github, scenario.installation);
});
afterEach(() => scenario.github.close());

describe("a fault", () => {
  it("strikes the request it is planned for, and no other", async () => {
    const answer = { status: 500, body: { message: "Oops" }, headers: { "x-oops": "1" } };
    scenario.github.faults.add({ match, nth: 2, kind: { answer } });
    expect((await post()).status).toBe(201);
    const struck = await post();
    expect(struck).toMatchObject({ status: 500, body: { message: "Oops" } });
    expect(struck.headers.get("x-oops")).toBe("1");
    expect((await post()).status).toBe(201);
    expect(scenario.pull.comments).toHaveLength(2);
    expect(scenario.github.faults.struck).toEqual([`POST ${comments} answer`]);
  });

  it("may be a load balancer's page", async () => {
    scenario.github.faults.add({ match, kind: "bad-gateway" });
    const { status, body } = await post();
    expect([status, body]).toEqual([502, expect.stringContaining("<html>")]);
  });

  it("may be that page, or any other answer, although it happened", async () => {
    scenario.github.faults.add({ match, kind: "bad-gateway-after" });
    expect(await post()).toMatchObject({ status: 502, body: expect.stringContaining("<html>") });
    scenario.github.faults.clear();
    scenario.github.faults.add({ match, kind: { answerAfter: { status: 500, body: { message: "Oops" } } } });
    expect(await post()).toMatchObject({ status: 500, body: { message: "Oops" } });
    expect(scenario.pull.comments).toHaveLength(2);
  });

  it("may break the connection before anything happened", async () => {
    scenario.github.faults.add({ match, kind: "reset-before" });
    await expect(post()).rejects.toThrow("fetch failed");
    expect(scenario.pull.comments).toHaveLength(0);
  });

  it("may break the connection after it happened", async () => {
    scenario.github.faults.add({ match, kind: "reset-after" });
    await expect(post()).rejects.toThrow("fetch failed");
    expect(scenario.pull.comments).toHaveLength(1);
    expect(scenario.github.requests.at(-1)).toMatchObject({ status: 0, operation: "issues/create-comment" });
  });

  it("may cut the answer", async () => {
    scenario.github.faults.add({ match, kind: "truncated" });
    await expect(post()).rejects.toThrow(SyntaxError);
    expect(scenario.pull.comments).toHaveLength(1);
  });

  it("may hold a request back until something else happened", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    scenario.github.faults.add({ match, kind: { delay: promise } });
    const held = post();
    await call(`GET ${comments}`);
    expect(scenario.pull.comments).toHaveLength(0);
    resolve();
    expect((await held).status).toBe(201);
  });

  it.each([
    [{ secondaryLimit: 403, retryAfterSeconds: 60 } as const, 403, { "retry-after": "60" }],
    [{ secondaryLimit: 429 } as const, 429, {}],
    [
      { primaryLimitUntil: new Date(5_000_000) },
      403,
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "5000" },
    ],
  ])("may be a rate limit: %j", async (kind, status, headers) => {
    scenario.github.faults.add({ match, kind });
    const answer = await post();
    expect(answer.status).toBe(status);
    expect(answer.body.message).toMatch(/rate limit/);
    expect(Object.fromEntries(answer.headers)).toMatchObject(headers);
    expect(answer.headers.has("retry-after")).toBe("retry-after" in headers);
  });

  it("may last", async () => {
    scenario.github.faults.add({ match, nth: "all", kind: "bad-gateway" });
    for (let time = 0; time < 3; time++) expect((await post()).status).toBe(502);
    scenario.github.faults.clear();
    expect((await post()).status).toBe(201);
  });
});

describe("waiting", () => {
  it("ends when a request made it true", async () => {
    const waited = scenario.github.until(() => scenario.pull.comments.length === 1);
    await post();
    await waited;
  });

  it("in vain says what happened instead", async () => {
    await post();
    await expect(scenario.github.until(() => false, 10)).rejects.toThrow(`POST ${comments} 201`);
  });
});
