import { createRequire } from "node:module";
import { DatabaseSync } from "node:sqlite";
import type { RankedChunk } from "./graph.ts";
import { inTransaction, type Schema } from "./store.ts";

/**
 * Loads sqlite-vec into a connection that was opened with `allowExtension`, then disallows extensions again. False if the optional
 * package is not installed or has no build for this machine.
 */
export function loadVectorExtension(database: DatabaseSync): boolean {
  try {
    const { getLoadablePath } = createRequire(import.meta.url)("sqlite-vec") as typeof import("sqlite-vec");
    database.enableLoadExtension(true);
    database.loadExtension(getLoadablePath());
    return true;
  } catch {
    return false;
  } finally {
    disallowExtensions(database);
  }
}

function disallowExtensions(database: DatabaseSync): void {
  try {
    database.enableLoadExtension(false);
  } catch {
    // It was opened without `allowExtension`, so it never allowed them.
  }
}

/** Whether sqlite-vec can be loaded on this machine. */
export function canFindByMeaning(): boolean {
  using database = new DatabaseSync(":memory:", { allowExtension: true });
  return loadVectorExtension(database);
}

interface EmbeddedBlob {
  oid: string;
  /** Lines are 1-indexed and inclusive. */
  chunks: readonly { startLine: number; endLine: number; vector: Float32Array }[];
}

/** Candidates by signs that are compared by numbers, for each result that is wanted; at least `LEAST_CANDIDATES`. */
const CANDIDATES = 20;
const LEAST_CANDIDATES = 200;
/** The limit of sqlite-vec for one query. */
const MOST_CANDIDATES = 4_096;

/**
 * Vectors in one schema of an index, by blob and lines. Each is stored twice: as signs, in which sqlite-vec finds a few hundred of
 * 50,000 in some 20 ms, and as one byte for each number, by which these few are ranked. Floats would take four times the space,
 * and comparing all of them a second.
 */
export class VectorStore {
  readonly #database: DatabaseSync;
  readonly #prefix: string;

  constructor(database: DatabaseSync, schema: Schema) {
    this.#database = database;
    this.#prefix = schema === "temp" ? "temp.own_vector" : "main.vector";
  }

  /** Creates the tables. Vectors of another model are deleted. */
  prepare(model: string): void {
    const name = this.#prefix;
    const [, bare] = name.split(".");
    this.#database.exec(`
      CREATE TABLE IF NOT EXISTS ${name}_model (name TEXT NOT NULL, dimensions INTEGER);
      CREATE TABLE IF NOT EXISTS ${name}_blob (oid TEXT PRIMARY KEY) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS ${name}_chunk (id INTEGER PRIMARY KEY, oid TEXT NOT NULL, start INTEGER NOT NULL, finish INTEGER NOT NULL, numbers BLOB NOT NULL);
      CREATE INDEX IF NOT EXISTS ${name}_chunk_oid ON ${bare}_chunk (oid);
    `);
    if (this.#model()?.name === model) return;
    this.#database.exec(`
      DELETE FROM ${name}_model; DELETE FROM ${name}_blob; DELETE FROM ${name}_chunk;
      DROP TABLE IF EXISTS ${name}_index;
    `);
    this.#database.prepare(`INSERT INTO ${name}_model VALUES (?, NULL)`).run(model);
  }

  /** Whether there are vectors of that model. A file that is only read may have none of these tables. */
  holds(model: string): boolean {
    const [schema, bare] = this.#prefix.split(".");
    const table = this.#database
      .prepare(`SELECT 1 FROM ${schema}.sqlite_master WHERE name = ?`)
      .get(`${bare}_model`);
    if (table === undefined) return false;
    const known = this.#model();
    return known?.name === model && known.dimensions !== null;
  }

  #model(): { name: string; dimensions: number | null } | null {
    const row = this.#database.prepare(`SELECT name, dimensions FROM ${this.#prefix}_model`).get();
    return row
      ? { name: String(row.name), dimensions: row.dimensions === null ? null : Number(row.dimensions) }
      : null;
  }

  knows(oid: string): boolean {
    return this.#database.prepare(`SELECT 1 FROM ${this.#prefix}_blob WHERE oid = ?`).get(oid) !== undefined;
  }

  /** Adds blobs with all their chunks. A blob without chunks is known afterwards; one that another connection added is skipped. */
  add(blobs: readonly EmbeddedBlob[]): void {
    inTransaction(this.#database, () => {
      const insert = this.#database.prepare(`INSERT OR IGNORE INTO ${this.#prefix}_blob VALUES (?)`);
      for (const { oid, chunks } of blobs)
        if (insert.run(oid).changes > 0) for (const chunk of chunks) this.#addChunk(oid, chunk);
    });
  }

