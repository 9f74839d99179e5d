import type { Database } from "./database.ts";
import { createFigures } from "./figures.ts";
import { Queue } from "./queue.ts";
import { openSqliteDatabase } from "./sqlite-database.ts";
import { createQuotas, createSpending } from "./usage.ts";

export type Stores = ReturnType<typeof createStores>;
export type Notes = ReturnType<typeof createNotes>;

/** Jobs of one installation that all workers of an App together run at a time: one installation must not keep the others waiting. */
export const installationConcurrency = 10;

export interface StoreOptions {
  /** Jobs of one installation that may run at a time; default: no limit. */
  installationConcurrency?: number;
  now?: () => number;
}

export interface DatabaseLocation {
  /** A Postgres database; null for the file `queue.db` in the data folder. */
  databaseUrl: string | null;
  dataFolder: string;
}

/** Opens the database and creates its tables. @throws AppError `data_folder_unusable`, `database_unreachable`; never with the password. */
export async function openStores(options: DatabaseLocation & StoreOptions): Promise<Stores> {
  const { databaseUrl, dataFolder } = options;
  if (databaseUrl === null) return openSqliteStores(dataFolder, options);
  // Loaded lazily, so that a server without Postgres starts faster.
  const { openPostgresDatabase } = await import("./postgres-database.ts");
  return createStores(await openPostgresDatabase(databaseUrl), options);
}

export const openSqliteStores = (dataFolder: string, options: StoreOptions = {}): Stores =>
  createStores(openSqliteDatabase(dataFolder), options);

export function createStores(database: Database, options: StoreOptions) {
  const { installationConcurrency = Number.MAX_SAFE_INTEGER, now = Date.now } = options;
  return {
    queue: new Queue(database, installationConcurrency, now),
    spending: createSpending(database),
    notes: createNotes(database, now),
    quotas: createQuotas(database),
    figures: createFigures(database, now),
    close: () => database.close(),
  };
}

const readNote = "SELECT text FROM note WHERE name = :name";
const writeNote = `INSERT INTO note (name, text, written_at) VALUES (:name, :text, :now)
  ON CONFLICT (name) DO UPDATE SET text = excluded.text, written_at = excluded.written_at`;
const removeNote = "DELETE FROM note WHERE name = :name";

/**
 * A key-value store for facts that can be found out again. Every method resolves only when its effect is on disk. The queue's purge deletes notes
 * by age; one that is still needed has to be written again.
 */
function createNotes(database: Database, now: () => number) {
  return {
    /** Null if there is none. */
    async read(name: string): Promise<string | null> {
      const row = (await database.run(readNote, { name })).rows[0];
      return row ? String(row.text) : null;
    },

    async write(name: string, text: string): Promise<void> {
      await database.run(writeNote, { name, text, now: now() });
    },

    async remove(name: string): Promise<void> {
      await database.run(removeNote, { name });
    },
  };
}
