import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pMap from "p-map";
import { AppError } from "../../core/errors.ts";
import { decodeStart, decodeText, looksBinary, splitNul } from "../../core/text/decode.ts";
import { attributeValue, type LinguistAttributes } from "../diff/origin.ts";
import { CatFile } from "./cat-file.ts";
import { fileStart } from "./confined-file.ts";
import { isWritable, markerPath, nameBytes, quotePath } from "./names.ts";
import { blobSizes, listEntries, MAX_LISTING_BYTES } from "./object-listing.ts";
import { blobHunks, Patches } from "./patches.ts";
import { type GitPlace, isObjectName, runGit, streamGit } from "./run-git.ts";
import { makeTempFolder, removeFolder } from "./scratch.ts";
import { MAX_SEARCHED_BYTES, mergeHits, pathsOf, searchTarget, searchTree, startsBinary } from "./search.ts";
import { differingFiles } from "./work-tree.ts";
import {
  type Change,
  type Commit,
  type FileText,
  type LentWorkTree,
  lastCommit,
  type ObjectPlace,
  type Ref,
  type RevisionPlace,
  type SearchHits,
  type SearchQuery,
  type Shas,
  type TreeEntry,
  type Workspace,
} from "./workspace.ts";

const FILE = ".gitattributes";
const ATTRIBUTES = ["linguist-generated", "linguist-vendored"];
const NUL = Buffer.from([0]);
const NEWLINE = 10;
const MISSING = " missing\n";

/**
 * git's matching time grows with a path's depth to the power of the number of `**` in a pattern (measured: seven of them and 60 folders
 * take 20 s), and the pull request chooses its paths. Real code is never that deep.
 */
export const MAX_ATTRIBUTES_DEPTH = 50;
/** Ends matching that is still slow at that depth. A thousand paths and usual patterns take some hundredths of a second. */
const TIME_LIMIT_MS = 10_000;

/** The folders above a path and its name, up to the maximum depth. */
const segmentsOf = (path: string) => path.split("/", MAX_ATTRIBUTES_DEPTH + 2);
const isTooDeep = (path: string) => segmentsOf(path).length > MAX_ATTRIBUTES_DEPTH + 1;

/**
 * What the `.gitattributes` files of the base's tip say about paths; the head's are ignored. If there are any, paths that are too deep to
 * match in reasonable time are left out. Rejects with `git_timeout` if patterns and paths are still too slow, as an attacker may build
 * them.
 *
 * `git check-attr` supports `--source` from 2.40 on, and we support git from 2.39 on, so it reads an index that contains only the
 * `.gitattributes` files. A symbolic link with that name is read as its target's path, which is not a rule.
 */
export async function baseAttributes(
  place: ObjectPlace,
  paths: readonly string[],
  timeoutMs = TIME_LIMIT_MS,
): Promise<Map<string, LinguistAttributes>> {
  const records = await attributeFiles(place, paths, timeoutMs);
  if (records.length === 0) return new Map(paths.map((path) => [path, { generated: null, vendored: null }]));
  const folder = await makeTempFolder(tmpdir());
  try {
    const indexFile = join(folder, "index");
    const command = { git: place, gitDir: place.gitDir, indexFile, timeoutMs };
    const input = Buffer.concat(records);
    await runGit({
      ...command,
      what: "index attributes",
      args: ["update-index", "-z", "--index-info"],
      input,
    });
    return await checkAttributes(
      command,
      paths.filter((path) => !isTooDeep(path)),
    );
  } finally {
    await removeFolder(folder);
  }
}

/** The base's `.gitattributes` files in all folders above the paths, as records for `update-index --index-info`. */
async function attributeFiles(
  place: ObjectPlace,
  paths: readonly string[],
  timeoutMs: number,
): Promise<Buffer[]> {
  const names = [...foldersAbove(paths)].map((folder) => nameBytes(`${folder}${FILE}`));
  const objects = names.map((name) => Buffer.concat([Buffer.from(`${place.shas.base}:`), name]));
  const { stdout } = await runGit({
    git: place,
    gitDir: place.gitDir,
    what: "cat-file",
    args: ["cat-file", "--batch-check=%(objectname) %(objecttype)", "-z", "--buffer"],
    input: Buffer.concat(objects.flatMap((object) => [object, NUL])),
    timeoutMs,
  });
  const records: Buffer[] = [];
  let at = 0;
  for (const [index, object] of objects.entries()) {
    // For a missing object, git repeats the name, including line feeds.
    if (stdout.subarray(at, at + object.length).equals(object)) {
      at += object.length + MISSING.length;
      continue;
    }
    const end = stdout.indexOf(NEWLINE, at);
    const [oid, type] = stdout.toString("latin1", at, end).split(" ");
    at = end + 1;
    const name = names[index] ?? NUL;
    if (type === "blob") records.push(Buffer.from(`100644 ${oid}\t`), name, NUL);
  }
  return records;
}

