import pg from "pg";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import type { Database, Parameters, Result, Run } from "./database.ts";
import { type Dialect, schemaVersion, tables } from "./schema.ts";

const dialect: Dialect = {
  integer: "BIGINT",
  real: "DOUBLE PRECISION",
  counter: "BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY",
  byBytes: 'COLLATE "C"',
  table: "",
  keyTable: "",
};

const triggers = `
  CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RAISE EXCEPTION ''a record is never changed''; END';
  CREATE TRIGGER trajectory_is_append_only BEFORE UPDATE ON trajectory
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
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
`;

/** The schema of our tables; the database may hold others. */
const schema = "hunkwise";
/** Key of our advisory lock: an arbitrary constant. */
const lock = 4_867_753;

/** In milliseconds. Nothing waits forever, also not for a process that froze within a transaction and holds everyone's lock. */
const limits = { turn: 4_000, connect: 4_000, statement: 10_000, idleInTransaction: 5_000, answer: 15_000 };

const session = `SET search_path TO ${schema}; SET statement_timeout = ${limits.statement};
  SET idle_in_transaction_session_timeout = ${limits.idleInTransaction}`;

/** As in SQLite, one transaction of all processes runs at a time: data that it read does not change until it ends. */
const begin = `BEGIN; SELECT pg_advisory_xact_lock(${lock})`;

/** Opens our schema, and creates it as needed. Broken connections are replaced. @throws AppError `database_unreachable`, without the password */
export const openPostgresDatabase = (url: string): Promise<Database> =>
  opened(url, (database) => createTables(database, locationOf(url)));

/** Opens our schema for reading. @throws AppError `database_unreachable`, also if the schema does not exist yet */
export const readPostgresDatabase = (url: string): Promise<Database> =>
  opened(url, async ({ run }) => {
    const { rows } = await run("SELECT to_regclass('version') IS NOT NULL AS known");
    if (!rows[0]?.known) throw unreachable(locationOf(url), "it contains no data of Hunkwise");
    await requireKnown(run, locationOf(url));
  });

async function opened(url: string, prepare: (database: Database) => Promise<void>): Promise<Database> {
  const database = connectTo(url);
  try {
    await prepare(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

const Facts = z.object({
  /** The server's own, as "18.4". */
  version: z.string(),
  /** Whether our schema exists; otherwise, whether it may be created. */
  isSetUp: z.boolean(),
  mayCreate: z.boolean(),
});

/** Inspects the database and changes nothing. @throws AppError `database_unreachable`, without the password */
export async function inspectPostgres(url: string): Promise<z.infer<typeof Facts>> {
  const database = connectTo(url);
  try {
    const { rows } = await database.run(`SELECT current_setting('server_version') AS version,
      to_regclass('version') IS NOT NULL AS "isSetUp",
      has_database_privilege(current_database(), 'CREATE') OR to_regnamespace('${schema}') IS NOT NULL AS "mayCreate"`);
    return Facts.parse(rows[0]);
  } finally {
    await database.close();
  }
}

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

function connectTo(url: string): Database {
  const pool = openPool(url);
  const location = locationOf(url);
  /** Serializes the transactions of this process, so that waiting ones need no connection. */
  let line: Promise<unknown> = Promise.resolve();

  async function withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    let client: pg.PoolClient | undefined;
    try {
      client = await pool.connect();
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      // After an error of a statement the connection is usable; after any other its state is unknown.
      client?.release(!isOurFault(error));
      throw isOurFault(error) || error instanceof AppError
        ? error
        : unreachable(location, reasonOf(error), error);
    }
  }

  return {
    run: (sql, parameters) => withClient((client) => execute(client, sql, parameters)),

    transaction(work) {
      const end = performance.now() + limits.turn;
      const done = line.then(() => {
        if (performance.now() > end) throw unreachable(location, "too many requests are waiting for it");
        return withClient((client) => inTransaction(client, work));
      });
      line = done.catch(() => {});
      return done;
    },

    async close() {
      if (!pool.ending) await pool.end();
    },
  };
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
  // Those that create tables contain several statements, which cannot be prepared.
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

async function createTables(database: Database, location: string): Promise<void> {
  await database.transaction(async (run) => {
    const { rows } = await run(
      `SELECT to_regnamespace('${schema}') AS schema, to_regclass('version') AS version`,
    );
    // A user of the schema need not have the right to create one.
    if (rows[0]?.schema === null) await run(`CREATE SCHEMA ${schema}`);
    if (rows[0]?.version === null) {
      await run(tables(dialect) + triggers);
      await run(
        `CREATE TABLE version (steps BIGINT NOT NULL); INSERT INTO version VALUES (${schemaVersion})`,
      );
    }
    await requireKnown(run, location);
  });
}

async function requireKnown(run: Run, location: string): Promise<void> {
  const { rows } = await run("SELECT steps FROM version");
  const version = rows[0]?.steps;
  if (version === schemaVersion) return;
  throw new AppError(
    "database_unreachable",
    `The database at ${location} has schema ${version}, written by another version`,
    {
      remedy: `This version supports schema ${schemaVersion}. Start the other version again, or use another database.`,
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

/** The first address's reason, if several were tried. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

function locationOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host || "this machine"}${pathname}`;
}
