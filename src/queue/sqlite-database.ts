import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, errorLine } from "../errors.ts";
import type { Database, Parameters, Result, Run } from "./database.ts";

/**
 * The schema in SQLite, one step for each version; `PRAGMA user_version` is the number of applied steps. A released step is
 * never edited. Times are milliseconds since 1970. Postgres has the same tables (postgres-database.ts).
 */
export const sqliteMigrations: readonly string[] = [
  `
  CREATE TABLE delivery (
    id          TEXT PRIMARY KEY,
    event       TEXT NOT NULL,
    action      TEXT,
    received_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX delivery_received_at ON delivery (received_at);

  CREATE TABLE job (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,
    id             TEXT NOT NULL UNIQUE,
    task           TEXT NOT NULL,
    serial_key     TEXT NOT NULL,
    coalesces      INTEGER NOT NULL,
    priority       INTEGER NOT NULL,
    delivery_id    TEXT,
    state          TEXT NOT NULL CHECK (state IN ('waiting', 'active', 'done', 'failed')),
    attempts       INTEGER NOT NULL DEFAULT 0,
    fence          INTEGER NOT NULL DEFAULT 0,
    worker         TEXT,
    lease_until    INTEGER,
    run_after      INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    outcome        TEXT,
    reason         TEXT
  ) STRICT;
  CREATE INDEX job_open ON job (state, priority DESC, seq) WHERE state IN ('waiting', 'active');
  CREATE INDEX job_ended_at ON job (ended_at) WHERE ended_at IS NOT NULL;
  -- The two promises of the queue, kept by the database itself.
  CREATE UNIQUE INDEX job_one_active ON job (serial_key) WHERE state = 'active';
  CREATE UNIQUE INDEX job_one_waiting ON job (serial_key) WHERE state = 'waiting' AND coalesces = 1;

  CREATE TABLE trajectory (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id     TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    fence      INTEGER NOT NULL,
    entry      TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX trajectory_job ON trajectory (job_id, number);
  `,
  `
  -- What model turns took; a day is a calendar day (UTC), written as 2026-11-22.
  CREATE TABLE spending (
    day          TEXT NOT NULL,
    installation INTEGER NOT NULL,
    repository   INTEGER NOT NULL,
    pull         INTEGER NOT NULL,
    tokens       INTEGER NOT NULL,
    cost_usd     REAL NOT NULL,
    PRIMARY KEY (day, installation, repository, pull)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- When the first of the tasks came that a waiting job joins; null when its quiet time begins with the next one.
  ALTER TABLE job ADD COLUMN joins_since INTEGER;
  -- Whether the head of a waiting job's task came after the last claim of a job of its key.
  ALTER TABLE job ADD COLUMN has_new_head INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- What statements ask of a task is a column. A task that is no JSON is failed when its turn comes.
  ALTER TABLE job ADD COLUMN installation INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN repository INTEGER;
  ALTER TABLE job ADD COLUMN head TEXT;
  -- When the present task was first claimed.
  ALTER TABLE job ADD COLUMN started_at INTEGER;
  UPDATE job SET
    installation = coalesce(CAST(json_extract(task, '$.repository.installation') AS INTEGER), 0),
    repository = CAST(json_extract(task, '$.repository.id') AS INTEGER),
    head = json_extract(task, '$.headSha')
  WHERE json_valid(task);
  DROP INDEX job_open;
  CREATE INDEX job_key ON job (serial_key);
  -- Jobs are counted each time that somebody asks for the process's health.
  CREATE INDEX job_state ON job (state);
  CREATE INDEX job_of_installation ON job (installation, priority, seq);
  -- Holds all that the choice of the next installation asks of the jobs that wait.
  CREATE INDEX job_waiting ON job (priority, installation, run_after, seq) WHERE state = 'waiting';
  CREATE INDEX job_active ON job (installation, lease_until) WHERE state = 'active';

  -- The number of an installation's last claim; they are numbered in the order in which they were made.
  CREATE TABLE last_claim (
    installation INTEGER PRIMARY KEY,
    number       INTEGER NOT NULL
  ) STRICT;

  -- From when on the next write may begin, and until when GitHub asked for silence.
  CREATE TABLE pace (
    installation INTEGER PRIMARY KEY,
    free_at      INTEGER NOT NULL,
    held_until   INTEGER NOT NULL
  ) STRICT;
  -- Each request that creates content, for an hour.
  CREATE TABLE creation (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    installation INTEGER NOT NULL,
    at           INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX creation_at ON creation (installation, at);

  CREATE TABLE note (
    name       TEXT PRIMARY KEY,
    text       TEXT NOT NULL,
    written_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Written to find out whether anything can be.
  CREATE TABLE pulse (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL
  ) STRICT;
  `,
  `
  -- What was done of that which has a limit: a person's commands of an hour, the reviews of a day.
  CREATE TABLE tally (
    installation INTEGER NOT NULL,
    scope        TEXT NOT NULL,
    name         TEXT NOT NULL,
    repository   INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (installation, scope, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tally_at ON tally (installation, scope, at);
  `,
  `
  -- What is on record stays as it was written, until it is deleted as a whole.
  CREATE TRIGGER trajectory_is_append_only BEFORE UPDATE ON trajectory
    BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END;
  `,
  `
  -- Nor is it written over by an entry of its number, or thinned out while its run is under way.
  CREATE TRIGGER trajectory_keeps_its_numbers BEFORE INSERT ON trajectory
    WHEN EXISTS (SELECT 1 FROM trajectory WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END;
  CREATE TRIGGER trajectory_stays_whole BEFORE DELETE ON trajectory
    WHEN (SELECT state FROM job WHERE id = OLD.job_id) = 'active'
    BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END;
  `,
  `
  -- What a run has cost so far: every turn of its model, also of failed attempts. Turns without a known price are in \`unpriced\`.
  ALTER TABLE job ADD COLUMN pull INTEGER;
  ALTER TABLE job ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN completion_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN cost_usd REAL NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
  UPDATE job SET pull = CAST(json_extract(task, '$.pull') AS INTEGER) WHERE json_valid(task);

  -- Figures: ids, counts, times and names of repositories, never code, nor text of a model. They outlive the records.

  -- The last known name of each repository that a run was about.
  CREATE TABLE repository (
    id           INTEGER PRIMARY KEY,
    installation INTEGER NOT NULL,
    owner        TEXT NOT NULL,
    name         TEXT NOT NULL
  ) STRICT;
  CREATE INDEX repository_installation ON repository (installation);

  -- A job about a pull request that has ended. What only reviews have is null in other runs and in those that ended before.
  CREATE TABLE run (
    seq               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    installation      INTEGER NOT NULL,
    repository        INTEGER NOT NULL,
    pull              INTEGER NOT NULL,
    kind              TEXT NOT NULL,
    origin            TEXT NOT NULL,
    requested_by      TEXT,
    head              TEXT,
    outcome           TEXT NOT NULL,
    reason            TEXT,
    attempts          INTEGER NOT NULL,
    stored_at         INTEGER NOT NULL,
    started_at        INTEGER,
    ended_at          INTEGER NOT NULL,
    hunks_total       INTEGER,
    hunks_served      INTEGER,
    is_complete       INTEGER,
    findings          INTEGER,
    posted            INTEGER,
    turns             INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    cached_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_usd          REAL NOT NULL,
    unpriced          INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX run_ended ON run (ended_at, seq);
  CREATE INDEX run_of_repository ON run (repository, ended_at, seq);
  CREATE INDEX run_of_pull ON run (repository, pull, seq);
  CREATE INDEX run_of_head ON run (head);

  -- What became of a pull request that was reviewed. A week is named by its Monday (UTC).
  CREATE TABLE pull (
    repository   INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    installation INTEGER NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('open', 'closed', 'merged')),
    closed_at    INTEGER,
    closed_week  TEXT,
    PRIMARY KEY (repository, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX pull_closed ON pull (repository, closed_week, state);
  CREATE INDEX pull_closed_at ON pull (closed_at);

  -- A finding that people saw, by its comment or, if it has none, by its id.
  CREATE TABLE finding (
    repository   INTEGER NOT NULL,
    pull         INTEGER NOT NULL,
    key          TEXT NOT NULL,
    id           TEXT NOT NULL,
    installation INTEGER NOT NULL,
    comment      INTEGER,
    place        TEXT NOT NULL CHECK (place IN ('comment', 'annotation', 'summary')),
    severity     TEXT NOT NULL,
    category     TEXT,
    source       TEXT,
    rule         TEXT,
    state        TEXT NOT NULL CHECK (state IN ('open', 'outdated', 'fixed', 'withdrawn', 'dismissed')),
    dismissed_by TEXT,
    dismissed_how TEXT,
    thumbs_up    INTEGER NOT NULL DEFAULT 0,
    thumbs_down  INTEGER NOT NULL DEFAULT 0,
    delivered_at INTEGER NOT NULL,
    decided_at   INTEGER,
    PRIMARY KEY (repository, pull, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX finding_delivered ON finding (delivered_at, repository);
  CREATE INDEX finding_of_repository ON finding (repository, delivered_at);
  CREATE INDEX finding_of_state ON finding (repository, state, delivered_at);

  -- The words of a finding: a record, which is deleted like other records.
  CREATE TABLE finding_text (
    repository INTEGER NOT NULL,
    pull       INTEGER NOT NULL,
    key        TEXT NOT NULL,
    title      TEXT NOT NULL,
    path       TEXT NOT NULL,
    line       INTEGER,
    url        TEXT,
    reason     TEXT,
    written_at INTEGER NOT NULL,
    PRIMARY KEY (repository, pull, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX finding_text_written ON finding_text (written_at);

  -- The findings of the pull requests that closed in a week, counted by one dimension: computed from \`finding\` and \`pull\`.
  CREATE TABLE outcome_week (
    repository  INTEGER NOT NULL,
    week        TEXT NOT NULL,
    dimension   TEXT NOT NULL,
    value       TEXT NOT NULL,
    delivered   INTEGER NOT NULL,
    fixed       INTEGER NOT NULL,
    dismissed   INTEGER NOT NULL,
    ignored     INTEGER NOT NULL,
    unclear     INTEGER NOT NULL,
    withdrawn   INTEGER NOT NULL DEFAULT 0,
    unmerged    INTEGER NOT NULL,
    thumbs_up   INTEGER NOT NULL,
    thumbs_down INTEGER NOT NULL,
    PRIMARY KEY (repository, dimension, week, value)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX outcome_week_week ON outcome_week (week);

  -- What models took in a week.
  CREATE TABLE model_week (
    repository        INTEGER NOT NULL,
    week              TEXT NOT NULL,
    model             TEXT NOT NULL,
    turns             INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    cached_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_usd          REAL NOT NULL,
    unpriced          INTEGER NOT NULL,
    PRIMARY KEY (repository, week, model)
  ) STRICT, WITHOUT ROWID;

  -- The runs that ended in a week: computed from \`run\`.
  CREATE TABLE run_week (
    repository INTEGER NOT NULL,
    week       TEXT NOT NULL,
    reviews    INTEGER NOT NULL,
    quiet      INTEGER NOT NULL,
    complete   INTEGER NOT NULL,
    skipped    INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    other      INTEGER NOT NULL,
    PRIMARY KEY (repository, week)
  ) STRICT, WITHOUT ROWID;

  -- The workers that live, as they last said.
  CREATE TABLE worker (
    name        TEXT PRIMARY KEY,
    version     TEXT NOT NULL,
    concurrency INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Who is logged in on the pages: the hash of a session's id, never the id, nor a token.
  CREATE TABLE session (
    hash       TEXT PRIMARY KEY,
    account    INTEGER NOT NULL,
    login      TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX session_account ON session (account);

  -- The runs that are on record already. What their models took is only in their records.
  INSERT INTO repository (id, installation, owner, name)
    SELECT repository, installation, json_extract(task, '$.repository.owner'), json_extract(task, '$.repository.name')
    FROM job WHERE seq IN (SELECT max(seq) FROM job WHERE repository IS NOT NULL AND json_valid(task) GROUP BY repository);
  INSERT INTO run (seq, id, installation, repository, pull, kind, origin, requested_by, head, outcome, reason, attempts, stored_at,
      started_at, ended_at, turns, prompt_tokens, cached_tokens, completion_tokens, cost_usd, unpriced)
    SELECT seq, id, installation, repository, pull, CASE WHEN json_extract(task, '$.kind') = 'command' THEN json_extract(task, '$.command.name') WHEN json_extract(task, '$.mode') = 'dry_run' THEN 'dry_run' ELSE json_extract(task, '$.kind') END, CASE WHEN json_extract(task, '$.again') = 1 THEN 'rerun' WHEN json_extract(task, '$.requestedBy') IS NOT NULL OR json_extract(task, '$.author') IS NOT NULL THEN 'comment' ELSE 'event' END, coalesce(json_extract(task, '$.requestedBy'), json_extract(task, '$.author')), head, outcome,
      CASE WHEN outcome IN ('skipped', 'superseded') THEN reason END, attempts, created_at, started_at, ended_at, 0, 0, 0, 0, 0, 0
    FROM job WHERE repository IS NOT NULL AND pull IS NOT NULL AND ended_at IS NOT NULL AND outcome IS NOT NULL AND started_at IS NOT NULL;
  `,
];

