import nodeModule from "node:module";
import { availableParallelism } from "node:os";
import { dirname, extname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { AppError } from "../errors.ts";
import { extractFacts, kindOf } from "./extract-facts.ts";
import type { BlobFacts } from "./facts.ts";
import type { GraphFile, GraphSource, IndexReport } from "./graph.ts";
import { FactStore } from "./store.ts";

export interface ExtractRequest {
  id: number;
  path: string;
  text: string;
}

export interface ExtractAnswer {
  id: number;
  facts: BlobFacts | null;
}

/** Files that are with one thread at a time: enough that it never waits, few enough to be held in memory. */
const AHEAD = 4;
/** Files that take longer than a thread takes to begin: it loads the parser and all that reads its trees, and its first files are slow. */
const WORTH_A_THREAD = 60;
/** Threads beyond this are slower than the database takes facts. */
const MAX_THREADS = 4;

/** One file for which no thread should need as long. It is given up, and the thread with it. */
const FILE_MS = 20_000;

interface PoolOptions {
  /** Undefined: as many as there are cores, up to four. */
  threads?: number | undefined;
  signal?: AbortSignal | undefined;
  fileMs?: number | undefined;
}

/** Threads that take texts apart. */
class ExtractPool implements AsyncDisposable {
  readonly #threads: Thread[];
  readonly #waiting: (() => void)[] = [];

  /** @param files how many are to come, at most */
  constructor(files: number, { threads, signal, fileMs = FILE_MS }: PoolOptions) {
    const wanted = threads ?? Math.min(MAX_THREADS, availableParallelism());
    const count = Math.max(1, Math.min(wanted, Math.ceil(files / WORTH_A_THREAD)));
    this.#threads = Array.from({ length: count }, () => new Thread(fileMs, () => this.#waiting.shift()?.()));
    signal?.addEventListener("abort", () => void this[Symbol.asyncDispose](), { once: true });
  }

  /** Resolves once a thread has room for one more file. */
  async room(): Promise<void> {
    while (this.#threads.every(({ load }) => load >= AHEAD))
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** What is known of a text; null where nothing is, or where it took too long. */
  async extract(path: string, text: string): Promise<BlobFacts | null> {
    await this.room();
    const idlest = this.#threads.reduce((least, one) => (one.load < least.load ? one : least));
    return await idlest.extract(path, text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map((one) => one.end()));
  }
}

interface Waiting {
  request: ExtractRequest;
  resolve(facts: BlobFacts | null): void;
  reject(error: Error): void;
}

/** `extract-worker.ts`, or what it was compiled to. */
const script = join(import.meta.dirname, `extract-worker${extname(import.meta.filename)}`);

/**
 * Nothing of the environment: what is parsed there is not ours. But where this process keeps what it compiled, a thread does so as
 * well: to compile what it loads takes it four times as long as all else before its first file.
 */
function environment(): NodeJS.Dict<string> {
  // The folder of one version of Node, which lies in the one that is meant.
  const folder = nodeModule.getCompileCacheDir?.();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

class Thread {
  readonly #fileMs: number;
  readonly #onRoom: () => void;
  readonly #open = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(fileMs: number, onRoom: () => void) {
    this.#fileMs = fileMs;
    this.#onRoom = onRoom;
  }

  get load(): number {
    return this.#open.size;
  }

  extract(path: string, text: string): Promise<BlobFacts | null> {
    if (this.#ended) return Promise.reject(stopped());
    const request = { id: this.#next++, path, text };
    return new Promise((resolve, reject) => {
      this.#open.set(request.id, { request, resolve, reject });
      this.#start().postMessage(request);
      if (this.#open.size === 1) this.#watch();
    });
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(script, { env: environment() });
    worker.on("message", ({ id, facts }: ExtractAnswer) => this.#settle(id, facts));
    worker.on("error", () => this.#restart(worker));
    this.#worker = worker;
    return worker;
  }

  #settle(id: number, facts: BlobFacts | null): void {
    this.#open.get(id)?.resolve(facts);
    this.#open.delete(id);
    this.#watch();
    this.#onRoom();
  }

  /** Threads answer in order: the oldest request is the one that is worked on. */
  #watch(): void {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (this.#open.size > 0 && worker) this.#timer = setTimeout(() => this.#restart(worker), this.#fileMs);
  }

  /** A thread that broke or hangs is left, with the file that it was at; the others are asked for again. */
  #restart(worker: Worker): void {
    if (this.#worker !== worker || this.#ended) return;
    this.#worker = undefined;
    void worker.terminate();
    const [first, ...rest] = this.#open.values();
    if (first) this.#settle(first.request.id, null);
    for (const { request } of rest) this.#start().postMessage(request);
    this.#watch();
  }

  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const { reject } of this.#open.values()) reject(stopped());
    this.#open.clear();
    await this.#worker?.terminate();
  }
}

const stopped = () => new AppError("aborted", "Indexing was stopped");

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
