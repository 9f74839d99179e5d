import { unlessAborted, within } from "../async.ts";
import { type LocalEnv, readLocalEnv } from "../config/env.ts";
import { localIndex } from "../config/folders.ts";
import { AppError, errorLine } from "../errors.ts";
import type { Graph, GraphSource } from "../graph/graph.ts";
import { readHistory } from "../graph/history.ts";
import { openGraph, sourceOfWorkspace } from "../graph/open-graph.ts";
import type { VectorReport, Vectors } from "../graph/vectors.ts";
import { type GraphAnswer, type GraphPort, ToolError } from "../tools/tool.ts";
import type { OpenRange } from "./open-range.ts";
import { useProxy } from "./use-proxy.ts";

interface LocalGraphOptions {
  range: Pick<OpenRange, "place" | "workspace">;
  /** Absolute path of the repository's folder, which identifies the index. */
  repo: string;
  isPrivate(path: string): boolean;
  /** Takes one line for the user. */
  warn(text: string): void;
  signal: AbortSignal;
}

export interface LocalGraph extends Disposable {
  graph: Graph;
  /** Computes missing embeddings; null if no embedding model is configured. Rejects only when aborted. */
  embed(signal: AbortSignal): Promise<VectorReport | null>;
}

/**
 * Updates this user's index of a repository to the head of a range and opens it. It is kept in the cache folder, and in memory
 * if there is none.
 */
export async function openLocalGraph(options: LocalGraphOptions): Promise<LocalGraph> {
  const { range, repo, isPrivate, signal } = options;
  const { place, workspace } = range;
  const env = readLocalEnv();
  const [source, commits] = await Promise.all([
    sourceOfWorkspace(workspace, isPrivate),
    readHistory(place, place.shas.head, signal).catch((error: unknown) => {
      // If history is shallow or takes too long, the index works without it.
      if (error instanceof AppError && !signal.aborted) return [];
      throw error;
    }),
  ]);
  const vectors = await vectorsOf(env, source, options);
  const openNearest = vectors && { openNearest: vectors.open };
  const graph = await openGraph({ file: localIndex(repo, env), source, commits, signal, ...openNearest });
  return {
    graph,
    embed: async (until) => (vectors ? await vectors.update(until) : null),
    [Symbol.dispose]: () => graph[Symbol.dispose](),
  };
}

/** Null if no embedding model is configured: then most of the code for it is not even loaded. */
async function vectorsOf(
  env: LocalEnv,
  source: GraphSource,
  { warn }: LocalGraphOptions,
): Promise<Vectors | null> {
  if (!env.embedding) return null;
  useProxy(env);
  const { createEmbedder } = await import("./create-model.ts");
  const { createVectors } = await import("../graph/vectors.ts");
  const { maxTokens } = env.embedding;
  return createVectors({ embedder: await createEmbedder(env.embedding), source, maxTokens, warn });
}

interface KeptGraphOptions extends Omit<LocalGraphOptions, "signal"> {
  /** Computes missing embeddings while it is open; otherwise only existing ones are used. */
  makesVectors: boolean;
  /** Maximum milliseconds that a query waits for the index; less than the tool's own limit. */
  patienceMs?: number;
}

const PATIENCE_MS = 20_000;
/** Clients kill a server that takes longer to end; the next one continues an incomplete index. */
const END_MS = 1_000;

/**
 * The graph of a range, opened by the first query and kept as long as the range. Queries do not wait for embeddings: these are computed
 * meanwhile, and until then the search only uses words.
 */
export class KeptGraph implements GraphPort, AsyncDisposable {
  readonly #options: KeptGraphOptions;
  readonly #open: typeof openLocalGraph;
  readonly #ending = new AbortController();
  #opened: Promise<LocalGraph> | undefined;
  #embedding: Promise<unknown> = Promise.resolve();

  /** @param open injected by tests */
  constructor(options: KeptGraphOptions, open = openLocalGraph) {
    this.#options = options;
    this.#open = open;
  }

  /**
   * Rejects with a ToolError if the index takes longer than a query waits, with the signal's reason after it has fired, and as
   * `openLocalGraph` does; the next query then tries again.
   */
  async query(query: string, k: number, signal: AbortSignal): Promise<GraphAnswer> {
    signal.throwIfAborted();
    this.#opened ??= this.#openNow();
    // After an aborted query, the index is still built for the next one.
    const { patienceMs = PATIENCE_MS } = this.#options;
    const opened = await unlessAborted(
      within(patienceMs, this.#opened, () => undefined),
      signal,
    );
    if (!opened) throw new ToolError("This repository is being indexed. Ask again in a moment.");
    return await opened.graph.query(query, k, signal);
  }

  #openNow(): Promise<LocalGraph> {
    const { signal } = this.#ending;
    const opening = this.#open({ ...this.#options, signal });
    opening.then(
      (opened) => {
        if (this.#options.makesVectors)
          this.#embedding = opened.embed(signal).catch((error: unknown) => {
            if (!signal.aborted) this.#options.warn(`Vectors could not be created: ${errorLine(error)}`);
          });
      },
      () => {
        this.#opened = undefined;
      },
    );
    return opening;
  }

  /** Ends building the index. No query may be running any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await within(END_MS, this.#close(), () => undefined);
  }

  async #close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    await this.#embedding;
    opened?.[Symbol.dispose]();
  }
}
