import pg from "pg";
import { z } from "zod";
import { AppError } from "../errors.ts";
import type { Database, Parameters, Result, Run } from "./database.ts";

/**
 * The schema in Postgres, one step for each version; the table `version` holds the number of applied steps. A released step is
 * never edited. Times are milliseconds since 1970. SQLite has the same tables (sqlite-database.ts),
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
  ALTER TABLE job ADD COLUMN pull BIGINT;
  ALTER TABLE job ADD COLUMN turns BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN prompt_tokens BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN completion_tokens BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN cost_usd DOUBLE PRECISION NOT NULL DEFAULT 0;
  ALTER TABLE job ADD COLUMN unpriced BIGINT NOT NULL DEFAULT 0;
  UPDATE job SET pull = CAST(CAST(task AS json) ->> 'pull' AS BIGINT) WHERE task LIKE '{"kind":%}';


  CREATE TABLE repository (
    id           BIGINT PRIMARY KEY,
    installation BIGINT NOT NULL,
    owner        TEXT NOT NULL,
    name         TEXT NOT NULL
  );
  CREATE INDEX repository_installation ON repository (installation);

  CREATE TABLE run (
    seq               BIGINT PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    installation      BIGINT NOT NULL,
    repository        BIGINT NOT NULL,
    pull              BIGINT NOT NULL,
    kind              TEXT NOT NULL,
    origin            TEXT NOT NULL,
    requested_by      TEXT,
    head              TEXT COLLATE "C",
    outcome           TEXT NOT NULL,
    reason            TEXT,
    attempts          BIGINT NOT NULL,
    stored_at         BIGINT NOT NULL,
    started_at        BIGINT,
    ended_at          BIGINT NOT NULL,
    hunks_total       BIGINT,
    hunks_served      BIGINT,
    is_complete       BIGINT,
    findings          BIGINT,
    posted            BIGINT,
    turns             BIGINT NOT NULL,
    prompt_tokens     BIGINT NOT NULL,
    cached_tokens     BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cost_usd          DOUBLE PRECISION NOT NULL,
    unpriced          BIGINT NOT NULL
  );
  CREATE INDEX run_ended ON run (ended_at, seq);
  CREATE INDEX run_of_repository ON run (repository, ended_at, seq);
  CREATE INDEX run_of_pull ON run (repository, pull, seq);
  CREATE INDEX run_of_head ON run (head);

  CREATE TABLE pull (
    repository   BIGINT NOT NULL,
    number       BIGINT NOT NULL,
    installation BIGINT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('open', 'closed', 'merged')),
    closed_at    BIGINT,
    closed_week  TEXT,
    PRIMARY KEY (repository, number)
  );
  CREATE INDEX pull_closed ON pull (repository, closed_week, state);
  CREATE INDEX pull_closed_at ON pull (closed_at);

  CREATE TABLE finding (
    repository   BIGINT NOT NULL,
    pull         BIGINT NOT NULL,
    key          TEXT NOT NULL,
    id           TEXT NOT NULL,
    installation BIGINT NOT NULL,
    comment      BIGINT,
    place        TEXT NOT NULL CHECK (place IN ('comment', 'annotation', 'summary')),
    severity     TEXT NOT NULL,
    category     TEXT,
    source       TEXT,
    rule         TEXT,
    state        TEXT NOT NULL CHECK (state IN ('open', 'outdated', 'fixed', 'withdrawn', 'dismissed')),
    dismissed_by TEXT,
    dismissed_how TEXT,
    thumbs_up    BIGINT NOT NULL DEFAULT 0,
    thumbs_down  BIGINT NOT NULL DEFAULT 0,
    delivered_at BIGINT NOT NULL,
    decided_at   BIGINT,
    PRIMARY KEY (repository, pull, key)
  );
  CREATE INDEX finding_delivered ON finding (delivered_at, repository);
  CREATE INDEX finding_of_repository ON finding (repository, delivered_at);
  CREATE INDEX finding_of_state ON finding (repository, state, delivered_at);

  CREATE TABLE finding_text (
    repository BIGINT NOT NULL,
    pull       BIGINT NOT NULL,
    key        TEXT NOT NULL,
    title      TEXT NOT NULL,
    path       TEXT NOT NULL,
    line       BIGINT,
    url        TEXT,
    reason     TEXT,
    written_at BIGINT NOT NULL,
    PRIMARY KEY (repository, pull, key)
  );
  CREATE INDEX finding_text_written ON finding_text (written_at);

  CREATE TABLE outcome_week (
    repository  BIGINT NOT NULL,
    week        TEXT NOT NULL,
    dimension   TEXT NOT NULL,
    value       TEXT NOT NULL,
    delivered   BIGINT NOT NULL,
    fixed       BIGINT NOT NULL,
    dismissed   BIGINT NOT NULL,
    ignored     BIGINT NOT NULL,
    unclear     BIGINT NOT NULL,
    withdrawn   BIGINT NOT NULL DEFAULT 0,
    unmerged    BIGINT NOT NULL,
    thumbs_up   BIGINT NOT NULL,
    thumbs_down BIGINT NOT NULL,
    PRIMARY KEY (repository, dimension, week, value)
  );
  CREATE INDEX outcome_week_week ON outcome_week (week);

  CREATE TABLE model_week (
    repository        BIGINT NOT NULL,
    week              TEXT NOT NULL,
    model             TEXT NOT NULL,
    turns             BIGINT NOT NULL,
    prompt_tokens     BIGINT NOT NULL,
    cached_tokens     BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cost_usd          DOUBLE PRECISION NOT NULL,
    unpriced          BIGINT NOT NULL,
    PRIMARY KEY (repository, week, model)
  );

  CREATE TABLE run_week (
    repository BIGINT NOT NULL,
    week       TEXT NOT NULL,
    reviews    BIGINT NOT NULL,
    quiet      BIGINT NOT NULL,
    complete   BIGINT NOT NULL,
    skipped    BIGINT NOT NULL,
    failed     BIGINT NOT NULL,
    other      BIGINT NOT NULL,
    PRIMARY KEY (repository, week)
  );

  CREATE TABLE worker (
    name        TEXT PRIMARY KEY,
    version     TEXT NOT NULL,
    concurrency BIGINT NOT NULL,
    started_at  BIGINT NOT NULL,
    seen_at     BIGINT NOT NULL
  );

  CREATE TABLE session (
    hash       TEXT PRIMARY KEY,
    account    BIGINT NOT NULL,
    login      TEXT NOT NULL,
    expires_at BIGINT NOT NULL
  );
  CREATE INDEX session_account ON session (account);

  INSERT INTO repository (id, installation, owner, name)
    SELECT repository, installation, CAST(task AS json) #>> '{repository,owner}', CAST(task AS json) #>> '{repository,name}'
    FROM job WHERE seq IN (SELECT max(seq) FROM job WHERE repository IS NOT NULL AND task LIKE '{"kind":%}' GROUP BY repository);
  INSERT INTO run (seq, id, installation, repository, pull, kind, origin, requested_by, head, outcome, reason, attempts, stored_at,
      started_at, ended_at, turns, prompt_tokens, cached_tokens, completion_tokens, cost_usd, unpriced)
    SELECT seq, id, installation, repository, pull, CASE WHEN (CAST(task AS json) #>> '{kind}') = 'command' THEN (CAST(task AS json) #>> '{command,name}') WHEN (CAST(task AS json) #>> '{mode}') = 'dry_run' THEN 'dry_run' ELSE (CAST(task AS json) #>> '{kind}') END, CASE WHEN (CAST(task AS json) #>> '{again}') = 'true' THEN 'rerun' WHEN (CAST(task AS json) #>> '{requestedBy}') IS NOT NULL OR (CAST(task AS json) #>> '{author}') IS NOT NULL THEN 'comment' ELSE 'event' END, coalesce((CAST(task AS json) #>> '{requestedBy}'), (CAST(task AS json) #>> '{author}')), head, outcome,
      CASE WHEN outcome IN ('skipped', 'superseded') THEN reason END, attempts, created_at, started_at, ended_at, 0, 0, 0, 0, 0, 0
    FROM job WHERE repository IS NOT NULL AND pull IS NOT NULL AND ended_at IS NOT NULL AND outcome IS NOT NULL AND started_at IS NOT NULL;
  `,
];

/** The schema of our tables; the database may hold others. */
const schema = "hunkwise";
/** Key of our advisory lock: an arbitrary constant. */
const lock = 4_867_753;

