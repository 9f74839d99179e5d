import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { type Binding, type DefinitionKind, memo, type Use } from "../code/source.ts";
import { partsOf, wordsOf } from "./words.ts";

/** A definition of a blob, or a section of a document. Lines are 1-indexed and inclusive. */
export interface DefinitionFact {
  name: string;
  kind: DefinitionKind | "section";
  container: string | null;
  start: number;
  end: number;
  signatureEnd: number;
  docStart: number;
  exported: boolean;
  /** The number of the definition around it. */
  outer: number | null;
  /** The name of its declared type, see `Definition.type`; of a field that a method assigns, also the class or function that it names. */
  type: string | null;
  /** Types that it extends, implements or embeds, by their names in this file, separated by commas. */
  supers: string | null;
  excerpt: string;
  /** The words that find it, besides its name. */
  text: string;
}

interface ReferenceFact extends Use {
  /** The number of the definition around it. */
  within: number | null;
}

interface ImportFact extends Binding {
  /** The number of the function around it, which alone knows the name. */
  within: number | null;
}

export interface BlobFacts {
  /** The package or module that a manifest names: `package.json`, `go.mod`. */
  package: string | null;
  definitions: readonly DefinitionFact[];
  references: readonly ReferenceFact[];
  imports: readonly ImportFact[];
}

/** The version of the extracted facts. An index of another version is built again. */
export const EXTRACTOR_VERSION = 4;

/**
 * The facts of a blob only depend on its text and on the kind of its file name, so they are valid for each head, path and pull request. What is
 * at a head is not stored: it is `temp.present`, filled from git's tree.
 */
const tables = {
  /** `kind` is the grammar's dialect, or another kind of file (`kindOf`). */
  blob: "id INTEGER PRIMARY KEY, oid TEXT NOT NULL, kind TEXT NOT NULL, package TEXT, UNIQUE (oid, kind)",
  /** Symbols, and the sections of documents (`kind` = 'section'). */
  definition:
    "blob INTEGER NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, container TEXT, " +
    "start INTEGER NOT NULL, finish INTEGER NOT NULL, signature INTEGER NOT NULL, doc INTEGER NOT NULL, " +
    "exported INTEGER NOT NULL, outer INTEGER, type TEXT, supers TEXT, excerpt TEXT NOT NULL, PRIMARY KEY (blob, seq)",
  /** Uses of names that are no local variables. `variable` is the word that declares the type of the receiver, see `Use`. */
  reference:
    "blob INTEGER NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, line INTEGER NOT NULL, role TEXT NOT NULL, " +
    "receiver TEXT, variable TEXT, within INTEGER, PRIMARY KEY (blob, seq)",
  /** `again` is 1 for a re-export; `stem` is the last word of the specifier (`stemOf`). */
  import:
    "blob INTEGER NOT NULL, seq INTEGER NOT NULL, specifier TEXT NOT NULL, imported TEXT NOT NULL, local TEXT NOT NULL, " +
    "line INTEGER NOT NULL, again INTEGER NOT NULL, within INTEGER, stem TEXT NOT NULL, PRIMARY KEY (blob, seq)",
} as const;

const indexes = {
  definition_name: "definition (name)",
  reference_name: "reference (name, role)",
  import_name: "import (imported)",
  import_stem: "import (stem)",
} as const;

/** The full-text index of definitions and sections; their rowid is `blob * 2^SEQ_BITS + seq`. */
const words =
  "USING fts5(name, text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2')";

/** Bits of a rowid for the number of a definition within its blob. */
export const SEQ_BITS = 20;

/** `main` is the file; `temp` is forgotten with the connection. */
export type Schema = "main" | "temp";

/** Queries join tables of both schemas, so those of `temp` have names of their own. */
export const tablePrefix = (schema: Schema): string => (schema === "temp" ? "own_" : "");

