import { createRequire } from "node:module";
import { DatabaseSync } from "node:sqlite";
import { AppError, errorLine } from "../../core/errors.ts";
import { Masks, type ScannedText } from "../../core/secrets/masks.ts";
import { reasonByName } from "../diff/skipped-names.ts";
import { kindOf } from "./extract-facts.ts";
import type { GraphFile, GraphSource, RankedChunk, VectorSearch } from "./graph.ts";
import { inTransaction } from "./store.ts";

/** Computes vectors of texts that are near to each other if the texts mean the same. */
export interface Embedder {
  /** Names the endpoint and the model. Vectors are only comparable with those of the same name. */
  readonly name: string;
  /** Rejects with an AppError. Without texts, sends nothing. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Embedded>;
}

interface Embedded {
  /** One for each text, in their order, all of one length. */
  vectors: readonly Float32Array[];
  /** Estimated if the endpoint does not report them. */
  tokens: number;
}

export interface VectorOptions {
  embedder: Embedder;
  /** The files of the head without the private ones, so nothing of those is ever sent. */
  source: GraphSource;
  /** Limit of one update. The next one continues. */
  maxTokens: number;
  /** Gets one line for the operator. */
  warn(text: string): void;
}

export interface VectorReport {
  embedded: number;
  /** Blobs still without vectors: the tokens were used up, or the endpoint failed. */
  left: number;
  tokens: number;
}

/** Finds parts of files by meaning. Without sqlite-vec for this machine it finds nothing and sends nothing. */
export interface Vectors {
  /** For `openGraph`: uses its database, which must be writable. */
  open(database: DatabaseSync): VectorSearch;
  /** Computes missing vectors within `maxTokens`. Only rejects if aborted; finished vectors stay. */
  update(signal: AbortSignal): Promise<VectorReport>;
}

/** Chunks of one request. Endpoints take 2,048 texts and some 300,000 tokens. */
const BATCH = 96;
const MAX_QUERY = 2_000;

export function createVectors(options: VectorOptions): Vectors {
  let store: VectorStore | null = null;
  const masks = new Masks();
  return {
    open(database) {
      store = loadVectorExtension(database) ? new VectorStore(database, options.embedder.name) : null;
      return searchIn(store, options, masks);
    },
    update: async (signal) =>
      store ? await update(store, options, masks, signal) : { embedded: 0, left: 0, tokens: 0 },
  };
}

function searchIn(store: VectorStore | null, { embedder, warn }: VectorOptions, masks: Masks): VectorSearch {
  let hasFailed = false;
  return {
    async nearest(query, k, signal) {
      const asked = masks.forPeople(masks.mask(await masks.learn(query)));
      const text = asked.slice(0, MAX_QUERY).trim();
      if (hasFailed || !store?.isFilled() || text === "") return [];
      try {
        const [vector] = (await embedder.embed([text], signal)).vectors;
        return vector ? store.nearest(vector, k) : [];
      } catch (error) {
        if (signal.aborted) throw error;
        // Later queries do not wait for an endpoint that is down.
        hasFailed = true;
        warn(`The knowledge graph searches only by words: ${errorLine(error)}`);
        return [];
      }
    },
  };
}

async function update(
  store: VectorStore,
  options: VectorOptions,
  masks: Masks,
  signal: AbortSignal,
): Promise<VectorReport> {
  const { embedder, source, maxTokens, warn } = options;
  const missing = embeddableBlobs(source.files).filter((oid) => !store.knows(oid));
  const report = { embedded: 0, left: missing.length, tokens: 0 };
  let batch: { oid: string; chunks: readonly Chunk[] }[] = [];
  const chunksIn = () => batch.flatMap(({ chunks }) => chunks);
  const send = async () => {
    const texts = chunksIn().map(({ text }) => text);
    const { vectors, tokens } = await embedder.embed(texts, signal);
    const left = vectors.values();
    const withVector = (chunk: Chunk) => ({ ...chunk, vector: left.next().value as Float32Array });
    store.add(batch.map(({ oid, chunks }) => ({ oid, chunks: chunks.map(withVector) })));
    report.tokens += tokens;
    report.embedded += batch.length;
    report.left -= batch.length;
    batch = [];
  };
  try {
    const secrets = await findSecrets(missing, options, masks, signal);
    for (const oid of missing) {
      signal.throwIfAborted();
      const text = await source.read(oid);
      if (text === undefined) continue;
      const chunks = text === null ? [] : chunksToSend({ text, ranges: secrets.get(oid) ?? [] }, masks);
      if (report.tokens + estimateTokens([...chunksIn(), ...chunks]) > maxTokens) break;
      batch.push({ oid, chunks });
      if (chunksIn().length >= BATCH) await send();
    }
    await send();
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError)) throw error;
    warn(`Some files are only found by words, because they have no vectors: ${errorLine(error)}`);
  }
  return report;
}

