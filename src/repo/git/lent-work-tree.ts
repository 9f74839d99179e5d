import { isUtf8 } from "node:buffer";
import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { splitNul, splitRecords } from "../../core/text/decode.ts";
import { decodeName, nameBytes } from "./names.ts";
import { type Git, runGit } from "./run-git.ts";
import { type SearchPlace, searchedFiles } from "./search.ts";
import type { TreeEntry } from "./workspace.ts";

const NUL = Buffer.from([0]);

/** As `git update-index -z --index-info` reads them. */
export const indexRecords = (entries: Iterable<TreeEntry>) =>
  Buffer.concat(
    [...entries].flatMap(({ path, mode, oid }) => [Buffer.from(`${mode} ${oid}\t`), nameBytes(path), NUL]),
  );

export const byPath = (entries: readonly TreeEntry[]) => new Map(entries.map((entry) => [entry.path, entry]));

/** A work tree that its user goes on editing, for searching those of its files that have the bytes of a revision. */
export interface LentWorkTree {
  place: SearchPlace;
  /** Files of the revision that the work tree has not, or not with the same bytes. */
  missing: TreeEntry[];
  /** Resolves to whether the place still has these bytes. What a search found there counts only then. */
  isStill(): Promise<boolean>;
}

interface LendOptions {
  git: Git;
  /** A scratch repository with hardened attributes: git compares bytes as they are on the disk, and runs no filter. */
  gitDir: string;
  workTree: string;
  /** Regular files of the revision. */
  entries: readonly TreeEntry[];
  /** A folder for an index and a list of what is not searched. */
  folder: string;
}

/** git reads each file once to compare it. Afterwards it compares sizes and times, and reads those that leave a doubt. */
export async function lendWorkTree(options: LendOptions): Promise<LentWorkTree> {
  const { entries, folder, ...place } = options;
  const where = { ...place, indexFile: join(folder, "lent"), config };
  const compare = { ...where, what: "compare the work tree" };
  const [input, index] = [indexRecords(entries), "update-index"];
  await runGit({ ...compare, args: [index, "-z", "--index-info"], input });
  const begin = Math.floor(Date.now() / 1000);
  // Exits with 1 if a file differs.
  const refreshed = await runGit({ ...compare, args: [index, "--refresh"], expectedExits: [0, 1] });
  // git trusts an entry only if it is older than the index.
  await utimes(where.indexFile, begin, begin).catch(() => {});
  const different = async () =>
    splitNul((await runGit({ ...compare, args: ["diff-files", "-z", "--name-only"] })).stdout, decodeName);
  const args = ["ls-files", "-z", "--others", "--directory"];
  const others = (await runGit({ ...where, what: "list untracked files", args })).stdout;
  const ignoreFile = join(folder, "others");
  await writeFile(ignoreFile, ignoreLines(splitRecords(others)));
  const differed = new Set(refreshed.exitCode === 0 ? [] : await different());
  const { seen, binary } = await searchedFiles(place.workTree, ignoreFile);
  // A disk may give a file that git finds another name: in other case, or with accents written apart.
  const isLent = ({ path }: TreeEntry) => seen.has(path) && !differed.has(path);
  return {
    place: {
      root: place.workTree,
      tree: byPath(entries.filter(isLent)),
      isBinary: (path) => binary.has(path),
      ignoreFile,
    },
    missing: entries.filter((entry) => !isLent(entry)),
    isStill: async () => (await different()).every((path) => differed.has(path)),
  };
}

const config = [["core.fileMode", "false"]] as const;

/** Lines of a `.gitignore` that each match one path. They only save time, so a name that no line can hold gets none. */
const ignoreLines = (names: readonly Buffer[]) =>
  names
    .filter((name) => isUtf8(name) && !name.includes("\n"))
    .map((name) => `/${name.toString("utf8").replace(/[\\*?[\]{}!# ]/g, "\\$&")}\n`)
    .join("");