export function createTables(database: DatabaseSync, schema: Schema): void {
  const prefix = tablePrefix(schema);
  for (const [name, columns] of Object.entries(tables)) {
    const rest = name === "blob" ? "" : " WITHOUT ROWID";
    database.exec(`CREATE TABLE IF NOT EXISTS ${schema}.${prefix}${name} (${columns})${rest}`);
  }
  for (const [name, on] of Object.entries(indexes))
    database.exec(`CREATE INDEX IF NOT EXISTS ${schema}.${prefix}${name} ON ${prefix}${on}`);
  database.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS ${schema}.${prefix}words ${words}`);
  if (schema === "main") database.exec(`PRAGMA user_version = ${EXTRACTOR_VERSION}`);
}

/** Removes the facts from the file. Its vectors stay: they only depend on the embedding model. */
export function dropTables(database: DatabaseSync): void {
  for (const name of [...Object.keys(tables), "words"]) database.exec(`DROP TABLE IF EXISTS main.${name}`);
}

/** Creates the head as queries see it: `present` (path, oid, blob), and views over both schemas. */
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

/** Runs work in a transaction that locks the file for writing at once. Rolls back if it throws. */
export function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** Rows of one transaction, about 40 ms. Other connections, and everything else in this thread, wait no longer than one takes. */
const BATCH = 5_000;

/** Ids of blobs in `temp` start here, so that none equals an id in the file. */
const FIRST_TEMP_ID = 2 ** 31;

/** Names a blob among those of all kinds of files. */
export const blobKey = ({ oid, kind }: { oid: string; kind: string | null }): string => `${oid} ${kind}`;

interface PendingFacts {
  oid: string;
  kind: string;
  /** Null is stored as well: the blob need not be read again. */
  facts: BlobFacts | null;
}

/** Writes the facts of blobs, many in one transaction. */
export class FactWriter {
  readonly #database: DatabaseSync;
  readonly #schema: Schema;
  readonly #ids: Map<string, number>;
  readonly #into: Record<keyof typeof tables, StatementSync>;
  readonly #words: StatementSync;
  readonly #find: StatementSync;
  readonly #pending: PendingFacts[] = [];
  #rows = 0;

  /** @param ids gets the id of each blob by its `blobKey` */
  constructor(database: DatabaseSync, schema: Schema, ids: Map<string, number>) {
    this.#database = database;
    this.#schema = schema;
    this.#ids = ids;
    const insert = (name: keyof typeof tables, values: string) => {
      const named = values.split(" ").map((value) => `$${value}`);
      const statement = database.prepare(`INSERT INTO ${this.#table(name)} VALUES (${named.join()})`);
      // A fact holds more than its row.
      statement.setAllowUnknownNamedParameters(true);
      return statement;
    };
    const definition =
      "name kind container start end signatureEnd docStart exported outer type supers excerpt";
    this.#into = {
      blob: insert("blob", "blob oid kind package"),
      definition: insert("definition", `blob seq ${definition}`),
      reference: insert("reference", "blob seq name line role receiver variable within"),
      import: insert("import", "blob seq specifier imported local line again within stem"),
    };
    this.#words = database.prepare(
      `INSERT INTO ${this.#table("words")} (rowid, name, text) VALUES (?, ?, ?)`,
    );
    this.#find = database.prepare(`SELECT id FROM ${this.#table("blob")} WHERE oid = ? AND kind = ?`);
  }

  #table(name: string): string {
    return `${this.#schema}.${tablePrefix(this.#schema)}${name}`;
  }

  add(pending: PendingFacts): void {
    this.#pending.push(pending);
    const { definitions = [], references = [], imports = [] } = pending.facts ?? {};
    // A definition is stored with its words, which take as long as four other rows.
    this.#rows += 1 + 5 * definitions.length + references.length + imports.length;
    if (this.#rows >= BATCH) this.flush();
  }

  flush(): void {
    if (this.#pending.length === 0) return;
    this.#rows = 0;
    inTransaction(this.#database, () => {
      // Another connection may have added blobs since the last transaction.
      const last = this.#database.prepare(`SELECT max(id) AS last FROM ${this.#table("blob")}`).get()?.last;
      let next = last == null ? (this.#schema === "temp" ? FIRST_TEMP_ID : 1) : Number(last) + 1;
      for (const one of this.#pending.splice(0)) {
        const known = this.#find.get(one.oid, one.kind)?.id;
        const id = known === undefined ? next++ : Number(known);
        if (known === undefined) this.#write(id, one);
        this.#ids.set(blobKey(one), id);
      }
    });
  }

  #write(blob: number, { oid, kind, facts }: PendingFacts): void {
    this.#into.blob.run({ blob, oid, kind, package: facts?.package ?? null });
    for (const [seq, { exported, ...one }] of facts?.definitions.entries() ?? []) {
      this.#into.definition.run({ ...one, blob, seq, exported: Number(exported) });
      this.#words.run(blob * 2 ** SEQ_BITS + seq, wordsOf(fullName(one)), one.text);
    }
    for (const [seq, one] of facts?.references.entries() ?? [])
      this.#into.reference.run({ ...one, blob, seq });
    for (const [seq, { reexport, ...one }] of facts?.imports.entries() ?? [])
      this.#into.import.run({ ...one, blob, seq, again: Number(reexport), stem: stemOf(one.specifier) });
  }
}

