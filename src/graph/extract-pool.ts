import nodeModule from "node:module";
import { availableParallelism } from "node:os";
import { dirname, extname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { AppError } from "../errors.ts";
import type { BlobFacts } from "./facts.ts";

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

export interface PoolOptions {
  /** Undefined: as many as there are cores, up to four. */
  threads?: number | undefined;
  signal?: AbortSignal | undefined;
  fileMs?: number | undefined;
}

/** Threads that take texts apart. */
export class ExtractPool implements AsyncDisposable {
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
