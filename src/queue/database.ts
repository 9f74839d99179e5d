/** Values by the names that stand in the SQL behind a colon. */
export type Parameters = Readonly<Record<string, string | number | null>>;

export interface Result {
  rows: Record<string, unknown>[];
  /** Rows that were inserted, updated or deleted. */
  changes: number;
}

/** Runs one statement of the SQL that both databases understand; parameters are written `:name`. */
export type Run = (sql: string, parameters?: Parameters) => Promise<Result>;

/** What the stores need of a database. Whatever changes something resolves only when it is on disk. */
export interface Database {
  /** By itself, beside running transactions. */
  run: Run;
  /**
   * Runs `work` while no other transaction of any process runs; undone when it rejects. It may wait for nothing but the
   * statements it is given: everybody else waits meanwhile.
   */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T>;
  /** May be called again. */
  close(): Promise<void>;
}
