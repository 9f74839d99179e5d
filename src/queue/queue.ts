import type { TrajectoryEntry } from "../agent/trajectory.ts";
import type { ClaimedJob, JobOutcome, JobState, NewerHead, NewJob } from "./job.ts";

/** A stored webhook delivery and what became of it. */
export interface Delivery {
  id: string;
  event: string;
  action: string | null;
}

/** Durable deliveries, jobs and trajectories. Every method resolves only when its effect is on disk. */
export interface Queue {
  /**
   * Stores the delivery and, in the same transaction, the jobs that follow from it. False, and nothing stored, when the
   * delivery id was seen before.
   */
  accept(delivery: Delivery, jobs: readonly NewJob[]): Promise<boolean>;
  /** Stores a job that follows from no delivery (command line, reconciliation). */
  enqueue(job: NewJob): Promise<string>;
  /**
   * Takes the most urgent job that may run now, under a lease of `leaseMs`; undefined when there is none. Of jobs as urgent as
   * each other, one of the installation with the fewest running ones, then of the one that waited longest for its turn; none
   * of an installation that has as many running as it may. A job whose lease ran out may run again: its attempt counted, and
   * after `maxAttempts` and one last claim it is failed.
   */
  claim(worker: string, leaseMs: number): Promise<ClaimedJob | undefined>;
  /** Prolongs the lease; false when the job is no longer this claim's. */
  heartbeat(job: ClaimedJob, leaseMs: number): Promise<boolean>;
  /**
   * The head that the coalescing job brings which waits for this one's key, where it came after this claim. Undefined as
   * well when the job is no longer this claim's.
   */
  newer(job: ClaimedJob): Promise<NewerHead | undefined>;
  /** Ends the job; false when the job is no longer this claim's. */
  complete(job: ClaimedJob, outcome: JobOutcome): Promise<boolean>;
  /**
   * Gives the job back to run again after `delayMs`; `countAttempt: false` for a hand-back that was no failure. A coalescing
   * one takes the task over of the newer one that waits, and its quiet time.
   */
  release(
    job: ClaimedJob,
    delayMs: number,
    why: string,
    options?: { countAttempt: boolean },
  ): Promise<boolean>;
  /** Appends to the job's trajectory. Rejects with `lease_lost` when the job is no longer this claim's. */
  record(job: ClaimedJob, entry: TrajectoryEntry): Promise<void>;
  /** The job's trajectory so far, of all attempts, oldest first. */
  trajectory(jobId: string): Promise<TrajectoryEntry[]>;
  /** Ends the leases of workers that are known to be dead, so that their jobs need not wait for it; returns how many. */
  endLeases(isDead: (worker: string) => boolean): Promise<number>;
  /** Whether a job about this head waits or runs for the key, or ended as done: what was skipped may be due by now. */
  knows(concurrencyKey: string, head: string): Promise<boolean>;
  /**
   * Deletes all jobs of an installation that do not run, with their trajectories, what it spent and what was counted; of these
   * repositories alone where they are named, by id. Returns how many of its jobs still run, which have to be asked for again.
   */
  forget(installation: number, repositories: readonly number[] | null): Promise<{ running: number }>;
  /** Rejects when nothing can be stored: a full disk, a locked file, a database that is away. */
  check(): Promise<void>;
  /** Counts by state, and for how long the oldest job that may run has been waiting for a worker, in milliseconds. */
  stats(): Promise<{ jobs: Record<JobState, number>; oldestWaitingMs: number | null }>;
  /**
   * Deletes deliveries, ended jobs with their trajectories, days of spending and what was counted against limits that are older
   * than this; returns how many rows.
   */
  purge(olderThanMs: number): Promise<number>;
  close(): Promise<void>;
}
