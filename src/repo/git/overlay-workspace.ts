import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pMap from "p-map";
import { AppError } from "../../core/errors.ts";
import type { LinguistAttributes } from "../diff/origin.ts";
import { commitFiles, storeFile } from "./commits.ts";
import { decodeName, isWritable, nameBytes } from "./names.ts";
import { memo, ObjectWorkspace } from "./object-workspace.ts";
import { createScratchRepository, makeTempFolder, removeFolder } from "./scratch.ts";
import { mergeHits, searchTarget, searchTree } from "./search.ts";
import type {
  Change,
  Commit,
  Edit,
  EditableWorkspace,
  FileText,
  ObjectPlace,
  Ref,
  SearchHits,
  SearchQuery,
  Shas,
  TreeEntry,
  Workspace,
} from "./workspace.ts";

/** Maximum size of one written file: 5 MB. */
const MAX_WRITTEN_BYTES = 5 * 1024 * 1024;
/** Maximum size of all edits together, which are kept in memory: 64 MB. */
const MAX_OVERLAY_BYTES = 64 * 1024 * 1024;

/** The new content of a file; null if it was deleted. */
type Written = { mode: "100644" | "100755"; bytes: Buffer } | null;

const CONCURRENCY = 4;

/**
 * Edits on top of any workspace, kept in memory. If a request concerns them, git commits them to a scratch repository that borrows the
 * objects of `place`, and ripgrep searches copies of the edited files, both in a temporary folder. The workspace below is disposed of separately.
 */
export function openOverlay(
  below: Workspace,
  place: Omit<ObjectPlace, "shas">,
): EditableWorkspace & AsyncDisposable {
  return new OverlayWorkspace(below, place);
}

class OverlayWorkspace implements EditableWorkspace, AsyncDisposable {
  readonly root: string;
  readonly shas: Shas;
  readonly withheld: ReadonlyMap<string, string>;
  readonly #below: Workspace;
  readonly #place: Omit<ObjectPlace, "shas">;
  readonly #written = new Map<string, Written>();
  /** The state of the files that a change belongs to: the files may be edited again before its patch is requested. */
  readonly #stateOf = new WeakMap<Change, Workspace>();
  readonly #once = memo();
  /** The edits as a commit, and their files on the disk: created on request, and discarded with each edit. */
  #onceAState = memo();
  readonly #cleanUps: (() => Promise<void>)[] = [];
  /** The folder with the edited files that are searched. */
  #copies: string | undefined;

  constructor(below: Workspace, place: Omit<ObjectPlace, "shas">) {
    this.root = below.root;
    this.shas = below.shas;
    this.withheld = below.withheld;
    this.#below = below;
    this.#place = place;
  }

