import type { DatabaseSync } from "node:sqlite";
import { reasonByName } from "../diff/skipped-names.ts";
import { AppError, errorLine } from "../errors.ts";
import { Masks, type ScannedText } from "../secrets/masks.ts";
import { kindOf } from "./extract-facts.ts";
import type { GraphFile, GraphSource, Nearest } from "./graph.ts";
import { loadVectorExtension, VectorStore } from "./vector-store.ts";

/** What a request for vectors came to. */
interface Embedded {
  /** One for each text, in their order, all of one length. */
  vectors: readonly Float32Array[];
  /** That were paid for; estimated where the endpoint does not tell. */
  tokens: number;
}

/** Makes vectors of texts: near to each other where the texts mean the same. */
export interface Embedder {
  /** Vectors of another name cannot be compared with its own: the endpoint and the model. */
  readonly name: string;
  /** Rejects with an AppError; nothing is sent for no texts. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Embedded>;
}

/** A part of a file that gets a vector of its own. Lines are 1-indexed and inclusive. */
export interface Chunk {
  startLine: number;
  endLine: number;
  text: string;
}

/** About 500 tokens: what the smallest models take, and few enough to mean one thing. */
const MAX_CHARACTERS = 1_800;
const MAX_LINES = 60;
/** From this share of a full chunk on, it ends in front of a line that begins something new. */
const ENOUGH = 0.4;
/** Of one file; what comes behind them is found by words only. */
const MAX_CHUNKS = 80;
/** A longer line tells no more. */
const MAX_LINE = 400;

/** The parts of a file that may be sent out: without its secrets, and without those that another file gave away. */
export function chunksToSend(text: ScannedText, masks: Masks): Chunk[] {
  const clean = masks.forPeople(masks.mask(text));
  return chunksOf(clean.split("\n"));
}

/** Consecutive parts, divided where something new begins: at a line without indentation, behind an empty one at best. */
function chunksOf(lines: readonly string[]): Chunk[] {
  const chunks: Chunk[] = [];
  let start = 0;
  let size = 0;
  for (const [at, line] of lines.entries()) {
    const length = Math.min(line.length, MAX_LINE) + 1;
    const full = Math.max(size / MAX_CHARACTERS, (at - start) / MAX_LINES);
    const isOver = size + length > MAX_CHARACTERS || at - start >= MAX_LINES;
    if (at > start && (isOver || (full >= ENOUGH && beginsAnew(lines, at)))) {
      put(chunks, lines, start, at);
      start = at;
      size = 0;
    }
    size += length;
  }
  put(chunks, lines, start, lines.length);
  return chunks.slice(0, MAX_CHUNKS);
}

const beginsAnew = (lines: readonly string[], at: number): boolean =>
  /^[\p{L}_@#/<]/u.test(lines[at] ?? "") && (lines[at - 1] ?? "").trim() === "";

/** Blank lines around it tell nothing, and of a part without a letter there is nothing to find. */
function put(chunks: Chunk[], lines: readonly string[], from: number, to: number): void {
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

export interface VectorOptions {
  embedder: Embedder;
  /** The files of the head; private ones are not among them, so nothing of them is ever sent. */
  source: GraphSource;
  /** What one update may take; what is left then comes with the next one. */
  maxTokens: number;
  /** Takes one line for whoever operates this. */
  warn(text: string): void;
}

/** What an update came to. */
export interface VectorReport {
  /** Blobs that have vectors now and had none before. */
  embedded: number;
  /** Blobs that are still without: the tokens were used up, or the endpoint failed. */
  left: number;
  tokens: number;
}

/** Finds parts of files by what they mean. Without sqlite-vec for this machine it finds nothing, and sends nothing. */
export interface Vectors {
  /** For `openGraph`: takes its place in the index. What a file that is only read lacks is forgotten with the connection. */
  open(database: DatabaseSync, writable: boolean): Nearest;
  /** Makes the vectors that are missing, as far as the tokens reach. Rejects only when aborted; what is done stays. */
  update(signal: AbortSignal): Promise<VectorReport>;
}

/** Chunks of one request; endpoints take 2,048 texts and some 300,000 tokens. */
const BATCH = 96;
/** A question is words or a few lines. */
const MAX_QUERY = 2_000;

export function createVectors(options: VectorOptions): Vectors {
  let stores: VectorStore[] = [];
  const masks = new Masks();
  return {
    open(database, writable) {
      stores = loadVectorExtension(database) ? storesIn(database, writable, options.embedder) : [];
      return nearestIn(stores, options, masks);
    },
    update: (signal) => update(stores, options, masks, signal),
  };
}

/** The last one is written to. */
function storesIn(database: DatabaseSync, writable: boolean, { name }: Embedder): VectorStore[] {
  const main = new VectorStore(database, "main");
  if (writable) {
    main.prepare(name);
    return [main];
  }
  const own = new VectorStore(database, "temp");
  own.prepare(name);
  return main.holds(name) ? [main, own] : [own];
}

function nearestIn(stores: readonly VectorStore[], { embedder, warn }: VectorOptions, masks: Masks): Nearest {
  let isUsable = true;
  return {
    async nearest(query, k, signal) {
      const filled = stores.filter((store) => store.holds(embedder.name));
      const asked = masks.forPeople(masks.mask(await masks.learn(query)));
      const text = asked.slice(0, MAX_QUERY).trim();
      if (!isUsable || filled.length === 0 || text === "") return [];
      try {
        const [vector] = (await embedder.embed([text], signal)).vectors;
        if (!vector) return [];
        const found = filled.flatMap((store) => store.nearest(vector, k));
        return found.toSorted((a, b) => a.distance - b.distance).slice(0, k);
      } catch (error) {
        if (signal.aborted) throw error;
        // Words alone answer as well, and at once: nobody waits for an endpoint that is away a second time.
        isUsable = false;
        warn(`Questions to the graph are answered by words only: ${errorLine(error)}`);
        return [];
      }
    },
  };
}

async function update(
  stores: readonly VectorStore[],
  options: VectorOptions,
  masks: Masks,
  signal: AbortSignal,
): Promise<VectorReport> {
  const target = stores.at(-1);
  if (!target) return { embedded: 0, left: 0, tokens: 0 };
  const missing = wantedBlobs(options.source.files).filter(
    (oid) => !stores.some((store) => store.knows(oid)),
  );
  const batch = new Batch(target, options, signal);
  try {
    const found = await learned(missing, options, masks, signal);
    for (const oid of missing) {
      signal.throwIfAborted();
      const text = await options.source.read(oid);
      const ranges = found.get(oid) ?? [];
      if (!(await batch.take(oid, text === null ? [] : chunksToSend({ text, ranges }, masks)))) break;
    }
    await batch.flush();
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError)) throw error;
    options.warn(`Parts of the repository are found by words only: ${errorLine(error)}`);
  }
  return { embedded: batch.done, left: missing.length - batch.done, tokens: batch.tokens };
}

/** Where the secrets of blobs stand. All are read before anything is sent: a value may stand in one that does not show it. */
async function learned(
  oids: readonly string[],
  { source }: VectorOptions,
  masks: Masks,
  signal: AbortSignal,
): Promise<Map<string, ScannedText["ranges"]>> {
  const found = new Map<string, ScannedText["ranges"]>();
  for (const oid of oids) {
    signal.throwIfAborted();
    const text = await source.read(oid);
    const { ranges } = text === null ? { ranges: [] } : await masks.learn(text);
    if (ranges.length > 0) found.set(oid, ranges);
  }
  return found;
}

/** Code and documents, as far as a person wrote them. */
function wantedBlobs(files: readonly GraphFile[]): string[] {
  const wanted = files.filter(({ path }) => kindOf(path) !== null && reasonByName(path) === null);
  return [...new Set(wanted.map(({ oid }) => oid))];
}

/** Blobs whose chunks go out together. */
class Batch {
  done = 0;
  tokens = 0;
  readonly #store: VectorStore;
  readonly #options: VectorOptions;
  readonly #signal: AbortSignal;
  #waiting: { oid: string; chunks: readonly Chunk[] }[] = [];

