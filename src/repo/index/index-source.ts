import { once } from "node:events";
import nodeModule from "node:module";
import { availableParallelism } from "node:os";
import { dirname, extname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { AppError } from "../../core/errors.ts";
import { extractFacts, kindOf } from "./extract-facts.ts";
import type { GraphSource, IndexProgress, IndexReport } from "./graph.ts";
import { type BlobFacts, blobKey, FactWriter } from "./store.ts";

interface MissingBlob {
  path: string;
  oid: string;
  kind: string;
}

interface IndexOptions {
  source: GraphSource;
  readOnly?: boolean;
  threads?: number | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: IndexProgress) => void) | undefined;
}

/** Extracts the facts that are not known yet and fills `temp.present`. */
export async function indexSource(
  database: DatabaseSync,
  options: IndexOptions,
  start: number,
): Promise<IndexReport> {
  const { source, readOnly = false } = options;
  const files = source.files.map((file) => ({ ...file, kind: kindOf(file.path) }));
  const wanted = new Map<string, MissingBlob>();
  for (const { path, oid, kind } of files)
    if (kind !== null) wanted.set(blobKey({ oid, kind }), { path, oid, kind });
  const ids = knownBlobs(database, wanted);
  const missing = [...wanted].filter(([key]) => !ids.has(key)).map(([, blob]) => blob);
  const known = ids.size;
  const writer = new FactWriter(database, readOnly ? "temp" : "main", ids);
  await extractAll(missing, options, ({ oid, kind }, facts) => writer.add({ oid, kind, facts }));
  writer.flush();
  const present = files.map((file) => [file.path, file.oid, ids.get(blobKey(file)) ?? null]);
  database
    .prepare(
      "INSERT INTO temp.present SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) ORDER BY 1",
    )
    .run(JSON.stringify(present));
  return {
    files: files.length,
    parsed: missing.length,
    known,
    skipped: files.filter(({ kind }) => kind === null).length,
    milliseconds: performance.now() - start,
  };
}

/** Ids of the blobs whose facts are known. One query, because ten thousand take half a second. */
function knownBlobs(database: DatabaseSync, wanted: ReadonlyMap<string, MissingBlob>): Map<string, number> {
  const oids = new Set([...wanted.values()].map(({ oid }) => oid));
  const found = database
    .prepare("SELECT oid, kind, blob.id FROM json_each(?) JOIN main.blob ON oid = value")
    .all(JSON.stringify([...oids]));
  const all = found.map(({ oid, kind, id }) => [`${oid} ${kind}`, Number(id)] as const);
  return new Map(all.filter(([key]) => wanted.has(key)));
}

/** Texts that are read for one thread at a time: enough that it never waits, few enough to hold in memory. */
const AHEAD = 4;

/** `take` gets the facts in the order of the blobs, whatever thread is faster: ids order answers that are equally good. */
async function extractAll(
  missing: readonly MissingBlob[],
  { source, threads, signal, onProgress }: IndexOptions,
  take: (blob: MissingBlob, facts: BlobFacts | null) => void,
): Promise<void> {
  if (missing.length === 0) return;
  const total = missing.length;
  onProgress?.({ done: 0, total });
  await using pool = threads === 0 ? null : new ExtractPool(total, threads, signal);
  const left = missing.entries();
  const early = new Map<number, BlobFacts | null>();
  let [done, taken] = [0, 0];
  const readAndExtract = async () => {
    for (const [at, blob] of left) {
      signal?.throwIfAborted();
      const text = await source.read(blob.oid);
      const facts =
        text === null ? null : await (pool?.extract(blob.path, text) ?? extractFacts(blob.path, text));
      early.set(at, facts);
      for (let next = early.get(taken); next !== undefined; next = early.get(taken)) {
        early.delete(taken);
        take(missing[taken++] as MissingBlob, next);
      }
      onProgress?.({ done: ++done, total });
    }
  };
  await Promise.all(Array.from({ length: pool ? pool.size * AHEAD : 1 }, readAndExtract));
}

export interface ExtractRequest {
  path: string;
  text: string;
}

/** Parsing this many files takes longer than starting a thread, which has to load the parser. */
const FILES_PER_THREAD = 60;
/** More threads are faster than the database can store their facts. */
const MAX_THREADS = 4;
/** No file should take this long. It is given up, together with its thread. */
const FILE_TIMEOUT_MS = 20_000;

/** Threads that extract facts. */
class ExtractPool implements AsyncDisposable {
  readonly #threads: ExtractThread[];

  constructor(files: number, threads: number | undefined, signal: AbortSignal | undefined) {
    const most = threads ?? Math.min(MAX_THREADS, availableParallelism());
    const length = Math.max(1, Math.min(most, Math.ceil(files / FILES_PER_THREAD)));
    this.#threads = Array.from({ length }, () => new ExtractThread());
    signal?.addEventListener("abort", () => void this[Symbol.asyncDispose](), { once: true });
  }

  get size(): number {
    return this.#threads.length;
  }

  /** The facts of a text; null if nothing is known of it or it took too long. */
  extract(path: string, text: string): Promise<BlobFacts | null> {
    const idlest = this.#threads.reduce((least, one) => (one.load < least.load ? one : least));
    return idlest.extract({ path, text });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }
}

/** `extract-worker.ts`, or the file that it was compiled to. */
const script = join(import.meta.dirname, `extract-worker${extname(import.meta.filename)}`);

/**
 * The environment of a thread. It parses hostile texts, so it gets no variable but the folder of the compile cache: without it,
 * compiling takes four times as long as everything else before its first file.
 */
function environment(): NodeJS.Dict<string> {
  // Node reports the subfolder of its version; the variable names the folder above.
  const folder = nodeModule.getCompileCacheDir?.();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

/** One worker thread, which parses one text after the other. It is started with its first text. */
class ExtractThread {
  /** Texts that are not parsed yet. */
  load = 0;
  #last: Promise<unknown> = Promise.resolve();
  #worker: Worker | undefined;
  readonly #ending = new AbortController();

  async extract(request: ExtractRequest): Promise<BlobFacts | null> {
    this.load += 1;
    const facts = this.#last.then(() => this.#ask(request)).finally(() => (this.load -= 1));
    this.#last = facts.catch(() => {});
    return await facts;
  }

  /** A worker that crashes or hangs is replaced, and its file given up. */
  async #ask(request: ExtractRequest): Promise<BlobFacts | null> {
    const ended = this.#ending.signal;
    if (ended.aborted) throw stopped();
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const signal = AbortSignal.any([ended, AbortSignal.timeout(FILE_TIMEOUT_MS)]);
    try {
      const answer = once(worker, "message", { signal });
      worker.postMessage(request);
      const [facts]: (BlobFacts | null)[] = await answer;
      return facts ?? null;
    } catch {
      this.#worker = undefined;
      await worker.terminate();
      if (ended.aborted) throw stopped();
      return null;
    }
  }

  #start(): Worker {
    const worker = new Worker(script, { env: environment() });
    // Nobody waits for its answer between two texts.
    worker.on("error", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }

  async end(): Promise<void> {
    this.#ending.abort();
    await this.#worker?.terminate();
  }
}

const stopped = () => new AppError("aborted", "Indexing was cancelled");
