import { setImmediate } from "node:timers/promises";

/** Values by parameter name. */
export type Parameters = Readonly<Record<string, string | number | null>>;

export interface Result {
  rows: Record<string, unknown>[];
  /** Rows that were inserted, updated or deleted. */
  changes: number;
}

/** Runs one statement of the SQL that both databases understand; parameters are written `:name`. */
export type Run = (sql: string, parameters?: Parameters) => Promise<Result>;

/** The database interface for the stores. A change resolves only when it is on disk. */
export interface Database {
  /** Outside of any transaction. */
  run: Run;
  /**
   * Runs `work` while no other transaction of any process runs, and rolls back if it rejects. `work` may only await its own
   * statements, because all other transactions wait.
   */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T>;
  /** Idempotent. */
  close(): Promise<void>;
}

/**
 * Deletes in batches until nothing is left. Resolves to the number of rows. The event loop runs between batches: SQLite deletes and
 * overwrites in this thread, which takes a minute after a month of reviews.
 */
export async function inBatches(deleteSome: () => Promise<Pick<Result, "changes">>): Promise<number> {
  let rows = 0;
  for (;;) {
    const { changes } = await deleteSome();
    if (changes === 0) return rows;
    rows += changes;
    await setImmediate();
  }
}
