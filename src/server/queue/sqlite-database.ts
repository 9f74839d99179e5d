import { closeSync, constants, fchmodSync, mkdirSync, openSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, errorLine } from "../../core/errors.ts";
import type { Database, Parameters, Result } from "./database.ts";
import { type Dialect, schemaVersion, tables } from "./schema.ts";

const dialect: Dialect = {
  integer: "INTEGER",
  real: "REAL",
  counter: "INTEGER PRIMARY KEY AUTOINCREMENT",
  byBytes: "",
  table: "STRICT",
  keyTable: "STRICT, WITHOUT ROWID",
};

/** A record is never changed, replaced by an entry of its number, or thinned out during its run. */
const triggers = `
  CREATE TRIGGER trajectory_is_append_only BEFORE UPDATE ON trajectory
    BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END;
  CREATE TRIGGER trajectory_keeps_its_numbers BEFORE INSERT ON trajectory
    WHEN EXISTS (SELECT 1 FROM trajectory WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END;
  CREATE TRIGGER trajectory_stays_whole BEFORE DELETE ON trajectory
    WHEN (SELECT state FROM job WHERE id = OLD.job_id) = 'active'
    BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END;
`;

/** How long a writer waits for another process on the same file, in milliseconds. */
const defaultPatienceMs = 5_000;
/** How long SQLite itself waits. It blocks the process meanwhile. */
const busyTimeoutMs = 50;

/** SQLite's result codes about the file. The higher bytes of a code are details. */
const codes = { busy: 5, locked: 6, readOnly: 8, ioError: 10, full: 13, cannotOpen: 14 };
const damaged: readonly number[] = [11, 26];
const startAnew =
  "move queue.db, queue.db-wal and queue.db-shm to another folder, and keep app.json, which is the App.";
const ofTheFile: readonly number[] = Object.values(codes);
const codeOf = (error: unknown) => ((error as { errcode?: number }).errcode ?? 0) % 256;

/**
 * Opens `<folder>/queue.db` and creates folder (0700), file (0600) and tables. Any number of processes may open the same file.
 * @throws AppError `data_folder_unusable`
 */
export function openSqliteDatabase(folder: string, options: { patienceMs?: number } = {}): Database {
  const path = resolve(folder);
  const file = join(path, "queue.db");
  let database: DatabaseSync | undefined;
  try {
    // An existing folder keeps its mode: it may be shared. The file itself is private.
    mkdirSync(path, { recursive: true, mode: 0o700 });
    // SQLite gives its -wal and -shm files the mode of the database, so that mode must be right first.
    // Through a link, this would change another file, which whoever may write to the folder has chosen.
    const opened = openSync(file, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o600);
    fchmodSync(opened, 0o600);
    closeSync(opened);
    database = new DatabaseSync(file);
    configure(database);
    createTables(database);
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return withConnection(database, file, options.patienceMs ?? defaultPatienceMs);
  } catch (error) {
    database?.close();
    const remedy = damaged.includes(codeOf(error))
      ? `queue.db is damaged: ${startAnew}`
      : "Make it a folder that this user can write to, or set HUNKWISE_DATA_DIR to another folder.";
    throw unusable(`Cannot use the data folder ${path}`, error, { remedy });
  }
}

/**
 * Opens `<folder>/queue.db` read-only.
 * @throws AppError `data_folder_unusable`, also if there is no such file
 */
export function readSqliteDatabase(folder: string): Database {
  const file = join(resolve(folder), "queue.db");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true });
    database.exec(`PRAGMA busy_timeout = ${defaultPatienceMs}`);
    requireKnown(versionOf(database));
    return withConnection(database, file, defaultPatienceMs);
  } catch (error) {
    database?.close();
    const remedy = "Set HUNKWISE_DATA_DIR to the data folder of the server.";
    throw unusable(`Cannot read ${file}`, error, { remedy });
  }
}

function unusable(what: string, cause: unknown, how: { remedy: string; retryable?: true }): AppError {
  if (cause instanceof AppError) return cause;
  return new AppError("data_folder_unusable", `${what}: ${errorLine(cause)}`, { ...how, cause });
}

function configure(database: DatabaseSync): void {
  database.exec(`PRAGMA busy_timeout = ${defaultPatienceMs}`);
  database.exec("PRAGMA journal_mode = WAL");
  // FULL: a webhook is answered only when its job survives a power cut.
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA foreign_keys = ON");
  // Trajectories quote private code, so purged rows must be gone from the file too.
  database.exec("PRAGMA secure_delete = ON");
}

function createTables(database: DatabaseSync): void {
  database.exec("BEGIN IMMEDIATE");
  if (versionOf(database) === 0) {
    database.exec(tables(dialect) + triggers);
    database.exec(`PRAGMA user_version = ${schemaVersion}`);
  }
  requireKnown(versionOf(database));
  database.exec("COMMIT");
}

const versionOf = (database: DatabaseSync) =>
  Number(database.prepare("PRAGMA user_version").get()?.user_version);

function requireKnown(version: number): void {
  if (version === schemaVersion) return;
  throw new AppError("data_folder_unusable", `queue.db has schema ${version}, written by another version`, {
    remedy: `This version supports schema ${schemaVersion}. Start the other version again, or ${startAnew}`,
  });
}

/**
 * Serializes all statements of this process, on any connection. Two transactions on one connection would be one; on two connections of one file
 * the second would block the whole process, including the first, until SQLite gives up.
 */
let line: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = line.then(work);
  line = done.catch(() => {});
  return done;
}

function withConnection(connection: DatabaseSync, file: string, patienceMs: number): Database {
  const statements = new Map<string, StatementSync>();
  /** Counted from the call: the last of twenty waiting callers learns as soon as the first that the file is locked. */
  const deadline = () => performance.now() + patienceMs;

  function execute(sql: string, parameters: Parameters = {}): Result {
    let statement = statements.get(sql);
    if (!statement) {
      statement = connection.prepare(sql);
      statements.set(sql, statement);
    }
    if (statement.columns().length > 0) return { rows: statement.all(parameters), changes: 0 };
    return { rows: [], changes: Number(statement.run(parameters).changes) };
  }

  /** A full disk or a locked file needs an operator; the call may be retried. */
  function explain(error: unknown): never {
    if (!ofTheFile.includes(codeOf(error))) throw error;
    const remedy = "Free space on its disk, or stop the program that locks it.";
    throw unusable(`Cannot use ${file}`, error, { remedy, retryable: true });
  }

  return {
    run(sql, parameters) {
      const end = deadline();
      return inTurn(() => whenFree(() => execute(sql, parameters), end)).catch(explain);
    },

    transaction(work) {
      const end = deadline();
      return inTurn(async () => {
        await whenFree(() => connection.exec("BEGIN IMMEDIATE"), end);
        try {
          const result = await work(async (sql, parameters) => execute(sql, parameters));
          connection.exec("COMMIT");
          return result;
        } catch (error) {
          if (connection.isTransaction) connection.exec("ROLLBACK");
          throw error;
        }
      }).catch(explain);
    },

    close: () =>
      inTurn(async () => {
        if (connection.isOpen) connection.close();
      }),
  };
}

/** Retries while another process is writing, without blocking this one. */
async function whenFree<T>(attempt: () => T, end: number): Promise<T> {
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (codeOf(error) !== codes.busy || performance.now() >= end) throw error;
      await sleep(20);
    }
  }
}
