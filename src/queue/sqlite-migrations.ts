/**
 * The schema in SQLite, one step a version; `PRAGMA user_version` counts the steps that were taken. A step that was released
 * is never edited. Times are milliseconds since 1970. Postgres has the same tables (postgres-migrations.ts).
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
  -- Each process keeps its own limits on what it sends to GitHub.
  DROP TABLE pace;
  DROP TABLE creation;
  DELETE FROM note WHERE name LIKE 'refused-reads/%' OR name LIKE 'refused-writes/%';
  `,
];
