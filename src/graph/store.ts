import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { BlobFacts, Via } from "./facts.ts";
import { EXTRACTOR_VERSION } from "./graph.ts";
import { partsOf, wordsOf } from "./words.ts";

/**
 * Facts of a blob depend on its text and on the kind of its file name alone, so they are computed once and hold for each
 * head, path and pull request. What is at a head is not written down: it is `temp.present`, filled from git's tree.
 */
const tables = {
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

/** Numbers of blobs that only this connection knows begin here, so that none is the number of one in the file. */
const FIRST_OWN = 2 ** 31;

/** Writes facts of blobs, in the file or for this connection alone. */
export class FactStore {
  readonly #blob: StatementSync;
  readonly #definition: StatementSync;
  readonly #reference: StatementSync;
  readonly #import: StatementSync;
  readonly #words: StatementSync;
  readonly #find: StatementSync;
  readonly #last: StatementSync;
  readonly #first: number;
  #next = 0;

  constructor(database: DatabaseSync, schema: "main" | "temp") {
    const table = (name: string) => `${schema}.${prefix(schema)}${name}`;
    const into = (name: string, columns: number) =>
      database.prepare(`INSERT INTO ${table(name)} VALUES (${Array(columns).fill("?").join(",")})`);
    this.#blob = into("blob", 5);
    this.#definition = into("definition", 14);
    this.#reference = into("reference", 8);
    this.#import = into("import", 8);
    this.#words = database.prepare(`INSERT INTO ${table("words")} (rowid, name, text) VALUES (?, ?, ?)`);
    this.#find = database.prepare(`SELECT id FROM ${table("blob")} WHERE oid = ? AND kind = ?`);
    this.#last = database.prepare(`SELECT max(id) AS last FROM ${table("blob")}`);
    this.#first = schema === "temp" ? FIRST_OWN : 1;
  }

  /** To be called when a transaction has begun: another connection may have added blobs meanwhile. */
  begin(): void {
    const last = this.#last.get()?.last;
    this.#next = last === null || last === undefined ? this.#first : Number(last) + 1;
  }

  /** Answers the blob's number. Null facts are kept as well: it need not be read again. */
  add(oid: string, kind: string, facts: BlobFacts | null): number {
    const known = this.#find.get(oid, kind)?.id;
    if (known !== undefined) return Number(known);
    const blob = this.#next++;
    this.#blob.run(blob, oid, kind, facts?.lines ?? 0, facts?.package ?? null);
    if (!facts) return blob;
    for (const [seq, one] of facts.definitions.entries()) {
      this.#definition.run(
        ...[blob, seq, one.name, one.kind, one.container, one.start, one.end, one.signatureEnd, one.docStart],
        ...[Number(one.exported), one.outer, one.type, one.supers, one.excerpt],
      );
      this.#words.run(blob * 2 ** SEQ_BITS + seq, wordsOf(nameWords(one)), one.text);
    }
    for (const [seq, one] of facts.references.entries())
      this.#reference.run(blob, seq, one.name, one.line, one.role, one.via, one.hint, one.within);
    for (const [seq, one] of facts.imports.entries())
      this.#import.run(
        blob,
        seq,
        one.specifier,
        one.imported,
        one.local,
        one.line,
        Number(one.again),
        stemOf(one.specifier),
      );
    return blob;
  }
}

const nameWords = ({ name, container }: { name: string; container: string | null }) =>
  container === null ? name : `${container} ${name}`;

/** The last word of what an import names, without an extension: that of the file or folder that is meant. */
export const stemOf = (specifier: string): string => {
  const [last = "", before = ""] = specifier
    .split(/::|[/\\]/)
    .filter(Boolean)
    .toReversed();
  const bare = last.replace(/\.(?:d\.)?(?:[cm]?[jt]sx?|py|h|hpp|rb|php)$/, "");
  return /^(?:index|__init__)$/.test(bare) ? before : (bare.split(".").filter(Boolean).at(-1) ?? "");
};

/** A definition where it stands at the head. Lines are 1-indexed and inclusive. */
export interface DefinitionAt {
  path: string;
  blob: number;
  seq: number;
  name: string;
  kind: string;
  container: string | null;
  start: number;
  end: number;
  signatureEnd: number;
  docStart: number;
  exported: boolean;
  outer: number | null;
  type: string | null;
  supers: readonly string[];
  excerpt: string;
}

export interface ReferenceAt {
  path: string;
  name: string;
  line: number;
  role: string;
  via: Via;
  hint: string | null;
  within: number | null;
}

