/**
 * The schema in Postgres, one step a version; the table `version` of the schema counts the steps that were taken. A step
 * that was released is never edited. Times are milliseconds since 1970. SQLite has the same tables (sqlite-migrations.ts),
 * with their reasons.
 */
export const postgresMigrations: readonly string[] = [
  `
  CREATE TABLE delivery (
    id          TEXT PRIMARY KEY,
    event       TEXT NOT NULL,
    action      TEXT,
    received_at BIGINT NOT NULL
  );
  CREATE INDEX delivery_received_at ON delivery (received_at);

  CREATE TABLE job (
    seq            BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id             TEXT NOT NULL UNIQUE,
    task           TEXT NOT NULL,
    installation   BIGINT NOT NULL,
    repository     BIGINT,
    head           TEXT,
    serial_key     TEXT NOT NULL,
    coalesces      BIGINT NOT NULL,
    priority       BIGINT NOT NULL,
    delivery_id    TEXT,
    state          TEXT NOT NULL CHECK (state IN ('waiting', 'active', 'done', 'failed')),
    attempts       BIGINT NOT NULL DEFAULT 0,
    fence          BIGINT NOT NULL DEFAULT 0,
    worker         TEXT,
    lease_until    BIGINT,
    run_after      BIGINT NOT NULL,
    joins_since    BIGINT,
    has_new_head   BIGINT NOT NULL DEFAULT 0,
    created_at     BIGINT NOT NULL,
    started_at     BIGINT,
    ended_at       BIGINT,
    outcome        TEXT,
    reason         TEXT
  );
  CREATE INDEX job_ended_at ON job (ended_at) WHERE ended_at IS NOT NULL;
  CREATE UNIQUE INDEX job_one_active ON job (serial_key) WHERE state = 'active';
  CREATE UNIQUE INDEX job_one_waiting ON job (serial_key) WHERE state = 'waiting' AND coalesces = 1;
  CREATE INDEX job_key ON job (serial_key);
  CREATE INDEX job_state ON job (state);
  CREATE INDEX job_of_installation ON job (installation, priority, seq);
  -- Holds all that the choice of the next installation asks of the jobs that wait.
  CREATE INDEX job_waiting ON job (priority, installation, run_after, seq) WHERE state = 'waiting';
  CREATE INDEX job_active ON job (installation, lease_until) WHERE state = 'active';

  CREATE TABLE trajectory (
    number     BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    job_id     TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    fence      BIGINT NOT NULL,
    entry      TEXT NOT NULL,
    created_at BIGINT NOT NULL
  );
  CREATE INDEX trajectory_job ON trajectory (job_id, number);

  CREATE TABLE spending (
    day          TEXT NOT NULL,
    installation BIGINT NOT NULL,
    repository   BIGINT NOT NULL,
    pull         BIGINT NOT NULL,
    tokens       BIGINT NOT NULL,
    cost_usd     DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (day, installation, repository, pull)
  );

  CREATE TABLE last_claim (
    installation BIGINT PRIMARY KEY,
    number       BIGINT NOT NULL
  );

  CREATE TABLE pace (
    installation BIGINT PRIMARY KEY,
    free_at      BIGINT NOT NULL,
    held_until   BIGINT NOT NULL
  );
  CREATE TABLE creation (
    number       BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    installation BIGINT NOT NULL,
    at           BIGINT NOT NULL
  );
  CREATE INDEX creation_at ON creation (installation, at);

  CREATE TABLE note (
    name       TEXT PRIMARY KEY,
    text       TEXT NOT NULL,
    written_at BIGINT NOT NULL
  );

  CREATE TABLE pulse (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    at BIGINT NOT NULL
  );
  `,
  `
  CREATE TABLE tally (
    installation BIGINT NOT NULL,
    scope        TEXT NOT NULL,
    name         TEXT NOT NULL,
    repository   BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    PRIMARY KEY (installation, scope, name)
  );
  CREATE INDEX tally_at ON tally (installation, scope, at);
  `,
  `
  CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RAISE EXCEPTION ''a record is never changed''; END';
  CREATE TRIGGER trajectory_is_append_only BEFORE UPDATE ON trajectory
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
  `,
  `
  CREATE FUNCTION refuse_thinning() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
    IF (SELECT state FROM job WHERE id = OLD.job_id) = ''active'' THEN
      RAISE EXCEPTION ''a record is never changed'';
    END IF;
    RETURN OLD;
  END';
  CREATE TRIGGER trajectory_stays_whole BEFORE DELETE ON trajectory
    FOR EACH ROW EXECUTE FUNCTION refuse_thinning();
  CREATE TRIGGER trajectory_is_not_emptied BEFORE TRUNCATE ON trajectory
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  `,
  `
  -- Each process keeps its own limits on what it sends to GitHub.
  DROP TABLE pace;
  DROP TABLE creation;
  DELETE FROM note WHERE name LIKE 'refused-reads/%' OR name LIKE 'refused-writes/%';
  `,
];
