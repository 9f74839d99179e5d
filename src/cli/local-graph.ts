import { type LocalEnv, readLocalEnv } from "../config/env.ts";
import { AppError } from "../errors.ts";
import type { Graph, GraphSource } from "../graph/graph.ts";
import { readHistory } from "../graph/history.ts";
import { openGraph, sourceOfWorkspace } from "../graph/open-graph.ts";
import type { VectorReport, Vectors } from "../graph/vectors.ts";
import { localIndex } from "./local-index.ts";
import type { OpenRange } from "./open-range.ts";
import { useProxy } from "./use-proxy.ts";

/** What the graph of a local range is made of. */
export interface LocalGraphOptions {
  range: Pick<OpenRange, "place" | "workspace">;
  /** Absolute path of the repository's folder, which the index is known by. */
  repo: string;
  isPrivate(path: string): boolean;
  /** Takes one line for whoever runs this. */
  warn(text: string): void;
  signal: AbortSignal;
}

/** A graph, and what adds to it that others are asked for. */
export interface LocalGraph extends Disposable {
  graph: Graph;
  /** Makes the vectors that are missing; null where no model for them is configured. Rejects only when aborted. */
  embed(signal: AbortSignal): Promise<VectorReport | null>;
}

/**
 * Brings this user's index of a repository up to the head of a range and opens it. It lies in the folder where commands keep
 * what can be found out again, and in memory where there is none.
 */
export async function openLocalGraph(options: LocalGraphOptions): Promise<LocalGraph> {
  const { range, repo, isPrivate, signal } = options;
  const { place, workspace } = range;
  const env = readLocalEnv();
  const [source, commits] = await Promise.all([
    sourceOfWorkspace(workspace, isPrivate),
    readHistory(place, place.shas.head, signal).catch((error: unknown) => {
      // Where history was cut off, or takes too long, the rest is known all the same.
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

/** Null where no model for them is configured: most of the code for it is not even loaded. */
async function vectorsOf(
  env: LocalEnv,
  source: GraphSource,
  { warn }: LocalGraphOptions,
): Promise<Vectors | null> {
  if (!env.embedding) return null;
  useProxy(env);
  const { createEmbedder } = await import("./create-embedder.ts");
  const { createVectors } = await import("../graph/vectors.ts");
  const { maxTokens } = env.embedding;
  return createVectors({ embedder: await createEmbedder(env.embedding), source, maxTokens, warn });
}
