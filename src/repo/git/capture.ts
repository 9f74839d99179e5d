import { appendFile, copyFile, lstat, realpath, stat, utimes } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import pMap from "p-map";
import { AppError } from "../../core/errors.ts";
import { isNamedLikeSecret } from "../../core/secrets/file-names.ts";
import { BINARY_PROBE_BYTES, looksBinary, splitRecords } from "../../core/text/decode.ts";
import { SUBMODULE_EDITED } from "../diff/filter.ts";
import { fileStart } from "./confined-file.ts";
import { decodeName } from "./names.ts";
import { blobSizes } from "./object-listing.ts";
import { MAX_BLOB_BYTES } from "./object-workspace.ts";
import { discoverRepository, findCommits, type LocalRepository } from "./repository.ts";
import { type Git, runGit } from "./run-git.ts";
import {
  type CopiedIndex,
  copyIndex,
  type OnIndex,
  onIndex,
  submodulesIn,
  type UserHome,
} from "./work-tree.ts";

/** A path of a work tree that a capture treats in a special way. `path` is a key, as everywhere in this folder. */
interface PathReason {
  path: string;
  /** In a few words, for people. */
  reason: string;
}

/** The captured state of a work tree or an index: a tree, and a commit of it on top of `parent`. */
export interface Capture {
  commit: string;
  tree: string;
  /** HEAD, or an empty commit if there is none. */
  parent: string;
  isFirst: boolean;
  isClean: boolean;
  /** Files of the tree that no model may see. */
  withheld: PathReason[];
  /** Paths whose state in the work tree could not be captured. */
  left: PathReason[];
}

const NUL = Buffer.from([0]);
const SUBMODULE = "160000";

/** Maximum bytes of all captured files together: 1 GB. They are copied. */
const MAX_CAPTURED_BYTES = 1024 ** 3;
/** More are something that `.gitignore` forgot, such as installed packages. */
const MAX_UNTRACKED = 10_000;
/** An untracked file beyond this size is data. */
const MAX_UNTRACKED_BYTES = 1024 * 1024;

/**
 * Copies the index of a work tree to compare and ignore files as the user's own git does. git may lack an index or a commit. Of the user's
 * configuration only settings count that cannot run anything.
 */
export async function openForCapture(
  git: Git,
  source: LocalRepository,
  { indexDir, headSha, user, reports = [] }: CapturePlace,
): Promise<ForCapture> {
  const index = await copyIndex(git, source, { indexDir, headSha, user });
  if (index === null) throw new AppError("usage", "A bare repository has no working tree");
  const own = ["exclude", "attributes"].map((name) =>
    copyFile(join(source.commonDir, "info", name), join(indexDir, "info", name)).catch(() => {}),
  );
  await Promise.all(own);
  const ignored = await Promise.all(reports.map((path) => patternOf(path, source.workTree ?? "")));
  await appendFile(join(indexDir, "info", "exclude"), ignored.join(""));
  return { index: { ...index, config: [...index.config, ...ours] }, headSha, user };
}

interface CapturePlace {
  indexDir: string;
  headSha: string | null;
  user: UserHome | null;
  /** Files that count as ignored: reports of this program, which would otherwise be reviewed by the next run. */
  reports?: readonly string[] | undefined;
}

/** A line of `info/exclude` for a file; empty for one outside of the work tree. */
async function patternOf(file: string, workTree: string): Promise<string> {
  const folder = await realpath(dirname(file)).catch(() => "");
  const path = relative(workTree, join(folder, basename(file)));
  if (path.startsWith("..") || isAbsolute(path) || path.includes("\n")) return "";
  return `\n/${path.replace(/[\\*?[ ]/g, "\\$&")}\n`;
}

interface ForCapture {
  index: CopiedIndex;
  /** Null if the branch has no commit yet. */
  headSha: string | null;
  user: UserHome | null;
}

const ours: [string, string][] = [
  ["core.symlinks", "true"],
  ["core.safecrlf", "false"],
  // The copies live as long as the review.
  ["core.fsync", "none"],
  ["core.looseCompression", "1"],
  // Otherwise a second git would store the objects of a small pack again.
  ["fastimport.unpackLimit", "0"],
];

/** What git says about a path that is not as in HEAD. */
interface Entry {
  name: Buffer;
  kind: "changed" | "conflict" | "untracked" | "inside";
  /** Whether the index differs from HEAD. */
  isStaged: boolean;
  /** Whether the work tree differs from the index. */
  isUnstaged: boolean;
  isGone: boolean;
  isSubmodule: boolean;
}

