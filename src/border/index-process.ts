/** Entry point of the process that updates an index: waits for its task and sends the report. */

import { privacyOf } from "../agent/tools/paths.ts";
import { errorLine } from "../core/errors.ts";
import { blobSizes } from "../repo/git/object-listing.ts";
import { openObjects } from "../repo/git/object-workspace.ts";
import type { GraphSource } from "../repo/index/graph.ts";
import { openGraph, sourceOfWorkspace } from "../repo/index/open-graph.ts";
import { type IndexAnswer, type IndexReport, IndexTask } from "./index-messages.ts";
import { liveForParent } from "./parent-port.ts";

const MAX_FILES = 50_000;
/** A longer text is data or generated. */
const MAX_BYTES = 1_000_000;
/** Reviews run on the same machine. */
const THREADS = 1;

/** Updates the index to a commit of the base branch. Reads only local git objects. */
async function updateIndex(task: IndexTask, signal: AbortSignal): Promise<IndexReport> {
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

/** A blob that the mirror lacks must not be indexed as a file without content: the entry would remain after the blob has arrived. */
function onlyHere({ files, read }: GraphSource, sizes: ReadonlyMap<string, number>): GraphSource {
  const isHere = ({ oid }: GraphSource["files"][number]) => (sizes.get(oid) ?? Infinity) <= MAX_BYTES;
  return { files: files.filter(isHere).slice(0, MAX_FILES), read };
}

const send = (message: IndexAnswer) => process.send?.(message);
const fail = (error: unknown) => send({ type: "failed", error: errorLine(error) });
liveForParent(fail);
// Never fires: to cancel, the parent kills this process.
const { signal } = new AbortController();

process.on("message", (raw) => {
  void updateIndex(IndexTask.parse(raw), signal).then((report) => send({ type: "done", report }), fail);
});

send({ type: "ready" });
