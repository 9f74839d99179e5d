import type { TrajectoryEntry } from "../../agent/record/trajectory.ts";
import { unlessAborted } from "../../core/async.ts";
import { AppError, type ErrorCode, errorLine, publicLine } from "../../core/errors.ts";
import { isAvailable, type RetryOptions, retryWhileUnavailable } from "./database.ts";
import { type ClaimedJob, type JobOutcome, maxAttempts, taskFields } from "./job.ts";
import type { Queue } from "./queue.ts";

export interface JobTools {
  /** Fires when the handler must stop: `lease_lost`, `superseded` by a newer head, or `aborted` because the worker stops. */
  signal: AbortSignal;
  /** Appends to the job's trajectory; rejects with `lease_lost` if another worker has the job. */
  record(entry: TrajectoryEntry): Promise<void>;
  /** The job's trajectory so far, of all attempts, oldest first. */
  recorded(): Promise<TrajectoryEntry[]>;
  /**
   * Call it before anything visible is done. True renews the lease; from then on a newer head does not fire `signal`, so that a publication
   * that has begun is completed.
   */
  mayPublish(): Promise<boolean>;
  /** Whether this worker still has the job; true renews the lease. Call it right before each write to GitHub. */
  hasLease(): Promise<boolean>;
}

/** Call it before anything visible is done. Rejects with `lease_lost` if another worker has the job. */
export async function requireLease(tools: Pick<JobTools, "mayPublish">): Promise<void> {
  if (!(await tools.mayPublish())) throw new AppError("lease_lost", "another worker has this job now");
}

/** How a job ended in a worker. `parked`: until an outage is over, without counting an attempt. `unstored`: the queue did not take it. */
type JobEnd = JobOutcome["kind"] | "retried" | "parked" | "handed_back" | "lost" | "unstored";

/** Receives events of jobs; times in milliseconds. */
export interface JobWatch {
  /** A job starts for the first time, `waitedMs` after it was stored. */
  began(job: ClaimedJob, waitedMs: number): void;
  ended(job: ClaimedJob, how: JobEnd, tookMs: number): void;
}

/** The part of a logger that jobs need. */
export interface JobLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const jobFields = ({ id, task, deliveryId }: ClaimedJob): Record<string, unknown> => ({
  job: id,
  delivery: deliveryId ?? undefined,
  ...taskFields(task),
});

interface Clock {
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
}

/** What a worker does with its jobs. */
export interface JobWork {
  queue: Queue;
  /** Does the job. If it rejects with a retryable AppError, the job is tried again, after the error's `retryAfterMs` if it has one. */
  handle: (job: ClaimedJob, tools: JobTools) => Promise<JobOutcome>;
  /** Tells people that a job failed for good. Runs before the failure is stored. */
  giveUp?: (job: ClaimedJob, error: unknown, tools: JobTools) => Promise<void>;
  watch?: JobWatch;
  log: JobLog;
}

interface JobRun extends Clock, JobWork {
  leaseMs: number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** The worker stops: abort the handler and hand the job back. */
  stop: AbortSignal;
  /** The grace time is over: hand the job back even if the handler still runs. */
  graceOver: AbortSignal;
  /** Calls `check` when the queue may have changed. Returns how to unsubscribe. */
  onNews: (check: () => void) => () => void;
}

/** Runs one claimed job to its end. Never rejects. */
export async function runJob(job: ClaimedJob, run: JobRun): Promise<void> {
  const { now, watch, log } = run;
  const startedAt = now();
  // Later claims of the same job did not wait since it was stored.
  if (job.fence === 1) watch?.began(job, Math.max(0, startedAt - job.createdAt));
  log.info(jobFields(job), `Job started, attempt ${job.attempt}`);
  const how = await runUnderLease(job, run);
  watch?.ended(job, how, now() - startedAt);
}

const workerStops = "the worker is stopping";

async function runUnderLease(job: ClaimedJob, run: JobRun): Promise<JobEnd> {
  const warn = (message: string, err: unknown) =>
    run.log.warn({ ...jobFields(job), err }, `${message}: ${errorLine(err)}`);
  const lease = leaseOn(job, { ...run, warn });
  const onStop = () => lease.abort(new AppError("aborted", workerStops, { retryable: true }));
  const ended = new AbortController();
  if (run.stop.aborted) onStop();
  run.stop.addEventListener("abort", onStop, { signal: ended.signal });
  const heartbeats = keepLease(lease, run, ended.signal);
  const unsubscribe = run.onNews(() => void lease.checkHead());
  const inGrace = <T>(work: Promise<T>) => unlessAborted(work, run.graceOver, lateEnd);
  try {
    const result = await inGrace(attempt(job, run, lease)).catch((error: unknown) => ({ error }));
    lease.handlerEnded();
    return await settle(job, result, {
      ...run,
      lease,
      reportFailure: (error) => inGrace(run.giveUp?.(job, error, lease) ?? Promise.resolve()),
      retry: (store) => retryWhileUnavailable(store, { ...run, signal: run.graceOver, warn }),
    });
  } catch (error) {
    // When the lease expires, another worker claims the job.
    run.log.error(
      { ...jobFields(job), err: error },
      `The end of the job was not stored: ${errorLine(error)}`,
    );
    return "unstored";
  } finally {
    unsubscribe();
    ended.abort();
    await heartbeats;
  }
}