/** The ranges of secrets in blobs. Reads all of them before anything is sent: one file may reveal a secret of another one. */
async function findSecrets(
  oids: readonly string[],
  { source }: VectorOptions,
  masks: Masks,
  signal: AbortSignal,
): Promise<Map<string, ScannedText["ranges"]>> {
  const found = new Map<string, ScannedText["ranges"]>();
  for (const oid of oids) {
    signal.throwIfAborted();
    const text = (await source.read(oid)) ?? null;
    const { ranges } = text === null ? { ranges: [] } : await masks.learn(text);
    if (ranges.length > 0) found.set(oid, ranges);
  }
  return found;
}

/** Code and documents that people wrote. */
function embeddableBlobs(files: readonly GraphFile[]): string[] {
  const wanted = files.filter(({ path }) => kindOf(path) !== null && reasonByName(path) === null);
  return [...new Set(wanted.map(({ oid }) => oid))];
}

/** Code has about three characters a token. */
const estimateTokens = (chunks: readonly Chunk[]) =>
  Math.ceil(chunks.reduce((sum, { text }) => sum + text.length, 0) / 3);

/** A part of a file with a vector of its own. Lines are 1-indexed and inclusive. */
interface Chunk {
  startLine: number;
  endLine: number;
  text: string;
}

/** About 500 tokens: the smallest models take them, and they are few enough to mean one thing. */
const MAX_CHARACTERS = 1_800;
const MAX_LINES = 60;
/** From this share of a full chunk on, it ends before a line that starts something new. */
const ENOUGH = 0.4;
/** Chunks of one file. The rest is only found by words. */
const MAX_CHUNKS = 80;
const MAX_LINE = 400;

/** The parts of a file that may be sent, without its secrets and without those that another file revealed. */
export function chunksToSend(text: ScannedText, masks: Masks): Chunk[] {
  const clean = masks.forPeople(masks.mask(text));
  return splitIntoChunks(clean.split("\n"));
}

/** Splits a file where something new starts: at an unindented line after an empty one, if possible. */
function splitIntoChunks(lines: readonly string[]): Chunk[] {
  const chunks: Chunk[] = [];
  let start = 0;
  let size = 0;
  for (const [at, line] of lines.entries()) {
    const length = Math.min(line.length, MAX_LINE) + 1;
    const full = Math.max(size / MAX_CHARACTERS, (at - start) / MAX_LINES);
    const isOver = size + length > MAX_CHARACTERS || at - start >= MAX_LINES;
    if (at > start && (isOver || (full >= ENOUGH && startsAnew(lines, at)))) {
      addChunk(chunks, lines, start, at);
      start = at;
      size = 0;
    }
    size += length;
  }
  addChunk(chunks, lines, start, lines.length);
  return chunks.slice(0, MAX_CHUNKS);
}

