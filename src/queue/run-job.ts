import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError, type ErrorCode, errorLine, publicLine } from "../errors.ts";
import { Hold } from "./hold.ts";
import { type ClaimedJob, maxAttempts, type Outcome } from "./job.ts";
import type { Queue } from "./queue.ts";

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

/** The part of a logger that a worker needs. */
export interface WorkerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface JobRun {
  queue: Queue;
  handle: (job: ClaimedJob, tools: JobTools) => Promise<Outcome>;
  giveUp?: (job: ClaimedJob, reason: string, tools: JobTools) => Promise<void>;
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

const workerStops = "the worker stops";
type Ending = { outcome: Outcome } | { error: unknown };

/** Runs one claimed job to its end, whatever that is. Never rejects. */
export async function runJob(job: ClaimedJob, run: JobRun): Promise<void> {
  const fields = jobFields(job);
  const warn = (message: string, err: unknown) =>
    run.log.warn({ ...fields, err }, `${message}: ${errorLine(err)}`);
  const hold = new Hold(job, { ...run, warn });
  const onStop = () => hold.letGo(new AppError("aborted", workerStops, { retryable: true }));
  const ended = new AbortController();
  if (run.stop.aborted) onStop();
  run.stop.addEventListener("abort", onStop, { signal: ended.signal });
  const heart = keepLease(hold, run, ended.signal);
  const deaf = run.onNews(() => void hold.look());
  try {
    run.log.info(fields, `Job started, attempt ${job.attempt}`);
    const ending = await Promise.race([attempt(job, run, hold), graceEnds(run.graceOver, ended.signal)]);
    hold.settle();
    await settle(job, ending, run, hold);
  } catch (error) {
    // The queue itself failed: the lease runs out and the job is taken up again.
    run.log.error({ ...fields, err: error }, `The end of the job was not stored: ${errorLine(error)}`);
  } finally {
    deaf();
    ended.abort();
    await heart;
  }
}

async function attempt(job: ClaimedJob, run: JobRun, hold: Hold): Promise<Ending> {
  if (job.attempt > maxAttempts)
    return { error: new AppError("child_died", "it failed at every attempt, or its worker died") };
  try {
    return { outcome: await run.handle(job, toolsFor(job, run, hold)) };
  } catch (error) {
    return { error };
  }
}

async function settle(job: ClaimedJob, ending: Ending, run: JobRun, hold: Hold): Promise<void> {
  const { queue, log } = run;
  const fields = jobFields(job);
  if ("outcome" in ending) {
    const { kind, reason } = ending.outcome;
    const stored = await queue.complete(job, ending.outcome);
    return log.info({ ...fields, outcome: kind, stored }, `Job ended, ${kind}: ${reason}`);
  }
  if (run.stop.aborted) {
    await queue.release(job, 0, workerStops, { countAttempt: false });
    return log.info(fields, `Job handed back: ${workerStops}`);
  }
  if (hold.loosened?.code === "superseded") return handOver(job, hold.loosened.message, run);
  const { error } = ending;
  const reason = errorLine(error);
  if (hold.loosened || isLeaseLost(error))
    return log.warn({ ...fields, err: error }, "Job lost to another worker");
  const again = nextTry(job, error, run);
  if (again) {
    await queue.release(job, again.delayMs, reason, again);
    return log.warn({ ...fields, err: error, ...again }, `Job will be tried again: ${reason}`);
  }
  log.error({ ...fields, err: error }, `Job failed: ${reason}`);
  const untold = await tellPeople(job, publicLine(error), run, hold);
  if (isOutage(untold, job, run)) {
    // Whoever waits for the check run must hear of it: the next claim does nothing but tell them.
    await queue.release(job, outageDelayMs(run), publicLine(error));
    return;
  }
  await queue.complete(job, { kind: "failed", reason });
}

/**
 * Gives a review of an older head back. A coalescing one takes the newer task over. A command reads the newest head by itself:
 * it waits out the quiet time with the job that superseded it, or each of ten pushes in a row would begin it once more.
 */
async function handOver(job: ClaimedJob, why: string, { queue, log }: JobRun): Promise<void> {
  const newer = await queue.newer(job);
  const delayMs = newer?.dueInMs ?? 0;
  const stored = await queue.release(job, delayMs, why, { countAttempt: false });
  log.info({ ...jobFields(job), delayMs, stored }, `Job superseded: ${why}`);
}

/** When and how a failed job is tried again; undefined when it is not. */
function nextTry(
  job: ClaimedJob,
  error: unknown,
  run: JobRun,
): { delayMs: number; countAttempt: boolean } | undefined {
  if (!(error instanceof AppError) || !error.retryable || job.attempt > maxAttempts) return undefined;
  if (isOutage(error, job, run)) {
    return { delayMs: error.retryAfterMs ?? outageDelayMs(run), countAttempt: false };
  }
  if (job.attempt === maxAttempts) return undefined;
  return { delayMs: error.retryAfterMs ?? backOffMs(job.attempt, run.random()), countAttempt: true };
}

/** Faults of GitHub or the way to it, which no attempt of ours can be blamed for. */
const outageCodes = new Set<ErrorCode>(["github_failed", "github_rate_limited", "repository_unavailable"]);
/** After a day of it, somebody has to look. */
const outagePatienceMs = 24 * 3_600_000;

function isOutage(error: unknown, job: ClaimedJob, { now }: JobRun): boolean {
  const isFault = error instanceof AppError && error.retryable && outageCodes.has(error.code);
  return isFault && now() - job.createdAt < outagePatienceMs;
}

/** About a minute: an outage ends some time, and nobody wants all jobs back in the same second. */
const outageDelayMs = ({ random }: JobRun) => Math.round(45_000 + random() * 30_000);

/** Resolves to what kept people from being told. */
async function tellPeople(job: ClaimedJob, reason: string, run: JobRun, hold: Hold): Promise<unknown> {
  try {
    await run.giveUp?.(job, reason, toolsFor(job, run, hold));
    return undefined;
  } catch (error) {
    run.log.error({ ...jobFields(job), err: error }, `Nobody was told of the failure: ${errorLine(error)}`);
    return error;
  }
}

/** Beats until the run ended or the job is another worker's. */
async function keepLease(hold: Hold, run: JobRun, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await run.sleep(run.leaseMs / 3, ended);
    if (ended.aborted || !(await hold.beat())) return;
  }
}

