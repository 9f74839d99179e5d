import pMap from "p-map";
import { AppError } from "../../core/errors.ts";
import { CatFile } from "./cat-file.ts";
import { MAX_ENTRIES, tooManyEntries } from "./object-listing.ts";
import type { GitPlace } from "./run-git.ts";

/** A folder with more bytes has at least half a million entries. */
const MAX_TREE_BYTES = 32 * 1024 * 1024;
/** Folders read at a time, each at two commits. */
const AT_ONCE = 4;

/** A folder at two commits, by the names of its trees; undefined where there is none. */
interface Sides {
  from: string | undefined;
  to: string | undefined;
}

/** Two folders that git compares at one depth, and how often: a tree may be in many places. */
interface Compared extends Sides {
  times: number;
}

/**
 * Rejects with `too_large` if between two of the commits git would find too many different files or folders: a tree of a few hundred bytes may
 * have ten billion, and git keeps all differences in memory, 200 MB more each second; here they are only counted. The same two folders are
 * compared once for each depth. Resolves if an object is missing: git says so when it compares the commits.
 */
export async function requireComparable(
  { git, gitDir, signal }: GitPlace,
  pairs: readonly (readonly [from: string, to: string])[],
  maxEntries = MAX_ENTRIES,
): Promise<void> {
  await using objects = new CatFile(git, gitDir, MAX_TREE_BYTES);
  const wanted = new Set(pairs.filter(([from, to]) => from !== to).map((pair) => pair.toSorted().join(" ")));
  for (const pair of wanted) {
    const [from, to] = await Promise.all(pair.split(" ").map((sha) => treeOf(objects, sha)));
    if (from !== undefined && to !== undefined)
      await requireFewDifferences(objects, { from, to }, maxEntries, signal).catch(unlessMissing);
  }
}

async function treeOf(objects: CatFile, commit: string): Promise<string | undefined> {
  const text = await objects.read(commit, "commit").catch(unlessMissing);
  return /^tree ([0-9a-f]+)\n/.exec(text?.toString("latin1", 0, 80) ?? "")?.[1];
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof AppError) || error.code !== "revision_unknown") throw error;
}

async function requireFewDifferences(
  objects: CatFile,
  root: Sides,
  maxEntries: number,
  signal?: AbortSignal,
): Promise<void> {
  let [files, folders] = [0, 0];
  let level: Compared[] = [{ ...root, times: 1 }];
  while (level.length > 0) {
    if (signal?.aborted) throw new AppError("aborted", "Aborted while trees were compared");
    const next = new Map<string, Compared>();
    const compare = async ({ times, ...sides }: Compared) => {
      const [from, to] = await Promise.all([entriesOf(objects, sides.from), entriesOf(objects, sides.to)]);
      for (const { before, after } of differences(from, to)) {
        const below = { from: treeIn(before), to: treeIn(after) };
        if (below.from === undefined && below.to === undefined) files += times;
        else {
          folders += times;
          const key = `${below.from} ${below.to}`;
          next.set(key, { ...below, times: times + (next.get(key)?.times ?? 0) });
        }
        if (Math.max(files, folders) > maxEntries) throw tooManyEntries(maxEntries, "files or folders");
      }
    };
    await pMap(level, compare, { concurrency: AT_ONCE });
    level = [...next.values()];
  }
}

interface Entry {
  isFolder: boolean;
  mode: string;
  name: Buffer;
  oid: Buffer;
}

const [SPACE, NUL, SLASH] = [32, 0, 47];

/** The entries of a tree as it has them, in whatever order; none for undefined. */
async function entriesOf(objects: CatFile, tree: string | undefined): Promise<Generator<Entry, undefined>> {
  return read(
    tree === undefined ? Buffer.alloc(0) : await objects.read(tree, "tree"),
    (tree?.length ?? 0) / 2,
  );
}

/** "MODE NAME<nul>OID", the object's name in `width` bytes. */
function* read(bytes: Buffer, width: number): Generator<Entry, undefined> {
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(SPACE, at);
    const end = bytes.indexOf(NUL, space);
    // git refuses such a tree.
    if (space < 0 || end < 0) return;
    const mode = bytes.toString("latin1", at, space);
    at = end + 1 + width;
    // git reads modes as numbers of 32 bits, whatever comes before.
    const isFolder = (Number.parseInt(mode.slice(-11), 8) & 0o170000) === 0o040000;
    yield { isFolder, mode, name: bytes.subarray(space + 1, end), oid: bytes.subarray(end + 1, at) };
  }
}

/** Goes through two trees at once as git does, which takes both to be sorted. tree-diff.c */
function* differences(
  from: Generator<Entry, undefined>,
  to: Generator<Entry, undefined>,
): Generator<Record<"before" | "after", Entry | undefined>> {
  let [before, after] = [from.next().value, to.next().value];
  while (before !== undefined || after !== undefined) {
    const order = inOrder(before, after);
    const difference = { before: order <= 0 ? before : undefined, after: order >= 0 ? after : undefined };
    if (order !== 0 || !isSame(before, after)) yield difference;
    if (order <= 0) before = from.next().value;
    if (order >= 0) after = to.next().value;
  }
}

/** Negative if the first comes before the second; a folder's name counts as if it ended with a slash. */
function inOrder(one: Entry | undefined, other: Entry | undefined): number {
  if (one === undefined || other === undefined) return one === undefined ? 1 : -1;
  const shared = Math.min(one.name.length, other.name.length);
  const order = Buffer.compare(one.name.subarray(0, shared), other.name.subarray(0, shared));
  return order || endOf(one, shared) - endOf(other, shared);
}

const endOf = ({ name, isFolder }: Entry, at: number) => name[at] ?? (isFolder ? SLASH : 0);

const isSame = (one: Entry | undefined, other: Entry | undefined) =>
  one !== undefined &&
  other !== undefined &&
  one.oid.equals(other.oid) &&
  (one.isFolder || one.mode === other.mode);

const treeIn = (entry: Entry | undefined) => (entry?.isFolder ? entry.oid.toString("hex") : undefined);