const fullName = ({ name, container }: Pick<DefinitionFact, "name" | "container">) =>
  container === null ? name : `${container} ${name}`;

/** The last word of an import specifier, without an extension: the name of the file or folder. */
export function stemOf(specifier: string): string {
  const [last = "", before = ""] = specifier
    .split(/::|[/\\]/)
    .filter(Boolean)
    .toReversed();
  const bare = last.replace(/\.(?:d\.)?(?:[cm]?[jt]sx?|py|h|hpp|rb|php)$/, "");
  return /^(?:index|__init__)$/.test(bare) ? before : (bare.split(".").filter(Boolean).at(-1) ?? "");
}

/** Minimum number of blobs of other heads that are kept. */
const LEAST_KEPT = 2_000;

/** Deletes the oldest facts of blobs that are not at this head, so the file grows no larger than twice what its largest head needs. */
export function forgetOld(database: DatabaseSync, leastKept = LEAST_KEPT): void {
  const count = (sql: string) => Number(database.prepare(sql).get()?.count ?? 0);
  const present = count("SELECT count(DISTINCT blob) AS count FROM temp.present");
  const surplus = count("SELECT count(*) AS count FROM main.blob") - present - Math.max(present, leastKept);
  if (surplus <= 0) return;
  // The newest stay: a new blob gets the id after the last one, and another connection may still use an old id.
  const old = database
    .prepare(
      `SELECT id FROM main.blob WHERE id NOT IN (SELECT blob FROM temp.present WHERE blob IS NOT NULL) ORDER BY id LIMIT ?`,
    )
    .all(surplus);
  const facts = Object.keys(tables).filter((name) => name !== "blob");
  const forget = facts.map((name) => database.prepare(`DELETE FROM main.${name} WHERE blob = ?`));
  const forgetBlob = database.prepare("DELETE FROM main.blob WHERE id = ?");
  const forgetWords = database.prepare("DELETE FROM main.words WHERE rowid >= ? AND rowid < ?");
  inTransaction(database, () => {
    for (const { id } of old) {
      const blob = Number(id);
      for (const each of forget) each.run(blob);
      forgetWords.run(blob * 2 ** SEQ_BITS, (blob + 1) * 2 ** SEQ_BITS);
      forgetBlob.run(blob);
    }
  });
}

export interface DefinitionAt extends Omit<DefinitionFact, "kind" | "supers" | "text"> {
  path: string;
  blob: number;
  seq: number;
  kind: string;
  supers: readonly string[];
}

export interface ReferenceAt extends ReferenceFact {
  path: string;
}

export interface ImportAt extends ImportFact {
  path: string;
}

type Row = Record<string, SQLOutputValue>;

/** Rows of one name that are read. A name with more is too common to say anything. */
const MAX_ROWS = 4_000;

/** Reads the facts of the files at the head. Each answer is read once. */
export class HeadFacts {
  /** Blobs by path; null if nothing is known of a file. */
  readonly files: ReadonlyMap<string, number | null>;
  readonly #pathsByBlob = new Map<number, string[]>();
  readonly #pathsByOid = new Map<string, string[]>();
  #pathsByPart: ReadonlyMap<string, readonly string[]> | undefined;
  readonly #statements: Record<
    "definitionsOf" | "named" | "referencesTo" | "referencesOf" | "importsOf" | "importing" | "naming",
    StatementSync
  >;