  #addChunk(oid: string, { startLine, endLine, vector }: EmbeddedBlob["chunks"][number]): void {
    const name = this.#prefix;
    const unit = unitOf(vector);
    this.#createIndex(vector.length);
    const numbers = Int8Array.from(unit, (one) => Math.round(one * 127));
    const { lastInsertRowid } = this.#database
      .prepare(`INSERT INTO ${name}_chunk (oid, start, finish, numbers) VALUES (?, ?, ?, ?)`)
      .run(oid, startLine, endLine, new Uint8Array(numbers.buffer));
    this.#database
      .prepare(`INSERT INTO ${name}_index (rowid, signs) VALUES (?, vec_bit(?))`)
      .run(BigInt(lastInsertRowid), signsOf(unit));
  }

  /** The first vector says how many dimensions all of them have. */
  #createIndex(dimensions: number): void {
    const known = this.#model()?.dimensions;
    if (known === dimensions) return;
    if (known) throw new RangeError(`a vector of ${dimensions} numbers among vectors of ${known}`);
    const bits = Math.ceil(dimensions / 8) * 8;
    this.#database.exec(
      `CREATE VIRTUAL TABLE IF NOT EXISTS ${this.#prefix}_index USING vec0(signs bit[${bits}])`,
    );
    this.#database.prepare(`UPDATE ${this.#prefix}_model SET dimensions = ?`).run(dimensions);
  }

  /** The k nearest chunks at the head, the nearest first. */
  nearest(vector: Float32Array, k: number): RankedChunk[] {
    const unit = unitOf(vector);
    const count = Math.min(MOST_CANDIDATES, Math.max(LEAST_CANDIDATES, k * CANDIDATES));
    const anywhere = this.#candidates(unit, count, "");
    // If too many of them belong to other heads, only this head is searched, which takes twice as long.
    const atHead = `AND rowid IN (SELECT id FROM ${this.#prefix}_chunk WHERE oid IN (SELECT oid FROM temp.present))`;
    const found = anywhere.length >= Math.min(k, count) ? anywhere : this.#candidates(unit, count, atHead);
    return found.toSorted((a, b) => a.distance - b.distance).slice(0, k);
  }

  #candidates(unit: Float32Array, count: number, condition: string): RankedChunk[] {
    const rows = this.#database
      .prepare(
        `SELECT oid, start, finish, numbers FROM ${this.#prefix}_chunk WHERE id IN (
           SELECT rowid FROM ${this.#prefix}_index WHERE signs MATCH vec_bit(?) AND k = ? ${condition}
         ) AND oid IN (SELECT oid FROM temp.present)`,
      )
      .all(signsOf(unit), count);
    return rows.map(({ oid, start, finish, numbers }) => ({
      oid: String(oid),
      startLine: Number(start),
      endLine: Number(finish),
      distance: distanceOf(unit, numbers as Uint8Array),
    }));
  }
}

/** The vector scaled to length 1. */
function unitOf(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((one) => one / length);
}

/** A bit for each number, 1 if it is positive, filled up to whole bytes. */
function signsOf(vector: Float32Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(vector.length / 8));
  for (const [at, one] of vector.entries())
    if (one > 0) bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
  return bits;
}

/** The cosine distance to a vector of bytes. */
function distanceOf(unit: Float32Array, bytes: Uint8Array): number {
  const numbers = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let product = 0;
  for (const [at, one] of unit.entries()) product += (one * (numbers[at] ?? 0)) / 127;
  return 1 - product;
}
