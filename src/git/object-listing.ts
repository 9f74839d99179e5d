import { isAscii } from "node:buffer";
import { AppError } from "../errors.ts";
import { splitNul } from "../text/decode.ts";
import { decodeName, nameBytes } from "./names.ts";
import { type Git, runGit, streamGit } from "./run-git.ts";
import { byNul, LineSplitter } from "./run-process.ts";
import type { Change, ChangeType, RevisionPlace, TreeEntry } from "./workspace.ts";

const TAB = 9;

/** The repository to list, and the time limit. */
export interface ListingPlace {
  git: Git;
  gitDir: string;
  signal?: AbortSignal | undefined;
}

/** One side of a difference; undefined if there is no file, or no blob (a submodule). */
interface BlobChange {
  from: string | undefined;
  to: string | undefined;
}

const SUBMODULE = "160000";
const MISSING_MODE = "000000";

/** Enough for half a million entries with long paths; a larger listing is an attack, and all of it would stay in memory. */
export const MAX_LISTING_BYTES = 96 * 1024 * 1024;
/** Maximum files of a tree, and files that differ between two trees. */
export const MAX_ENTRIES = 500_000;

const lsTree = (sha: string) => ["ls-tree", "-r", "-z", "--full-tree", sha];

/** Lists every entry of a commit's tree, as `ls-tree` prints it, without storing any. Rejects with `too_large`. */
export async function listTree(
  place: ListingPlace,
  sha: string,
  onEntry: (record: Buffer) => void,
  { maxEntries = MAX_ENTRIES }: { maxEntries?: number } = {},
): Promise<void> {
  let entries = 0;
  const records = new LineSplitter((record) => {
    entries += 1;
    if (entries > maxEntries) throw tooManyEntries(maxEntries);
    onEntry(record);
  }, byNul);
  await streamListing(place, "list the tree", lsTree(sha), records);
}

/**
 * The blobs of a commit's tree, one for each path. Rejects with `too_large` beyond `maxEntries`, before the listing is complete: a tree of
 * a few hundred bytes may list ten billion files.
 */
export async function listBlobs(
  place: ListingPlace,
  sha: string,
  maxEntries = MAX_ENTRIES,
): Promise<string[]> {
  const oids: string[] = [];
  const take = (record: Buffer) => {
    const kind = record.toString("latin1", 0, SUBMODULE.length);
    // "MODE blob OID<tab>PATH"
    if (kind !== SUBMODULE) oids.push(record.toString("latin1", 12, record.indexOf(TAB)));
  };
  await listTree(place, sha, take, { maxEntries });
  return oids;
}

export function tooManyEntries(maxEntries: number, what = "files"): AppError {
  return new AppError("too_large", `The tree has more than ${maxEntries} ${what}`);
}

/** The differences between two commits, blob by blob, without renames. Rejects with `too_large`. */
export async function listDifference(place: ListingPlace, from: string, to: string): Promise<BlobChange[]> {
  const changes: BlobChange[] = [];
  await compareTrees(place, from, to, ({ oldMode, newMode, oldOid, newOid }) => {
    changes.push({ from: blobOf(oldMode, oldOid), to: blobOf(newMode, newOid) });
  });
  return changes;
}

/** A path at which two trees differ. The modes are six zeros on a side without it. */
interface TreeDifference {
  oldMode: string;
  newMode: string;
  oldOid: string;
  newOid: string;
  /** Only valid during the call. */
  name: Buffer;
}

/** Takes the paths at which two commits differ, in git's order. Rejects with `too_large`. */
async function compareTrees(
  place: ListingPlace,
  from: string,
  to: string,
  onDifference: (difference: TreeDifference) => void,
): Promise<void> {
  if (from === to) return;
  let differences = 0;
  // Each difference has a record of modes and object names, and one of its path.
  let sides: string[] | null = null;
  const records = new LineSplitter((record) => {
    if (sides === null) {
      sides = record.toString("latin1", 1).split(" ");
      return;
    }
    if (differences++ >= MAX_ENTRIES) throw tooManyEntries(MAX_ENTRIES);
    const [oldMode = "", newMode = "", oldOid = "", newOid = ""] = sides;
    onDifference({ oldMode, newMode, oldOid, newOid, name: record });
    sides = null;
  }, byNul);
  const args = ["diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", from, to, "--"];
  await streamListing(place, "compare trees", args, records);
}