export interface ImportAt {
  specifier: string;
  imported: string;
  local: string;
  line: number;
  again: boolean;
}

type Row = Record<string, SQLOutputValue>;

/** Places of one name that are looked at; what has more is a name of everything. */
const MAX_PLACES = 4_000;

/** What stands where at the head, each answer read once. */
export class Head {
  readonly database: DatabaseSync;
  /** Blobs by path; null where nothing of a file is known. */
  readonly files: ReadonlyMap<string, number | null>;
  readonly #pathsOf = new Map<number, string[]>();
  readonly #pathsWith = new Map<string, string[]>();
  readonly #parts = new Map<string, readonly string[]>();
  #byPart: ReadonlyMap<string, readonly string[]> | undefined;
  readonly #definitionsOf: StatementSync;
  readonly #named: StatementSync;
  readonly #referencesTo: StatementSync;
  readonly #referencesOf: StatementSync;
  readonly #importsOf: StatementSync;
  readonly #importing: StatementSync;
  readonly #naming: StatementSync;
  readonly #definitions = new Map<string, readonly DefinitionAt[]>();
  readonly #imports = new Map<number, readonly ImportAt[]>();
  readonly #byName = new Map<string, readonly DefinitionAt[]>();

  constructor(database: DatabaseSync) {
    this.database = database;
    const rows = database.prepare("SELECT path, oid, blob FROM temp.present ORDER BY path").all();
    this.files = new Map(rows.map(({ path, blob }) => [String(path), blob === null ? null : Number(blob)]));
    for (const [path, blob] of this.files) if (blob !== null) add(this.#pathsOf, blob, path);
    for (const { path, oid } of rows) add(this.#pathsWith, String(oid), String(path));
    const both = (table: string, where: string, order = "blob, seq") =>
      database.prepare(`SELECT * FROM all_${table} WHERE ${where} ORDER BY ${order}`);
    this.#definitionsOf = both("definition", "blob = ?");
    this.#named = both("definition", "name = ?");
    this.#referencesTo = both("reference", "name = ? AND role = ?");
    this.#referencesOf = both("reference", "blob = ?");
    this.#importsOf = both("import", "blob = ?");
    this.#naming = database.prepare("SELECT DISTINCT blob, specifier FROM all_import WHERE stem = ?");
    this.#importing = both("import", "imported = ? AND local <> ?");
  }

  definitionsIn(path: string): readonly DefinitionAt[] {
    const blob = this.files.get(path);
    if (blob === undefined || blob === null) return [];
    let known = this.#definitions.get(path);
    if (!known) {
      known = this.#definitionsOf.all(blob).map((row) => ({ ...definitionOf(row), path }));
      this.#definitions.set(path, known);
    }
    return known;
  }

  definitionAt(path: string, seq: number): DefinitionAt | undefined {
    return this.definitionsIn(path)[seq];
  }

  /** Paths of the files with a content. */
  pathsWith(oid: string): readonly string[] {
    return this.#pathsWith.get(oid) ?? [];
  }

  /** The words of a path. */
  pathParts(path: string): readonly string[] {
    let known = this.#parts.get(path);
    if (!known) {
      known = partsOf(path);
      this.#parts.set(path, known);
    }
    return known;
  }

  /** Paths that a word is a part of, once for each time. */
  pathsNaming(word: string): readonly string[] {
    this.#byPart ??= pathsByPart(this);
    return this.#byPart.get(word) ?? [];
  }

  importsIn(path: string): readonly ImportAt[] {
    const blob = this.files.get(path);
    if (blob === undefined || blob === null) return [];
    let known = this.#imports.get(blob);
    if (!known) {
      known = this.#importsOf.all(blob).map(importOf);
      this.#imports.set(blob, known);
    }
    return known;
  }

  /** Every definition of a name. */
  named(name: string): readonly DefinitionAt[] {
    let known = this.#byName.get(name);
    if (!known) {
      known = this.#at(this.#named.iterate(name), definitionOf);
      this.#byName.set(name, known);
    }
    return known;
  }

  referencesTo(name: string, role: string): ReferenceAt[] {
    return this.#at(this.#referencesTo.iterate(name, role), referenceOf);
  }

  referencesIn(path: string): ReferenceAt[] {
    const blob = this.files.get(path);
    if (blob === undefined || blob === null) return [];
    return this.#referencesOf.all(blob).map((row) => ({ ...referenceOf(row), path }));
  }

  /** Files that import a name under another one. */
  importedAs(name: string): (ImportAt & { path: string })[] {
    return this.#at(this.#importing.iterate(name, name), importOf);
  }

  /** Imports that name something by its last word: `b` of `./a/b.js` and of `a.b`. */
  importsNaming(stem: string): { path: string; specifier: string }[] {
    return this.#at(this.#naming.iterate(stem), ({ specifier }) => ({ specifier: String(specifier) }));
  }

  pathsOf(blob: number): readonly string[] {
    return this.#pathsOf.get(blob) ?? [];
  }

  /** Those of other heads are left out here: to have the database look each blob up is to look up all of them. */
  #at<Fact>(rows: Iterable<Row>, read: (row: Row) => Fact): (Fact & { path: string })[] {
    const found: (Fact & { path: string })[] = [];
    let left = MAX_PLACES;
    for (const row of rows) {
      const paths = this.pathsOf(Number(row.blob));
      if (paths.length === 0) continue;
      const fact = read(row);
      for (const path of paths) found.push({ ...fact, path });
      left -= 1;
      if (left === 0) break;
    }
    return found;
  }
}

function pathsByPart(head: Head): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const path of head.files.keys()) for (const part of head.pathParts(path)) add(found, part, path);
  return found;
}