  async tree(ref: Ref): Promise<ReadonlyMap<string, TreeEntry>> {
    return await (ref === "head" ? await this.#state() : this.#below).tree(ref);
  }

  async changes(): Promise<readonly Change[]> {
    const state = await this.#state();
    const changes = await state.changes();
    for (const change of changes) this.#stateOf.set(change, state);
    return changes;
  }

  async patch(change: Change, contextLines: number): Promise<string> {
    return await (this.#stateOf.get(change) ?? this.#below).patch(change, contextLines);
  }

  async readBytes(oid: string): Promise<Buffer> {
    return await (await this.#state()).readBytes(oid);
  }

  async readBlob(oid: string): Promise<FileText> {
    return await (await this.#state()).readBlob(oid);
  }

  async headStart(path: string, maxBytes: number): ReturnType<Workspace["headStart"]> {
    const reader = this.#written.has(path) ? await this.#state() : this.#below;
    return await reader.headStart(path, maxBytes);
  }

  async diffBlobs(from: TreeEntry, to: TreeEntry, contextLines: number): Promise<string> {
    return await (await this.#state()).diffBlobs(from, to, contextLines);
  }

  linguistAttributes(paths: readonly string[]): Promise<ReadonlyMap<string, LinguistAttributes>> {
    return this.#below.linguistAttributes(paths);
  }

  commits(max: number): Promise<readonly Commit[]> {
    return this.#below.commits(max);
  }

  /** The workspace below searches the files that were not edited. */
  async search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits> {
    if (this.#written.size === 0) return await this.#below.search(query, signal);
    const tree = await this.tree("head");
    const { covers } = searchTarget(tree, query);
    const { wants = () => true } = query;
    const isUntouched = (path: string) => !this.#written.has(path);
    const edited = [...this.#written.keys()].flatMap((path) => tree.get(path) ?? []);
    const hasEdited = edited.some(({ path }) => covers(path));
    const hasUntouched = [...tree.keys()].some((path) => covers(path) && isUntouched(path));
    const below = hasUntouched
      ? await this.#below.search({ ...query, wants: (path) => isUntouched(path) && wants(path) }, signal)
      : undefined;
    if (below && !hasEdited) return below;
    const place = {
      root: await this.#onceAState("files", () => this.#writeFiles()),
      tree: new Map(edited.map((entry) => [entry.path, entry])),
    };
    const found = await searchTree(place, query, signal);
    return below ? mergeHits([below, found], query) : found;
  }

  async read(path: string): Promise<Buffer> {
    const written = this.#written.get(path);
    if (written) return written.bytes;
    const entry = written === null ? undefined : (await this.#below.tree("head")).get(path);
    if (!entry?.mode.startsWith("100")) throw noFile(path);
    return await this.#below.readBytes(entry.oid);
  }

  async write(path: string, bytes: Buffer, options: { mode?: "100644" | "100755" } = {}): Promise<void> {
    const below = await this.#below.tree("head");
    const before = below.get(path);
    const [copy, isSame] = [Buffer.from(bytes), before && (await this.#hasBytes(before, bytes))];
    const current = this.#modeAt(path, below);
    this.#requireWritable(path, copy, below);
    const mode = options.mode ?? (current === "100755" ? "100755" : "100644");
    // A file that is unchanged is not an edit.
    this.#put(path, isSame && before?.mode === mode ? undefined : { mode, bytes: copy });
  }

  async remove(path: string): Promise<void> {
    const below = await this.#below.tree("head");
    if (!this.#modeAt(path, below)?.startsWith("100")) throw noFile(path);
    this.#put(path, below.has(path) ? null : undefined);
  }

  async edits(): Promise<readonly Edit[]> {
    const below = await this.#below.tree("head");
    const edits = [...this.#written].map(([path, after]) => ({
      path,
      before: below.get(path) ?? null,
      after,
    }));
    return edits.sort((left, right) => Buffer.compare(nameBytes(left.path), nameBytes(right.path)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cleanUp of this.#cleanUps.toReversed()) await cleanUp();
  }

  #modeAt(path: string, below: ReadonlyMap<string, TreeEntry>): string | undefined {
    const written = this.#written.get(path);
    return written === undefined ? below.get(path)?.mode : written?.mode;
  }

  async #hasBytes({ mode, oid }: TreeEntry, bytes: Buffer): Promise<boolean> {
    if (!mode.startsWith("100")) return false;
    try {
      return (await this.#below.readBytes(oid)).equals(bytes);
    } catch (error) {
      if (error instanceof AppError && error.code === "too_large") return false;
      throw error;
    }
  }

  /** @param written undefined if the file is as it was */
  #put(path: string, written: Written | undefined): void {
    if (written === undefined) this.#written.delete(path);
    else this.#written.set(path, written);
    this.#onceAState = memo();
  }

  /** Throws `not_allowed` or `too_large` if an edit may not write this: each path must be that of a regular file, or free. */
  #requireWritable(path: string, bytes: Buffer, below: ReadonlyMap<string, TreeEntry>): void {
    // git would store a different name, so the checks would concern another file.
    const isKey = path.split("/").every((name) => name !== "" && name !== ".");
    if (!isKey || !isWritable(path) || decodeName(nameBytes(path)) !== path)
      throw new AppError("not_allowed", `No file can be written at '${path}'`);
    if (bytes.length > MAX_WRITTEN_BYTES)
      throw new AppError(
        "too_large",
        `'${path}' would have ${bytes.length} bytes, more than ${MAX_WRITTEN_BYTES}`,
      );
    let sum = bytes.length;
    for (const [at, one] of this.#written) if (at !== path) sum += one?.bytes.length ?? 0;
    if (sum > MAX_OVERLAY_BYTES)
      throw new AppError("too_large", `The edits together would have more than ${MAX_OVERLAY_BYTES} bytes`);
    this.#requireRoom(path, below);
  }

  /** A file and a folder cannot have the same name. */
  #requireRoom(path: string, below: ReadonlyMap<string, TreeEntry>): void {
    const isThere = (at: string) => this.#modeAt(at, below) !== undefined;
    const current = this.#modeAt(path, below);
    if (current?.startsWith("100")) return;
    if (current !== undefined) throw inTheWay(path, path);
    for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
      const folder = path.slice(0, slash);
      if (isThere(folder)) throw inTheWay(path, folder);
    }
    const isBelow = (other: string) => other.startsWith(`${path}/`) && isThere(other);
    if ([...below.keys(), ...this.#written.keys()].some(isBelow)) throw inTheWay(path, `${path}/`);
  }

  /** The current files, as a workspace that git reads. */
  async #state(): Promise<Workspace> {
    if (this.#written.size === 0) return this.#below;
    return await this.#onceAState("commit", () => this.#commit());
  }

  async #commit(): Promise<Workspace> {
    const written = [...this.#written];
    const { gitDir, reader } = await this.#once("repository", () => this.#createRepository());
    const git = this.#place;
    const stored = async ([path, after]: [string, Written]) => ({
      path,
      after: after && { mode: after.mode, oid: await storeFile({ git, gitDir, bytes: after.bytes }) },
    });
    const files = await pMap(written, stored, { concurrency: CONCURRENCY });
    const head = await commitFiles({
      git,
      gitDir,
      parent: this.shas.head,
      files,
      message: "Edits",
      at: 0,
      author: { name: "Hunkwise", email: "hunkwise@localhost" },
    });
    const state = reader.at({ ...this.shas, head });
    this.#cleanUps.push(() => state[Symbol.asyncDispose]());
    return state;
  }

  async #createRepository() {
    const gitDir = await this.#newFolder();
    const { gitDir: commonDir } = this.#place;
    const objectFormat = this.shas.head.length === 64 ? "sha256" : "sha1";
    await createScratchRepository(
      gitDir,
      { commonDir, objectFormat, shallow: false },
      { headSha: this.shas.head, attributes: true },
    );
    const reader = new ObjectWorkspace({ ...this.#place, gitDir, root: this.root, shas: this.shas });
    this.#cleanUps.push(() => reader[Symbol.asyncDispose]());
    return { gitDir, reader };
  }

  /** Copies of the edited files in a folder that only this process writes to, so no link can be on the way to one of them. */
  async #writeFiles(): Promise<string> {
    // Copies of an earlier state are no longer searched.
    if (this.#copies !== undefined) await removeFolder(this.#copies);
    const root = await this.#newFolder();
    this.#copies = root;
    const below = (key: string) => Buffer.concat([Buffer.from(`${root}/`), nameBytes(key)]);
    for (const [path, written] of [...this.#written]) {
      if (written === null) continue;
      await mkdir(below(dirname(path)), { recursive: true });
      await writeFile(below(path), written.bytes, { flag: "wx" });
    }
    return root;
  }

  async #newFolder(): Promise<string> {
    const scratch = await this.#once("folder", async () => {
      const made = await makeTempFolder(tmpdir());
      this.#cleanUps.push(() => removeFolder(made));
      return made;
    });
    return await mkdtemp(join(scratch, "edits-"));
  }
}

const noFile = (path: string) => new AppError("usage", `There is no file '${path}'`);

const inTheWay = (path: string, what: string) =>
  new AppError("not_allowed", `No file can be written at '${path}': '${what}' stands in the way`);