/** The entries of a commit's tree by path, in git's order. Rejects with `too_large`. */
export async function listEntries(place: ListingPlace, sha: string): Promise<Map<string, TreeEntry>> {
  const entries = new Map<string, TreeEntry>();
  let pieces: Buffer[] = [];
  await streamGit(
    { ...place, what: "list the tree", args: lsTree(sha), maxBytes: MAX_LISTING_BYTES },
    (chunk) => {
      const end = chunk.lastIndexOf(0) + 1;
      if (end > 0) {
        const records = Buffer.concat([...pieces, chunk.subarray(0, end)]);
        for (const entry of parseTreeEntries(records)) entries.set(entry.path, entry);
        pieces = [];
      }
      pieces.push(Buffer.from(chunk.subarray(end)));
      if (entries.size > MAX_ENTRIES) throw tooManyEntries(MAX_ENTRIES);
      return undefined;
    },
  );
  return entries;
}

/** A commit, and the entries of its tree by path in git's order. */
export interface ListedTree {
  sha: string;
  entries: ReadonlyMap<string, TreeEntry>;
}

/**
 * The entries of another commit's tree, in git's order; those that are the same are the same objects. git compares two trees without
 * reading the folders that are equal. Rejects with `too_large`.
 */
export async function listTreeFrom(
  place: ListingPlace,
  known: ListedTree,
  sha: string,
): Promise<Map<string, TreeEntry>> {
  const differing = new Map<string, TreeEntry | null>();
  await compareTrees(place, known.sha, sha, ({ newMode, newOid, name }) => {
    const path = decodeName(name);
    differing.set(path, newMode === MISSING_MODE ? null : { path, mode: newMode, oid: newOid });
  });
  const added = [...differing.values()].filter((entry) => entry !== null && !known.entries.has(entry.path));
  const next = sortedInto([...known.entries.keys()], added as TreeEntry[]);
  const entries = new Map<string, TreeEntry>();
  let at = 0;
  for (const entry of known.entries.values()) {
    for (const one of next.get(at) ?? []) entries.set(one.path, one);
    const now = differing.get(entry.path);
    if (now !== null) entries.set(entry.path, now ?? entry);
    at += 1;
  }
  for (const one of next.get(at) ?? []) entries.set(one.path, one);
  if (entries.size > MAX_ENTRIES) throw tooManyEntries(MAX_ENTRIES);
  return entries;
}

/** Of further entries in git's order, which of them come before each index of sorted paths. */
function sortedInto(paths: readonly string[], added: readonly TreeEntry[]): Map<number, TreeEntry[]> {
  let least = 0;
  return Map.groupBy(added, ({ path }) => {
    const name = nameBytes(path);
    let end = paths.length;
    while (least < end) {
      const middle = (least + end) >>> 1;
      if (Buffer.compare(nameBytes(paths[middle] ?? ""), name) < 0) least = middle + 1;
      else end = middle;
    }
    return least;
  });
}

async function streamListing(
  place: ListingPlace,
  what: string,
  args: readonly string[],
  records: LineSplitter,
): Promise<void> {
  await streamGit({ ...place, what, args, maxBytes: MAX_LISTING_BYTES }, (chunk) => {
    records.push(chunk);
    return undefined;
  });
}

function blobOf(mode: string | undefined, oid: string | undefined): string | undefined {
  return mode === MISSING_MODE || mode === SUBMODULE ? undefined : oid;
}

/** The sizes of blobs in bytes; missing blobs are left out, and nothing is fetched. */
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

/** The blobs that a comparison of an older commit with the head reads and that the head does not have. */
export async function listOldSide(place: ListingPlace, older: string, head: string): Promise<string[]> {
  const changes = await listDifference(place, older, head);
  return changes.flatMap(({ from }) => from ?? []);
}

/** A search in the tree of a commit. */
interface NamedQuery {
  /** Full object name. */
  commit: string;
  /** Whether a path counts; gets its bytes as Latin-1. */
  isWanted(path: string): boolean;
  /** Maximum number of entries. */
  max: number;
}

/**
 * Some entries of a commit's tree, by path and in git's order. The listing is processed in pieces, so a
 * large repository neither fills the memory nor blocks other work.
 */
