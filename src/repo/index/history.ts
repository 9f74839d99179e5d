import { readLog } from "../git/commits.ts";
import type { RevisionPlace } from "../git/workspace.ts";
import type { GraphCommit } from "./graph.ts";

/** Older commits are seldom needed, and git takes time for each; a commit with more paths is about none of them in particular. */
const limits = { max: 500, maxPaths: 100, maxBytes: 64 * 1024 * 1024, timeoutMs: 20_000 };

/** The last commits up to a head, newest first, each with the paths that it changed. */
export const readHistory = (
  { gitPath, emptyHome, gitDir }: Omit<RevisionPlace, "shas" | "root">,
  head: string,
  signal?: AbortSignal,
): Promise<GraphCommit[]> =>
  readLog({ git: { gitPath, emptyHome }, gitDir, signal }, { range: head, ...limits });
