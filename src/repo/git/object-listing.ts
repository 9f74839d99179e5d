import { isAscii } from "node:buffer";
import { AppError } from "../../core/errors.ts";
import { splitNul } from "../../core/text/decode.ts";
import { decodeName } from "./names.ts";
import { type GitPlace, runGit, streamGit } from "./run-git.ts";
import { byNul, LineSplitter } from "./run-process.ts";
import type { Change, ChangeType, RevisionPlace, TreeEntry } from "./workspace.ts";

const TAB = 9;

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

/**
 * The blobs of a commit's tree, one for each path. Rejects with `too_large` beyond `maxEntries`, because a small tree may list ten billion
 * files.
 */
export async function listBlobs(place: GitPlace, sha: string, maxEntries: number): Promise<string[]> {
  const oids: string[] = [];
  let entries = 0;
  await streamRecords(place, "list the tree", lsTree(sha), (record) => {
    if (++entries > maxEntries) throw tooManyEntries(maxEntries);
    const kind = record.toString("latin1", 0, SUBMODULE.length);
    // "MODE blob OID<tab>PATH"
    if (kind !== SUBMODULE) oids.push(record.toString("latin1", 12, record.indexOf(TAB)));
    return undefined;
  });
  return oids;
}

export function tooManyEntries(maxEntries: number, what = "files"): AppError {
  return new AppError("too_large", `The tree has more than ${maxEntries} ${what}`);
}

/** The differences between two commits, blob by blob, without renames. Rejects with `too_large`. */
export async function listDifference(place: GitPlace, from: string, to: string): Promise<BlobChange[]> {
  const changes: BlobChange[] = [];
  if (from === to) return changes;
  // Each difference has a record of modes and object names, which begins with a colon, and one of its path.
  let isPath = false;
  const args = ["diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", from, to, "--"];
  await streamRecords(place, "compare trees", args, (record) => {
    if (!isPath) {
      const [oldMode, newMode, oldOid, newOid] = record.toString("latin1", 1).split(" ");
      if (changes.push({ from: blobOf(oldMode, oldOid), to: blobOf(newMode, newOid) }) > MAX_ENTRIES)
        throw tooManyEntries(MAX_ENTRIES);
    }
    isPath = !isPath;
    return undefined;
  });
  return changes;
}

/** The entries of a commit's tree by path, in git's order; entries that are the same in `known` are the same objects. Rejects with `too_large`. */
export async function listEntries(
  place: GitPlace,
  sha: string,
  known: ReadonlyMap<string, TreeEntry> = new Map(),
): Promise<Map<string, TreeEntry>> {
  const entries = new Map<string, TreeEntry>();
  let pieces: Buffer[] = [];
  await streamGit(
    { ...place, what: "list the tree", args: lsTree(sha), maxBytes: MAX_LISTING_BYTES },
    (chunk) => {
      const end = chunk.lastIndexOf(0) + 1;
      if (end > 0) {
        const records = Buffer.concat([...pieces, chunk.subarray(0, end)]);
        for (const entry of parseTreeEntries(records)) {
          const same = known.get(entry.path);
          const isSame = same?.oid === entry.oid && same.mode === entry.mode;
          entries.set(entry.path, isSame ? same : entry);
        }
        pieces = [];
      }
      pieces.push(Buffer.from(chunk.subarray(end)));
      if (entries.size > MAX_ENTRIES) throw tooManyEntries(MAX_ENTRIES);
      return undefined;
    },
  );
  return entries;
}

/** Takes the records that git prints with `-z`; "stop" ends git at once. */
async function streamRecords(
  place: GitPlace,
  what: string,
  args: readonly string[],
  onRecord: (record: Buffer) => "stop" | undefined,
): Promise<void> {
  const records = new LineSplitter(onRecord, byNul);
  await streamGit({ ...place, what, args, maxBytes: MAX_LISTING_BYTES }, (chunk) => records.push(chunk));
}

function blobOf(mode: string | undefined, oid: string | undefined): string | undefined {
  return mode === MISSING_MODE || mode === SUBMODULE ? undefined : oid;
}

/** The sizes of blobs in bytes; missing blobs are left out, and nothing is fetched. */
export async function blobSizes(place: GitPlace, oids: Iterable<string>): Promise<Map<string, number>> {
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

interface NamedQuery {
  commit: string;
  /** Whether a path counts; gets its bytes as Latin-1. */
  isWanted(path: string): boolean;
  max: number;
}

/** Some entries of a commit's tree, by path and in git's order. */
export async function listNamed(
  place: RevisionPlace,
  { commit, isWanted, max }: NamedQuery,
): Promise<Map<string, TreeEntry>> {
  const found = new Map<string, TreeEntry>();
  const take = (record: Buffer) => {
    if (!isWanted(record.toString("latin1", record.indexOf(TAB) + 1))) return undefined;
    const entry = parseTreeEntry(record);
    found.set(entry.path, entry);
    return found.size >= max ? ("stop" as const) : undefined;
  };
  await streamRecords({ git: place, gitDir: place.gitDir }, "list the tree", lsTree(commit), take);
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

export type RawEntry = Omit<Change, "additions" | "deletions">;

/** Whether a mode is that of an object of this repository. */
export const hasBlob = (mode: string): boolean => mode !== MISSING_MODE && mode !== SUBMODULE;

/** Reads `diff-tree --raw --numstat -z`: all raw records, then one numstat record for each in the same order. */
export function parseChanges(output: Buffer): Change[] {
  const fields = splitNul(output, decodeName);
  const raw = rawEntries(fields);
  let at = raw.reduce((sum, { oldPath }) => sum + (oldPath === null ? 2 : 3), 0);
  return raw.map((entry) => {
    const [additions, deletions, path] = (fields[at] ?? "").split("\t", 2).concat(afterTabs(fields[at]));
    // A rename has an empty path here, followed by its two paths in separate fields.
    const names = path === "" ? [fields[at + 1], fields[at + 2]] : [entry.oldPath, path];
    if (names[0] !== entry.oldPath || names[1] !== entry.path) throw unreadable(fields[at]);
    at += path === "" ? 3 : 1;
    return { ...entry, additions: lineCount(additions), deletions: lineCount(deletions) };
  });
}

/** The raw records at the start. */
export function rawEntries(fields: readonly string[]): RawEntry[] {
  const raw: RawEntry[] = [];
  for (let at = 0; fields[at]?.startsWith(":"); ) {
    const entry = rawEntry(fields, at);
    raw.push(entry);
    at += entry.oldPath === null ? 2 : 3;
  }
  return raw;
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