/** Each with a trailing slash; the root is "". */
function foldersAbove(paths: readonly string[]): Set<string> {
  const folders = new Set([""]);
  for (const path of paths) {
    let folder = "";
    for (const segment of segmentsOf(path).slice(0, -1)) {
      folder += `${segment}/`;
      folders.add(folder);
    }
  }
  return folders;
}

interface IndexCommand extends GitPlace {
  indexFile: string;
  timeoutMs: number;
}

async function checkAttributes(
  command: IndexCommand,
  paths: readonly string[],
): Promise<Map<string, LinguistAttributes>> {
  const { stdout } = await runGit({
    ...command,
    what: "check-attr",
    args: ["check-attr", "--cached", "--stdin", "-z", ...ATTRIBUTES],
    input: Buffer.concat(paths.flatMap((path) => [nameBytes(path), NUL])),
  });
  // Three fields for each attribute of each path: the path, the attribute's name, its state.
  const fields = splitNul(stdout, (field) => field.toString("latin1"));
  return new Map(
    paths.map((path, at) => {
      const [generated = "", vendored = ""] = [fields[6 * at + 2], fields[6 * at + 5]];
      return [path, { generated: attributeValue(generated), vendored: attributeValue(vendored) }];
    }),
  );
}

/** Files beyond this size are not read: 20 MB. */
export const MAX_BLOB_BYTES = 20 * 1024 * 1024;
/** Limit for all files together that are written for a search: 2 GB. */
const MAX_SCRATCH_BYTES = 2 * 1024 ** 3;
const CHECKOUT_MS = 600_000;

/**
 * Opens revisions for reading without a checkout. Dispose of it: it keeps one git process for reading blobs and, after a search, the head's
 * files in a temporary folder.
 */
export function openObjects(place: ObjectPlace): Workspace & AsyncDisposable {
  return new ObjectWorkspace(place);
}

/** Reads everything from git's objects, so every revision is read in the same way; a checkout can answer some requests faster. */
export class ObjectWorkspace implements Workspace, AsyncDisposable {
  readonly root: string;
  readonly shas: Shas;
  readonly withheld: ReadonlyMap<string, string>;
  readonly #place: ObjectPlace;
  readonly #blobs: CatFile;
  readonly #patches: Patches;
  readonly #once = memo();
  /** The tree that was listed first. */
  #listed: Promise<ReadonlyMap<string, TreeEntry>> | undefined;
  readonly #scratch: string[] = [];

  /** @param blobs reads the blobs of this repository; if omitted, the workspace has a reader of its own */
  constructor(place: ObjectPlace, blobs = new CatFile(place, place.gitDir, MAX_BLOB_BYTES)) {
    const { head, base, mergeBase } = place.shas;
    for (const sha of [head, base, mergeBase]) {
      if (!isObjectName(sha)) throw new AppError("revision_unknown", `'${sha}' is not a full object name`);
    }
    this.root = place.root ?? place.gitDir;
    this.shas = place.shas;
    this.withheld = new Map(place.withheld);
    this.#place = place;
    this.#blobs = blobs;
    this.#patches = new Patches(place, (oid) => this.#blobs.read(oid));
  }

