import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError, type ErrorCode, errorLine, publicLine } from "../errors.ts";
import { type ClaimedJob, type JobOutcome, maxAttempts } from "./job.ts";
import { Lease } from "./lease.ts";
import type { Queue } from "./queue.ts";
import { isWell, retryWhileUnavailable } from "./retry.ts";

interface Clock {
  /** Milliseconds since 1970. */
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
}

/** When and how a failed job is tried again. */
interface NextTry {
  delayMs: number;
  countAttempt: boolean;
}

const hour = 3_600_000;
/**
 * Faults that no attempt of ours can be blamed for, and for how long after a job was begun they count none: of GitHub
 * or the way to it, of a full disk or a database that is away for a day, then somebody has to look; of a model that is left
 * alone for an hour, for people wait for its word.
 */
const outagePatienceMs: Partial<Record<ErrorCode, number>> = {
  github_failed: 24 * hour,
  github_rate_limited: 24 * hour,
  repository_unavailable: 24 * hour,
  disk_full: 24 * hour,
  data_folder_unusable: 24 * hour,
  database_unreachable: 24 * hour,
  model_unavailable: hour,
};
/** Jobs that a model's pause sent away come back within so long: one of them finds out whether it is over. */
const spreadMs = 5_000;

/** When and how a failed job is tried again; undefined when it is not. */
export function nextTry(job: ClaimedJob, error: unknown, clock: Clock): NextTry | undefined {
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
  // Another machine's clock may have set the beginning, and be ahead of this one.
  return patienceMs !== undefined && now() - job.startedAt < patienceMs;
}

/** About a minute: an outage ends some time, and nobody wants all jobs back in the same second. */
const outageDelayMs = ({ random }: Clock) => Math.round(45_000 + random() * 30_000);

/** Doubles from 5 seconds up to 5 minutes; jitter of a quarter keeps jobs of one outage apart. */
function backOffMs(attempt: number, { random }: Clock): number {
  const full = Math.min(5_000 * 2 ** (attempt - 1), 300_000);
  return Math.round(full * (0.75 + random() / 4));
}

/** The part of a logger that a worker needs. */
export interface WorkerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The fields that every log line about a job carries. */
export function jobFields({ id, task, deliveryId }: ClaimedJob): Record<string, unknown> {
  const repo = "repository" in task ? `${task.repository.owner}/${task.repository.name}` : undefined;
  const pull = "pull" in task ? task.pull : undefined;
  return { job: id, delivery: deliveryId ?? undefined, repo, pull, head: task.headSha ?? undefined };
}

/**
 * How a worker was done with a job: with its outcome; to be tried again; to wait until an outage is over, which costs no
 * attempt; handed back because the worker stops; lost to another worker; or without its end being stored.
 */
type JobEnd = JobOutcome["kind"] | "retried" | "parked" | "handed_back" | "lost" | "unstored";

/** What a handler came to. */
type Ending = { outcome: JobOutcome } | { error: unknown };

interface Settlement extends Clock {
  queue: Queue;
  log: WorkerLog;
  hold: Lease;
  /** The worker stops. */
  stop: AbortSignal;
  /** Tells people that the job failed for good, and why. */
  tell(error: unknown): Promise<void>;
  /** Has the queue asked again while it is away. */
  insist<T>(ask: () => Promise<T>): Promise<T>;
}

const workerStops = "the worker stops";

/** Stores what the job came to. Rejects when the queue did not take it. */
async function settle(job: ClaimedJob, ending: Ending, how: Settlement): Promise<JobEnd> {
  if ("outcome" in ending) return complete(job, ending.outcome, how);
  const { hold, stop, log, insist, queue } = how;
  const { error } = ending;
  if (stop.aborted) return handBack(job, how);
  if (hold.abortReason?.code === "superseded") return handOver(job, hold.abortReason.message, how);
  if (hold.abortReason || isLeaseLost(error)) {
    log.warn({ ...jobFields(job), err: error }, "Job lost to another worker");
    return "lost";
  }
  const reason = errorLine(error);
  const again = nextTry(job, error, how) ?? (await whileQueueIsAway(error, how));
  if (!again) return fail(job, error, how);
  await insist(() => queue.release(job, again.delayMs, reason, again));
  log.warn({ ...jobFields(job), err: error, ...again }, `Job will be tried again: ${reason}`);
  return again.countAttempt ? "retried" : "parked";
}

