import type { CheckoutPlace } from "./checkout-place.ts";
import { byNul, LineSplitter } from "./line-splitter.ts";
import { nameBytes } from "./names.ts";
import { MAX_LISTING_BYTES } from "./object-listing.ts";
import { parseTreeEntry } from "./parse-changes.ts";
import { streamGit } from "./run-git.ts";
import type { TreeEntry } from "./workspace.ts";

/** What is looked for in the tree of a commit. */
export interface NamedQuery {
  /** Full object name. */
  commit: string;
  /** Last parts of paths. */
  names: readonly string[];
  /** The listing ends behind so many entries. */
  max: number;
}

/**
 * The entries of a commit's tree that have one of the names, in any folder, by path and in git's order. The listing goes by in
 * pieces: that of a large repository takes neither memory nor the time of others.
 */
export async function listNamed(
  place: CheckoutPlace,
  { commit, names, max }: NamedQuery,
): Promise<Map<string, TreeEntry>> {
  const endings = names.flatMap((name) => ["/", "\t"].map((before) => nameBytes(before + name)));
  const isNamed = (record: Buffer) => endings.some((one) => record.subarray(-one.length).equals(one));
  const found = new Map<string, TreeEntry>();
  const records = new LineSplitter((record) => {
    if (found.size >= max || !isNamed(record)) return;
    const entry = parseTreeEntry(record);
    found.set(entry.path, entry);
  }, byNul);
  await streamGit(
    {
      ...{ git: place, gitDir: place.gitDir, what: "list the tree" },
      args: ["ls-tree", "-r", "-z", "--full-tree", commit],
      maxBytes: MAX_LISTING_BYTES,
    },
    (chunk) => {
      records.push(chunk);
      return found.size >= max ? "stop" : undefined;
    },
  );
  return found;
}
