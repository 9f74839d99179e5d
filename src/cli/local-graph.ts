import { createHash } from "node:crypto";
import { join } from "node:path";
import { readLocalEnv } from "../config/env.ts";
import { AppError } from "../errors.ts";
import type { Graph } from "../graph/graph.ts";
import { readHistory } from "../graph/history.ts";
import { openGraph } from "../graph/open-graph.ts";
import { sourceOfWorkspace } from "../graph/source.ts";
import type { GraphPort } from "../tools/tool.ts";
import type { OpenRange } from "./open-range.ts";

/** What the graph of a local range is made of. */
export interface LocalGraph {
  range: Pick<OpenRange, "place" | "workspace">;
  /** The folder of the repository, which the index is known by. */
  repo: string;
  isPrivate(path: string): boolean;
  signal: AbortSignal;
}

/**
 * Brings this user's index of a repository up to the head of a range and opens it. It lies in the folder where commands keep
 * what can be found out again, and in memory where there is none.
 */
export async function openLocalGraph({ range, repo, isPrivate, signal }: LocalGraph): Promise<Graph> {
  const { place, workspace } = range;
  const [source, commits] = await Promise.all([
    sourceOfWorkspace(workspace, isPrivate),
    readHistory(place, place.shas.head, signal).catch((error: unknown) => {
      // Where history was cut off, or takes too long, the rest is known all the same.
      if (error instanceof AppError && !signal.aborted) return [];
      throw error;
    }),
  ]);
  return await openGraph({ file: indexOf(repo), source, commits, signal });
}

function indexOf(repo: string): string | null {
  const { modelFolder } = readLocalEnv();
  if (modelFolder === null) return null;
  const name = createHash("sha256").update(repo).digest("hex").slice(0, 32);
  return join(modelFolder, "graphs", `${name}.db`);
}

/** Opens the graph when it is first asked, for each question anew: a command asks one. */
export function localGraphPort(given: Omit<LocalGraph, "signal">): GraphPort {
  return {
    async query(query, k, signal) {
      using graph = await openLocalGraph({ ...given, signal });
      return await graph.query(query, k, signal);
    },
  };
}
