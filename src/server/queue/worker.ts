import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { errorLine } from "../../core/errors.ts";
import { sleepUnlessAborted } from "./database.ts";
import type { ClaimedJob, Lane } from "./job.ts";
import { type JobWork, runJob } from "./run-job.ts";

export interface WorkerOptions extends JobWork {
  concurrency: number;
  /** Of Hunkwise, for the page that shows the workers. */
  version?: string;
  /** How long a dead worker's job waits for the next worker. A heartbeat is sent every third of it. Default 30 s. */
  leaseMs?: number;
  /** How long ended jobs are kept. Default 30 days. */
  retentionMs?: number;
  /** How often an idle worker polls; `wake()` announces jobs of this process. */
  pollMs?: number;
  /** A unique name in the queue, as operators see it. */
  name?: string;
  /** Called each time when no more job may run. */
  onIdle?: () => void;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
  now?: () => number;
}

/** GitHub redelivers for days, and people look at old runs for weeks. */
const defaultRetentionMs = 30 * 24 * 3_600_000;
const insightsMs = 400 * 24 * 3_600_000;
const purgeEveryMs = 3_600_000;
const showEveryMs = 30_000;
/** After a start, waiting jobs come first. */
const firstPurgeMs = 60_000;
/** Longest pause between attempts to read an unavailable queue. */
const longestPauseMs = 30_000;
/** A stopped worker has handed its jobs back by then; Docker kills a process after ten seconds. */
export const graceMs = 8_000;
/** The part of the grace time for handing back jobs whose handlers did not end. */
const handBackMs = 1_000;

export type Worker = ReturnType<typeof startWorker>;

/** Runs jobs of the queue until it is stopped, in `concurrency` loops with one job at a time each, and one more for notices. */
export function startWorker(options: WorkerOptions) {
  const { queue, log, concurrency, leaseMs = 30_000, pollMs = 1_000 } = options;
  const { name = `${hostname()} ${process.pid} ${randomUUID()}` } = options;
  const { sleep = sleepUnlessAborted, random = Math.random, now = Date.now } = options;
  const { retentionMs = defaultRetentionMs, version = "" } = options;
  const stopping = new AbortController();
  const graceOver = new AbortController();
  const checks = new Set<() => void>();
  const onNews = (check: () => void) => {
    checks.add(check);
    return () => void checks.delete(check);
  };
  const signals = { stop: stopping.signal, graceOver: graceOver.signal };
  const run = { ...options, ...signals, leaseMs, sleep, random, now, onNews };
  let alarm = new AbortController();
  let running = 0;
  let idle = false;
  let refusals = 0;

  const wake = () => {
    alarm.abort();
    alarm = new AbortController();
    for (const check of checks) check();
  };

  async function claim(lane: Lane): Promise<ClaimedJob | undefined> {
    // The loops for work find out when the queue is available again.
    if (lane === "notices" && refusals > 0) return undefined;
    try {
      const job = await queue.claim(name, leaseMs, lane);
      if (lane === "work") refusals = 0;
      return job;
    } catch (error) {
      if (lane === "work") {
        refusals++;
        log.error({ err: error }, `No job can be taken from the queue: ${errorLine(error)}`);
      }
      return undefined;
    }
  }

  async function rest(lane: Lane, signal: AbortSignal): Promise<void> {
    if (lane === "notices") return sleep(pollMs, signal);
    if (refusals > 0) return sleep(Math.min(pollMs * 2 ** (refusals - 1), longestPauseMs), signal);
    if (running === 0 && !idle) options.onIdle?.();
    idle ||= running === 0;
    await sleep(pollMs, signal);
  }

  async function loop(lane: Lane): Promise<void> {
    // Work first: a start is no reason to tell anyone anything.
    if (lane === "notices") await sleep(pollMs, stopping.signal);
    while (!stopping.signal.aborted) {
      // Read before the claim, so that a job announced during it wakes this loop.
      const { signal } = alarm;
      const job = await claim(lane);
      if (!job) {
        await rest(lane, signal);
        continue;
      }
      running++;
      idle = false;
      await runJob(job, run);
      running--;
      // Another loop may be waiting for this job's key.
      wake();
    }
  }

  const loops = Promise.all([...Array.from({ length: concurrency }, () => loop("work")), loop("notices")]);
  const repeat = async (work: () => Promise<unknown>, everyMs: number) => {
    while (!stopping.signal.aborted) {
      await work();
      await sleep(everyMs, stopping.signal);
    }
  };
  const purge = () =>
    queue.purge(retentionMs, insightsMs).catch((error: unknown) => {
      // If the database was closed meanwhile, the next process continues.
      if (!stopping.signal.aborted)
        log.warn({ err: error }, `Old jobs were not deleted: ${errorLine(error)}`);
    });
  void sleep(firstPurgeMs, stopping.signal).then(() => repeat(purge, purgeEveryMs));
  // If the database is unavailable, nobody sees the worker.
  const self = { name, version, concurrency, startedAt: now() };
  const visible = repeat(() => queue.showWorker(self).catch(() => {}), showEveryMs).then(() =>
    queue.hideWorker(name).catch(() => {}),
  );
  return {
    /** Polls for a job at once, and for newer heads of running reviews. */
    wake,
    /**
     * Claims no more jobs, aborts the running ones and hands them back without counting the attempt. Resolves after `ms` at the latest (at
     * least a second). The leases of jobs that an unavailable queue did not take back expire.
     */
    async stop(ms: number = graceMs): Promise<void> {
      stopping.abort();
      wake();
      const over = new AbortController();
      const ended = Promise.all([loops, visible]).then(() => "ended" as const);
      const waitedLongEnough = async () => {
        if (ms > handBackMs) await sleep(ms - handBackMs, over.signal);
        graceOver.abort();
        await sleep(handBackMs, over.signal);
      };
      const how = await Promise.race([ended, waitedLongEnough()]).finally(() => over.abort());
      if (how !== "ended")
        log.warn({}, "Some jobs could not be returned to the queue; their leases will expire");
    },
  };
}