/** The paths at which HEAD, the index and the work tree differ, untracked files, and submodules with changes inside. */
async function listEntries(place: ForCapture, untracked: boolean, signal?: AbortSignal): Promise<Entry[]> {
  const args = [
    "status",
    "--porcelain=v2",
    "-z",
    `--untracked-files=${untracked ? "all" : "no"}`,
    // git would look for them with the settings of that repository, which may run programs.
    "--ignore-submodules=dirty",
    "--no-renames",
  ];
  const entries = splitRecords(await onIndex(place.index, "status", args, { signal })).flatMap(entryOf);
  return untracked ? [...entries, ...(await listInside(place, signal))] : entries;
}

/** The submodules that are checked out and have uncommitted changes, or cannot be looked at. */
async function listInside({ index, user }: ForCapture, signal?: AbortSignal): Promise<Entry[]> {
  const names = await submodulesIn(index, signal);
  const stamps = await pMap(
    [...names.entries()],
    async ([at, name]) => {
      const path = pathOf(index, name);
      const isThere = (await lstat(path).catch(() => null))?.isDirectory();
      // Without a repository of its own, the folder is a part of this one.
      if (!isThere || !(await lstat(Buffer.concat([path, DOT_GIT])).catch(() => null))) return null;
      const folder = `${index.indexDir}.${at}`;
      return await discoverRepository(index.git, path.toString("utf8"))
        .then((inside) => uncommittedStamp(index.git, inside, { folder, user }))
        .catch(() => "unknown");
    },
    { concurrency: 4 },
  );
  signal?.throwIfAborted();
  return names.flatMap((name, at) =>
    stamps[at] === null ? [] : [{ name, kind: "inside", ...notInIndex, isSubmodule: true }],
  );
}

const DOT_GIT = Buffer.from("/.git");

const notInIndex = { isStaged: false, isUnstaged: true, isGone: false };

/** Fields before the path of a record, by its first character. */
const fieldsBefore: Record<string, number> = { "1": 8, u: 10, "?": 1 };

function entryOf(record: Buffer): Entry[] {
  const count = fieldsBefore[String.fromCharCode(record[0] ?? 0)];
  if (count === undefined) return [];
  let start = 0;
  for (let field = 0; field < count; field++) start = record.indexOf(" ", start) + 1;
  const name = record.subarray(start);
  const [kind, state = "..", submodule = "N"] = record.toString("latin1", 0, start).split(" ");
  const plain = { name, isSubmodule: submodule.startsWith("S") };
  if (kind === "?") return [{ ...plain, kind: "untracked", ...notInIndex }];
  if (kind === "u") return [{ ...plain, kind: "conflict", isStaged: true, isUnstaged: true, isGone: false }];
  const [staged, unstaged] = state;
  return [
    {
      ...plain,
      kind: "changed",
      isStaged: staged !== ".",
      isUnstaged: unstaged !== ".",
      isGone: unstaged === "D",
    },
  ];
}

const pathOf = ({ workTree }: CopiedIndex, name: Buffer) =>
  Buffer.concat([Buffer.from(`${workTree}/`), name]);

/** Whether tracked files of a work tree differ from HEAD, staged or not. */
export async function hasChanges(git: Git, source: LocalRepository, place: CapturePlace): Promise<boolean> {
  if (source.workTree === null) return false;
  return (await listEntries(await openForCapture(git, source, place), false)).length > 0;
}

