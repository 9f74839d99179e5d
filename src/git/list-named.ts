import type { CheckoutPlace } from "./checkout-place.ts";
import { parseTree } from "./parse-changes.ts";
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
  const found: string[] = [];
  const isNamed = (record: string) =>
    names.some((name) => record.endsWith(`/${name}`) || record.endsWith(`\t${name}`));
  let rest = "";
  await streamGit(
    {
      ...{ git: place, gitDir: place.gitDir, what: "list the tree" },
      args: ["ls-tree", "-r", "-z", "--full-tree", commit],
      maxBytes: 1 << 30,
    },
    (chunk) => {
      // Latin-1 keeps one character a byte.
      const records = (rest + chunk.toString("latin1")).split("\0");
      rest = records.pop() ?? "";
      found.push(...records.filter(isNamed));
      return found.length >= max ? "stop" : undefined;
    },
  );
  return parseTree(
    Buffer.from(
      found
        .slice(0, max)
        .map((record) => `${record}\0`)
        .join(""),
      "latin1",
    ),
  );
}
