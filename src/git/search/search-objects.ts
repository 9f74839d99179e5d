import type { ObjectPlace } from "../checkout-place.ts";
import type { SearchHits, SearchQuery, TreeEntry } from "../workspace.ts";
import { BlobStream } from "./blob-stream.ts";
import { filesToSearch } from "./files-to-search.ts";
import { MAX_SEARCHED_BYTES, searchStream } from "./search-stream.ts";
import { searchTarget } from "./search-target.ts";

/**
 * Searches the regular files of a tree where nothing is checked out: their blobs go through one ripgrep. Rejects with `usage` for
 * a path that is not in the tree, and when ripgrep refuses the pattern, the glob or the type.
 */
export async function searchObjects(
  place: ObjectPlace,
  tree: ReadonlyMap<string, TreeEntry>,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<SearchHits> {
  const entries = await filesToSearch(tree.values(), searchTarget(tree, query), query);
  const oids = entries.map(({ oid }) => oid);
  await using blobs = new BlobStream(place, oids, MAX_SEARCHED_BYTES);
  return await searchStream(filesOf(entries, blobs), query, signal);
}

async function* filesOf(entries: readonly TreeEntry[], blobs: AsyncIterable<Buffer | null>) {
  let at = 0;
  for await (const bytes of blobs) {
    const path = entries[at]?.path ?? "";
    at += 1;
    if (bytes) yield { path, bytes };
  }
}
