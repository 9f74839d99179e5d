import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LinguistAttributes } from "../diff/linguist.ts";
import { AppError } from "../errors.ts";
import { decodeStart, decodeText, looksBinary, splitNul } from "../text/decode.ts";
import { baseAttributes } from "./base-attributes.ts";
import { blobHunks } from "./blob-diff.ts";
import { CatFile } from "./cat-file.ts";
import type { ObjectPlace } from "./checkout-place.ts";
import { isObjectName } from "./git-environment.ts";
import { nameBytes } from "./names.ts";
import { blobSizes, listTree, MAX_LISTING_BYTES } from "./object-listing.ts";
import { parseTreeEntry } from "./parse-changes.ts";
import { Patches } from "./patches.ts";
import { markerPath, quotePath } from "./quote-path.ts";
import { runGit, streamGit } from "./run-git.ts";
import { MAX_SEARCHED_BYTES, searchTree } from "./search.ts";
import { makeTempFolder, removeFolder } from "./temp-folder.ts";
import type {
  Change,
  Commit,
  FileText,
  Ref,
  SearchHits,
  SearchQuery,
  Shas,
  TreeEntry,
  Workspace,
} from "./workspace.ts";
import { isWritable } from "./writable.ts";

/** Files beyond this size are not read: 20 MB. */
export const MAX_BLOB_BYTES = 20 * 1024 * 1024;
/** All files together that are written to be searched: 2 GB. */
const MAX_SCRATCH_BYTES = 2 * 1024 ** 3;
const CHECKOUT_MS = 600_000;

/**
 * Opens revisions for reading where nothing is checked out. Dispose of it: it keeps one git process for reading blobs, and after a
 * search the head's files in a temporary folder.
 */
export function openObjects(place: ObjectPlace): Workspace & AsyncDisposable {
  return new ObjectWorkspace(place);
}

/** Everything comes out of git's objects, so any revision is read alike; a checkout may answer some of it sooner. */
export class ObjectWorkspace implements Workspace, AsyncDisposable {
  readonly root: string;
  readonly shas: Shas;
  readonly #place: ObjectPlace;
  readonly #blobs: CatFile;
  readonly #patches: Patches;
  readonly #once = memo();
  #scratch: string | undefined;

  /** @param blobs reads the blobs of this repository; left out, the workspace has a reader of its own */
  constructor(place: ObjectPlace, blobs = new CatFile(place, place.gitDir, MAX_BLOB_BYTES)) {
    const { head, base, mergeBase } = place.shas;
    for (const sha of [head, base, mergeBase]) {
      if (!isObjectName(sha)) throw new AppError("revision_unknown", `'${sha}' is not a full object name`);
    }
    this.root = place.root ?? place.gitDir;
    this.shas = place.shas;
    this.#place = place;
    this.#blobs = blobs;
    this.#patches = new Patches(place, (oid) => this.#blobs.read(oid));
  }

  /** Other revisions of the same repository, read by the same process: this one is to be disposed of as well. */
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

  /** Most entries of two revisions are the same, and are kept once. */
  async #listTree(sha: string): Promise<Map<string, TreeEntry>> {
    const { head } = this.shas;
    const known = sha === head ? undefined : await this.tree("head").catch(() => undefined);
    const entries = new Map<string, TreeEntry>();
    await listTree({ git: this.#place, gitDir: this.#place.gitDir }, sha, (record) => {
      const entry = parseTreeEntry(record);
      const same = known?.get(entry.path);
      const isSame = same?.oid === entry.oid && same.mode === entry.mode;
      entries.set(isSame ? same.path : entry.path, isSame ? same : entry);
    });
    return entries;
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
    if (!entry?.mode.startsWith("100")) throw new AppError("not_allowed", `'${path}' is no file of the head`);
    return decodeStart(await twice(() => this.#startOf(entry.oid, maxBytes)), maxBytes);
  }

  /** Of a blob of any size, by a git of its own that is stopped when it has said enough. */
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
    const range = `${this.shas.mergeBase}..${this.shas.head}`;
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
    const root = await twice(() => this.#once("search", () => this.#checkOut(tree)));
    return await twice(() => searchTree({ root, tree }, query, signal));
  }

  /**
   * Writes what a search can find into a temporary folder: regular files alone, so there is no link in it, and none that a disk or a
   * search takes for something else. Rejects with `too_large` before a file is written.
   */
  async #checkOut(tree: ReadonlyMap<string, TreeEntry>): Promise<string> {
    const { gitDir } = this.#place;
    const regular = [...tree.values()].filter(({ path, mode }) => mode.startsWith("100") && isWritable(path));
    const sizes = await blobSizes(
      { git: this.#place, gitDir },
      regular.map(({ oid }) => oid),
    );
    const searched = regular.filter(({ oid }) => (sizes.get(oid) ?? 0) <= MAX_SEARCHED_BYTES);
    const bytes = searched.reduce((sum, { oid }) => sum + (sizes.get(oid) ?? 0), 0);
    if (bytes > MAX_SCRATCH_BYTES)
      throw new AppError(
        "too_large",
        `The files of the head have ${bytes} bytes; no more than ${MAX_SCRATCH_BYTES} are searched`,
      );
    this.#scratch ??= await makeTempFolder(tmpdir());
    const [root, indexFile] = [join(this.#scratch, "files"), join(this.#scratch, "index")];
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
    if (this.#scratch !== undefined) await removeFolder(this.#scratch);
  }

  async #run(what: string, args: readonly string[]): Promise<Buffer> {
    const command = { git: this.#place, gitDir: this.#place.gitDir, what, args, maxBytes: MAX_LISTING_BYTES };
    return (await runGit(command)).stdout;
  }
}

const NUL = Buffer.from([0]);

/**
 * Reading may be done again: a program that somebody killed, or that ended for no reason it knows, is started once more. Else a
 * review would go on with less than it can read, and look like any other.
 */
export async function twice<Value>(read: () => Promise<Value>): Promise<Value> {
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

/** Computes each value once, but forgets failures: what timed out may be asked for again. */
function memo() {
  const values = new Map<string, Promise<unknown>>();
  return <Value>(key: string, compute: () => Promise<Value>): Promise<Value> => {
    if (values.has(key)) return values.get(key) as Promise<Value>;
    const value = compute();
    values.set(key, value);
    value.catch(() => values.delete(key));
    return value;
  };
}
