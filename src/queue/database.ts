import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError, errorLine } from "../errors.ts";
import { migrations } from "./migrations.ts";

/** How long a writer waits for another process on the same file before it gives up. */
const busyTimeoutMs = 5_000;

/**
 * Opens `<folder>/queue.db`, creating folder (0700) and file (0600) as needed, and brings its schema up to date.
 * @throws AppError `data_folder_unusable`, naming the folder and what to do.
 */
export function openDatabase(folder: string): DatabaseSync {
  const place = resolve(folder);
  let database: DatabaseSync | undefined;
  try {
    // An existing folder keeps its mode: it may be shared, and the file itself is private.
    mkdirSync(place, { recursive: true, mode: 0o700 });
    const file = join(place, "queue.db");
    // SQLite gives its -wal and -shm files the mode of the database, so that one has to be right beforehand.
    closeSync(openSync(file, "a", 0o600));
    chmodSync(file, 0o600);
    database = new DatabaseSync(file);
    configure(database);
    migrate(database);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof AppError) throw error;
    throw new AppError("data_folder_unusable", `Cannot use the data folder ${place}: ${errorLine(error)}`, {
      remedy: "Make it a folder this user may write to, or name another one in HUNKWISE_DATA_DIR.",
      cause: error,
    });
  }
}

function configure(database: DatabaseSync): void {
  database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  database.exec("PRAGMA journal_mode = WAL");
  // FULL: a webhook is answered only when its job survives a power cut.
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA foreign_keys = ON");
  // Trajectories quote private code: what is purged must be gone from the file too.
  database.exec("PRAGMA secure_delete = ON");
}

function migrate(database: DatabaseSync): void {
  inTransaction(database, () => {
    const version = Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);
    if (version > migrations.length) {
      throw new AppError(
        "data_folder_unusable",
        `queue.db has schema ${version}, written by a newer Hunkwise`,
        {
          remedy: `Start that version again, or move queue.db away: this one knows schema ${migrations.length}.`,
        },
      );
    }
    for (const step of migrations.slice(version)) database.exec(step);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}

/** Runs `work` in a write transaction that other processes wait for; rolls back when it throws. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
