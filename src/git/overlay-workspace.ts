import type { LinguistAttributes } from "../diff/linguist.ts";
import { AppError } from "../errors.ts";
import { decodeStart, decodeText, looksBinary } from "../text/decode.ts";
import { blobName } from "./edit/blob-name.ts";
import { editedChanges } from "./edit/edited-changes.ts";
import { comparisonPatch, editedPatch, type Side } from "./edit/edited-patch.ts";
import { byPathBytes } from "./edit/git-order.ts";
import { countChanges } from "./edit/line-hunks.ts";
import { requireWritable } from "./edit/require-writable.ts";
import { filesToSearch } from "./search/files-to-search.ts";
import { mergeHits } from "./search/merge-hits.ts";
import { searchStream } from "./search/search-stream.ts";
import { searchTarget } from "./search/search-target.ts";
import type {
  Change,
  Commit,
  Edit,
  EditableWorkspace,
  FileText,
  Ref,
  SearchHits,
  SearchQuery,
  Shas,
  TreeEntry,
  Workspace,
} from "./workspace.ts";

/** What an overlay keeps in memory: 64 MB. */
const MAX_OVERLAY_BYTES = 64 * 1024 * 1024;

/** What was put in a file's place; null where it was taken away. */
type Written = { entry: TreeEntry; bytes: Buffer } | null;

/** Edits over any workspace that touch no disk. The workspace below is only read, and still has to be disposed of. */
export function openOverlay(below: Workspace): EditableWorkspace {
  return new OverlayWorkspace(below);
}

class OverlayWorkspace implements EditableWorkspace {
  readonly root: string;
  readonly shas: Shas;
  readonly #below: Workspace;
  readonly #written = new Map<string, Written>();
  /** Changes that the workspace below does not know. */
  readonly #own = new WeakSet<Change>();
  /** Trees and changes as they stand; forgotten with each edit. */
  #head: Promise<ReadonlyMap<string, TreeEntry>> | undefined;
  #changes: Promise<readonly Change[]> | undefined;

  constructor(below: Workspace) {
    this.root = below.root;
    this.shas = below.shas;
    this.#below = below;
  }