const startsAnew = (lines: readonly string[], at: number): boolean =>
  /^[\p{L}_@#/<]/u.test(lines[at] ?? "") && (lines[at - 1] ?? "").trim() === "";

/** Adds a chunk without the blank lines around it, unless it has no word. */
function addChunk(chunks: Chunk[], lines: readonly string[], from: number, to: number): void {
  const isBlank = (at: number) => (lines[at] ?? "").trim() === "";
  let [first, last] = [from, to - 1];
  while (first < last && isBlank(first)) first++;
  while (last > first && isBlank(last)) last--;
  const text = lines
    .slice(first, last + 1)
    .map((line) => line.slice(0, MAX_LINE))
    .join("\n");
  if (/\p{L}{2}/u.test(text)) chunks.push({ startLine: first + 1, endLine: last + 1, text });
}

/** Loads sqlite-vec into a connection that allows it, then disallows extensions. False if the optional package is missing here. */
function loadVectorExtension(database: DatabaseSync): boolean {
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
  chunks: readonly { startLine: number; endLine: number; vector: Float32Array }[];
}

/** The vectors of an index, by blob and lines. Each number is stored in one byte: floats would take four times the space and time. */
class VectorStore {
  readonly #database: DatabaseSync;

  /** Creates the tables. Vectors of another model are deleted. */
  constructor(database: DatabaseSync, model: string) {
    this.#database = database;
    database.exec(`
      CREATE TABLE IF NOT EXISTS embedding_model (name TEXT NOT NULL, dimensions INTEGER);
      CREATE TABLE IF NOT EXISTS embedding_blob (oid TEXT PRIMARY KEY) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS embedding_chunk (id INTEGER PRIMARY KEY, oid TEXT NOT NULL, start INTEGER NOT NULL, finish INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS embedding_chunk_oid ON embedding_chunk (oid);
    `);
    if (database.prepare("SELECT name FROM embedding_model").get()?.name === model) return;
    database.exec(`
      DELETE FROM embedding_model; DELETE FROM embedding_blob; DELETE FROM embedding_chunk;
      DROP TABLE IF EXISTS embedding_index;
    `);
    database.prepare("INSERT INTO embedding_model VALUES (?, NULL)").run(model);
  }

  /** 0 as long as there are no vectors. */
  #dimensions(): number {
    return Number(this.#database.prepare("SELECT dimensions FROM embedding_model").get()?.dimensions ?? 0);
  }

  isFilled(): boolean {
    return this.#dimensions() > 0;
  }

  knows(oid: string): boolean {
    return this.#database.prepare("SELECT 1 FROM embedding_blob WHERE oid = ?").get(oid) !== undefined;
  }

  /** Adds blobs with all their chunks. A blob without chunks is known afterwards; one that another connection added is skipped. */
  add(blobs: readonly EmbeddedBlob[]): void {
    inTransaction(this.#database, () => {
      const insert = this.#database.prepare("INSERT OR IGNORE INTO embedding_blob VALUES (?)");
      for (const { oid, chunks } of blobs)
        if (insert.run(oid).changes > 0) for (const chunk of chunks) this.#addChunk(oid, chunk);
    });
  }

  #addChunk(oid: string, { startLine, endLine, vector }: EmbeddedBlob["chunks"][number]): void {
    this.#createIndex(vector.length);
    const { lastInsertRowid } = this.#database
      .prepare("INSERT INTO embedding_chunk (oid, start, finish) VALUES (?, ?, ?)")
      .run(oid, startLine, endLine);
    this.#database
      .prepare("INSERT INTO embedding_index (rowid, numbers) VALUES (?, vec_int8(?))")
      .run(BigInt(lastInsertRowid), bytesOf(vector));
  }

  /** The first vector says how many dimensions all of them have. */
  #createIndex(dimensions: number): void {
    const known = this.#dimensions();
    if (known === dimensions) return;
    if (known) throw new RangeError(`a vector of ${dimensions} numbers among vectors of ${known}`);
    this.#database.exec(
      `CREATE VIRTUAL TABLE embedding_index USING vec0(numbers int8[${dimensions}] distance_metric=cosine)`,
    );
    this.#database.prepare("UPDATE embedding_model SET dimensions = ?").run(dimensions);
  }

  nearest(vector: Float32Array, k: number): RankedChunk[] {
    const rows = this.#database
      .prepare(
        `SELECT oid, start, finish, distance FROM embedding_index JOIN embedding_chunk ON id = embedding_index.rowid
         WHERE numbers MATCH vec_int8(?) AND k = ? AND embedding_index.rowid IN (
           SELECT id FROM embedding_chunk WHERE oid IN (SELECT oid FROM temp.present)
         ) ORDER BY distance`,
      )
      .all(bytesOf(vector), k);
    return rows.map(({ oid, start, finish, distance }) => ({
      oid: String(oid),
      startLine: Number(start),
      endLine: Number(finish),
      distance: Number(distance),
    }));
  }
}

/** The numbers of a vector as bytes, so that the largest one is 127: only its direction counts. */
function bytesOf(vector: Float32Array): Uint8Array {
  const largest = vector.reduce((most, one) => Math.max(most, Math.abs(one)), 0) || 1;
  return new Uint8Array(Int8Array.from(vector, (one) => Math.round((one / largest) * 127)).buffer);
}