function add<Key>(map: Map<Key, string[]>, key: Key, value: string): void {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}

const text = (value: SQLOutputValue | undefined) =>
  value === null || value === undefined ? null : String(value);
const number = (value: SQLOutputValue | undefined) =>
  value === null || value === undefined ? null : Number(value);

export function definitionOf(row: Row): Omit<DefinitionAt, "path"> {
  const supers = text(row.supers);
  return {
    blob: Number(row.blob),
    seq: Number(row.seq),
    name: String(row.name),
    kind: String(row.kind),
    container: text(row.container),
    start: Number(row.start),
    end: Number(row.finish),
    signatureEnd: Number(row.signature),
    docStart: Number(row.doc),
    exported: Boolean(row.exported),
    outer: number(row.outer),
    type: text(row.type),
    supers: supers === null ? [] : supers.split(","),
    excerpt: String(row.excerpt),
  };
}

const referenceOf = (row: Row): Omit<ReferenceAt, "path"> => ({
  name: String(row.name),
  line: Number(row.line),
  role: String(row.role),
  via: String(row.via) as Via,
  hint: text(row.hint),
  within: number(row.within),
});

const importOf = (row: Row): ImportAt => ({
  specifier: String(row.specifier),
  imported: String(row.imported),
  local: String(row.local),
  line: Number(row.line),
  again: Boolean(row.again),
});

/** Blobs of other heads that are kept beside those of this one: as many again, and at least so many. */
const LEAST_KEPT = 2_000;

/**
 * Forgets facts of texts that are not at this head where there are more of them than of those that are: the file grows no
 * further than twice what its largest head needs. What was indexed first goes first.
 *
 * @returns how many blobs were forgotten
 */
export function forgetOld(database: DatabaseSync, leastKept = LEAST_KEPT): number {
  const count = (sql: string) => Number(database.prepare(sql).get()?.count ?? 0);
  const present = count("SELECT count(DISTINCT blob) AS count FROM temp.present");
  const surplus = count("SELECT count(*) AS count FROM main.blob") - present - Math.max(present, leastKept);
  if (surplus <= 0) return 0;
  // The newest stay: a new blob gets the number behind the last one, and another connection may know it still.
  const old = database
    .prepare(
      `SELECT id FROM main.blob WHERE id NOT IN (SELECT blob FROM temp.present WHERE blob IS NOT NULL) ORDER BY id LIMIT ?`,
    )
    .all(surplus);
  const facts = Object.keys(tables).filter((name) => name !== "blob");
  const forget = facts.map((name) => database.prepare(`DELETE FROM main.${name} WHERE blob = ?`));
  const forgetBlob = database.prepare("DELETE FROM main.blob WHERE id = ?");
  const forgetWords = database.prepare("DELETE FROM main.words WHERE rowid >= ? AND rowid < ?");
  database.exec("BEGIN IMMEDIATE");
  try {
    for (const { id } of old) {
      const blob = Number(id);
      for (const each of forget) each.run(blob);
      forgetWords.run(blob * 2 ** SEQ_BITS, (blob + 1) * 2 ** SEQ_BITS);
      forgetBlob.run(blob);
    }
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
  return old.length;
}
