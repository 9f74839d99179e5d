import { rm } from "node:fs/promises";
import { decodeName } from "./names.ts";
import { type ListingPlace, listTree } from "./object-listing.ts";
import { runGit } from "./run-git.ts";
import { isWritable } from "./writable.ts";

const NUL = Buffer.from([0]);
const TAB = 9;

/**
 * The tree of a commit without the files that no checkout can hold (too long a name, too deep a folder); undefined when it
 * has none. Git would write nothing at all for a single one of them. Adds the tree to the repository's objects.
 *
 * @param draftIndex path of an index that nobody uses; it is removed again
 */
export async function writableTree(
  place: ListingPlace,
  sha: string,
  draftIndex: string,
): Promise<string | undefined> {
  const isFine = (record: Buffer) => isWritable(decodeName(record.subarray(record.indexOf(TAB) + 1)));
  let left = 0;
  await listTree(place, sha, (record) => {
    if (!isFine(record)) left += 1;
  });
  if (left === 0) return undefined;
  const kept: Buffer[] = [];
  await listTree(place, sha, (record) => {
    if (isFine(record)) kept.push(Buffer.concat([record, NUL]));
  });
  const command = { ...place, indexFile: draftIndex };
  try {
    await rm(draftIndex, { force: true });
    const input = Buffer.concat(kept);
    await runGit({ ...command, what: "list files", args: ["update-index", "-z", "--index-info"], input });
    const written = await runGit({ ...command, what: "write a tree", args: ["write-tree", "--missing-ok"] });
    return written.stdout.toString("latin1").trim();
  } finally {
    await Promise.all([draftIndex, `${draftIndex}.lock`].map((path) => rm(path, { force: true })));
  }
}
