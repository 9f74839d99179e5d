import { type GraphPort, ToolError } from "../agent/tools/tool.ts";
import { type LocalEnv, readLocalEnv } from "../config/env.ts";
import { localIndex } from "../config/folders.ts";
import { unlessAborted, within } from "../core/async.ts";
import { AppError, errorLine } from "../core/errors.ts";
import { count, thousands } from "../core/text/count.ts";
import { lastCommit } from "../repo/git/workspace.ts";
import type { Graph, GraphAnswer, GraphSource, IndexProgress } from "../repo/index/graph.ts";
import { readHistory } from "../repo/index/history.ts";
import { openGraph, sourceOfWorkspace } from "../repo/index/open-graph.ts";
import type { VectorReport, Vectors } from "../repo/index/vectors.ts";
import type { OpenRange } from "./open-range.ts";
import { useProxy } from "./use-proxy.ts";

/** What is done before a query can be answered. */
export type GraphStep = { step: "reading" } | ({ step: "indexing" } & IndexProgress) | { step: "embedding" };

/** A step in words, for people: "indexing 120/2,000 files". */
export function stepText(step: GraphStep): string {
  if (step.step === "reading") return "reading the repository";
  if (step.step === "embedding") return "computing the vectors of new code";
  return `indexing ${thousands(step.done)}/${count(step.total, "file")}`;
}

interface LocalGraphOptions {
  range: Pick<OpenRange, "place" | "workspace">;
  /** Absolute path of the repository's folder, which identifies the index. */
  repo: string;
  isPrivate(path: string): boolean;
  /** Takes one line for the user. */
  warn(text: string): void;
  /** Gets each step when it begins, and after each file. */
  onStep?: ((step: GraphStep) => void) | undefined;
  signal: AbortSignal;
}

export interface LocalGraph extends Disposable {
  graph: Graph;
  /** Computes missing embeddings; null if no embedding model is configured. Rejects only when aborted. */
  embed(signal: AbortSignal): Promise<VectorReport | null>;
}

/** Updates this user's index of a repository to the head of a range and opens it. Without a cache folder, it is in memory. */
export async function openLocalGraph(options: LocalGraphOptions): Promise<LocalGraph> {
  const { range, repo, isPrivate, onStep, signal } = options;
  const { place, workspace } = range;
  onStep?.({ step: "reading" });
  const env = readLocalEnv();
  const [source, commits] = await Promise.all([
    sourceOfWorkspace(workspace, isPrivate),
    readHistory(place, lastCommit(place.shas), signal).catch((error: unknown) => {
      // If history is shallow or takes too long, the index works without it.
      if (error instanceof AppError && !signal.aborted) return [];
      throw error;
    }),
  ]);
  const vectors = await vectorsOf(env, source, options);
  const openNearest = vectors && { openNearest: vectors.open };
  const graph = await openGraph({
    file: localIndex(repo, env),
    source,
    commits,
    signal,
    ...openNearest,
    onProgress: (progress) => onStep?.({ step: "indexing", ...progress }),
  });
  return {
    graph,
    async embed(until) {
      if (!vectors) return null;
      onStep?.({ step: "embedding" });
      return await vectors.update(until);
    },
    [Symbol.dispose]: () => graph[Symbol.dispose](),
  };
}

/** Tokens for one update of an index; the next one does the rest. */
const mostEmbedded = 5_000_000;

/** Null if no embedding model is configured: then most of the code for it is not even loaded. */
async function vectorsOf(
  env: LocalEnv,
  source: GraphSource,
  { warn }: LocalGraphOptions,
): Promise<Vectors | null> {
  if (!env.embedding) return null;
  useProxy(env);
  const { createEmbedder } = await import("./create-model.ts");
  const { createVectors } = await import("../repo/index/vectors.ts");
  return createVectors({
    embedder: await createEmbedder(env.embedding),
    source,
    maxTokens: mostEmbedded,
    warn,
  });
}

interface KeptGraphOptions extends Omit<LocalGraphOptions, "signal" | "onStep"> {
  /** Computes missing embeddings while it is open; otherwise only existing ones are used. */
  makesVectors: boolean;
  /** Maximum milliseconds that a query waits for the index; less than the tool's own limit. */
  patienceMs?: number;
}

/** Clients wait for a minute, and the tool itself for half of one. */
const PATIENCE_MS = 20_000;
/** Clients kill a server that takes longer to end; the next one continues an incomplete index. */
const END_MS = 1_000;

/** The graph of a range, opened by the first query. Queries do not wait for embeddings: until these are there, the search uses words. */
export class KeptGraph implements GraphPort, AsyncDisposable {
  readonly #options: KeptGraphOptions;
  readonly #open: typeof openLocalGraph;
  readonly #ending = new AbortController();
  #opened: Promise<LocalGraph> | undefined;
  /** Null if the index is not being opened. */
  #step: GraphStep | null = null;
  #embedding: Promise<unknown> = Promise.resolve();

  /** @param open injected by tests */
  constructor(options: KeptGraphOptions, open = openLocalGraph) {
    this.#options = options;
    this.#open = open;
  }

  /** Rejects with a ToolError if the index takes longer than a query waits; it is still built, for the next query. */
  async query(query: string, k: number, signal: AbortSignal): Promise<GraphAnswer> {
    signal.throwIfAborted();
    this.#opened ??= this.#openNow();
    const { patienceMs = PATIENCE_MS } = this.#options;
    const opened = await unlessAborted(
      within(patienceMs, this.#opened, () => undefined),
      signal,
    );
    if (!opened) {
      const now = this.#step ? ` Now: ${stepText(this.#step)}.` : "";
      throw new ToolError(`This repository is being indexed. Ask again in a moment.${now}`);
    }
    return await opened.graph.query(query, k, signal);
  }

  #openNow(): Promise<LocalGraph> {
    const { signal } = this.#ending;
    const onStep = (step: GraphStep) => {
      // A question does not wait for vectors.
      if (step.step !== "embedding") this.#step = step;
    };
    const opening = this.#open({ ...this.#options, onStep, signal });
    opening.then(
      (opened) => {
        this.#step = null;
        if (this.#options.makesVectors)
          this.#embedding = opened.embed(signal).catch((error: unknown) => {
            if (!signal.aborted) this.#options.warn(`Vectors could not be created: ${errorLine(error)}`);
          });
      },
      () => {
        this.#step = null;
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