  constructor(store: VectorStore, options: VectorOptions, signal: AbortSignal) {
    this.#store = store;
    this.#options = options;
    this.#signal = signal;
  }

  /** False where the tokens do not reach for it. */
  async take(oid: string, chunks: readonly Chunk[]): Promise<boolean> {
    const waiting = [...this.#waiting, { oid, chunks }].flatMap((one) => one.chunks);
    if (this.tokens + estimateOf(waiting) > this.#options.maxTokens) return false;
    this.#waiting.push({ oid, chunks });
    if (waiting.length >= BATCH) await this.flush();
    return true;
  }

  async flush(): Promise<void> {
    const blobs = this.#waiting;
    this.#waiting = [];
    const texts = blobs.flatMap(({ chunks }) => chunks.map(({ text }) => text));
    const { vectors, tokens } =
      texts.length > 0 ? await this.#options.embedder.embed(texts, this.#signal) : { vectors: [], tokens: 0 };
    this.tokens += tokens;
    const left = vectors.values();
    const withVector = (chunk: Chunk) => ({ ...chunk, vector: left.next().value as Float32Array });
    this.#store.add(blobs.map(({ oid, chunks }) => ({ oid, chunks: chunks.map(withVector) })));
    this.done += blobs.length;
  }
}

/** Code has about three characters a token. */
const estimateOf = (chunks: readonly Chunk[]) =>
  Math.ceil(chunks.reduce((sum, { text }) => sum + text.length, 0) / 3);
