import type { DatabaseSync } from "node:sqlite";
import { extractFacts, kindOf } from "./extract-facts.ts";
import { ExtractPool } from "./extract-pool.ts";
import type { BlobFacts } from "./facts.ts";
import type { GraphFile, GraphSource, IndexReport } from "./graph.ts";
import { FactStore } from "./store.ts";

/** Blobs of one transaction: other connections wait no longer than one takes. */
const BATCH = 250;

interface Wanted extends GraphFile {
  kind: string;
}

interface Options {
  source: GraphSource;
  readOnly?: boolean;
  threads?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Extracts what is not known yet and fills `temp.present`. */
export async function indexSource(
  database: DatabaseSync,
  { source, readOnly = false, threads, signal }: Options,
  start: number,
): Promise<IndexReport> {
  const kinds = source.files.map((file) => ({ ...file, kind: kindOf(file.path) }));
  const wanted = new Map<string, Wanted>();
  for (const { path, oid, kind } of kinds)
    if (kind !== null) wanted.set(`${oid} ${kind}`, { path, oid, kind });
  const known = knownBlobs(database, wanted);
  const missing = [...wanted].filter(([key]) => !known.has(key)).map(([, one]) => one);
  const writer = new BatchWriter(database, readOnly ? "temp" : "main", known);
  const knownBefore = known.size;
  await extractAll(missing, { source, threads, signal }, (one, facts) => writer.add(one, facts));
  writer.flush();
  const present = kinds.map(({ path, oid, kind }) => [path, oid, known.get(`${oid} ${kind}`) ?? null]);
  database
    .prepare(
      "INSERT INTO temp.present SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) ORDER BY 1",
    )
    .run(JSON.stringify(present));
  return {
    files: kinds.length,
    parsed: missing.length,
    known: knownBefore,
    skipped: kinds.filter(({ kind }) => kind === null).length,
    milliseconds: performance.now() - start,
  };
}

/** Numbers of the blobs among these whose facts are known: asked for at once, since ten thousand questions take half a second. */
function knownBlobs(database: DatabaseSync, wanted: ReadonlyMap<string, Wanted>): Map<string, number> {
  const oids = new Set([...wanted.values()].map(({ oid }) => oid));
  const found = database
    .prepare("SELECT oid, kind, blob.id FROM json_each(?) JOIN main.blob ON oid = value")
    .all(JSON.stringify([...oids]));
  const all = found.map(({ oid, kind, id }) => [`${oid} ${kind}`, Number(id)] as const);
  return new Map(all.filter(([key]) => wanted.has(key)));
}

/** Texts that are read ahead of the threads. */
const READING = 16;

async function extractAll(
  missing: readonly Wanted[],
  { source, threads, signal }: Options,
  take: (one: Wanted, facts: BlobFacts | null) => void,
): Promise<void> {
  if (missing.length === 0) return;
  await using pool = threads === 0 ? null : new ExtractPool(missing.length, { threads, signal });
  const left = missing.values();
  const reader = async () => {
    for (const one of left) {
      signal?.throwIfAborted();
      const text = await source.read(one.oid);
      take(
        one,
        text === null ? null : await (pool ? pool.extract(one.path, text) : extractFacts(one.path, text)),
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(READING, missing.length) }, reader));
}

/** Gathers facts and writes many at once. */
class BatchWriter {
  readonly #database: DatabaseSync;
  readonly #store: FactStore;
  readonly #numbers: Map<string, number>;
  readonly #pending: { oid: string; kind: string; facts: BlobFacts | null }[] = [];

  /** @param numbers told which number each blob got, by oid and kind */
  constructor(database: DatabaseSync, schema: "main" | "temp", numbers: Map<string, number>) {
    this.#database = database;
    this.#store = new FactStore(database, schema);
    this.#numbers = numbers;
  }

  add({ oid, kind }: Wanted, facts: BlobFacts | null): void {
    this.#pending.push({ oid, kind, facts });
    if (this.#pending.length >= BATCH) this.flush();
  }

  flush(): void {
    if (this.#pending.length === 0) return;
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      this.#store.begin();
      for (const { oid, kind, facts } of this.#pending.splice(0))
        this.#numbers.set(`${oid} ${kind}`, this.#store.add(oid, kind, facts));
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}