async function attempt(job: ClaimedJob, run: JobRun, lease: Lease): Promise<HandlerResult> {
  if (job.attempt > maxAttempts)
    throw new AppError("child_died", "it failed at every attempt, or its worker died");
  // The worker may have been stopped while it claimed the job.
  lease.signal.throwIfAborted();
  return { outcome: await run.handle(job, lease) };
}

async function keepLease(lease: Lease, run: JobRun, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await run.sleep(run.leaseMs / 3, ended);
    if (ended.aborted || !(await lease.beat())) return;
  }
}

const lateEnd = () => new AppError("aborted", "it did not end in time", { retryable: true });

type HandlerResult = { outcome: JobOutcome } | { error: unknown };

interface Settlement extends JobRun {
  lease: Lease;
  /** Reports to people that the job failed for good, and why. */
  reportFailure(error: unknown): Promise<void>;
  retry<T>(store: () => Promise<T>): Promise<T>;
}

/** Stores how the job ended. Rejects if the queue does not take it. */
async function settle(job: ClaimedJob, result: HandlerResult, how: Settlement): Promise<JobEnd> {
  if ("outcome" in result) return complete(job, result.outcome, how);
  const { lease, stop, log, retry, queue } = how;
  const { error } = result;
  if (stop.aborted) return release(job, "handed_back", workerStops, how);
  const why = lease.abortReason();
  if (why?.code === "superseded") return release(job, "superseded", why.message, how);
  if (why || isLeaseLost(error)) {
    log.warn({ ...jobFields(job), err: error }, "Job lost to another worker");
    return "lost";
  }
  const reason = errorLine(error);
  // An unknown error while nothing can be stored comes from the database: no attempt counts, and nobody is told.
  const isFault = error instanceof AppError || (await isAvailable(queue));
  const outage = isFault ? undefined : { delayMs: outageDelayMs(how), countAttempt: false };
  const again = nextTry(job, error, how) ?? outage;
  if (!again) return fail(job, error, how);
  await retry(() => queue.release(job, again.delayMs, reason, again));
  log.warn({ ...jobFields(job), err: error, ...again }, `Job will be tried again: ${reason}`);
  return again.countAttempt ? "retried" : "parked";
}

async function complete(job: ClaimedJob, outcome: JobOutcome, { queue, log, retry }: Settlement) {
  const { kind, reason } = outcome;
  const stored = await retry(() => queue.complete(job, outcome));
  log.info({ ...jobFields(job), outcome: kind, stored }, `Job ended, ${kind}: ${reason}`);
  return stored ? kind : "lost";
}

/** Releases the job without counting the attempt. One for an older head waits as long as the job that superseded it, so that ten pushes do not start it ten times. */
async function release(
  job: ClaimedJob,
  end: "handed_back" | "superseded",
  why: string,
  { queue, log, retry }: Settlement,
): Promise<JobEnd> {
  const newer = end === "superseded" ? await retry(() => queue.newer(job)) : undefined;
  const delayMs = newer?.dueInMs ?? 0;
  const stored = await retry(() => queue.release(job, delayMs, why, { countAttempt: false }));
  log.info({ ...jobFields(job), delayMs, stored }, `Job ${end.replace("_", " ")}: ${why}`);
  return stored ? end : "lost";
}

async function fail(job: ClaimedJob, error: unknown, how: Settlement): Promise<JobEnd> {
  const { queue, log, retry, stop, reportFailure } = how;
  const reason = errorLine(error);
  log.error({ ...jobFields(job), err: error }, `Job failed: ${reason}`);
  const obstacle = await reportFailure(error).catch((why: unknown) => {
    log.error({ ...jobFields(job), err: why }, `The failure was not reported on GitHub: ${errorLine(why)}`);
    return why;
  });
  if (obstacle !== undefined && stop.aborted) return release(job, "handed_back", workerStops, how);
  if (isOutage(obstacle, job, how)) {
    // People wait for the check run. The next attempt fails the same way, from the record, and reports it.
    await retry(() => queue.release(job, outageDelayMs(how), publicLine(error)));
    return "parked";
  }
  return complete(job, { kind: "failed", reason }, how);
}

const isLeaseLost = (error: unknown) => error instanceof AppError && error.code === "lease_lost";

const hour = 3_600_000;
/** How long after the job's first start errors of other systems cost no attempt. After a day, an operator has to look. */
const outagePatienceMs: Partial<Record<ErrorCode, number>> = {
  github_failed: 24 * hour,
  github_rate_limited: 24 * hour,
  repository_unavailable: 24 * hour,
  disk_full: 24 * hour,
  data_folder_unusable: 24 * hour,
  database_unreachable: 24 * hour,
  // Longer than anything is sent again (`createSender`).
  receiver_failed: 25 * hour,
  model_unavailable: hour,
  // Longer than the longest wait that a configuration may ask for.
  results_pending: hour,
};
/** Jobs that wait for the same model return within this time; the first of them finds out whether it answers again. */
const spreadMs = 5_000;

