import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Via } from "./facts.ts";
import { partsOf } from "./words.ts";

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