async function complete(job: ClaimedJob, outcome: JobOutcome, { queue, log, insist }: Settlement) {
  const { kind, reason } = outcome;
  const stored = await insist(() => queue.complete(job, outcome));
  log.info({ ...jobFields(job), outcome: kind, stored }, `Job ended, ${kind}: ${reason}`);
  return stored ? kind : "lost";
}

async function handBack(job: ClaimedJob, { queue, log, insist }: Settlement): Promise<JobEnd> {
  const stored = await insist(() => queue.release(job, 0, workerStops, { countAttempt: false }));
  log.info({ ...jobFields(job), stored }, `Job handed back: ${workerStops}`);
  return stored ? "handed_back" : "lost";
}

/**
 * Gives a review of an older head back. A coalescing one takes the newer task over. A command reads the newest head by itself:
 * it waits out the quiet time with the job that superseded it, or each of ten pushes in a row would begin it once more.
 */
async function handOver(job: ClaimedJob, why: string, { queue, log, insist }: Settlement): Promise<JobEnd> {
  const newer = await insist(() => queue.newer(job));
  const delayMs = newer?.dueInMs ?? 0;
  const stored = await insist(() => queue.release(job, delayMs, why, { countAttempt: false }));
  log.info({ ...jobFields(job), delayMs, stored }, `Job superseded: ${why}`);
  return stored ? "superseded" : "lost";
}

/** A fault of ours while nothing can be stored is one of the database: no attempt is to blame, and nobody is told of it. */
async function whileQueueIsAway(error: unknown, { queue, ...clock }: Settlement) {
  if (error instanceof AppError || (await isWell(queue))) return undefined;
  return { delayMs: outageDelayMs(clock), countAttempt: false };
}

async function fail(job: ClaimedJob, error: unknown, how: Settlement): Promise<JobEnd> {
  const { queue, log, insist, stop } = how;
  const reason = errorLine(error);
  log.error({ ...jobFields(job), err: error }, `Job failed: ${reason}`);
  const untold = await tellPeople(job, error, how);
  if (untold !== undefined && stop.aborted) return handBack(job, how);
  if (isOutage(untold, job, how)) {
    // Whoever waits for the check run must hear of it: the next attempt ends in the same way, from the record, and tells them.
    await insist(() => queue.release(job, outageDelayMs(how), publicLine(error)));
    return "parked";
  }
  return complete(job, { kind: "failed", reason }, how);
}

/** Resolves to what kept people from being told. */
async function tellPeople(job: ClaimedJob, why: unknown, { tell, log }: Settlement): Promise<unknown> {
  try {
    await tell(why);
    return undefined;
  } catch (error) {
    log.error({ ...jobFields(job), err: error }, `Nobody was told of the failure: ${errorLine(error)}`);
    return error;
  }
}

const isLeaseLost = (error: unknown) => error instanceof AppError && error.code === "lease_lost";

/** What a handler gets beside its job. */
export interface JobTools {
  /**
   * Fires when the job is no longer ours to do: `lease_lost`, `superseded` (a review whose head is not the newest any more;
   * the job begins anew with that one), or `aborted`, because the worker stops.
   */
  signal: AbortSignal;
  /** Appends to the job's trajectory; rejects with `lease_lost` when another worker has the job. */
  record(entry: TrajectoryEntry): Promise<void>;
  /** The job's trajectory so far, of all attempts, oldest first. */
  recorded(): Promise<TrajectoryEntry[]>;
  /**
   * Asked before anything visible is done. Prolongs the lease when the answer is yes; from then on a newer head does not fire
   * `signal` any more, and what was begun in public is ended.
   */
  mayPublish(): Promise<boolean>;
  /** Whether the job is still this worker's; prolongs the lease when it is. Asked right before each write to GitHub. */
  hasLease(): Promise<boolean>;
}

