import { AppError, errorLine, publicLine } from "../errors.ts";
import type { Hold } from "./hold.ts";
import { isWell } from "./insist.ts";
import type { ClaimedJob, Outcome } from "./job.ts";
import { type Clock, isOutage, nextTry, outageDelayMs } from "./next-try.ts";
import type { Queue } from "./queue.ts";
import { jobFields, type WorkerLog } from "./worker-log.ts";

/**
 * How a worker was done with a job: with its outcome; to be tried again; to wait until an outage is over, which costs no
 * attempt; handed back because the worker stops; lost to another worker; or without its end being stored.
 */
export type JobEnd = Outcome["kind"] | "retried" | "parked" | "handed_back" | "lost" | "unstored";

/** What a handler came to. */
export type Ending = { outcome: Outcome } | { error: unknown };

export interface Settlement extends Clock {
  queue: Queue;
  log: WorkerLog;
  hold: Hold;
  /** The worker stops. */
  stop: AbortSignal;
  /** Tells people that the job failed for good, and why. */
  tell(error: unknown): Promise<void>;
  /** Has the queue asked again while it is away. */
  insist<T>(ask: () => Promise<T>): Promise<T>;
}

export const workerStops = "the worker stops";

/** Stores what the job came to. Rejects when the queue did not take it. */
export async function settle(job: ClaimedJob, ending: Ending, how: Settlement): Promise<JobEnd> {
  if ("outcome" in ending) return complete(job, ending.outcome, how);
  const { hold, stop, log, insist, queue } = how;
  const { error } = ending;
  if (stop.aborted) return handBack(job, how);
  if (hold.loosened?.code === "superseded") return handOver(job, hold.loosened.message, how);
  if (hold.loosened || isLeaseLost(error)) {
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

async function complete(job: ClaimedJob, outcome: Outcome, { queue, log, insist }: Settlement) {
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
