import type { DatabaseSync } from "node:sqlite";
import { EXTRACTOR_VERSION } from "./graph.ts";

/**
 * Facts of a blob depend on its text and on the kind of its file name alone, so they are computed once and hold for each
 * head, path and pull request. What is at a head is not written down: it is `temp.present`, filled from git's tree.
 */
export const tables = {
  /** `kind` is the grammar's dialect, or what else its name says it is; `lines` 0 where nothing is known of the text. */
  blob: "id INTEGER PRIMARY KEY, oid TEXT NOT NULL, kind TEXT NOT NULL, lines INTEGER NOT NULL, package TEXT, UNIQUE (oid, kind)",
  /** Symbols, and the sections of documents (`kind` = 'section'). `type` is a type expression, see `type-expression.ts`. */
  definition:
    "blob INTEGER NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, container TEXT, " +
    "start INTEGER NOT NULL, finish INTEGER NOT NULL, signature INTEGER NOT NULL, doc INTEGER NOT NULL, " +
    "exported INTEGER NOT NULL, outer INTEGER, type TEXT, supers TEXT, excerpt TEXT NOT NULL, PRIMARY KEY (blob, seq)",
  /**
   * Where a name stands that is bound to nothing local. `via` says to what: see `facts.ts`. `within` is the definition's
   * number around it.
   */
  reference:
    "blob INTEGER NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, line INTEGER NOT NULL, role TEXT NOT NULL, " +
    "via TEXT NOT NULL, hint TEXT, within INTEGER, PRIMARY KEY (blob, seq)",
  /** `imported` is the name there ("*" for all of it, "" for none), `local` the name here; `again` where it is exported again; `stem` the last word of the specifier. */
  import:
    "blob INTEGER NOT NULL, seq INTEGER NOT NULL, specifier TEXT NOT NULL, imported TEXT NOT NULL, local TEXT NOT NULL, " +
    "line INTEGER NOT NULL, again INTEGER NOT NULL, stem TEXT NOT NULL, PRIMARY KEY (blob, seq)",
} as const;

const indexes = {
  definition_name: "definition (name)",
  reference_name: "reference (name, role)",
  import_name: "import (imported)",
  import_stem: "import (stem)",
} as const;

/** What words find: a definition or a section by the rowid `blob * 2^20 + seq`; what is found is read from there. */
const words =
  "USING fts5(name, text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2')";

const commits = `
  CREATE TABLE IF NOT EXISTS commit_seen (sha TEXT PRIMARY KEY, author TEXT NOT NULL, date TEXT NOT NULL, message TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS commit_path (sha TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (sha, path)) WITHOUT ROWID;
`;

/** Definitions of one blob that words can find. */
export const SEQ_BITS = 20;

/** Makes the tables in a schema: `main`, or `temp` for what is to be forgotten with the connection. */
export function createTables(database: DatabaseSync, schema: "main" | "temp"): void {
  for (const [name, columns] of Object.entries(tables)) {
    const rest = name === "blob" ? "" : " WITHOUT ROWID";
    database.exec(`CREATE TABLE IF NOT EXISTS ${schema}.${prefix(schema)}${name} (${columns})${rest}`);
  }
  for (const [name, on] of Object.entries(indexes))
    database.exec(`CREATE INDEX IF NOT EXISTS ${schema}.${prefix(schema)}${name} ON ${prefix(schema)}${on}`);
  database.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS ${schema}.${prefix(schema)}words ${words}`);
  if (schema === "main") database.exec(`${commits}; PRAGMA user_version = ${EXTRACTOR_VERSION}`);
}

/** Empties the file of all that an extractor of another version wrote. */
export function dropTables(database: DatabaseSync): void {
  const found = database.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table'").all();
  const names = found.map(({ name }) => String(name));
  // A virtual table takes those with it in which it keeps what it knows.
  for (const name of names.filter((one) =>
    [...Object.keys(tables), "words", "commit_seen", "commit_path"].includes(one),
  ))
    database.exec(`DROP TABLE main.${name}`);
}

/** Tables of both schemas stand side by side in queries: those of `temp` have a name of their own. */
export const prefix = (schema: "main" | "temp") => (schema === "temp" ? "own_" : "");

/**
 * What is at the head, as queries see it: `present` (path, oid, blob), and `all_definition`, `all_reference`, `all_import`,
 * `all_blob` over both schemas.
 */
export function createViews(database: DatabaseSync): void {
  database.exec(
    "CREATE TEMP TABLE present (path TEXT PRIMARY KEY, oid TEXT NOT NULL, blob INTEGER) WITHOUT ROWID",
  );
  database.exec("CREATE INDEX temp.present_blob ON present (blob)");
  for (const name of Object.keys(tables))
    database.exec(
      `CREATE TEMP VIEW all_${name} AS SELECT * FROM main.${name} UNION ALL SELECT * FROM temp.own_${name}`,
    );
}
