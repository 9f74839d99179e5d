import { createRequire } from "node:module";
import { DatabaseSync } from "node:sqlite";
import type { RankedChunk } from "./graph.ts";

interface EmbeddedBlob {
  oid: string;
  /** Lines are 1-indexed and inclusive. */
  chunks: readonly { startLine: number; endLine: number; vector: Float32Array }[];
}

/** Nearest by the signs of their numbers that are looked at closely, for each one that is wanted; at least `LEAST_CLOSE`. */
const CLOSE = 20;
const LEAST_CLOSE = 200;
/** More than these sqlite-vec does not find at once. */
const MOST_CLOSE = 4_096;

/**
 * Vectors in one schema of an index, by blob and lines. Two of each: its signs, in which sqlite-vec finds a few hundred of 50,000 in
 * some 20 ms, and its numbers in a byte each, by which these few are put in order. Whole numbers would take four times the
 * room, and comparing all of them a second.
 */
export class VectorStore {
  readonly #database: DatabaseSync;
  readonly #schema: "main" | "temp";
  readonly #prefix: string;

  constructor(database: DatabaseSync, schema: "main" | "temp") {
    this.#database = database;
    this.#schema = schema;
    this.#prefix = schema === "temp" ? "temp.own_vector" : "main.vector";
  }

  /** Makes the tables; of vectors of another model none is kept. */
  prepare(model: string): void {
    const run = (sql: string) => this.#database.exec(sql);
    const name = this.#prefix;
    run(`CREATE TABLE IF NOT EXISTS ${name}_model (name TEXT NOT NULL, dimensions INTEGER)`);
    run(`CREATE TABLE IF NOT EXISTS ${name}_blob (oid TEXT PRIMARY KEY) WITHOUT ROWID`);
    run(
      `CREATE TABLE IF NOT EXISTS ${name}_chunk (id INTEGER PRIMARY KEY, oid TEXT NOT NULL, start INTEGER NOT NULL, finish INTEGER NOT NULL, numbers BLOB NOT NULL)`,
    );
    const [, bare] = name.split(".");
    run(`CREATE INDEX IF NOT EXISTS ${name}_chunk_oid ON ${bare}_chunk (oid)`);
    if (this.#model()?.name === model) return;
    run(`DELETE FROM ${name}_model; DELETE FROM ${name}_blob; DELETE FROM ${name}_chunk`);
    run(`DROP TABLE IF EXISTS ${name}_index`);
    this.#database.prepare(`INSERT INTO ${name}_model VALUES (?, NULL)`).run(model);
  }

  /** Whether there are vectors of that model to search in: a file that is only read may have none. */
  holds(model: string): boolean {
    const [, bare] = this.#prefix.split(".");
    const table = this.#database
      .prepare(`SELECT 1 FROM ${this.#schema}.sqlite_master WHERE name = ?`)
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

  /** Adds blobs with all their chunks at once; without any it is noted that there are none. Leaves out what another one added. */
  add(blobs: readonly EmbeddedBlob[]): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const note = this.#database.prepare(`INSERT OR IGNORE INTO ${this.#prefix}_blob VALUES (?)`);
      for (const { oid, chunks } of blobs)
        if (note.run(oid).changes > 0) for (const chunk of chunks) this.#addChunk(oid, chunk);
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #addChunk(oid: string, { startLine, endLine, vector }: EmbeddedBlob["chunks"][number]): void {
    const name = this.#prefix;
    const unit = unitOf(vector);
    this.#makeIndex(vector.length);
    const numbers = Int8Array.from(unit, (one) => Math.round(one * 127));
    const { lastInsertRowid } = this.#database
      .prepare(`INSERT INTO ${name}_chunk (oid, start, finish, numbers) VALUES (?, ?, ?, ?)`)
      .run(oid, startLine, endLine, new Uint8Array(numbers.buffer));
    this.#database
      .prepare(`INSERT INTO ${name}_index (rowid, signs) VALUES (?, vec_bit(?))`)
      .run(BigInt(lastInsertRowid), signsOf(unit));
  }

  /** How long vectors are is known with the first one. */
  #makeIndex(dimensions: number): void {
    const known = this.#model()?.dimensions;
    if (known === dimensions) return;
    if (known) throw new RangeError(`a vector of ${dimensions} numbers among vectors of ${known}`);
    const bits = Math.ceil(dimensions / 8) * 8;
    this.#database.exec(
      `CREATE VIRTUAL TABLE IF NOT EXISTS ${this.#prefix}_index USING vec0(signs bit[${bits}])`,
    );
    this.#database.prepare(`UPDATE ${this.#prefix}_model SET dimensions = ?`).run(dimensions);
  }

  /** The chunks at the head that are nearest; the distance is 0 for the same direction and 2 for the opposite one. */
  nearest(vector: Float32Array, k: number): RankedChunk[] {
    const unit = unitOf(vector);
    const count = Math.min(MOST_CLOSE, Math.max(LEAST_CLOSE, k * CLOSE));
    const anywhere = this.#close(unit, count, "");
    // Where too many of them belong to other heads, those are left out from the beginning, which takes twice as long.
    const atHead = `AND rowid IN (SELECT id FROM ${this.#prefix}_chunk WHERE oid IN (SELECT oid FROM temp.present))`;
    const close = anywhere.length >= Math.min(k, count) ? anywhere : this.#close(unit, count, atHead);
    return close.toSorted((a, b) => a.distance - b.distance).slice(0, k);
  }

  #close(unit: Float32Array, count: number, condition: string): RankedChunk[] {
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

/** Of length 1, so that only the direction counts. */
function unitOf(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((one) => one / length);
}

/** A bit for each number, and for none up to the next whole byte. */
function signsOf(vector: Float32Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(vector.length / 8));
  for (const [at, one] of vector.entries())
    if (one > 0) bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
  return bits;
}

function distanceOf(unit: Float32Array, bytes: Uint8Array): number {
  const numbers = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let product = 0;
  for (const [at, one] of unit.entries()) product += (one * (numbers[at] ?? 0)) / 127;
  return 1 - product;
}

/**
 * Loads sqlite-vec into a connection that was opened with `allowExtension`, and closes that door again. False where there is no
 * build of it for this machine, or it was not installed: it is an optional package.
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
    closeDoor(database);
  }
}

/** Whether this machine has it. */
export function canFindByMeaning(): boolean {
  const database = new DatabaseSync(":memory:", { allowExtension: true });
  try {
    return loadVectorExtension(database);
  } finally {
    database.close();
  }
}

function closeDoor(database: DatabaseSync): void {
  try {
    database.enableLoadExtension(false);
  } catch {
    // It was not opened with `allowExtension`: there is no door.
  }
}
