import { setImmediate, setTimeout as sleepFor } from "node:timers/promises";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";

export type Parameters = Readonly<Record<string, string | number | null>>;

export interface Result {
  rows: Record<string, unknown>[];
  /** Rows that were inserted, updated or deleted. */
  changes: number;
}

/** Runs one statement of the SQL that both databases understand; parameters are written `:name`, and one that is left out is null. */
export type Run = (sql: string, parameters?: Parameters) => Promise<Result>;

/** Runs a statement with those of the parameters that it has: SQLite refuses others. */
export function ask(run: Run, sql: string, parameters: Parameters): Promise<Result> {
  const names = new Set(Array.from(sql.matchAll(/:(\w+)/g), ([, name]) => name));
  return run(sql, Object.fromEntries(Object.entries(parameters).filter(([name]) => names.has(name))));
}

/** The rows of a statement in their shape. */
export const readRows = async <Row>(
  run: Run,
  Row: z.ZodType<Row>,
  sql: string,
  parameters: Parameters = {},
): Promise<Row[]> => z.array(Row).parse((await ask(run, sql, parameters)).rows);

/** The database interface for the stores. A change resolves only when it is on disk. */
export interface Database {
  run: Run;
  /**
   * Runs `work` while no other transaction of any process runs, and rolls back if it rejects. `work` may only await its own
   * statements, because all other transactions wait.
   */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** Deletes in batches until nothing is left, with other work between them: SQLite deletes in this thread. Resolves to the number of rows. */
export async function inBatches(deleteSome: () => Promise<Pick<Result, "changes">>): Promise<number> {
  let rows = 0;
  for (;;) {
    const { changes } = await deleteSome();
    if (changes === 0) return rows;
    rows += changes;
    await setImmediate();
  }
}

type Checked = { check(): Promise<void> };

export interface RetryOptions {
  queue: Checked;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Ends the retries: the last error is thrown. */
  signal: AbortSignal;
  warn(message: string, error: unknown): void;
}

/** Pauses double from the first to the second. */
const [firstPauseMs, longestPauseMs] = [500, 15_000];
/** After this many failures while the database is available, waiting does not help. */
const maxFaults = 3;

/**
 * Retries while the database is unavailable, so that no model turn that was paid for is lost. Only for idempotent work. Throws an AppError
 * that is not retryable at once.
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

export async function isAvailable(queue: Checked): Promise<boolean> {
  return queue.check().then(
    () => true,
    () => false,
  );
}

/** Resolves after `ms`, or as soon as the signal fires. */
export const sleepUnlessAborted = (ms: number, signal: AbortSignal): Promise<void> =>
  sleepFor(ms, undefined, { signal }).catch(() => {});
