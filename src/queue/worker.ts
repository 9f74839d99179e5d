import { randomUUID } from "node:crypto";
import { z } from "zod";
import { errorLine } from "../errors.ts";
import { livenessOf, ownIdentity } from "../process-identity.ts";
import type { ClaimedJob, JobOutcome } from "./job.ts";
import type { Queue } from "./queue.ts";
import { sleepUnlessAborted } from "./retry.ts";
import { type JobTools, type JobWatch, runJob, type WorkerLog } from "./run-job.ts";

const Name = z.tuple([z.int().positive(), z.string(), z.string(), z.string()]);

/** A name for one worker of this process, which tells which process it is. */
export function ownWorkerName(): string {
  const { pid, scope, started } = ownIdentity;
  return JSON.stringify([pid, scope, started, randomUUID()]);
}

/**
 * Whether the process of the worker is known to have ended. False where nobody here can tell: on another machine, in another
 * container, before a restart of the machine, of a name that another version gave.
 */
export function isDeadWorker(name: string): boolean {
  const read = Name.safeParse(parse(name));
  if (!read.success) return false;
  const [pid, scope, started] = read.data;
  return livenessOf({ pid, scope, started }) === "dead";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type { JobTools } from "./run-job.ts";

export interface WorkerOptions {
  queue: Queue;
  /** Does the job. Rejecting with a retryable AppError has it tried again, after its `retryAfterMs` when it names one. */
  handle: (job: ClaimedJob, tools: JobTools) => Promise<JobOutcome>;
  /** Tells people that a job failed for good; runs before it is stored as failed. */
  giveUp?: (job: ClaimedJob, error: unknown, tools: JobTools) => Promise<void>;
  /** Told what becomes of jobs. For metrics. */
  watch?: JobWatch;
  /** Jobs at a time. */
  concurrency: number;
  log: WorkerLog;
  /** How long a dead worker's job waits for the next one. A third of it is the rhythm of heartbeats. Default 30 s. */
  leaseMs?: number;
  /** How long ended jobs are kept. Default 30 days. */
  retentionMs?: number;
  /** How long an idle worker waits before it looks again; jobs of this process are announced with `wake()`. */
  pollMs?: number;
  /** Name of the worker in the queue; by default one that tells which process it is. */
  name?: string;
  /** Whether the worker of that name is known to be dead: its jobs are taken over at the start. */
  isDead?: (worker: string) => boolean;
  /** Called each time the worker runs out of jobs that may run now. */
  onIdle?: () => void;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
  now?: () => number;
}

/** GitHub redelivers for days, people look back for weeks. */
const defaultRetentionMs = 30 * 24 * 3_600_000;
const purgeEveryMs = 3_600_000;
/** The start belongs to the jobs that wait. */
const firstPurgeMs = 60_000;
/** Between two looks at a queue that cannot be read. */
const longestPauseMs = 30_000;
/** What of the grace time is left to the queue, to take the jobs back whose handlers did not end. */
const handBackMs = 1_000;

export interface Worker {
  /** Looks at once for a job, and for a newer head of those that run. */
  wake(): void;
  /**
   * Takes no new job, aborts the running ones and hands them back without counting the attempt. Resolves when all are
   * handed back, also those whose handler did not end in time, and after `graceMs` (no less than a second) in any case: what a
   * queue that is away did not take back is taken over when it is started anew, or when its lease runs out.
   */
  stop(graceMs: number): Promise<void>;
}

/** Runs jobs of the queue until it is stopped: as many loops as `concurrency` says, each one job at a time. */
export function startWorker(options: WorkerOptions): Worker {
  const { queue, log, concurrency, leaseMs = 30_000, pollMs = 1_000, name = ownWorkerName() } = options;
  const { sleep = sleepUnlessAborted, random = Math.random, now = Date.now } = options;
  const stopping = new AbortController();
  const graceOver = new AbortController();
  const looks = new Set<() => void>();
  const onNews = (look: () => void) => {
    looks.add(look);
    return () => void looks.delete(look);
  };
  const signals = { stop: stopping.signal, graceOver: graceOver.signal };
  const run = { ...options, ...signals, leaseMs, sleep, random, now, onNews };
  const deadEnded = endLeasesOnce(options);
  let alarm = new AbortController();
  let running = 0;
  let idle = false;
  let refusals = 0;

  const wake = () => {
    alarm.abort();
    alarm = new AbortController();
    for (const look of looks) look();
  };

  async function claim(): Promise<ClaimedJob | undefined> {
    try {
      await deadEnded();
      const job = await queue.claim(name, leaseMs);
      refusals = 0;
      return job;
    } catch (error) {
      refusals++;
      log.error({ err: error }, `No job can be taken from the queue: ${errorLine(error)}`);
      return undefined;
    }
  }

  async function rest(signal: AbortSignal): Promise<void> {
    if (refusals > 0) return sleep(Math.min(pollMs * 2 ** (refusals - 1), longestPauseMs), signal);
    if (running === 0 && !idle) options.onIdle?.();
    idle ||= running === 0;
    await sleep(pollMs, signal);
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Taken before the look, so that a job announced during it is not slept through.
      const { signal } = alarm;
      const job = await claim();
      if (!job) {
        await rest(signal);
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
  void purgeAgainAndAgain({ ...options, sleep, signal: stopping.signal });
  return {
    wake,
    async stop(graceMs) {
      stopping.abort();
      wake();
      const over = new AbortController();
      const ended = loops.then(() => "ended" as const);
      const waitedLongEnough = async () => {
        if (graceMs > handBackMs) await sleep(graceMs - handBackMs, over.signal);
        graceOver.abort();
        await sleep(handBackMs, over.signal);
      };
      const how = await Promise.race([ended, waitedLongEnough()]).finally(() => over.abort());
      if (how !== "ended") log.warn({}, "The queue did not take every job back; their leases will run out");
    },
  };
}

/** Ends the leases of dead workers, once it worked: the start of a worker must not wait for what one of its kind left. */
function endLeasesOnce({ queue, log, isDead = isDeadWorker }: WorkerOptions): () => Promise<void> {
  let done: Promise<void> | undefined;
  const end = async () => {
    const ended = await queue.endLeases(isDead);
    if (ended > 0) log.info({ jobs: ended }, `Took over ${ended} jobs of workers that died`);
  };
  return () => {
    done ??= end().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}

interface Purging extends WorkerOptions {
  sleep: NonNullable<WorkerOptions["sleep"]>;
  signal: AbortSignal;
}

/** Deletes what is older than the retention, whether there are jobs or not. */
async function purgeAgainAndAgain({ queue, log, sleep, signal, retentionMs }: Purging): Promise<void> {
  await sleep(firstPurgeMs, signal);
  while (!signal.aborted) {
    await queue.purge(retentionMs ?? defaultRetentionMs).catch((error: unknown) => {
      // Where the database was closed in the middle of it, the next process goes on.
      if (!signal.aborted) log.warn({ err: error }, `Old jobs were not deleted: ${errorLine(error)}`);
    });
    await sleep(purgeEveryMs, signal);
  }
}