/**
 * In milliseconds. Nothing waits forever: not for a connection, a statement or an answer, and not for a process that froze in the middle
 * of a transaction, which holds everyone's lock.
 */
const limits = { turn: 4_000, connect: 4_000, statement: 10_000, idleInTransaction: 5_000, answer: 15_000 };

const session = `SET search_path TO ${schema}; SET statement_timeout = ${limits.statement};
  SET idle_in_transaction_session_timeout = ${limits.idleInTransaction}`;

/** As in SQLite, one transaction of all processes runs at a time: data that it read does not change until it ends. */
const begin = `BEGIN; SELECT pg_advisory_xact_lock(${lock})`;

/**
 * Opens our schema in a Postgres database, creates it as needed and migrates it. Broken connections, as after a restart of Postgres, are
 * replaced.
 * @throws AppError `database_unreachable`, naming the place and never the password.
 */
export async function openPostgresDatabase(url: string): Promise<Database> {
  const database = new PostgresDatabase(url);
  try {
    await migrate(database, locationOf(url));
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Opens our schema for reading and migrates nothing.
 * @throws AppError `database_unreachable`, also if the schema does not exist yet
 */
export async function readPostgresDatabase(url: string): Promise<Database> {
  const database = new PostgresDatabase(url);
  try {
    const { rows } = await database.run("SELECT to_regclass('version') IS NOT NULL AS known");
    if (!rows[0]?.known) throw unreachable(locationOf(url), "it contains no data of Hunkwise");
    requireKnown(await stepsTaken(database.run), locationOf(url));
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

interface PostgresFacts {
  /** The server's own, as "18.4". */
  version: string;
  /** Whether our schema exists; otherwise, whether it may be created. */
  isSetUp: boolean;
  mayCreate: boolean;
}

/**
 * Inspects the database and changes nothing.
 * @throws AppError `database_unreachable`, naming the place and never the password.
 */
export async function inspectPostgres(url: string): Promise<PostgresFacts> {
  const database = new PostgresDatabase(url);
  try {
    const { rows } = await database.run(`SELECT current_setting('server_version') AS version,
      to_regclass('version') IS NOT NULL AS "isSetUp",
      has_database_privilege(current_database(), 'CREATE') OR to_regnamespace('${schema}') IS NOT NULL AS "mayCreate"`);
    return Facts.parse(rows[0]);
  } finally {
    await database.close();
  }
}

const Facts = z.object({ version: z.string(), isSetUp: z.boolean(), mayCreate: z.boolean() });

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: "hunkwise",
    connectionTimeoutMillis: limits.connect,
    query_timeout: limits.answer,
    keepAlive: true,
    types: { getTypeParser },
    onConnect: async (client) => void (await client.query(session)),
  });
  // Whoever uses a broken connection gets the error; an idle one is dropped by the pool.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

class PostgresDatabase implements Database {
  readonly #pool: pg.Pool;
  readonly #location: string;
  /** Serialises the transactions of this process, so that waiting ones need no connection. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(url: string) {
    this.#pool = openPool(url);
    this.#location = locationOf(url);
  }

  run: Run = (sql, parameters) => this.#withClient((client) => execute(client, sql, parameters));

  transaction<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const end = performance.now() + limits.turn;
    const done = this.#line.then(() => {
      if (performance.now() > end) throw unreachable(this.#location, "too many requests are waiting for it");
      return this.#withClient((client) => inTransaction(client, work));
    });
    this.#line = done.catch(() => {});
    return done;
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    let client: pg.PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      // After an error of a statement the connection is usable; after any other its state is unknown.
      client?.release(!isOurFault(error));
      throw isOurFault(error) || error instanceof AppError
        ? error
        : unreachable(this.#location, reasonOf(error), error);
    }
  }
}

async function inTransaction<T>(client: pg.PoolClient, work: (run: Run) => Promise<T>): Promise<T> {
  await client.query(begin);
  try {
    const result = await work((sql, parameters) => execute(client, sql, parameters));
    await client.query("COMMIT");
    return result;
  } catch (error) {
    // If this fails too, the connection is gone, and the transaction with it.
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

async function execute(client: pg.PoolClient, sql: string, parameters: Parameters = {}): Promise<Result> {
  const { name, text, names } = prepared(sql);
  const values = names.map((one) => storable(parameters[one]));
  // Migration steps contain several statements, which cannot be prepared.
  const { rows, rowCount } = await client.query(values.length > 0 ? { name, text, values } : text);
  return { rows, changes: rowCount ?? 0 };
}

interface Prepared {
  /** Under this name, a connection plans the statement once. */
  name: string;
  /** With `$1` for the first parameter, and so on. */
  text: string;
  names: string[];
}

const known = new Map<string, Prepared>();

function prepared(sql: string): Prepared {
  let found = known.get(sql);
  if (!found) {
    const names = [...new Set(Array.from(sql.matchAll(/:(\w+)/g), ([, name = ""]) => name))];
    const text = sql.replaceAll(/:(\w+)/g, (_, name: string) => `$${names.indexOf(name) + 1}`);
    found = { name: `hunkwise ${known.size}`, text, names };
    known.set(sql, found);
  }
  return found;
}

/** Postgres cannot store NUL in a text. */
const storable = (value: string | number | null | undefined) =>
  typeof value === "string" ? value.replaceAll("\0", "\u{fffd}") : (value ?? null);

/** All our integers are BIGINT, and none exceeds a safe number. */
function getTypeParser(oid: number, format?: "text" | "binary") {
  if (oid === pg.types.builtins.INT8 && format !== "binary") return Number;
  return pg.types.getTypeParser(oid, format);
}

async function migrate(database: Database, location: string): Promise<void> {
  await database.transaction(async (run) => {
    const { rows } = await run(
      `SELECT to_regnamespace('${schema}') AS schema, to_regclass('version') AS version`,
    );
    // A user of the schema need not have the right to create one.
    if (rows[0]?.schema === null) await run(`CREATE SCHEMA ${schema}`);
    if (rows[0]?.version === null) {
      await run("CREATE TABLE version (steps BIGINT NOT NULL)");
      await run("INSERT INTO version (steps) VALUES (0)");
    }
    const taken = await stepsTaken(run);
    const steps = postgresMigrations.length;
    requireKnown(taken, location);
    for (const step of postgresMigrations.slice(taken)) await run(step);
    if (taken < steps) await run("UPDATE version SET steps = :steps", { steps });
  });
}

const stepsTaken = async (run: Run) => Number((await run("SELECT steps FROM version")).rows[0]?.steps);

function requireKnown(taken: number, location: string): void {
  const steps = postgresMigrations.length;
  if (taken <= steps) return;
  throw new AppError(
    "database_unreachable",
    `The database at ${location} has schema ${taken}, written by a newer Hunkwise`,
    {
      remedy: `This version supports schema ${steps}. Start the newer version again, or use another database.`,
    },
  );
}

/** Rejected constraints (class 23), values (22) and statements (42). Every other error may be temporary. */
const isOurFault = (error: unknown) =>
  error instanceof pg.DatabaseError && /^(22|23|42)/.test(error.code ?? "");

function unreachable(location: string, why: string, cause?: unknown): AppError {
  return new AppError("database_unreachable", `Cannot use the database at ${location}: ${why}`, {
    remedy: "Start Postgres, or correct DATABASE_URL.",
    retryable: true,
    cause,
  });
}

/** The first address's reason, if several were tried: the aggregate error has no message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** Host, port and database of the URL, without user and password. */
function locationOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host || "this machine"}${pathname}`;
}
