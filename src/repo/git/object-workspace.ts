import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { AppError } from "../../core/errors.ts";
import { decodeStart, decodeText, looksBinary, splitNul } from "../../core/text/decode.ts";
import { attributeValue, type LinguistAttributes } from "../diff/origin.ts";
import { CatFile } from "./cat-file.ts";
import { readLog } from "./commits.ts";
import { fileStart } from "./confined-file.ts";
import { byPath, indexRecords, lendWorkTree } from "./lent-work-tree.ts";
import { isWritable, markerPath, nameBytes, quotePath } from "./names.ts";
import { blobSizes, listEntries, MAX_LISTING_BYTES } from "./object-listing.ts";
import { blobHunks, patchOf, type ReadChange, readChange } from "./patches.ts";
import { isObjectName, runGit, streamGit } from "./run-git.ts";
import { makeTempFolder, removeFolder } from "./scratch.ts";
import {
  MAX_SEARCHED_BYTES,
  mergeHits,
  type SearchPlace,
  searchTarget,
  searchTree,
  startsBinary,
} from "./search.ts";
import { unreadableBlobs } from "./unreadable.ts";
import {
  type Change,
  type Commit,
  type FileText,
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

const NUL = Buffer.from([0]);

/** git's matching time grows with a path's depth to the power of the number of `**`, and the pull request chooses its paths. */
export const MAX_ATTRIBUTES_DEPTH = 50;
/** Ends matching that is still slow at that depth. A thousand paths and usual patterns take some hundredths of a second. */
const TIME_LIMIT_MS = 10_000;

const isTooDeep = (path: string) =>
  path.split("/", MAX_ATTRIBUTES_DEPTH + 2).length > MAX_ATTRIBUTES_DEPTH + 1;

/**
 * What the `.gitattributes` files of the base's tip say about paths; if there are any, except those that are too deep. Rejects with
 * `git_timeout`. Reads an index that holds only these files, because `git check-attr` has no `--source` before 2.40.
 */
export async function baseAttributes(
  place: ObjectPlace,
  paths: readonly string[],
  timeoutMs = TIME_LIMIT_MS,
  listed: ReturnType<Workspace["tree"]> = listEntries({ git: place, gitDir: place.gitDir }, place.shas.base),
): Promise<Map<string, LinguistAttributes>> {
  const matched = paths.filter((path) => !isTooDeep(path));
  const rules = [...(await listed).values()].filter(
    ({ path, mode }) => basename(path) === ".gitattributes" && mode.startsWith("100"),
  );
  if (rules.length === 0) return new Map(paths.map((path) => [path, { generated: null, vendored: null }]));
  const folder = await makeTempFolder(tmpdir());
  try {
    const command = { git: place, gitDir: place.gitDir, indexFile: join(folder, "index"), timeoutMs };
    await runGit({
      ...command,
      what: "index attributes",
      args: ["update-index", "-z", "--index-info"],
      input: indexRecords(rules),
    });
    const { stdout } = await runGit({
      ...command,
      what: "check-attr",
      args: ["check-attr", "--cached", "--stdin", "-z", "linguist-generated", "linguist-vendored"],
      input: Buffer.concat(matched.flatMap((path) => [nameBytes(path), NUL])),
    });
    // Three fields for each attribute of each path: the path, the attribute's name, its state.
    const fields = splitNul(stdout, (field) => field.toString("latin1"));
    const valueAt = (at: number) => attributeValue(fields[at] ?? "unspecified");
    return new Map(
      matched.map((path, at) => [path, { generated: valueAt(6 * at + 2), vendored: valueAt(6 * at + 5) }]),
    );
  } finally {
    await removeFolder(folder);
  }
}

/** Files beyond this size are not read: 20 MB. */
export const MAX_BLOB_BYTES = 20 * 1024 * 1024;
/** Limit for all files together that are written for a search: 2 GB. */
const MAX_SCRATCH_BYTES = 2 * 1024 ** 3;
const CHECKOUT_MS = 600_000;

/** Opens revisions without a checkout. Dispose of it: it keeps a git process and, after a search, the head's files in a temporary folder. */
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
  readonly #disposed = new AbortController();
  readonly #once = memo();
  /** The tree that was listed first. */
  #listed: Promise<ReadonlyMap<string, TreeEntry>> | undefined;
  readonly #scratch: string[] = [];
  readonly #isBinary = new Map<string, boolean>();

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
  }

  /** Other revisions of the same repository, read by the same process. */
  at(shas: Shas): ObjectWorkspace {
    return new ObjectWorkspace({ ...this.#place, root: this.root, shas }, this.#blobs);
  }

  async changes(): Promise<readonly Change[]> {
    return (await twice(() => this.#change())).changes;
  }

  #change(): Promise<ReadChange> {
    return this.#once("change", () => readChange(this.#place, this.#disposed.signal));
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
    return twice(() => baseAttributes(this.#place, paths, TIME_LIMIT_MS, this.tree("base")));
  }

  async patch(change: Change, contextLines: number): Promise<string> {
    const width = wholeNumber(contextLines);
    return await twice(async () => patchOf(this.#place, await this.#change(), change, width));
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
    const request = {
      range: `${this.shas.mergeBase}..${lastCommit(this.shas)}`,
      max: wholeNumber(max),
      maxPaths: 0,
      maxBytes: MAX_LISTING_BYTES,
    };
    const found = await twice(() => readLog({ git: this.#place, gitDir: this.#place.gitDir }, request));
    return found.map(({ paths: _, ...commit }) => commit);
  }

  async search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits> {
    const tree = await this.tree("head");
    const place = await twice(() => this.#once("search", () => this.searchedPlace(tree)));
    const { root } = place;
    // Every search asks for the same files.
    const isBinary = (path: string) => {
      const known = this.#isBinary.get(path) ?? startsBinary(root, path);
      this.#isBinary.set(path, known);
      return known;
    };
    return await twice(() => searchTree({ ...place, tree, isBinary }, query, signal));
  }

  /** Where the head's files are searched. */
  protected async searchedPlace(tree: ReadonlyMap<string, TreeEntry>): Promise<SearchPlace> {
    return await this.writeFiles(searchable(tree));
  }

  /** Writes regular files to a temporary folder, except those that cannot be read. Rejects with `too_large` before it writes. */
  protected async writeFiles(entries: readonly TreeEntry[]): Promise<SearchPlace> {
    const store = { git: this.#place, gitDir: this.#place.gitDir };
    const oids = entries.map(({ oid }) => oid);
    const sizes = await blobSizes(store, oids);
    const write = async (lost: ReadonlySet<string>) => {
      const there = entries.filter(
        ({ oid }) => !lost.has(oid) && (sizes.get(oid) ?? 0) <= MAX_SEARCHED_BYTES,
      );
      const unread = entries.filter(({ oid }) => lost.has(oid));
      return {
        root: await this.#writeAll(there, sizes),
        tree: byPath([...there, ...unread]),
        unread: new Set(unread.map(({ path }) => path)),
      };
    };
    return await write(new Set(oids.filter((oid) => !sizes.has(oid)))).catch(async (error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "git_failed") throw error;
      return await write(await unreadableBlobs(store, oids));
    });
  }

  async #writeAll(searched: readonly TreeEntry[], sizes: ReadonlyMap<string, number>): Promise<string> {
    const { gitDir } = this.#place;
    const bytes = searched.reduce((sum, { oid }) => sum + (sizes.get(oid) ?? 0), 0);
    if (bytes > MAX_SCRATCH_BYTES)
      throw new AppError(
        "too_large",
        `The files at the head have ${bytes} bytes, but at most ${MAX_SCRATCH_BYTES} can be searched`,
      );
    const scratch = await this.newFolder();
    const [root, indexFile] = [join(scratch, "files"), join(scratch, "index")];
    await mkdir(root, { recursive: true });
    const command = { git: this.#place, gitDir, indexFile, workTree: root, timeoutMs: CHECKOUT_MS };
    const input = indexRecords(searched);
    await runGit({ ...command, what: "list files", args: ["update-index", "-z", "--index-info"], input });
    await runGit({ ...command, what: "checkout", args: ["checkout-index", "--all", "--force", "--quiet"] });
    return root;
  }

  /** A temporary folder that is removed with this workspace. */
  protected async newFolder(): Promise<string> {
    const scratch = await makeTempFolder(tmpdir());
    this.#scratch.push(scratch);
    return scratch;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Ends a process that is still printing patches.
    this.#disposed.abort();
    await this.#blobs[Symbol.asyncDispose]();
    for (const folder of this.#scratch) await removeFolder(folder);
  }
}

/** The regular files without names that a disk or a search misreads. */
const searchable = (tree: ReadonlyMap<string, TreeEntry>) =>
  [...tree.values()].filter(({ path, mode }) => mode.startsWith("100") && isWritable(path));

/** Repeats a read once if its program was killed: otherwise the review would continue with incomplete data, and look like any other. */
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
  if (place.isCheckedOut) return new CheckoutWorkspace(place);
  return place.isWorkTree ? new WorkTreeWorkspace(place) : new ObjectWorkspace(place);
}

/** Reads files from the disk, which costs less than git. */
class CheckoutWorkspace extends ObjectWorkspace {
  override async headStart(path: string, maxBytes: number): ReturnType<Workspace["headStart"]> {
    return decodeStart(fileStart(this.root, path, maxBytes), maxBytes);
  }

  protected override async searchedPlace(tree: ReadonlyMap<string, TreeEntry>): Promise<SearchPlace> {
    return { root: this.root, tree };
  }
}

/** Searches the user's work tree where it has the head's bytes, and copies of the other files: copies of all of them take long. */
class WorkTreeWorkspace extends ObjectWorkspace {
  readonly #place: RevisionPlace;
  #lent: ReturnType<WorkTreeWorkspace["lend"]> | undefined;
  /** Each comparison copies again what differs; in the end, all files are copied. */
  #attempts = 4;

  constructor(place: RevisionPlace) {
    super(place);
    this.#place = place;
  }

  override async search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits> {
    const tree = await this.tree("head");
    const { covers } = searchTarget(tree, query);
    while (this.#attempts > 0) {
      this.#lent ??= this.lend(tree);
      const lending = this.#lent;
      const lent = await lending.catch(() => null);
      if (lent === null) break;
      const covering = lent.places.filter((place) => [...place.tree.keys()].some(covers));
      // A link or a submodule: ripgrep still reports problems of the query.
      const searched = covering.length === 0 ? [{ root: this.#place.emptyHome, tree }] : covering;
      const search = twice(() => Promise.all(searched.map((one) => searchTree(one, query, signal))));
      const found = await search.catch(() => []);
      // Places that are cut off claim nothing about other files, and the files at them are read from the head.
      const isPassing = query.onlyPlaces === true && found.some(({ limited }) => limited);
      // With code 2, ripgrep could not read something.
      const isWhole = found.every(({ program }) => program.returnCode !== 2);
      if (isPassing || (isWhole && (await lent.isStill().catch(() => false)))) {
        const [only, ...others] = await search;
        return only && others.length === 0 ? only : mergeHits(found, query);
      }
      // The user has edited files meanwhile.
      if (this.#lent !== lending) continue;
      this.#lent = undefined;
      this.#attempts--;
    }
    return await super.search(query, signal);
  }

  private async lend(tree: ReadonlyMap<string, TreeEntry>) {
    const { gitDir, root: workTree } = this.#place;
    const where = { git: this.#place, gitDir, workTree, folder: await this.newFolder() };
    const { place, missing, isStill } = await lendWorkTree({ ...where, entries: searchable(tree) });
    return { places: missing.length > 0 ? [place, await this.writeFiles(missing)] : [place], isStill };
  }
}
