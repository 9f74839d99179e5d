import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, errorLine } from "../errors.ts";
import type { Database, Parameters, Result, Run } from "./database.ts";
import { sqliteMigrations } from "./sqlite-migrations.ts";

/** How long a writer waits for another process on the same file before it gives up, in milliseconds. */
const defaultPatienceMs = 5_000;
/** SQLite waits so long by itself, and nothing else happens in this process meanwhile. */
const busyTimeoutMs = 50;

/** SQLite's result codes that speak of the file; the higher bytes of a code only say more of why. */
const codes = { busy: 5, locked: 6, readOnly: 8, ioError: 10, full: 13, cannotOpen: 14 };
const ofTheFile: readonly number[] = Object.values(codes);
const codeOf = (error: unknown) => ((error as { errcode?: number }).errcode ?? 0) % 256;

/**
 * Opens `<folder>/queue.db`, creating folder (0700) and file (0600) as needed, and brings its schema up to date. Any number
 * of processes may open the same file.
 * @throws AppError `data_folder_unusable`, naming the folder and what to do.
 */
export function openSqliteDatabase(folder: string, options: { patienceMs?: number } = {}): Database {
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
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return new SqliteDatabase(database, file, options.patienceMs ?? defaultPatienceMs);
  } catch (error) {
    database?.close();
    if (error instanceof AppError) throw error;
    throw new AppError("data_folder_unusable", `Cannot use the data folder ${place}: ${errorLine(error)}`, {
      remedy: "Make it a folder this user may write to, or name another one in HUNKWISE_DATA_DIR.",
      cause: error,
    });
  }
}

/**
 * Opens `<folder>/queue.db` for reading alone.
 * @throws AppError `data_folder_unusable`, also where there is no such file.
 */
export function readSqliteDatabase(folder: string): Database {
  const file = join(resolve(folder), "queue.db");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true });
    database.exec(`PRAGMA busy_timeout = ${defaultPatienceMs}`);
    requireKnown(versionOf(database));
    return new SqliteDatabase(database, file, defaultPatienceMs);
  } catch (error) {
    database?.close();
    if (error instanceof AppError) throw error;
    throw new AppError("data_folder_unusable", `Cannot read ${file}: ${errorLine(error)}`, {
      remedy: "Name the data folder of the server in HUNKWISE_DATA_DIR.",
      cause: error,
    });
  }
}

function configure(database: DatabaseSync): void {
  database.exec(`PRAGMA busy_timeout = ${defaultPatienceMs}`);
  database.exec("PRAGMA journal_mode = WAL");
  // FULL: a webhook is answered only when its job survives a power cut.
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA foreign_keys = ON");
  // Trajectories quote private code: what is purged must be gone from the file too.
  database.exec("PRAGMA secure_delete = ON");
}

function migrate(database: DatabaseSync): void {
  database.exec("BEGIN IMMEDIATE");
  const version = versionOf(database);
  requireKnown(version);
  for (const step of sqliteMigrations.slice(version)) database.exec(step);
  database.exec(`PRAGMA user_version = ${sqliteMigrations.length}`);
  database.exec("COMMIT");
}

const versionOf = (database: DatabaseSync) =>
  Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);

function requireKnown(version: number): void {
  const known = sqliteMigrations.length;
  if (version <= known) return;
  throw new AppError("data_folder_unusable", `queue.db has schema ${version}, written by a newer Hunkwise`, {
    remedy: `Start that version again, or move queue.db away: this one knows schema ${known}.`,
  });
}

/**
 * The end of the line of this process: one statement or transaction after the other, whichever connection it is for. Two of
 * them on one connection would be one transaction, and on two connections of one file the second would stop the whole
 * process, the first included, until SQLite gives up.
 */
let line: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = line.then(work);
  line = done.catch(() => {});
  return done;
}

class SqliteDatabase implements Database {
  readonly #database: DatabaseSync;
  readonly #file: string;
  readonly #patienceMs: number;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, file: string, patienceMs: number) {
    this.#database = database;
    this.#file = file;
    this.#patienceMs = patienceMs;
  }

  run: Run = (sql, parameters = {}) => {
    const end = this.#endOfPatience();
    return inTurn(() => whenFree(() => this.#execute(sql, parameters), end)).catch(this.#explain);
  };

  transaction<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const end = this.#endOfPatience();
    return inTurn(async () => {
      await whenFree(() => this.#database.exec("BEGIN IMMEDIATE"), end);
      try {
        const result = await work(async (sql, parameters = {}) => this.#execute(sql, parameters));
        this.#database.exec("COMMIT");
        return result;
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        throw error;
      }
    }).catch(this.#explain);
  }

  close(): Promise<void> {
    return inTurn(async () => {
      if (this.#database.isOpen) this.#database.close();
    });
  }

  #execute(sql: string, parameters: Parameters): Result {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    if (statement.columns().length > 0) return { rows: statement.all(parameters), changes: 0 };
    return { rows: [], changes: Number(statement.run(parameters).changes) };
  }

  /** Counted from when something is asked for: a line of twenty is told that the file is locked no later than the first. */
  #endOfPatience(): number {
    return performance.now() + this.#patienceMs;
  }

  /** A full disk or a locked file is somebody's to mend; what was asked for may be asked for again then. */
  #explain = (error: unknown): never => {
    if (!ofTheFile.includes(codeOf(error))) throw error;
    throw new AppError("data_folder_unusable", `Cannot use ${this.#file}: ${errorLine(error)}`, {
      remedy: "Make room on its disk, or end the program that keeps it locked.",
      retryable: true,
      cause: error,
    });
  };
}

/** Tries again while another process is writing, and lets this one do other things between. */
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
