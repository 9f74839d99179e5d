import type { SearchHits, SearchQuery } from "../workspace.ts";
import { inSearchOrder } from "./path-order.ts";

/** Two answers to one query, of files of which none is in both, as one. */
export function mergeHits(one: SearchHits, other: SearchHits, { maxResults }: SearchQuery): SearchHits {
  const join = <Hit>(a: readonly Hit[], b: readonly Hit[], pathOf: (hit: Hit) => string) => {
    const hits = inSearchOrder([...a, ...b], pathOf).slice(0, maxResults);
    return { hits, limited: hits.length >= maxResults };
  };
  const { program } = one;
  if (one.mode === "content" && other.mode === "content") {
    const { hits, limited } = join(one.matches, other.matches, ({ path }) => path);
    return { mode: "content", matches: hits, limited, program };
  }
  if (one.mode === "count" && other.mode === "count") {
    const { hits, limited } = join(one.counts, other.counts, ({ path }) => path);
    return { mode: "count", counts: hits, limited, program };
  }
  if (one.mode === "files_with_matches" && other.mode === "files_with_matches") {
    const { hits, limited } = join(one.paths, other.paths, (path) => path);
    return { mode: "files_with_matches", paths: hits, limited, program };
  }
  throw new Error("Two answers of one query are of one mode");
}
