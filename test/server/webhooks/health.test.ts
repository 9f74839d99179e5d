import { expect, it } from "vitest";
import { createHealth, type HealthOptions } from "../../../src/server/webhooks/health.ts";

const stats = { jobs: { waiting: 1, active: 0, done: 0, failed: 0 }, oldestWaitingMs: 2_500 };

/** A queue that says what the test has it say, and the health of a process that has it. */
function withQueue(options: Partial<HealthOptions> = {}) {
  const seen = { looks: 0, lines: [] as string[], now: 0, check: async () => {} };
  const queue = {
    check() {
      seen.looks++;
      return seen.check();
    },
    stats: async () => stats,
  };
  const line = (_: object | string, text?: string) => void seen.lines.push(String(text ?? _));
  const log = { error: line, info: line } as unknown as HealthOptions["log"];
  const health = createHealth({ queue, log, now: () => seen.now, ...options });
  return Object.assign(seen, {
    async ask(method = "GET", path = "/readyz") {
      const request = { method } as Parameters<typeof health.answer>[0];
      const answer = await health.answer(request, path);
      return answer && { status: answer.status, said: answer.body };
    },
  });
}
/** An error as a database driver throws it. */
const fault = (fields: object) => async () => {
  throw Object.assign(new Error("it broke"), fields);
};
const ready = { status: 200, said: '{"ready":true,"oldestWaitingMs":2500}' };
const unready = (reason: string) => ({ status: 503, said: JSON.stringify({ ready: false, reason }) });

it("A server is ready while something can be stored, and says how long the oldest job has waited", async () => {
  expect(await withQueue().ask()).toEqual(ready);
});

it.each([
  [{ errcode: 13 }, "disk_full"],
  [{ errcode: 5 }, "locked"],
  [{ errcode: 10 | (8 << 8) }, "disk_failed"],
  [{ errcode: 8 }, "read_only"],
  [{ code: "ECONNREFUSED" }, "unreachable"],
  [{ code: "57P03" }, "unreachable"],
  [{ code: "53100" }, "disk_full"],
  [{ code: "database_unreachable", cause: { code: "25006" } }, "read_only"],
  [{ code: "database_unreachable" }, "unreachable"],
  [{}, "failed"],
])("A server is not ready while the database says %o, in one word: %s", async (fields, reason) => {
  const seen = withQueue();
  seen.check = fault(fields);
  expect(await seen.ask()).toEqual(unready(reason));
});

it("A server is ready again by itself, and logs both changes once", async () => {
  const seen = withQueue();
  seen.check = fault({ errcode: 13 });
  for (; seen.now < 5_000; seen.now += 1_000) await seen.ask();
  seen.check = async () => {};
  for (; seen.now < 9_000; seen.now += 1_000) expect(await seen.ask()).toEqual(ready);
  expect(seen.lines).toEqual(["Not ready: it broke", "Ready again: jobs can be stored"]);
});

it("The health check looks once a second, however many ask", async () => {
  const seen = withQueue();
  await Promise.all([seen.ask(), seen.ask(), seen.ask()]);
  seen.now = 999;
  await seen.ask();
  expect(seen.looks).toBe(1);
  seen.now = 1_000;
  await seen.ask();
  expect(seen.looks).toBe(2);
});

it("The health check does not wait for a database that does not answer, and asks it nothing more", async () => {
  const seen = withQueue({ patienceMs: 1 });
  expect(await seen.ask()).toEqual(ready);
  seen.now = 2_000;
  const answered = Promise.withResolvers<void>();
  seen.check = () => answered.promise;
  expect(await Promise.all([seen.ask(), seen.ask()])).toEqual([unready("no_answer"), unready("no_answer")]);
  seen.now = 9_000;
  expect(await seen.ask()).toEqual(unready("no_answer"));
  expect(seen.looks).toBe(2);
  answered.resolve();
  await answered.promise;
  expect(await seen.ask()).toEqual(ready);
  expect(seen.lines).toEqual(["Not ready: the database does not respond", "Ready again: jobs can be stored"]);
});

it("The health check gives its last result while the next look takes long", async () => {
  const seen = withQueue({ patienceMs: 1 });
  seen.check = fault({ errcode: 5 });
  await seen.ask();
  seen.check = () => new Promise(() => {});
  seen.now = 9_000;
  expect(await seen.ask()).toEqual(unready("locked"));
});

it("A server is not ready with little room for mirrors, nor once the process stops", async () => {
  expect(await withQueue({ isDiskLow: async () => true }).ask()).toEqual(unready("disk_low"));
  const stopping = withQueue({ stop: AbortSignal.abort() });
  expect(await stopping.ask()).toEqual(unready("stopping"));
  expect(await stopping.ask("GET", "/healthz")).toEqual({ status: 200, said: "ok" });
});

it("The health check answers only its two pages, and only to readers", async () => {
  const seen = withQueue();
  expect(await seen.ask("GET", "/metrics")).toBeUndefined();
  await expect(seen.ask("POST", "/healthz")).rejects.toMatchObject({ answer: { status: 405 } });
});