/** A text that changes with every edit of a work tree or its index; null if they are as in HEAD, or without a work tree. Writes only to `folder`. */
export async function uncommittedStamp(
  git: Git,
  source: LocalRepository,
  { folder: indexDir, user }: { folder: string; user: UserHome | null },
): Promise<string | null> {
  if (source.workTree === null) return null;
  const [headSha = null] = await findCommits(git, source, ["HEAD"]);
  const place = await openForCapture(git, source, { indexDir, headSha, user });
  const entries = await listEntries(place, true);
  if (entries.length === 0) return null;
  const stamps = await pMap(
    entries,
    async ({ name, kind, isStaged, isUnstaged }) => {
      const stats = await lstat(pathOf(place.index, name), { bigint: true }).catch(() => null);
      const state = stats && [stats.mode, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(" ");
      return `${kind} ${isStaged} ${isUnstaged} ${state} ${name.toString("latin1")}`;
    },
    { concurrency: 32 },
  );
  return [await indexStamp(place.index.source), ...stamps].join("\0");
}

/** A text that changes whenever something writes the index of a work tree. */
export async function indexStamp({ indexFile }: LocalRepository): Promise<string> {
  const stats = await stat(indexFile, { bigint: true }).catch(() => null);
  return stats === null ? "none" : [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(" ");
}

interface CaptureOptions {
  /** Only what is staged; else everything that is tracked or not ignored. */
  onlyStaged: boolean;
  evenIfClean: boolean;
  /** Milliseconds since 1970, for the commit. */
  at: number;
  signal?: AbortSignal | undefined;
}

/**
 * Stores the state of a work tree, or of its index, as a commit in the folder of the copied index. Null if it is that of HEAD, and
 * `evenIfClean` is not set. Bytes are stored as `git add` would store them (else a change of line ends had every line of a file), but no filter
 * of attributes runs. A submodule is the commit that it has checked out. git would set the time of an object of the user that it writes again,
 * so only missing objects are written.
 */
export async function captureChanges(place: ForCapture, options: CaptureOptions): Promise<Capture | null> {
  const { onlyStaged, signal } = options;
  const { index } = place;
  const entries = await listEntries(place, !onlyStaged, signal);
  const isWanted = ({ kind, isUnstaged }: Entry) => (onlyStaged ? kind === "conflict" : isUnstaged);
  const isClean = !entries.some((entry) => entry.isStaged || isWanted(entry));
  if (isClean && !options.evenIfClean) return null;
  const found = await lookAt(place, entries.filter(isWanted));
  await keepIndex(index);
  // With `--stdin` git looks at the work tree, and so remembers which entries are as new as the index that it replaces.
  const removed = found.gone.flatMap((name) => [name, NUL]);
  if (removed.length > 0)
    await write(index, ["--force-remove", "--stdin"], removed, { indexFile: "index", signal });
  const failed = await update(index, ["--info-only"], found.stored, { indexFile: "index", signal });
  const changes = await changesOf(place, "index", signal);
  const blobs = new Map([...changes].filter(([, entry]) => entry && entry.mode !== SUBMODULE));
  const present = await blobSizes(
    { git: index.git, gitDir: index.indexDir, signal },
    [...blobs.values()].flatMap((entry) => entry?.oid ?? []),
  );
  const missing = found.stored.filter((name) => {
    const blob = blobs.get(name.toString("latin1"));
    return blob && !present.has(blob.oid);
  });
  if (missing.length > 0) {
    failed.push(...(await update(index, [], missing, { indexFile: BEFORE, signal })));
    const written = await changesOf(place, BEFORE, signal);
    for (const name of missing.map((one) => one.toString("latin1"))) {
      const entry = written.get(name);
      // A file may have been edited since: what counts is what was stored.
      if (entry) changes.set(name, entry);
      else changes.delete(name);
    }
  }
  const isFailed = new Set(failed.map((name) => name.toString("latin1")));
  for (const name of isFailed) changes.delete(name);
  const left = failed.map((name) => ({ path: decodeName(name), reason: "git cannot store it" }));
  return {
    isClean,
    isFirst: place.headSha === null,
    ...(await importCommit(index, { parent: place.headSha, changes, ...options })),
    withheld: found.withheld.filter(({ path }) => !left.some((one) => one.path === path)),
    left: [...found.left, ...left],
  };
}

/** The index before the first write, to store files from. */
const BEFORE = "index.before";

async function keepIndex({ indexDir }: CopiedIndex): Promise<void> {
  const [from, to] = [join(indexDir, "index"), join(indexDir, BEFORE)];
  const stats = await stat(from).catch(() => null);
  if (stats === null) return;
  await copyFile(from, to);
  // git trusts an entry only if it is older than the index.
  await utimes(to, stats.mtimeMs / 1000, stats.mtimeMs / 1000);
}

interface Found {
  stored: Buffer[];
  gone: Buffer[];
  withheld: PathReason[];
  left: PathReason[];
}

/** Looks at the files of these entries, and opens none that could block. Rejects with `too_large`. */
async function lookAt(place: ForCapture, entries: readonly Entry[]): Promise<Found> {
  const { index } = place;
  requireFew(entries);
  const found: Found = { stored: [], gone: [], withheld: [], left: [] };
  const filterOf = await filtersOf(place, entries);
  const look = (entry: Entry) => (entry.kind === "inside" ? inside : lookAtFile(index, entry, filterOf));
  const looks = await pMap(entries, look, { concurrency: 32 });
  let bytes = 0;
  for (const [at, { name }] of entries.entries()) {
    const look = looks[at];
    if (look === undefined) continue;
    const path = decodeName(name);
    if (look.kind === "gone") found.gone.push(name);
    if (look.kind === "left") found.left.push({ path, reason: look.reason });
    if (look.kind !== "stored") continue;
    found.stored.push(name);
    bytes += look.bytes;
    if (look.withheld !== null) found.withheld.push({ path, reason: look.withheld });
  }
  if (bytes <= MAX_CAPTURED_BYTES) return found;
  throw new AppError(
    "too_large",
    `The uncommitted files have ${bytes} bytes, more than ${MAX_CAPTURED_BYTES}`,
    tooMuch,
  );
}

const tooMuch = {
  remedy: "Name what is no source code in .gitignore, or review the commits alone with --committed",
};

function requireFew(entries: readonly Entry[]): void {
  const untracked = entries.filter(({ kind }) => kind === "untracked");
  if (untracked.length <= MAX_UNTRACKED) return;
  throw new AppError(
    "too_large",
    `There are ${untracked.length} untracked files, more than ${MAX_UNTRACKED}`,
    tooMuch,
  );
}

type Look =
  | { kind: "stored"; bytes: number; withheld: string | null }
  | { kind: "gone" }
  | { kind: "left"; reason: string };

const inside: Look = { kind: "left", reason: SUBMODULE_EDITED };

async function lookAtFile(
  index: CopiedIndex,
  { name, kind, isGone, isSubmodule }: Entry,
  filterOf: ReadonlyMap<string, string>,
): Promise<Look | undefined> {
  const isNew = kind === "untracked";
  // Otherwise a link in place of a folder would lead to another file.
  if (isGone) return { kind: "gone" };
  if (isNew && name.at(-1) === SLASH) return { kind: "left", reason: "a repository of its own" };
  const path = pathOf(index, name);
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return isNew ? undefined : { kind: "gone" };
  // Instead of a file, git stores the commit of a repository here.
  if (stats.isDirectory()) return isNew ? undefined : { kind: "stored", bytes: 0, withheld: null };
  if (stats.isSymbolicLink()) return { kind: "stored", bytes: stats.size, withheld: null };
  if (!stats.isFile()) return { kind: "left", reason: "neither a file nor a link" };
  if (isSubmodule && !isNew) return { kind: "stored", bytes: stats.size, withheld: null };
  if (stats.size > MAX_BLOB_BYTES) return { kind: "left", reason: "more than 20 MB" };
  const filter = filterOf.get(name.toString("latin1"));
  const converted =
    filter === undefined
      ? null
      : `the filter ${filter} may convert it, and was not run: only scanned for secrets`;
  const withheld = converted ?? (isNew ? whyWithheld(index, name, stats.size) : null);
  return { kind: "stored", bytes: stats.size, withheld };
}

const SLASH = 47;

/** Why no model may see an untracked file: nobody has decided yet that it belongs to the repository. Null if one may. */
function whyWithheld(index: CopiedIndex, name: Buffer, bytes: number): string | null {
  const because = (what: string) => `untracked and ${what}: only scanned for secrets`;
  if (isNamedLikeSecret(decodeName(name))) return because("named like a secret");
  if (bytes > MAX_UNTRACKED_BYTES) return because("more than 1 MB");
  return looksBinary(startOf(index, name)) ? because("binary") : null;
}

/** A file that cannot be opened as one of the work tree counts as binary. */
function startOf({ workTree }: CopiedIndex, name: Buffer): Buffer {
  try {
    return fileStart(workTree, decodeName(name), BINARY_PROBE_BYTES);
  } catch {
    return NUL;
  }
}

/** What git reports for a file without a filter. */
const noFilter: ReadonlySet<string> = new Set(["unspecified", "unset", "set"]);

/**
 * By name: the filters that attributes name for files. A model must not see what such a filter encrypts, for instance. Whether the user's git
 * has that filter is not asked: too many places can define it.
 */
async function filtersOf({ index }: ForCapture, entries: readonly Entry[]): Promise<Map<string, string>> {
  if (entries.length === 0) return new Map();
  const input = Buffer.concat(entries.flatMap(({ name }) => [name, NUL]));
  const args = ["check-attr", "-z", "--stdin", "filter"];
  // Three fields for each path: the path, the attribute's name, its value.
  const fields = splitRecords(await onIndex(index, "read attributes", args, { input }));
  const found = new Map<string, string>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const value = fields[at + 2]?.toString("utf8") ?? "unset";
    if (!noFilter.has(value)) found.set(fields[at]?.toString("latin1") ?? "", value);
  }
  return found;
}

const write = (index: CopiedIndex, args: readonly string[], input: readonly Buffer[], to: OnIndex) =>
  onIndex(index, "change the index", ["update-index", "-z", ...args], {
    ...to,
    input: Buffer.concat(input),
  });

/** Writes the state of these files to an index. Returns those that git refuses: it stops at the first, and has then written nothing. */
async function update(
  index: CopiedIndex,
  options: readonly string[],
  names: readonly Buffer[],
  to: OnIndex,
): Promise<Buffer[]> {
  if (names.length === 0) return [];
  const input = names.flatMap((name) => [name, NUL]);
  try {
    await write(index, ["--add", "--remove", "--replace", ...options, "--stdin"], input, to);
    return [];
  } catch (error) {
    if (to.signal?.aborted || !(error instanceof AppError) || !ofOneFile.has(error.code)) throw error;
    if (names.length === 1) return [...names];
    const middle = names.length >>> 1;
    return [
      ...(await update(index, options, names.slice(0, middle), to)),
      ...(await update(index, options, names.slice(middle), to)),
    ];
  }
}

/** Codes of errors that one file may cause: the second is that of a denied access. */
const ofOneFile: ReadonlySet<string> = new Set(["git_failed", "data_folder_unusable"]);

type Entered = { mode: string; oid: string } | null;

/** The differences of an index from HEAD by name (as Latin-1). */
async function changesOf(
  { index, headSha }: ForCapture,
  indexFile: string,
  signal: AbortSignal | undefined,
): Promise<Map<string, Entered>> {
  const args = [
    "diff-index",
    "--cached",
    "--raw",
    "-z",
    "--no-abbrev",
    "--no-renames",
    "--ignore-submodules=none",
    // As in a tree that git writes: an entry without content is not staged.
    "--ita-invisible-in-index",
  ];
  const from = headSha ?? emptyTree[index.source.objectFormat];
  const fields = splitRecords(
    await onIndex(index, "compare with HEAD", [...args, from, "--"], { indexFile, signal }),
  );
  const changes = new Map<string, Entered>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = "", , oid = ""] = fields[at]?.toString("latin1").split(" ") ?? [];
    changes.set(fields[at + 1]?.toString("latin1") ?? "", mode === "000000" ? null : { mode, oid });
  }
  return changes;
}

