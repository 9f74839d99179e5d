import type { Database } from "./database.ts";
import type { StoresPlace } from "./open-stores.ts";
import { readPostgresDatabase } from "./postgres-database.ts";
import type { Runs } from "./runs.ts";
import { createRuns } from "./sql-runs.ts";
import { readSqliteDatabase } from "./sqlite-database.ts";

export interface OpenRuns extends Runs, AsyncDisposable {}

/**
 * Opens what is on record of runs, beside whatever processes work there, and changes nothing: not the schema either.
 * @throws AppError `data_folder_unusable`, `database_unreachable`: also where there is nothing of ours yet.
 */
export async function openRuns({ databaseUrl, dataFolder }: StoresPlace): Promise<OpenRuns> {
  const database: Database =
    databaseUrl === null ? readSqliteDatabase(dataFolder) : await readPostgresDatabase(databaseUrl);
  return { ...createRuns(database), [Symbol.asyncDispose]: () => database.close() };
}
