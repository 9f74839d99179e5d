import type { Database } from "./database.ts";
import { createNotes } from "./sql-notes.ts";
import { SqlQueue } from "./sql-queue.ts";
import { createSpending } from "./sql-spending.ts";
import { createTally } from "./sql-tally.ts";
import { openSqliteDatabase } from "./sqlite-database.ts";
import type { Stores } from "./stores.ts";

export interface StoreOptions {
  /** Jobs of one installation that may run at a time; as many as there are workers where it is left out. */
  installationConcurrency?: number;
  /** Milliseconds since 1970; injected by tests. */
  now?: () => number;
}

export interface StoresPlace {
  /** A Postgres database; null for the file `queue.db` in the data folder. */
  databaseUrl: string | null;
  dataFolder: string;
}

/**
 * Opens all that is kept in the database, and brings its schema up to date. Any number of processes may do so at once.
 * @throws AppError `data_folder_unusable`; `database_unreachable`, which never shows the password.
 */
export async function openStores(options: StoresPlace & StoreOptions): Promise<Stores> {
  const { databaseUrl, dataFolder } = options;
  if (databaseUrl === null) return openSqliteStores(dataFolder, options);
  // Its client is loaded where there is a Postgres alone: every server would start later.
  const { openPostgresDatabase } = await import("./postgres-database.ts");
  return createStores(await openPostgresDatabase(databaseUrl), options);
}

/** The stores in the file `queue.db` of the data folder, at once. */
export const openSqliteStores = (dataFolder: string, options: StoreOptions = {}): Stores =>
  createStores(openSqliteDatabase(dataFolder), options);

/** All stores over one database. */
export function createStores(database: Database, options: StoreOptions): Stores {
  const { installationConcurrency = Number.MAX_SAFE_INTEGER, now = Date.now } = options;
  return {
    queue: new SqlQueue({ database, installationConcurrency, now }),
    spending: createSpending(database),
    notes: createNotes(database, now),
    tally: createTally(database),
    close: () => database.close(),
  };
}
