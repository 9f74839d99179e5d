import { expect, it } from "vitest";
import { createMetrics, type ReadQueue } from "../../../src/server/metrics/metrics.ts";

const quiet: ReadQueue = async () => ({
  jobs: { waiting: 0, active: 0, done: 0, failed: 0 },
  oldestWaitingMs: null,
});

/** The lines of our own metrics, without what Node tells of its process. */
async function shown(metrics: ReturnType<typeof createMetrics>, readQueue = quiet): Promise<string[]> {
  const { text } = await metrics.exposition(readQueue);
  return text.split("\n").filter((line) => line.startsWith("hunkwise_"));
}
const open = (now: () => number = Date.now) => createMetrics({ version: "1.2.3", now });

it("The metrics count deliveries by event and result", async () => {
  const metrics = open();
  metrics.delivery("pull_request", "stored");
  metrics.delivery("pull_request", "stored");
  metrics.delivery("other", "refused");
  expect(await shown(metrics)).toEqual(
    expect.arrayContaining([
      'hunkwise_deliveries_total{event="pull_request",result="stored"} 2',
      'hunkwise_deliveries_total{event="other",result="refused"} 1',
    ]),
  );
});

it("The metrics count jobs by their ends, and show how long each part took in seconds", async () => {
  const metrics = open();
  metrics.jobWaited("review", 1_500);
  metrics.jobEnded("review", "done", 90_000);
  metrics.phase("fetch", 400);
  const lines = await shown(metrics);
  expect(lines).toEqual(
    expect.arrayContaining([
      'hunkwise_jobs_total{kind="review",outcome="done"} 1',
      'hunkwise_job_duration_seconds_sum{kind="review",phase="wait"} 1.5',
      'hunkwise_job_duration_seconds_sum{kind="review",phase="run"} 90',
      'hunkwise_job_duration_seconds_bucket{le="0.5",kind="review",phase="fetch"} 1',
    ]),
  );
});

it("The metrics count each token once, and the cost if it is known", async () => {
  const metrics = open();
  const usage = { promptTokens: 1_000, cachedTokens: 600, completionTokens: 50, costUsd: 0.25 };
  metrics.modelRequest("m", { usage });
  metrics.modelRequest("m", { usage: { ...usage, costUsd: null } });
  metrics.modelRequest("m", { failed: "model_rate_limited" });
  expect(await shown(metrics)).toEqual(
    expect.arrayContaining([
      'hunkwise_model_requests_total{model="m",result="answered"} 2',
      'hunkwise_model_requests_total{model="m",result="model_rate_limited"} 1',
      'hunkwise_model_tokens_total{model="m",kind="prompt"} 800',
      'hunkwise_model_tokens_total{model="m",kind="cached"} 1200',
      'hunkwise_model_tokens_total{model="m",kind="completion"} 100',
      'hunkwise_model_cost_usd_total{model="m"} 0.25',
    ]),
  );
});

it("The metrics show what GitHub's limits leave to the installation that has the least, until they are reset", async () => {
  let now = 0;
  const metrics = open(() => now);
  const left = async () => (await shown(metrics)).filter((line) => line.includes("rate_limit"));
  metrics.rateLimit({ installation: 1, resource: "core", remaining: 4_000, resetAt: 100 });
  metrics.rateLimit({ installation: 2, resource: "core", remaining: 12, resetAt: 50 });
  metrics.rateLimit({ installation: 2, resource: "made\nup", remaining: 3, resetAt: 50 });
  expect(await left()).toEqual([
    'hunkwise_github_rate_limit_remaining{resource="core"} 12',
    'hunkwise_github_rate_limit_remaining{resource="other"} 3',
  ]);
  now = 60;
  expect(await left()).toEqual(['hunkwise_github_rate_limit_remaining{resource="core"} 4000']);
});

it("The metrics show the present queue, and leave out what cannot be read", async () => {
  const metrics = open();
  const jobs = { waiting: 3, active: 1, done: 40, failed: 2 };
  const busy = await shown(metrics, async () => ({ jobs, oldestWaitingMs: 12_500 }));
  expect(busy).toEqual(
    expect.arrayContaining([
      "hunkwise_ready 1",
      'hunkwise_queue_jobs{state="waiting"} 3',
      'hunkwise_queue_jobs{state="failed"} 2',
      "hunkwise_queue_oldest_seconds 12.5",
    ]),
  );
  const away = await shown(metrics, async () => null);
  expect(away).toContain("hunkwise_ready 0");
  expect(away.filter((line) => line.includes("queue"))).toEqual([]);
  expect(await shown(metrics)).toContain("hunkwise_queue_oldest_seconds 0");
});

it("The metrics have a registry of their own, with the metrics of the process", async () => {
  const [one, other] = [open(), open()];
  one.delivery("ping", "ignored");
  expect((await shown(other)).join()).not.toContain("ping");
  const { text, contentType } = await one.exposition(quiet);
  expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(text).toContain("process_resident_memory_bytes");
  expect(text).toContain('hunkwise_info{version="1.2.3"} 1');
});
