import { AppError } from "../errors.ts";
import type { Git } from "./git-environment.ts";
import { runGit, streamGit } from "./run-git.ts";

/** Where to list, and how long that may take. */
export interface ListingPlace {
  git: Git;
  gitDir: string;
  signal?: AbortSignal | undefined;
}

/** One side of a difference; undefined where there is no file, or no blob (a submodule). */
export interface BlobChange {
  from: string | undefined;
  to: string | undefined;
}

const SUBMODULE = "160000";
const MISSING_MODE = "000000";

/**
 * The blobs of a commit's tree, one for each path. Rejects with `too_large` beyond `maxEntries`, before the listing is
 * complete: a tree of a few hundred bytes may list ten thousand million files.
 */
export async function listBlobs(place: ListingPlace, sha: string, maxEntries: number): Promise<string[]> {
  const oids: string[] = [];
  let rest = "";
  let entries = 0;
  await streamGit(
    { ...place, what: "list the tree", args: ["ls-tree", "-r", "-z", "--full-tree", sha], maxBytes: 1 << 30 },
    (chunk) => {
      // Latin-1 keeps one character a byte; only mode and object name are looked at.
      const records = (rest + chunk.toString("latin1")).split("\0");
      rest = records.pop() ?? "";
      entries += records.length;
      if (entries > maxEntries) throw tooManyEntries(maxEntries);
      for (const record of records) {
        if (!record.startsWith(SUBMODULE)) oids.push(record.slice(12, record.indexOf("\t")));
      }
      return undefined;
    },
  );
  return oids;
}

export function tooManyEntries(maxEntries: number): AppError {
  return new AppError("too_large", `The tree has more than ${maxEntries} files`);
}

/** What differs between two commits, blob by blob, without renames. */
export async function listDifference(place: ListingPlace, from: string, to: string): Promise<BlobChange[]> {
  if (from === to) return [];
  const { stdout } = await runGit({
    ...place,
    what: "compare trees",
    args: ["diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", from, to, "--"],
  });
  const fields = stdout.toString("latin1").split("\0");
  const changes: BlobChange[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode, newMode, oldOid, newOid] = (fields[at] ?? "").slice(1).split(" ");
    changes.push({ from: blobOf(oldMode, oldOid), to: blobOf(newMode, newOid) });
  }
  return changes;
}

function blobOf(mode: string | undefined, oid: string | undefined): string | undefined {
  return mode === MISSING_MODE || mode === SUBMODULE ? undefined : oid;
}

/** The sizes of blobs in bytes; what is not here is left out, and nothing is fetched. */
export async function blobSizes(place: ListingPlace, oids: Iterable<string>): Promise<Map<string, number>> {
  const input = [...new Set(oids)].join("\n");
  const sizes = new Map<string, number>();
  if (input === "") return sizes;
  const { stdout } = await runGit({
    ...place,
    what: "cat-file",
    args: ["cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer"],
    input: `${input}\n`,
  });
  for (const line of stdout.toString("latin1").split("\n")) {
    const space = line.indexOf(" ");
    const size = Number(line.slice(space + 1));
    if (space > 0 && Number.isInteger(size)) sizes.set(line.slice(0, space), size);
  }
  return sizes;
}

/** The blobs that a comparison of an older commit with the head reads and that the head itself does not have. */
export async function listOldSide(place: ListingPlace, older: string, head: string): Promise<string[]> {
  const changes = await listDifference(place, older, head);
  return changes.flatMap(({ from }) => from ?? []);
}
