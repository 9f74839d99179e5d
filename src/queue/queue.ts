import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import type { ClaimedJob, JobOutcome, JobState, Lane, NewerHead, NewJob } from "./job.ts";

/** A webhook delivery. */
export interface Delivery {
  id: string;
  event: string;
  action: string | null;
}

/** A worker, as people see it. */
export interface LivingWorker {
  name: string;
  /** Of Hunkwise. */
  version: string;
  concurrency: number;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** Durable deliveries, jobs and trajectories. Every method resolves only when its effect is on disk. */
export interface Queue {
  /**
   * Stores the delivery and its jobs in one transaction. False, and nothing stored, if the delivery id is already known.
   */
  accept(delivery: Delivery, jobs: readonly NewJob[]): Promise<boolean>;
  /** Stores a job without a delivery (command line, reconciliation). */
  enqueue(job: NewJob): Promise<string>;
  /**
   * Claims the next job under a lease of `leaseMs`; undefined if none may run. Order: priority, then the installation with the fewest
   * running jobs, then the one whose last claim is longest ago, then age. Skips installations at their limit of running jobs. A job whose
   * lease has expired may run again; its attempt counts, and after `maxAttempts` one last claim fails it. Only jobs of `lane` (default:
   * work); a notice neither counts as a running job nor waits for one.
   */
  claim(worker: string, leaseMs: number, lane?: Lane): Promise<ClaimedJob | undefined>;
  /** Renews the lease; false if the claim is no longer valid. */
  heartbeat(job: ClaimedJob, leaseMs: number): Promise<boolean>;
  /**
   * The head of the coalescing job that waits for the same key, if it arrived after this claim. Undefined also if the claim is no longer
   * valid.
   */
  newer(job: ClaimedJob): Promise<NewerHead | undefined>;
  /** Ends the job; false if the claim is no longer valid. */
  complete(job: ClaimedJob, outcome: JobOutcome): Promise<boolean>;
  /**
   * Releases the job to run again after `delayMs`; `countAttempt: false` if it did not fail. A coalescing job takes over the task and the
   * debounce time of a newer one that waits.
   */
  release(
    job: ClaimedJob,
    delayMs: number,
    why: string,
    options?: { countAttempt: boolean },
  ): Promise<boolean>;
  /** Appends to the job's trajectory. Rejects with `lease_lost` if the claim is no longer valid. */
  record(job: ClaimedJob, entry: TrajectoryEntry): Promise<void>;
  /** The job's trajectory so far, of all attempts, oldest first. */
  trajectory(jobId: string): Promise<TrajectoryEntry[]>;
  /** Shows people that the worker lives. Forgets those that have not said so for ten minutes. */
  showWorker(worker: LivingWorker): Promise<void>;
  /** The worker has ended. */
  hideWorker(name: string): Promise<void>;
  /** Ends the leases of dead workers, so that their jobs can be claimed at once. Returns how many. */
  endLeases(isDead: (worker: string) => boolean): Promise<number>;
  /** Whether a job for this key and head waits, runs or is done. A skipped one does not count: its reason may no longer hold. */
  knows(concurrencyKey: string, head: string): Promise<boolean>;
  /**
   * Deletes the jobs of an installation that are not running, with their trajectories, spending, quotas and figures; only those of the given
   * repository ids unless null. Returns how many jobs still run; call it again for these.
   */
  forget(installation: number, repositories: readonly number[] | null): Promise<{ running: number }>;
  /** Rejects if nothing can be stored: a full disk, a locked file, an unavailable database. */
  check(): Promise<void>;
  /** Counts by state, and how long the oldest job that may run has been waiting for a worker, in milliseconds. */
  stats(): Promise<{ jobs: Record<JobState, number>; oldestWaitingMs: number | null }>;
  /**
   * Deletes deliveries, ended jobs with their trajectories, words of findings, spending, quotas and notes that are older than this, and
   * figures older than `figuresMs`; spending of this month is kept. Returns how many rows.
   */
  purge(olderThanMs: number, figuresMs: number): Promise<number>;
  close(): Promise<void>;
}

export interface RetryOptions {
  queue: Pick<Queue, "check">;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Ends the retries: the last error is thrown. */
  signal: AbortSignal;
  /** Called with the first error. */
  warn(message: string, error: unknown): void;
}

/** Pauses double from the first to the second. */
const [firstPauseMs, longestPauseMs] = [500, 15_000];
/** After this many failures while the database is available, waiting does not help. */
const maxFaults = 3;

/**
 * Retries while the database is unavailable (a full disk, a locked file, a restarting server), so that the job waits for it and no model
 * turn that was paid for is lost. Only for idempotent work. Throws an AppError that is not retryable at once.
 */
export async function retryWhileUnavailable<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { queue, sleep = sleepUnlessAborted, signal, warn } = options;
  let faults = 0;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      const isFinal = error instanceof AppError && !error.retryable;
      if (isFinal || signal.aborted) throw error;
      if ((await isAvailable(queue)) && ++faults === maxFaults) throw error;
      if (pauseMs === firstPauseMs) warn("The queue is unavailable, so the job waits for it", error);
      await sleep(pauseMs, signal);
    }
  }
}

/** Whether anything can be stored at all. */
export async function isAvailable(queue: Pick<Queue, "check">): Promise<boolean> {
  return queue.check().then(
    () => true,
    () => false,
  );
}

/** Resolves after `ms`, or as soon as the signal fires. */
export async function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wakeUp = () => resolve();
  signal.addEventListener("abort", wakeUp);
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wakeUp);
}
