import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError, errorLine } from "../errors.ts";
import { Hold } from "./hold.ts";
import { insist } from "./insist.ts";
import { type ClaimedJob, maxAttempts, type Outcome } from "./job.ts";
import type { Queue } from "./queue.ts";
import { type Ending, type JobEnd, settle, workerStops } from "./settle-job.ts";
import { jobFields, type WorkerLog } from "./worker-log.ts";

export { jobFields } from "./worker-log.ts";

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
  stillOurs(): Promise<boolean>;
  /** Whether the job is still this worker's; prolongs the lease when it is. Asked right before each write to GitHub. */
  isHeld(): Promise<boolean>;
}

/** Told what becomes of jobs; times in milliseconds. */
export interface JobWatch {
  /** A job was begun for the first time, so long after it was stored. */
  began(job: ClaimedJob, waitedMs: number): void;
  ended(job: ClaimedJob, how: JobEnd, tookMs: number): void;
}

export interface JobRun {
  queue: Queue;
  handle: (job: ClaimedJob, tools: JobTools) => Promise<Outcome>;
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
  const hold = new Hold(job, { ...run, warn });
  const onStop = () => hold.letGo(new AppError("aborted", workerStops, { retryable: true }));
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
      insist: (ask) => insist(ask, { ...run, signal: run.graceOver, warn }),
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

async function attempt(job: ClaimedJob, run: JobRun, hold: Hold): Promise<Ending> {
  if (job.attempt > maxAttempts)
    throw new AppError("child_died", "it failed at every attempt, or its worker died");
  // Claimed while the worker was told to stop.
  hold.signal.throwIfAborted();
  return { outcome: await run.handle(job, toolsFor(hold)) };
}

/** Beats until the run ended or the job is another worker's. */
async function keepLease(hold: Hold, run: JobRun, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await run.sleep(run.leaseMs / 3, ended);
    if (ended.aborted || !(await hold.beat())) return;
  }
}

function toolsFor(hold: Hold): JobTools {
  return {
    signal: hold.signal,
    record: (entry) => hold.record(entry),
    recorded: () => hold.recorded(),
    stillOurs: () => hold.stillOurs(),
    isHeld: () => hold.isHeld(),
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