/** Known to every git without being stored. */
export const emptyTree = {
  sha1: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  sha256: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
} as const;

interface ImportedCommit {
  /** Null for a commit on top of an empty one. */
  parent: string | null;
  /** By name, as Latin-1. */
  changes: ReadonlyMap<string, Entered>;
  at: number;
  signal?: AbortSignal | undefined;
}

/** Writes a commit and its trees. `fast-import` reads no other trees than those of the changes, and sets the time of no known object. */
async function importCommit(
  index: CopiedIndex,
  { parent: given, changes, at, signal }: ImportedCommit,
): Promise<Pick<Capture, "commit" | "tree" | "parent">> {
  const message = "Uncommitted changes\n";
  const person = `committer Uncommitted <> ${Math.floor(at / 1000)} +0000`;
  const parent = given ?? (await emptyCommit(index, index.source.objectFormat, signal));
  const lines = [...changes].map(([name, entry]) =>
    entry === null ? `D ${quoted(name)}\n` : `M ${entry.mode} ${entry.oid} ${quoted(name)}\n`,
  );
  // A file may have become a folder, and a folder a file: deletions come first.
  const head = `commit refs/heads/captured\nmark :1\n${person}\ndata ${message.length}\n${message}`;
  const script = `${head}from ${parent}\n${lines.sort().join("")}\nget-mark :1\nls :1 \n`;
  const asked = { input: Buffer.from(script, "latin1"), signal };
  const args = ["fast-import", "--quiet", "--force"];
  const printed = await onIndex({ ...index, config: ours }, "store the working tree", args, asked);
  const [commit = "", root = ""] = printed.toString("latin1").split("\n");
  // "040000 tree OID<tab>"
  return { commit, tree: root.slice("040000 tree ".length).trim(), parent };
}

/** A commit without files and without a parent, to compare a first commit with. */
export async function emptyCommit(
  { git, indexDir }: Pick<CopiedIndex, "git" | "indexDir">,
  format: keyof typeof emptyTree,
  signal?: AbortSignal,
): Promise<string> {
  const nobody = "Nobody <> 0 +0000";
  const input = `tree ${emptyTree[format]}\nauthor ${nobody}\ncommitter ${nobody}\n\n`;
  const args = ["hash-object", "-t", "commit", "-w", "--stdin"];
  const { stdout } = await runGit({ git, gitDir: indexDir, what: "store a commit", args, input, signal });
  return stdout.toString("latin1").trim();
}

/** A name (as Latin-1) in the quoting that `fast-import` reads. */
const quoted = (name: string) =>
  `"${name.replace(/[^ !#-[\]-~]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`)}"`;