/** How long a writer waits for another process on the same file, in milliseconds. */
const defaultPatienceMs = 5_000;
/** How long SQLite itself waits. It blocks the process meanwhile. */
const busyTimeoutMs = 50;

/** SQLite's result codes about the file. The higher bytes of a code are details. */
const codes = { busy: 5, locked: 6, readOnly: 8, ioError: 10, full: 13, cannotOpen: 14 };
const ofTheFile: readonly number[] = Object.values(codes);
const codeOf = (error: unknown) => ((error as { errcode?: number }).errcode ?? 0) % 256;

/**
 * Opens `<folder>/queue.db`, creates folder (0700) and file (0600) as needed, and migrates the schema. Any number of processes
 * may open the same file.
 * @throws AppError `data_folder_unusable`, naming the folder and the remedy.
 */
export function openSqliteDatabase(folder: string, options: { patienceMs?: number } = {}): Database {
  const path = resolve(folder);
  let database: DatabaseSync | undefined;
  try {
    // An existing folder keeps its mode: it may be shared. The file itself is private.
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const file = join(path, "queue.db");
    // SQLite gives its -wal and -shm files the mode of the database, so that mode must be right first.
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
    throw new AppError("data_folder_unusable", `Cannot use the data folder ${path}: ${errorLine(error)}`, {
      remedy: "Make it a folder that this user can write to, or set HUNKWISE_DATA_DIR to another folder.",
      cause: error,
    });
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
    return new SqliteDatabase(database, file, defaultPatienceMs);
  } catch (error) {
    database?.close();
    if (error instanceof AppError) throw error;
    throw new AppError("data_folder_unusable", `Cannot read ${file}: ${errorLine(error)}`, {
      remedy: "Set HUNKWISE_DATA_DIR to the data folder of the server.",
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
  // Trajectories quote private code, so purged rows must be gone from the file too.
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
    remedy: `This version supports schema ${known}. Start the newer version again, or move queue.db to another folder.`,
  });
}

/**
 * Serialises all statements and transactions of this process, on any connection. Two transactions on one connection would be one; on two
 * connections of one file the second would block the whole process, including the first, until SQLite gives up.
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
    const end = this.#deadline();
    return inTurn(() => whenFree(() => this.#execute(sql, parameters), end)).catch(this.#explain);
  };

  transaction<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const end = this.#deadline();
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

  /** Counted from the call: the last of twenty waiting callers learns as soon as the first that the file is locked. */
  #deadline(): number {
    return performance.now() + this.#patienceMs;
  }

  /** A full disk or a locked file needs an operator; the call may be retried. */
  #explain = (error: unknown): never => {
    if (!ofTheFile.includes(codeOf(error))) throw error;
    throw new AppError("data_folder_unusable", `Cannot use ${this.#file}: ${errorLine(error)}`, {
      remedy: "Free space on its disk, or stop the program that locks it.",
      retryable: true,
      cause: error,
    });
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
