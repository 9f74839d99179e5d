import { AppError } from "../errors.ts";
import type { Queue } from "./queue.ts";

export interface Insistence {
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
export async function insist<T>(ask: () => Promise<T>, options: Insistence): Promise<T> {
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