/** When a failed job is tried again, and whether the attempt counts; undefined if it is not. */
export function nextTry(job: ClaimedJob, error: unknown, clock: Clock) {
  if (!(error instanceof AppError) || !error.retryable || job.attempt > maxAttempts) return undefined;
  const countAttempt = !isOutage(error, job, clock);
  if (countAttempt && job.attempt === maxAttempts) return undefined;
  const { code, retryAfterMs } = error;
  const spread = code === "model_unavailable" ? Math.round(clock.random() * spreadMs) : 0;
  if (retryAfterMs !== undefined) return { delayMs: retryAfterMs + spread, countAttempt };
  return { delayMs: countAttempt ? backOffMs(job.attempt, clock) : outageDelayMs(clock), countAttempt };
}

function isOutage(error: unknown, job: ClaimedJob, { now }: Clock): boolean {
  if (!(error instanceof AppError) || !error.retryable) return false;
  const patienceMs = outagePatienceMs[error.code];
  // `startedAt` may come from another machine whose clock is ahead.
  return patienceMs !== undefined && now() - job.startedAt < patienceMs;
}

/** About a minute, spread so that not all jobs return in the same second. */
const outageDelayMs = ({ random }: Clock) => Math.round(45_000 + random() * 30_000);

/** Doubles from 5 seconds up to 5 minutes, minus up to a quarter, which keeps jobs of one outage apart. */
function backOffMs(attempt: number, { random }: Clock): number {
  const full = Math.min(5_000 * 2 ** (attempt - 1), 300_000);
  return Math.round(full * (0.75 + random() / 4));
}

type LeaseOptions = Pick<JobRun, "queue" | "leaseMs" | "sleep"> & Pick<RetryOptions, "warn">;

type Lease = ReturnType<typeof leaseOn>;

/** A worker's lease on one claimed job while its handler runs. `abort` ends it for another reason than `JobTools.signal` names. */
function leaseOn(job: ClaimedJob, { queue, leaseMs, sleep, warn }: LeaseOptions) {
  const ending = new AbortController();
  const { signal } = ending;
  /** The head that is reviewed, if known: from an event's task, or from the job's records. */
  let head = job.task.headSha;
  let handlerRuns = true;
  let isPublishing = false;
  const abort = (why: AppError) => ending.abort(why);
  const retry = <T>(attempt: () => Promise<T>) =>
    retryWhileUnavailable(attempt, { queue, sleep, warn, signal });

  async function renew(): Promise<boolean> {
    const isOurs = await queue.heartbeat(job, leaseMs);
    if (!isOurs) abort(new AppError("lease_lost", `Job ${job.id} now belongs to another worker`));
    return isOurs;
  }

  async function abortIfSuperseded(): Promise<void> {
    if (!handlerRuns || job.task.kind !== "review") return;
    const newer = await queue.newer(job);
    if (newer && newer.head !== head && handlerRuns)
      abort(new AppError("superseded", `the head is now ${newer.head}`, { retryable: true }));
  }

  /** Aborts a review whose head is no longer the newest, unless it is being published. Never rejects. */
  async function checkHead(): Promise<void> {
    if (isPublishing) return;
    await abortIfSuperseded().catch((error: unknown) => warn("Could not check for a newer head", error));
  }

  /** False also if the signal has fired. Waits for an unavailable queue. */
  async function hasLease(): Promise<boolean> {
    if (signal.aborted) return false;
    try {
      return (await retry(renew)) && !signal.aborted;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  return {
    signal,
    abort,
    checkHead,
    hasLease,

    /** The first reason for which the signal fired. */
    abortReason: (): AppError | undefined => (signal.aborted ? signal.reason : undefined),

    handlerEnded(): void {
      handlerRuns = false;
    },

    /** Renews the lease and checks for a newer head; false if another worker has the job. Never rejects. */
    async beat(): Promise<boolean> {
      try {
        if (!(await renew())) return false;
        await checkHead();
      } catch (error) {
        // Two more heartbeats fit into the lease, and no other worker can claim the job from a queue that cannot be written.
        warn("Heartbeat failed", error);
      }
      return true;
    },

    /** Also false if a newer head waits. After the first true, newer heads are only looked for when this is called again. */
    async mayPublish(): Promise<boolean> {
      if (!(await hasLease())) return false;
      await retry(abortIfSuperseded);
      if (signal.aborted) return false;
      isPublishing = true;
      return true;
    },

    /** Waits for an unavailable queue: model turns that are recorded were paid for. */
    async record(entry: TrajectoryEntry): Promise<void> {
      await retry(() => queue.record(job, entry));
      if ("head" in entry) head = entry.head;
    },

    recorded: (): Promise<TrajectoryEntry[]> => retry(() => queue.trajectory(job.id)),
  };
}