/** Told what becomes of jobs; times in milliseconds. */
export interface JobWatch {
  /** A job was begun for the first time, so long after it was stored. */
  began(job: ClaimedJob, waitedMs: number): void;
  ended(job: ClaimedJob, how: JobEnd, tookMs: number): void;
}

interface JobRun {
  queue: Queue;
  handle: (job: ClaimedJob, tools: JobTools) => Promise<JobOutcome>;
  giveUp?: (job: ClaimedJob, error: unknown, tools: JobTools) => Promise<void>;
  watch?: JobWatch;
  log: WorkerLog;
  leaseMs: number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  random: () => number;
  /** Milliseconds since 1970. */
  now: () => number;
  /** The worker stops: abort and hand back. */
  stop: AbortSignal;
  /** It waited long enough: hand back although the handler still runs. */
  graceOver: AbortSignal;
  /** Has `look` called whenever there may be news in the queue; answers what ends that. */
  onNews: (look: () => void) => () => void;
}

/** Runs one claimed job to its end, whatever that is. Never rejects. */
export async function runJob(job: ClaimedJob, run: JobRun): Promise<void> {
  const { now, watch, log } = run;
  const startedAt = now();
  // What was handed back before has waited once already.
  if (job.fence === 1) watch?.began(job, Math.max(0, startedAt - job.createdAt));
  log.info(jobFields(job), `Job started, attempt ${job.attempt}`);
  const how = await holdAndRun(job, run);
  watch?.ended(job, how, now() - startedAt);
}

async function holdAndRun(job: ClaimedJob, run: JobRun): Promise<JobEnd> {
  const warn = (message: string, err: unknown) =>
    run.log.warn({ ...jobFields(job), err }, `${message}: ${errorLine(err)}`);
  const hold = new Lease(job, { ...run, warn });
  const onStop = () => hold.abort(new AppError("aborted", workerStops, { retryable: true }));
  const ended = new AbortController();
  if (run.stop.aborted) onStop();
  run.stop.addEventListener("abort", onStop, { signal: ended.signal });
  const heart = keepLease(hold, run, ended.signal);
  const deaf = run.onNews(() => void hold.look());
  const inGrace = <T>(work: Promise<T>) => Promise.race([work, graceEnds(run.graceOver, ended.signal)]);
  try {
    const ending = await inGrace(attempt(job, run, hold)).catch((error: unknown) => ({ error }));
    hold.settle();
    return await settle(job, ending, {
      ...run,
      hold,
      tell: (error) => inGrace(run.giveUp?.(job, error, toolsFor(hold)) ?? Promise.resolve()),
      insist: (ask) => retryWhileUnavailable(ask, { ...run, signal: run.graceOver, warn }),
    });
  } catch (error) {
    // The lease runs out, and the job is taken up again.
    run.log.error(
      { ...jobFields(job), err: error },
      `The end of the job was not stored: ${errorLine(error)}`,
    );
    return "unstored";
  } finally {
    deaf();
    ended.abort();
    await heart;
  }
}

async function attempt(job: ClaimedJob, run: JobRun, hold: Lease): Promise<Ending> {
  if (job.attempt > maxAttempts)
    throw new AppError("child_died", "it failed at every attempt, or its worker died");
  // Claimed while the worker was told to stop.
  hold.signal.throwIfAborted();
  return { outcome: await run.handle(job, toolsFor(hold)) };
}

/** Beats until the run ended or the job is another worker's. */
async function keepLease(hold: Lease, run: JobRun, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await run.sleep(run.leaseMs / 3, ended);
    if (ended.aborted || !(await hold.beat())) return;
  }
}

function toolsFor(hold: Lease): JobTools {
  return {
    signal: hold.signal,
    record: (entry) => hold.record(entry),
    recorded: () => hold.recorded(),
    mayPublish: () => hold.mayPublish(),
    hasLease: () => hold.hasLease(),
  };
}

/** Rejects when nobody waits any longer for what still runs. */
function graceEnds(graceOver: AbortSignal, ended: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const over = () => reject(new AppError("aborted", "it did not end in time", { retryable: true }));
  if (graceOver.aborted) over();
  graceOver.addEventListener("abort", over, { signal: ended });
  return promise;
}
