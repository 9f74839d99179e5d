import { errorLine } from "../errors.ts";
import type { ClaimedJob, Outcome } from "./job.ts";
import type { Queue } from "./queue.ts";
import { type JobTools, runJob, type WorkerLog } from "./run-job.ts";

export type { JobTools, WorkerLog } from "./run-job.ts";

export interface WorkerOptions {
  queue: Queue;
  /** Does the job. Rejecting with a retryable AppError has it tried again, after its `retryAfterMs` when it names one. */
  handle: (job: ClaimedJob, tools: JobTools) => Promise<Outcome>;
  /** Tells people that a job failed for good; runs before it is stored as failed. */
  giveUp?: (job: ClaimedJob, reason: string, tools: JobTools) => Promise<void>;
  /** Jobs at a time. */
  concurrency: number;
  log: WorkerLog;
  /** How long a dead worker's job waits for the next one. A third of it is the rhythm of heartbeats. */
  leaseMs?: number;
  /** How long an idle worker waits before it looks again; jobs of this process are announced with `wake()`. */
  pollMs?: number;
  /** Name of the worker in the queue; unique by default. */
  name?: string;
  /** Called each time the worker runs out of jobs that may run now. */
  onIdle?: () => void;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
  now?: () => number;
}

/** GitHub redelivers for days, people look back for weeks. */
const retentionMs = 30 * 24 * 3_600_000;
const purgeEveryMs = 3_600_000;

export interface Worker {
  /** Looks at once for a job, and for a newer head of those that run. */
  wake(): void;
  /**
   * Takes no new job, aborts the running ones and hands them back without counting the attempt. Resolves when all are
   * handed back, also those whose handler did not end within `graceMs`.
   */
  stop(graceMs: number): Promise<void>;
}

/** Runs jobs of the queue until it is stopped: as many loops as `concurrency` says, each one job at a time. */
export function startWorker(options: WorkerOptions): Worker {
  const { queue, log, concurrency, leaseMs = 30_000, pollMs = 1_000 } = options;
  const { sleep = sleepUnlessAborted, random = Math.random, now = Date.now } = options;
  const name = options.name ?? `${process.pid}-${crypto.randomUUID()}`;
  const stopping = new AbortController();
  const graceOver = new AbortController();
  const looks = new Set<() => void>();
  const onNews = (look: () => void) => {
    looks.add(look);
    return () => void looks.delete(look);
  };
  const signals = { stop: stopping.signal, graceOver: graceOver.signal };
  const run = { ...options, ...signals, leaseMs, sleep, random, now, onNews };
  let alarm = new AbortController();
  let running = 0;
  let idle = false;
  let purgedAt = Number.NEGATIVE_INFINITY;

  const wake = () => {
    alarm.abort();
    alarm = new AbortController();
    for (const look of looks) look();
  };

  async function claim(): Promise<ClaimedJob | undefined> {
    try {
      return await queue.claim(name, leaseMs);
    } catch (error) {
      log.error({ err: error }, `The queue cannot be read: ${errorLine(error)}`);
      return undefined;
    }
  }

  async function rest(): Promise<void> {
    if (running > 0) return;
    if (!idle) options.onIdle?.();
    idle = true;
    if (now() - purgedAt < purgeEveryMs) return;
    purgedAt = now();
    await queue.purge(retentionMs).catch((error: unknown) => {
      log.warn({ err: error }, `Old jobs were not deleted: ${errorLine(error)}`);
    });
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Taken before the look, so that a job announced during it is not slept through.
      const { signal } = alarm;
      const job = await claim();
      if (!job) {
        await rest();
        await sleep(pollMs, signal);
        continue;
      }
      running++;
      idle = false;
      await runJob(job, run);
      running--;
      // Another loop may be asleep because this job held its key.
      wake();
    }
  }

  const loops = Promise.all(Array.from({ length: concurrency }, loop));
  return {
    wake,
    async stop(graceMs) {
      stopping.abort();
      wake();
      const timer = setTimeout(() => graceOver.abort(), graceMs);
      await loops.finally(() => clearTimeout(timer));
    },
  };
}

/** Resolves after `ms`, or as soon as the signal fires. */
async function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wakeUp = () => resolve();
  signal.addEventListener("abort", wakeUp);
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wakeUp);
}