export async function listNamed(
  place: RevisionPlace,
  { commit, isWanted, max }: NamedQuery,
): Promise<Map<string, TreeEntry>> {
  const found = new Map<string, TreeEntry>();
  const records = new LineSplitter((record) => {
    if (found.size >= max || !isWanted(record.toString("latin1", record.indexOf(TAB) + 1))) return;
    const entry = parseTreeEntry(record);
    found.set(entry.path, entry);
  }, byNul);
  await streamGit(
    {
      ...{ git: place, gitDir: place.gitDir, what: "list the tree" },
      args: lsTree(commit),
      maxBytes: MAX_LISTING_BYTES,
    },
    (chunk) => {
      records.push(chunk);
      return found.size >= max ? "stop" : undefined;
    },
  );
  return found;
}

const types: Record<string, ChangeType> = {
  A: "added",
  M: "modified",
  D: "deleted",
  R: "renamed",
  C: "copied",
  T: "type_changed",
};

const SPACE = 32;

type RawEntry = Omit<Change, "additions" | "deletions">;

/** Reads `diff-tree --raw --numstat -z`: all raw records, then one numstat record for each in the same order. */
export function parseChanges(output: Buffer): Change[] {
  const fields = splitNul(output, decodeName);
  const raw: RawEntry[] = [];
  let at = 0;
  while (fields[at]?.startsWith(":")) {
    const entry = rawEntry(fields, at);
    raw.push(entry);
    at += entry.oldPath === null ? 2 : 3;
  }
  return raw.map((entry) => {
    const [additions, deletions, path] = (fields[at] ?? "").split("\t", 2).concat(afterTabs(fields[at]));
    // A rename has an empty path here, followed by its two paths in separate fields.
    const names = path === "" ? [fields[at + 1], fields[at + 2]] : [entry.oldPath, path];
    if (names[0] !== entry.oldPath || names[1] !== entry.path) throw unreadable(fields[at]);
    at += path === "" ? 3 : 1;
    return { ...entry, additions: lineCount(additions), deletions: lineCount(deletions) };
  });
}

/** The path of a numstat record, which may contain tabs. */
function afterTabs(field = ""): string {
  const second = field.indexOf("\t", field.indexOf("\t") + 1);
  return second < 0 ? "" : field.slice(second + 1);
}

function rawEntry(fields: readonly string[], at: number): RawEntry {
  const [oldMode, newMode, oldOid, newOid, status] = (fields[at] ?? "").slice(1).split(" ");
  const type = types[status?.[0] ?? ""];
  const twoPaths = type === "renamed" || type === "copied";
  const path = fields[twoPaths ? at + 2 : at + 1];
  if (!oldMode || !newMode || !oldOid || !newOid || !type || path === undefined) throw unreadable(fields[at]);
  return { path, oldPath: twoPaths ? (fields[at + 1] ?? "") : null, type, oldMode, newMode, oldOid, newOid };
}

function lineCount(text: string | undefined): number | null {
  if (text === "-") return null;
  if (text === undefined || !/^\d+$/.test(text)) throw unreadable(text);
  return Number(text);
}

/** Parses one record of `ls-tree -r -z`: "MODE TYPE OID<tab>PATH". The result does not reference the record. */
export function parseTreeEntry(record: Buffer): TreeEntry {
  const tab = record.indexOf(TAB);
  return {
    path: decodeName(record.subarray(tab + 1)),
    mode: record.toString("latin1", 0, 6),
    oid: record.toString("latin1", record.lastIndexOf(SPACE, tab) + 1, tab),
  };
}

/** Parses whole records. Half a million names take seconds one by one; plain ones are read as one text. */
function* parseTreeEntries(records: Buffer): Generator<TreeEntry> {
  const text = records.toString("latin1");
  const isPlain = isAscii(records) && !text.includes("\\");
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\0", at);
    if (isPlain) {
      const tab = text.indexOf("\t", at);
      const [mode, oid] = [text.slice(at, at + 6), text.slice(text.lastIndexOf(" ", tab) + 1, tab)];
      yield { path: text.slice(tab + 1, end), mode, oid };
    } else yield parseTreeEntry(records.subarray(at, end));
    at = end + 1;
  }
}

function unreadable(record: string | undefined): AppError {
  return new AppError(
    "git_failed",
    `git gave a record that cannot be read: ${JSON.stringify(record?.slice(0, 200))}`,
  );
}
