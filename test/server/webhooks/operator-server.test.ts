import { afterAll, beforeAll, expect, it } from "vitest";
import { createMetrics } from "../../../src/server/metrics/metrics.ts";
import { createHealth } from "../../../src/server/webhooks/health.ts";
import type { RunningServer } from "../../../src/server/webhooks/http.ts";
import { startOperatorServer } from "../../../src/server/webhooks/server.ts";
import { logBook } from "./support.ts";

const { log } = logBook();
const queue = {
  check: async () => {},
  stats: async () => ({ jobs: { waiting: 7, active: 0, done: 0, failed: 0 }, oldestWaitingMs: null }),
};
const health = createHealth({ queue, log });
const metrics = createMetrics({ version: "1.0.0" });
const options = {
  ...{ host: "127.0.0.1", port: 0, health, log },
  exposition: () => metrics.exposition(async () => queue.stats()),
};

let server: RunningServer;
beforeAll(async () => {
  server = await startOperatorServer(options);
});
afterAll(() => server.close());
const get = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${server.port}${path}`, init);

it("The operator's server serves metrics in the format that Prometheus reads", async () => {
  const answer = await get("/metrics");
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(await answer.text()).toContain('hunkwise_queue_jobs{state="waiting"} 7');
  expect((await get("/metrics", { method: "POST" })).status).toBe(405);
});

it("The operator's server serves health as the web server does, and nothing else", async () => {
  expect((await get("/healthz")).status).toBe(200);
  expect(await (await get("/readyz")).json()).toEqual({ ready: true, oldestWaitingMs: null });
  expect((await get("/")).status).toBe(404);
});

it("The operator's server names its own variable if its port is taken", async () => {
  await expect(startOperatorServer({ ...options, port: server.port })).rejects.toMatchObject({
    code: "config_invalid",
    remedy: expect.stringContaining("HUNKWISE_METRICS_PORT"),
  });
});
