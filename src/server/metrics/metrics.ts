import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export type DeliveryResult = "stored" | "duplicate" | "ignored" | "refused";

interface Usage {
  promptTokens: number;
  /** The cached part of `promptTokens`. */
  cachedTokens: number;
  completionTokens: number;
  /** US dollars; null if the price is unknown. */
  costUsd: number | null;
}
type ModelEnd = { usage: Usage } | { failed: string };

interface RateLimitSeen {
  installation: number;
  /** GitHub's name of the limit: "core", "graphql" ... */
  resource: string;
  remaining: number;
  /** In milliseconds since 1970. */
  resetAt: number;
}

export type ReadQueue = () => Promise<{
  jobs: Readonly<Record<string, number>>;
  /** How long the oldest job that may run has been waiting, in milliseconds. */
  oldestWaitingMs: number | null;
} | null>;

export type Metrics = ReturnType<typeof createMetrics>;

const resources = new Set(["core", "graphql", "search", "code_search", "integration_manifest"]);

/** In seconds: from a check that passes at once to a review of an hour. */
const durationBuckets = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/**
 * The metrics of a process, with the default ones of Node. Methods need no `this`, never throw and are cheap. No label names a repository, a
 * person or an installation: readers of metrics may not be allowed to know them.
 */
export function createMetrics({ version, now = Date.now }: { version: string; now?: () => number }) {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers });
  const counters = {
    deliveries: counter("hunkwise_deliveries_total", "Webhook deliveries, by result", "event", "result"),
    jobs: counter("hunkwise_jobs_total", "Jobs that this process ended, by outcome", "kind", "outcome"),
    durations: new Histogram({
      name: "hunkwise_job_duration_seconds",
      help: "wait: from storing to the first start; run: in a worker; fetch, review, publish: parts of a successful review",
      labelNames: ["kind", "phase"],
      buckets: durationBuckets,
      registers,
    }),
    requests: counter("hunkwise_model_requests_total", "Requests to models, by result", "model", "result"),
    tokens: counter(
      "hunkwise_model_tokens_total",
      "Tokens of answered requests: prompt (not cached by the provider), cached, completion",
      "model",
      "kind",
    ),
    cost: counter(
      "hunkwise_model_cost_usd_total",
      "Cost of answered requests in US dollars, if the price of the model is known",
      "model",
    ),
  };
  const gauges = {
    info: gauge("hunkwise_info", "Always 1; the label is the version", "version"),
    ready: gauge("hunkwise_ready", "1 while jobs can be stored, as in /readyz"),
    jobs: gauge(
      "hunkwise_queue_jobs",
      "Jobs in the database by state; the same in every process that shares the database",
      "state",
    ),
    oldest: gauge(
      "hunkwise_queue_oldest_seconds",
      "Seconds that the oldest job that may run has been waiting; 0 if no job is waiting",
    ),
    remaining: gauge(
      "hunkwise_github_rate_limit_remaining",
      "Requests left for the installation with the fewest, among those that this process used in the current hour",
      "resource",
    ),
  };
  /** The newest limit of each installation and resource. */
  const limits = new Map<string, RateLimitSeen>();
  gauges.info.set({ version }, 1);
  collectDefaultMetrics({ register: registry });

  /** The remaining requests of the installation that has the fewest. A limit that was reset is unknown until the next answer. */
  function showLimits(): void {
    const least = new Map<string, number>();
    for (const [key, { resource, remaining, resetAt }] of limits) {
      if (resetAt <= now()) limits.delete(key);
      else least.set(resource, Math.min(remaining, least.get(resource) ?? remaining));
    }
    gauges.remaining.reset();
    for (const [resource, left] of least) gauges.remaining.set({ resource }, left);
  }

  return {
    /** @param event from a fixed list: strangers can write anything into a header */
    delivery: (event: string, result: DeliveryResult) => counters.deliveries.inc({ event, result }),
    jobWaited: (kind: string, ms: number) => counters.durations.observe({ kind, phase: "wait" }, ms / 1_000),
    jobEnded(kind: string, outcome: string, ms: number) {
      counters.jobs.inc({ kind, outcome });
      counters.durations.observe({ kind, phase: "run" }, ms / 1_000);
    },
    phase: (phase: string, ms: number) => counters.durations.observe({ kind: "review", phase }, ms / 1_000),
    modelRequest(model: string, end: ModelEnd) {
      const result = "failed" in end ? end.failed : "answered";
      counters.requests.inc({ model, result });
      if ("failed" in end) return;
      const { promptTokens, cachedTokens, completionTokens, costUsd } = end.usage;
      counters.tokens.inc({ model, kind: "prompt" }, Math.max(0, promptTokens - cachedTokens));
      counters.tokens.inc({ model, kind: "cached" }, cachedTokens);
      counters.tokens.inc({ model, kind: "completion" }, completionTokens);
      counters.cost.inc({ model }, costUsd ?? 0);
    },
    rateLimit(seen: RateLimitSeen) {
      const resource = resources.has(seen.resource) ? seen.resource : "other";
      limits.set(`${seen.installation} ${resource}`, { ...seen, resource });
    },
    async exposition(readQueue: ReadQueue) {
      showLimits();
      const queue = await readQueue();
      gauges.ready.set(queue ? 1 : 0);
      // What cannot be read is left out: a stale figure would look like a quiet queue.
      gauges.jobs.reset();
      gauges.oldest.remove();
      for (const [state, count] of Object.entries(queue?.jobs ?? {})) gauges.jobs.set({ state }, count);
      if (queue) gauges.oldest.set((queue.oldestWaitingMs ?? 0) / 1_000);
      return { text: await registry.metrics(), contentType: registry.contentType };
    },
  };
}