function toolsFor(job: ClaimedJob, run: JobRun, hold: Hold): JobTools {
  return {
    signal: hold.signal,
    record: (entry) => hold.record(entry),
    recorded: () => run.queue.trajectory(job.id),
    stillOurs: () => hold.stillOurs(),
    isHeld: () => hold.isHeld(),
  };
}

/** Doubles from 5 seconds up to 5 minutes; jitter of a quarter keeps jobs of one outage apart. */
function backOffMs(attempt: number, random: number): number {
  const full = Math.min(5_000 * 2 ** (attempt - 1), 300_000);
  return Math.round(full * (0.75 + random / 4));
}

const isLeaseLost = (error: unknown) => error instanceof AppError && error.code === "lease_lost";

function graceEnds(graceOver: AbortSignal, ended: AbortSignal): Promise<Ending> {
  const ending = { error: new AppError("aborted", "the handler did not end in time", { retryable: true }) };
  if (graceOver.aborted) return Promise.resolve(ending);
  return new Promise((resolve) =>
    graceOver.addEventListener("abort", () => resolve(ending), { signal: ended }),
  );
}

/** The fields that every log line about a job carries. */
export function jobFields({ id, task, deliveryId }: ClaimedJob): Record<string, unknown> {
  const repo = "repository" in task ? `${task.repository.owner}/${task.repository.name}` : undefined;
  const pull = "pull" in task ? task.pull : undefined;
  return { job: id, delivery: deliveryId ?? undefined, repo, pull, head: task.headSha ?? undefined };
}
