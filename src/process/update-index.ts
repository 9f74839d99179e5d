import { blobSizes } from "../git/object-listing.ts";
import { openObjects } from "../git/object-workspace.ts";
import type { GraphSource } from "../graph/graph.ts";
import { openGraph, sourceOfWorkspace } from "../graph/open-graph.ts";
import { privacyOf } from "../tools/private-text.ts";
import type { IndexReport, IndexTask } from "./index-messages.ts";

/** Files of a repository that are indexed; of a larger one the rest is not known. */
const MAX_FILES = 50_000;
/** A text beyond this is data, or made by a machine. */
const MAX_BYTES = 1_000_000;
/** It shares its machine with reviews. */
const THREADS = 1;

/** Brings the index up to one commit of the base branch. Reads git's objects alone, and nothing that is not here. */
export async function updateIndex(task: IndexTask, signal: AbortSignal): Promise<IndexReport> {
  const { gitPath, gitDir, emptyHome, sha, file, privatePaths } = task;
  const shas = { head: sha, base: sha, mergeBase: sha };
  await using workspace = openObjects({ gitPath, gitDir, emptyHome, shas });
  const all = await sourceOfWorkspace(workspace, await privacyOf(workspace, privatePaths));
  const git = { gitPath, emptyHome };
  const sizes = await blobSizes(
    { git, gitDir, signal },
    all.files.map(({ oid }) => oid),
  );
  const source = onlyHere(all, sizes);
  using graph = await openGraph({ file, source, signal, threads: THREADS });
  return graph.report;
}

/**
 * A mirror has no blob that nobody needed yet. What is missing must not go down as a text of which nothing is known: it would
 * stay so once it is here.
 */
function onlyHere({ files, read }: GraphSource, sizes: ReadonlyMap<string, number>): GraphSource {
  const isHere = ({ oid }: GraphSource["files"][number]) => (sizes.get(oid) ?? Infinity) <= MAX_BYTES;
  return { files: files.filter(isHere).slice(0, MAX_FILES), read };
}