  constructor(database: DatabaseSync) {
    const rows = database.prepare("SELECT path, oid, blob FROM temp.present ORDER BY path").all();
    this.files = new Map(rows.map(({ path, blob }) => [String(path), numberOrNull(blob)]));
    for (const [path, blob] of this.files) if (blob !== null) pushTo(this.#pathsByBlob, blob, path);
    for (const { path, oid } of rows) pushTo(this.#pathsByOid, String(oid), String(path));
    const select = (table: string, where: string) =>
      database.prepare(`SELECT * FROM all_${table} WHERE ${where} ORDER BY blob, seq`);
    this.#statements = {
      definitionsOf: select("definition", "blob = ?"),
      named: select("definition", "name = ?"),
      referencesTo: select("reference", "name = ? AND role = ?"),
      referencesOf: select("reference", "blob = ?"),
      importsOf: select("import", "blob = ?"),
      importing: select("import", "imported = ? AND local <> ?"),
      naming: database.prepare("SELECT DISTINCT blob, specifier FROM all_import WHERE stem = ?"),
    };
  }

  readonly definitionsIn = memo((path: string): readonly DefinitionAt[] =>
    this.#inFile(path, this.#statements.definitionsOf, definitionOf),
  );

  readonly importsIn = memo((path: string): readonly ImportAt[] =>
    this.#inFile(path, this.#statements.importsOf, importOf),
  );

  referencesIn(path: string): ReferenceAt[] {
    return this.#inFile(path, this.#statements.referencesOf, referenceOf);
  }

  readonly named = memo((name: string): readonly DefinitionAt[] =>
    this.#atHead(this.#statements.named.iterate(name), definitionOf),
  );

  referencesTo(name: string, role: string): ReferenceAt[] {
    return this.#atHead(this.#statements.referencesTo.iterate(name, role), referenceOf);
  }

  /** Imports and re-exports that give a name another one. */
  importedAs(name: string): ImportAt[] {
    return this.#atHead(this.#statements.importing.iterate(name, name), importOf);
  }

  /** Imports by the stem of their specifier: `b` finds `./a/b.js` and `a.b`. */
  importsNaming(stem: string): { path: string; specifier: string }[] {
    return this.#atHead(this.#statements.naming.iterate(stem), (row, path) => ({
      path,
      specifier: String(row.specifier),
    }));
  }

  pathsOf(blob: number): readonly string[] {
    return this.#pathsByBlob.get(blob) ?? [];
  }

  pathsWith(oid: string): readonly string[] {
    return this.#pathsByOid.get(oid) ?? [];
  }

  readonly pathParts = memo((path: string): readonly string[] => partsOf(path));

  /** Paths that have a word, once for each time. */
  pathsNaming(word: string): readonly string[] {
    this.#pathsByPart ??= this.#indexParts();
    return this.#pathsByPart.get(word) ?? [];
  }

  #indexParts(): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, string[]>();
    for (const path of this.files.keys()) for (const part of this.pathParts(path)) pushTo(found, part, path);
    return found;
  }

  #inFile<Fact>(path: string, statement: StatementSync, read: (row: Row, path: string) => Fact): Fact[] {
    const blob = this.files.get(path) ?? null;
    return blob === null ? [] : statement.all(blob).map((row) => read(row, path));
  }

  /** Filters out the rows of other heads here, because a join would look up every blob. */
  #atHead<Fact>(rows: Iterable<Row>, read: (row: Row, path: string) => Fact): Fact[] {
    const found: Fact[] = [];
    let left = MAX_ROWS;
    for (const row of rows) {
      const paths = this.pathsOf(Number(row.blob));
      if (paths.length === 0) continue;
      for (const path of paths) found.push(read(row, path));
      left -= 1;
      if (left === 0) break;
    }
    return found;
  }
}

function pushTo<Key>(map: Map<Key, string[]>, key: Key, value: string): void {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}

const textOrNull = (value: SQLOutputValue | undefined) => (value == null ? null : String(value));
const numberOrNull = (value: SQLOutputValue | undefined) => (value == null ? null : Number(value));

export function definitionOf(row: Row, path: string): DefinitionAt {
  return {
    path,
    blob: Number(row.blob),
    seq: Number(row.seq),
    name: String(row.name),
    kind: String(row.kind),
    container: textOrNull(row.container),
    start: Number(row.start),
    end: Number(row.finish),
    signatureEnd: Number(row.signature),
    docStart: Number(row.doc),
    exported: Boolean(row.exported),
    outer: numberOrNull(row.outer),
    type: textOrNull(row.type),
    supers: textOrNull(row.supers)?.split(",") ?? [],
    excerpt: String(row.excerpt),
  };
}

const referenceOf = (row: Row, path: string): ReferenceAt => ({
  path,
  name: String(row.name),
  line: Number(row.line),
  role: String(row.role) as ReferenceAt["role"],
  receiver: textOrNull(row.receiver),
  variable: textOrNull(row.variable),
  within: numberOrNull(row.within),
});

const importOf = (row: Row, path: string): ImportAt => ({
  path,
  specifier: String(row.specifier),
  imported: String(row.imported),
  local: String(row.local),
  line: Number(row.line),
  reexport: Boolean(row.again),
  within: numberOrNull(row.within),
});
