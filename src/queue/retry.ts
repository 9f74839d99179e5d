import { AppError, errorLine } from "../errors.ts";
import type { Queue } from "./queue.ts";
import type { WorkerLog } from "./run-job.ts";
import type { Spending } from "./usage.ts";

interface RetryOptions {
  queue: Pick<Queue, "check">;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Nobody waits any longer: what was said last is the answer. */
  signal: AbortSignal;
  /** Told of the first refusal. */
  warn(message: string, error: unknown): void;
}

/** Between two tries; the pause doubles from the first to the second. */
const [leastPauseMs, mostPauseMs] = [500, 15_000];
/** So often something may fail while others can be stored: then waiting does not help. */
const mostFaults = 3;

/**
 * Asks the database again and again while it is away: a full disk, a locked file, a server that is started anew. So a job waits
 * for it, and no turn is lost that was paid for. Only for what may be done twice; a step that is recorded again replaces itself.
 * An AppError that is not retryable is an answer.
 */
export async function retryWhileUnavailable<T>(ask: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { queue, sleep, signal, warn } = options;
  let faults = 0;
  for (let pauseMs = leastPauseMs; ; pauseMs = Math.min(2 * pauseMs, mostPauseMs)) {
    try {
      return await ask();
    } catch (error) {
      const isAnswer = error instanceof AppError && !error.retryable;
      if (isAnswer || signal.aborted) throw error;
      if ((await isWell(queue)) && ++faults === mostFaults) throw error;
      if (pauseMs === leastPauseMs) warn("The queue is away, the job waits for it", error);
      await sleep(pauseMs, signal);
    }
  }
}

/** Whether anything can be stored at all. */
export async function isWell(queue: Pick<Queue, "check">): Promise<boolean> {
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

interface RetryingSpendingOptions extends Pick<RetryOptions, "queue"> {
  /** The process stops: nobody waits any longer. */
  signal: AbortSignal;
  log: Pick<WorkerLog, "warn">;
  sleep?: RetryOptions["sleep"];
}

/**
 * Spending that waits for a database that is away: a turn that was paid for and could not be charged would be lost, and paid
 * for again. Where only the answer was lost, a turn is charged twice: budgets end early, not late.
 */
export function retryingSpending(spending: Spending, options: RetryingSpendingOptions): Spending {
  const { queue, signal, log, sleep = sleepUnlessAborted } = options;
  const warn = (message: string, err: unknown) => log.warn({ err }, `${message}: ${errorLine(err)}`);
  const ask = <T>(one: () => Promise<T>) => retryWhileUnavailable(one, { queue, signal, sleep, warn });
  return {
    charge: (by, usage, at) => ask(() => spending.charge(by, usage, at)),
    spentOn: (day, scope) => ask(() => spending.spentOn(day, scope)),
  };
}