  async tree(ref: Ref): Promise<ReadonlyMap<string, TreeEntry>> {
    if (ref !== "head" || this.#written.size === 0) return await this.#below.tree(ref);
    this.#head ??= this.#editedTree();
    return await this.#head;
  }

  async #editedTree(): Promise<ReadonlyMap<string, TreeEntry>> {
    const entries = [...(await this.#below.tree("head")).values()].filter(
      ({ path }) => !this.#written.has(path),
    );
    for (const written of this.#written.values()) if (written) entries.push(written.entry);
    entries.sort((left, right) => byPathBytes(left.path, right.path));
    return new Map(entries.map((entry) => [entry.path, entry]));
  }

  async changes(): Promise<readonly Change[]> {
    if (this.#written.size === 0) return await this.#below.changes();
    this.#changes ??= this.#editedChanges();
    return await this.#changes;
  }

  async #editedChanges(): Promise<readonly Change[]> {
    const [changes, mergeBase, head] = await Promise.all([
      this.#below.changes(),
      this.tree("merge_base"),
      this.tree("head"),
    ]);
    const isEdited = (path: string) => this.#written.has(path);
    const found = editedChanges({ changes, mergeBase, head, isEdited });
    return await Promise.all(found.map((one) => ("additions" in one ? one : this.#counted(one))));
  }

  async #counted(change: Omit<Change, "additions" | "deletions">): Promise<Change> {
    const [from, to] = await this.#sidesOf(change);
    const isBinary = [from, to].some((side) => side && looksBinary(side.bytes));
    const [old, now] = [from, to].map((side) => side?.bytes ?? Buffer.alloc(0)) as [Buffer, Buffer];
    const own = { ...change, ...(isBinary ? { additions: null, deletions: null } : countChanges(old, now)) };
    this.#own.add(own);
    return own;
  }

  async #sidesOf(change: Omit<Change, "additions" | "deletions">): Promise<[Side | null, Side | null]> {
    const { path, oldPath, oldMode, newMode, oldOid, newOid } = change;
    return await Promise.all([
      this.#side({ path: oldPath ?? path, mode: oldMode, oid: oldOid }),
      this.#side({ path, mode: newMode, oid: newOid }),
    ]);
  }

  async #side(entry: TreeEntry): Promise<Side | null> {
    if (/^0+$/.test(entry.oid)) return null;
    const isSubmodule = entry.mode === "160000";
    const bytes = isSubmodule
      ? Buffer.from(`Subproject commit ${entry.oid}\n`)
      : await this.readBytes(entry.oid);
    return { ...entry, bytes };
  }

  async readBytes(oid: string): Promise<Buffer> {
    return this.#kept(oid) ?? (await this.#below.readBytes(oid));
  }

  #kept(oid: string): Buffer | undefined {
    for (const written of this.#written.values()) if (written?.entry.oid === oid) return written.bytes;
    return undefined;
  }

  async readBlob(oid: string): Promise<FileText> {
    const bytes = this.#kept(oid);
    if (bytes === undefined) return await this.#below.readBlob(oid);
    return { ...decodeText(bytes), binary: looksBinary(bytes), bytes: bytes.length };
  }

  async headStart(path: string, maxBytes: number): ReturnType<Workspace["headStart"]> {
    const written = this.#written.get(path);
    if (written === undefined) return await this.#below.headStart(path, maxBytes);
    if (written === null) throw new AppError("not_allowed", `'${path}' is no file of the head`);
    return decodeStart(written.bytes, maxBytes);
  }

  linguistAttributes(paths: readonly string[]): Promise<ReadonlyMap<string, LinguistAttributes>> {
    return this.#below.linguistAttributes(paths);
  }

  async patch(change: Change, contextLines: number): Promise<string> {
    if (!this.#own.has(change)) return await this.#below.patch(change, contextLines);
    const [from, to] = await this.#sidesOf(change);
    return editedPatch(from, to, contextLines);
  }

  async diffBlobs(from: TreeEntry, to: TreeEntry, contextLines: number): Promise<string> {
    if (from.oid === to.oid) return "";
    const isBelow = [from, to].every(({ oid }) => this.#kept(oid) === undefined);
    if (isBelow) return await this.#below.diffBlobs(from, to, contextLines);
    const [left, right] = await Promise.all([this.#side(from), this.#side(to)]);
    return comparisonPatch(left, right, contextLines);
  }

  commits(max: number): Promise<readonly Commit[]> {
    return this.#below.commits(max);
  }

  async search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits> {
    if (this.#written.size === 0) return await this.#below.search(query, signal);
    const target = searchTarget(await this.tree("head"), query);
    const { wants = () => true } = query;
    const isUntouched = (path: string) => target.covers(path) && !this.#written.has(path);
    const below = [...(await this.#below.tree("head")).keys()].some(isUntouched)
      ? await this.#below.search({ ...query, wants: (path) => isUntouched(path) && wants(path) }, signal)
      : undefined;
    const entries = [...this.#written.values()].flatMap((written) => written?.entry ?? []);
    const files = await filesToSearch(entries, target, query);
    if (below && files.length === 0) return below;
    const edited = await searchStream(this.#filesOf(files), query, signal);
    return below ? mergeHits(below, edited, query) : edited;
  }

  async *#filesOf(entries: readonly TreeEntry[]) {
    for (const { path } of entries) {
      const written = this.#written.get(path);
      if (written) yield { path, bytes: written.bytes };
    }
  }

  async read(path: string): Promise<Buffer> {
    const entry = (await this.tree("head")).get(path);
    if (!entry?.mode.startsWith("100")) throw noFile(path);
    return await this.readBytes(entry.oid);
  }

  async write(path: string, bytes: Buffer, options: { mode?: "100644" | "100755" } = {}): Promise<void> {
    const tree = await this.tree("head");
    requireWritable(path, bytes, tree);
    const mode = options.mode ?? tree.get(path)?.mode ?? "100644";
    const kept = [...this.#written].map(([at, one]) => (at === path ? 0 : (one?.bytes.length ?? 0)));
    if (kept.reduce((sum, one) => sum + one, bytes.length) > MAX_OVERLAY_BYTES)
      throw new AppError("too_large", `The edits together would have more than ${MAX_OVERLAY_BYTES} bytes`);
    const copy = Buffer.from(bytes);
    await this.#put(path, { entry: { path, mode, oid: blobName(copy, this.shas.head) }, bytes: copy });
  }

  async remove(path: string): Promise<void> {
    const entry = (await this.tree("head")).get(path);
    if (!entry?.mode.startsWith("100")) throw noFile(path);
    await this.#put(path, null);
  }

  /** What is as it was before is no edit. */
  async #put(path: string, written: Written): Promise<void> {
    const before = (await this.#below.tree("head")).get(path);
    const isSame = before?.oid === written?.entry.oid && before?.mode === written?.entry.mode;
    if (isSame) this.#written.delete(path);
    else this.#written.set(path, written);
    this.#head = undefined;
    this.#changes = undefined;
  }

  async edits(): Promise<readonly Edit[]> {
    const below = await this.#below.tree("head");
    const edits = [...this.#written].map(([path, written]) => ({
      path,
      before: below.get(path) ?? null,
      after: written && { mode: written.entry.mode, bytes: written.bytes },
    }));
    return edits.sort((left, right) => byPathBytes(left.path, right.path));
  }
}

const noFile = (path: string) => new AppError("usage", `There is no file '${path}'`);