  /** Other revisions of the same repository, read by the same process. This workspace must be disposed of as well. */
  at(shas: Shas): ObjectWorkspace {
    return new ObjectWorkspace({ ...this.#place, root: this.root, shas }, this.#blobs);
  }

  changes(): Promise<readonly Change[]> {
    return twice(() => this.#patches.changes());
  }

  tree(ref: Ref): Promise<ReadonlyMap<string, TreeEntry>> {
    const sha = ref === "merge_base" ? this.shas.mergeBase : this.shas[ref];
    return twice(() => this.#once(sha, () => this.#listTree(sha)));
  }

  /** Revisions of a change share most of their entries. */
  async #listTree(sha: string): Promise<ReadonlyMap<string, TreeEntry>> {
    const place = { git: this.#place, gitDir: this.#place.gitDir };
    const known = await this.#listed?.catch(() => undefined);
    const entries = listEntries(place, sha, known);
    this.#listed ??= entries;
    return await entries;
  }

  readBytes(oid: string): Promise<Buffer> {
    return twice(() => this.#blobs.read(oid));
  }

  async readBlob(oid: string): Promise<FileText> {
    const bytes = await this.readBytes(oid);
    return { ...decodeText(bytes), binary: looksBinary(bytes), bytes: bytes.length };
  }

  async headStart(path: string, maxBytes: number): ReturnType<Workspace["headStart"]> {
    const entry = (await this.tree("head")).get(path);
    if (!entry?.mode.startsWith("100"))
      throw new AppError("not_allowed", `'${path}' is not a file at the head`);
    const start = await this.readBytes(entry.oid).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "too_large") throw error;
      return twice(() => this.#startOf(entry.oid, maxBytes));
    });
    return decodeStart(start.subarray(0, maxBytes), maxBytes);
  }

  /** The start of a large blob, from a separate git process that is stopped after enough output. */
  async #startOf(oid: string, maxBytes: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let missing = maxBytes;
    const args = ["cat-file", "blob", oid];
    await streamGit({ git: this.#place, gitDir: this.#place.gitDir, what: "read a blob", args }, (chunk) => {
      chunks.push(chunk);
      missing -= chunk.length;
      return missing <= 0 ? "stop" : undefined;
    });
    return Buffer.concat(chunks).subarray(0, maxBytes);
  }

  linguistAttributes(paths: readonly string[]): Promise<ReadonlyMap<string, LinguistAttributes>> {
    return twice(() => baseAttributes(this.#place, paths));
  }

  async patch(change: Change, contextLines: number): Promise<string> {
    return await twice(() => this.#patches.patch(change, wholeNumber(contextLines)));
  }

  async diffBlobs(from: TreeEntry, to: TreeEntry, contextLines: number): Promise<string> {
    if (from.oid === to.oid) return "";
    const sides = { from: from.oid, to: to.oid };
    const hunks = await twice(() => blobHunks(this.#place, sides, wholeNumber(contextLines)));
    const [a, b] = [`a/${from.path}`, `b/${to.path}`];
    const first = `diff --git ${quotePath(a)} ${quotePath(b)}\n`;
    if (hunks.length === 0) return `${first}Binary files ${quotePath(a)} and ${quotePath(b)} differ\n`;
    return `${first}--- ${markerPath(a)}\n+++ ${markerPath(b)}\n${decodeText(hunks).text}`;
  }

  async commits(max: number): Promise<readonly Commit[]> {
    const format = "--format=tformat:%H%x00%an%x00%aI%x00%B";
    const range = `${this.shas.mergeBase}..${lastCommit(this.shas)}`;
    const count = `--max-count=${wholeNumber(max)}`;
    const args = [
      "log",
      "-z",
      format,
      count,
      "--encoding=UTF-8",
      "--no-show-signature",
      "--no-color",
      range,
      "--",
    ];
    const listed = await twice(() => this.#run("list commits", args));
    const fields = splitNul(listed, (field) => decodeText(field).text);
    const commits: Commit[] = [];
    for (let at = 0; at + 3 < fields.length; at += 4) {
      const [sha = "", author = "", date = "", message = ""] = fields.slice(at, at + 4);
      commits.push({ sha, author, date, message: message.replace(/\n+$/, "") });
    }
    return commits;
  }

  async search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits> {
    const tree = await this.tree("head");
    const root = await twice(() => this.#once("search", () => this.writeFiles(tree.values())));
    return await twice(() => searchTree({ root, tree }, query, signal));
  }

  /**
   * Writes the searchable ones of these files to a new temporary folder: only regular files, so it contains no link, and no names that a
   * disk or a search would misinterpret. Rejects with `too_large` before a file is written.
   */
  protected async writeFiles(entries: Iterable<TreeEntry>): Promise<string> {
    const { gitDir } = this.#place;
    const regular = [...entries].filter(({ path, mode }) => mode.startsWith("100") && isWritable(path));
    const sizes = await blobSizes(
      { git: this.#place, gitDir },
      regular.map(({ oid }) => oid),
    );
    const searched = regular.filter(({ oid }) => (sizes.get(oid) ?? 0) <= MAX_SEARCHED_BYTES);
    const bytes = searched.reduce((sum, { oid }) => sum + (sizes.get(oid) ?? 0), 0);
    if (bytes > MAX_SCRATCH_BYTES)
      throw new AppError(
        "too_large",
        `The files at the head have ${bytes} bytes, but at most ${MAX_SCRATCH_BYTES} can be searched`,
      );
    const scratch = await makeTempFolder(tmpdir());
    this.#scratch.push(scratch);
    const [root, indexFile] = [join(scratch, "files"), join(scratch, "index")];
    await mkdir(root, { recursive: true });
    const records = searched.flatMap(({ path, mode, oid }) => [
      Buffer.from(`${mode} ${oid}\t`),
      nameBytes(path),
      NUL,
    ]);
    const command = { git: this.#place, gitDir, indexFile, workTree: root, timeoutMs: CHECKOUT_MS };
    const input = Buffer.concat(records);
    await runGit({ ...command, what: "list files", args: ["update-index", "-z", "--index-info"], input });
    await runGit({ ...command, what: "checkout", args: ["checkout-index", "--all", "--force", "--quiet"] });
    return root;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#patches[Symbol.dispose]();
    await this.#blobs[Symbol.asyncDispose]();
    for (const folder of this.#scratch) await removeFolder(folder);
  }

  async #run(what: string, args: readonly string[]): Promise<Buffer> {
    const command = { git: this.#place, gitDir: this.#place.gitDir, what, args, maxBytes: MAX_LISTING_BYTES };
    return (await runGit(command)).stdout;
  }
}

/**
 * Repeats a read once if its program was killed or ended for an unknown reason. Otherwise the review would continue with incomplete data,
 * and look like any other.
 */
async function twice<Value>(read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "git_failed" || !error.retryable) throw error;
    return await read();
  }
}

function wholeNumber(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new AppError("usage", `${value} is not a whole number`);
}

/** Computes each value once, but forgets failures, so that a timed-out read can be repeated. */
export function memo() {
  const values = new Map<string, Promise<unknown>>();
  return <Value>(key: string, compute: () => Promise<Value>): Promise<Value> => {
    if (values.has(key)) return values.get(key) as Promise<Value>;
    const value = compute();
    values.set(key, value);
    value.catch(() => values.delete(key));
    return value;
  };
}

/** Opens a range for reading. Dispose of it: it keeps one git process for reading blobs, and maybe files in a temporary folder. */
export function openWorkspace(place: RevisionPlace): Workspace & AsyncDisposable {
  const { files } = place;
  switch (files.kind) {
    case "checkout":
      return new CheckoutWorkspace(place);
    case "work_tree":
      return new WorkTreeWorkspace(place, files);
    case "objects":
      return new ObjectWorkspace(place);
  }
}

/** Reads files from the disk, which costs less than git. */
class CheckoutWorkspace extends ObjectWorkspace {
  /** Every search asks for the same files. */
  readonly #isBinary = new Map<string, boolean>();

  override async headStart(path: string, maxBytes: number): ReturnType<Workspace["headStart"]> {
    return decodeStart(fileStart(this.root, path, maxBytes), maxBytes);
  }

  override async search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits> {
    const isBinary = (path: string) => {
      const known = this.#isBinary.get(path) ?? startsBinary(this.root, path);
      this.#isBinary.set(path, known);
      return known;
    };
    const place = { root: this.root, tree: await this.tree("head"), isBinary };
    return await twice(() => searchTree(place, query, signal));
  }
}

/**
 * Searches a user's work tree, and copies of those files of the head that it does not have. What is found there counts only if git confirms
 * afterwards that the files were the head's, because the user may go on working.
 */
class WorkTreeWorkspace extends ObjectWorkspace {
  readonly #place: RevisionPlace;
  readonly #lent: LentWorkTree;
  readonly #copies = memo();
  /** By path, not by blob: a file that was edited meanwhile is never searched here again. */
  readonly #isBinary = new Map<string, boolean>();
  /** Grows with what the user edits. */
  #differing: ReadonlySet<string>;

  constructor(place: RevisionPlace, lent: LentWorkTree) {
    super(place);
    this.#place = place;
    this.#lent = lent;
    this.#differing = new Set(lent.differing);
  }

  override async search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits> {
    const tree = await this.tree("head");
    const { covers } = searchTarget(tree, query);
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const differing = this.#differing;
      const hasCopies = [...differing].some((path) => tree.has(path) && covers(path));
      const copies = hasCopies ? await this.#searchCopies(tree, differing, query, signal) : null;
      // ripgrep waits for a pipe, and follows a link, where a search begins.
      if (copies && ![...tree.keys()].some((path) => covers(path) && !differing.has(path))) return copies;
      const found = await this.#searchLent(tree, differing, query, signal);
      // Places that are cut off claim nothing about other files, and the files at them are read again from the head.
      const isPassing = query.onlyPlaces === true && found.limited;
      const [hasBinary, now] = await Promise.all([
        this.#findBinary(tree, pathsOf(found)),
        isPassing ? [] : twice(() => differingFiles(this.#place, this.#lent, this.shas.head, signal)),
      ]);
      const more = now.filter((path) => !differing.has(path));
      if (more.length === 0 && !hasBinary) return copies ? mergeHits(found, copies, query) : found;
      this.#differing = new Set([...this.#differing, ...more]);
      if (!hasBinary) continue;
      // The maximum must count only files that are text, so all files with a match are checked.
      const files = { mode: "files_with_matches", maxResults: Number.POSITIVE_INFINITY } as const;
      const all = await this.#searchLent(tree, this.#differing, { ...query, ...files }, signal);
      await this.#findBinary(tree, pathsOf(all));
    }
    return await super.search(query, signal);
  }

  /** Without the differing files, and those that are known to be binary. */
  async #searchLent(
    tree: ReadonlyMap<string, TreeEntry>,
    differing: ReadonlySet<string>,
    query: SearchQuery,
    signal: AbortSignal,
  ): Promise<SearchHits> {
    const { root, ignoreFile } = this.#lent;
    const isBinary = (path: string) => this.#isBinary.get(path) ?? false;
    const { wants: allows = () => true } = query;
    const wants = (path: string) => !differing.has(path) && allows(path);
    return await twice(() => searchTree({ root, tree, ignoreFile, isBinary }, { ...query, wants }, signal));
  }

  /** Whether one of these files turned out to be binary. */
  async #findBinary(tree: ReadonlyMap<string, TreeEntry>, paths: readonly string[]): Promise<boolean> {
    const unknown = paths.filter((path) => !this.#isBinary.has(path));
    const isBinary = async (path: string) => await this.#startsBinary(tree.get(path)?.oid ?? "");
    const found = await pMap(unknown, isBinary, { concurrency: 16 });
    for (const [at, path] of unknown.entries()) this.#isBinary.set(path, found[at] === true);
    return found.includes(true);
  }

  /** A blob that is missing or too large counts as binary. */
  async #startsBinary(oid: string): Promise<boolean> {
    try {
      return looksBinary(await this.readBytes(oid));
    } catch (error) {
      if (error instanceof AppError && ["revision_unknown", "too_large"].includes(error.code)) return true;
      throw error;
    }
  }

  /** The matches in the head's versions of the differing files. */
  async #searchCopies(
    tree: ReadonlyMap<string, TreeEntry>,
    differing: ReadonlySet<string>,
    query: SearchQuery,
    signal: AbortSignal,
  ): Promise<SearchHits> {
    const entries = [...differing].flatMap((path) => tree.get(path) ?? []);
    const root = await twice(() => this.#copies(String(differing.size), () => this.writeFiles(entries)));
    const copied = new Map(entries.map((entry) => [entry.path, entry]));
    return await twice(() => searchTree({ root, tree: copied }, query, signal));
  }
}

/** After that, someone edits files faster than we search. The first attempt may only find binary files. */
const MOST_ATTEMPTS = 4;
