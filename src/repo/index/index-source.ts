import { once } from "node:events";
import nodeModule from "node:module";
import { availableParallelism } from "node:os";
import { dirname, extname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { pMapIterable } from "p-map";
import { AppError } from "../../core/errors.ts";
import { extractFacts, kindOf } from "./extract-facts.ts";
import type { GraphSource, IndexProgress, IndexReport } from "./graph.ts";
import { type BlobFacts, blobKey, FactWriter } from "./store.ts";

interface MissingBlob {
  path: string;
  oid: string;
  kind: string;
}

export interface IndexOptions {
  source: GraphSource;
  /** Opens the file for reading only: a pull request leaves nothing behind for the review of another one. */
  readOnly?: boolean;
  /** Threads that parse texts. 0 parses in this thread: for few and trusted texts. Undefined: as many as there are cores. */
  threads?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called before the first text is read and after each one; never if nothing must be read. */
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
/** Texts whose facts may wait for those of an earlier one, for each that is read. */
const MAX_WAITING = 50;

/** `take` gets the facts in the order of the blobs, whatever thread is faster: ids order answers that are equally good. */
async function extractAll(
  missing: readonly MissingBlob[],
  { source, threads, signal, onProgress }: IndexOptions,
  take: (blob: MissingBlob, facts: BlobFacts | null) => void,
): Promise<void> {
  if (missing.length === 0) return;
  const total = missing.length;
  onProgress?.({ done: 0, total });
  const most = threads ?? Math.min(MAX_THREADS, availableParallelism());
  const length = Math.min(most, Math.ceil(total / FILES_PER_THREAD));
  const pool = Array.from({ length }, () => new ExtractThread());
  const end = () => Promise.all(pool.map((thread) => thread.end()));
  signal?.addEventListener("abort", end, { once: true });
  let done = 0;
  const extract = async (blob: MissingBlob) => {
    signal?.throwIfAborted();
    const text = await source.read(blob.oid);
    const facts = typeof text !== "string" ? text : await extractOn(pool, { path: blob.path, text });
    onProgress?.({ done: ++done, total });
    return { blob, facts };
  };
  const concurrency = Math.max(1, length * AHEAD);
  // Others go on while the facts of a slow text are missing.
  const extracted = pMapIterable(missing, extract, { concurrency, backpressure: concurrency * MAX_WAITING });
  try {
    // What cannot be read now may be there for the next index.
    for await (const { blob, facts } of extracted) if (facts !== undefined) take(blob, facts);
  } finally {
    await end();
  }
}

/** On the thread that has the least to do, or on this one. */
async function extractOn(
  [first, ...others]: readonly ExtractThread[],
  request: ExtractRequest,
): Promise<BlobFacts | null> {
  if (!first) return await extractFacts(request.path, request.text);
  return await others.reduce((least, one) => (one.load < least.load ? one : least), first).extract(request);
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

/** `extract-worker.ts`, or the file that it was compiled to. */
const script = join(import.meta.dirname, `extract-worker${extname(import.meta.filename)}`);

/** The environment of a thread that parses hostile texts: only the folder of the compile cache, without which compiling takes longest. */
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

const stopped = () => new AppError("aborted", "Indexing was canceled");
