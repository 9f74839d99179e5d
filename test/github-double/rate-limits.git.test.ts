import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { RateLimits } from "../support/github-double/rate-limits.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

let now = Date.now();
let scenario: Scenario;
let ask: ReturnType<typeof clientOf>;

beforeAll(async () => {
  const files = { base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } };
  scenario = await createScenario({ ...files, limits: { now: () => now, requestsAnHour: 700 } });
  ask = clientOf(scenario.github, scenario.installation);
});
afterAll(() => scenario.github.close());
// Nothing of the test before counts any more.
beforeEach(() => {
  now += 2 * 3_600_000;
  scenario.github.limits!.breaches.length = 0;
});

const comment = () => ask("POST /repos/octo-org/shop/issues/1/comments", { body: "Hello" });
const read = () => ask("GET /repos/octo-org/shop/collaborators/octocat/permission");
const breaches = () => scenario.github.limits!.breaches.map(({ limit }) => limit);

it("counts down the requests of an hour, refuses what is beyond, and begins anew", async () => {
  const { headers } = await read();
  expect(headers.get("x-ratelimit-remaining")).toBe("699");
  expect(headers.get("x-ratelimit-reset")).toBe(String(Math.ceil((now + 3_600_000) / 1_000)));
  scenario.github.limits!.exhaust(scenario.installation.id);
  const refused = await read();
  expect([refused.status, refused.headers.get("x-ratelimit-remaining")]).toEqual([403, "0"]);
  now += 3_600_000;
  expect((await read()).status).toBe(200);
  expect(breaches()).toEqual(["primary"]);
});

it("refuses a second write within a second, and whoever does not wait as they were told", async () => {
  expect((await comment()).status).toBe(201);
  now += 999;
  const refused = await comment();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([403, "60"]);
  now += 59_999;
  expect((await read()).status).toBe(429);
  now += 1;
  expect((await comment()).status).toBe(201);
  expect(breaches()).toEqual(["gap", "told to wait"]);
});

it("lets 80 creations in a minute and 500 an hour, of each installation", () => {
  const limits = new RateLimits({ now: () => now, gapMs: 0 });
  const create = (installation = 1) => {
    const request = { installation, method: "POST", path: "/repos/o/r/issues/1/comments" };
    const refusal = limits.enter(request);
    if (!refusal) limits.leave(request, 201);
    return refusal?.headers["retry-after"];
  };
  for (let made = 0; made < 500; made++) {
    if (made === 80) expect([create(), create(2)]).toEqual(["60", undefined]);
    if (made % 80 === 0) now += 60_000;
    create();
  }
  now += 60_000;
  expect(create()).toBe(String(3_600 - 7 * 60));
  expect(limits.breaches.map(({ limit }) => limit)).toEqual([
    ...["80 creations a minute", "500 creations an hour"],
  ]);
});
