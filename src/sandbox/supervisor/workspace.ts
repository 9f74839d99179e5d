import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  type Dirent,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { extname } from "node:path";
import type { End, LeftFile } from "../from-supervisor.ts";

/** Everything writable, on one file system of limited size. */
export const SESSION = "/session";
/** The part that the command sees as the workspace. */
const WORK = `${SESSION}/work/`;

/** The prepared environment, read-only. The command sees it at the same path. */
const ENVIRONMENT = "/environment/";

const folders = ["work", "tmp", "shm", "etc"].map((name) => `${SESSION}/${name}`);
const settings = {
  passwd: "user:x:1000:1000::/tmp:/bin/sh\n",
  group: "user:x:1000:\n",
  hosts: "127.0.0.1 localhost\n::1 localhost\n",
};

export function createFolders(): void {
  for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o755 });
  chmodSync(`${SESSION}/tmp`, 0o1777);
  for (const [name, text] of Object.entries(settings)) writeFileSync(`${SESSION}/etc/${name}`, text);
  // A file that bubblewrap got as data cannot be mounted once more.
  copyFileSync(`/supervisor/bridge${extname(import.meta.filename)}`, `${SESSION}/etc/bridge`);
}

/** The full path of a workspace file. Each character of `path` is one byte. */
const fullPath = (path: string): Buffer => Buffer.from(WORK + path, "latin1");

/** Tells whether a file was touched: the command cannot set its change time. */
interface Trace {
  inode: bigint;
  changedNs: bigint;
}

function traceOf(path: Buffer): Trace {
  const { ino, ctimeNs } = lstatSync(path, { bigint: true });
  return { inode: ino, changedNs: ctimeNs };
}

/** Whether tools write beside the entries of such a folder of an environment: `node_modules/.vite`. */
const isShared = (path: string) => /(^|\/)node_modules(\/(@[^/]*|\.bin))?$/.test(path);

export class Workspace {
  readonly #traces = new Map<string, Trace>();
  readonly #made = new Set<string>();

  get traces(): ReadonlyMap<string, Trace> {
    return this.#traces;
  }

  put(path: string, mode: string, bytes: Buffer): void {
    const slash = path.lastIndexOf("/");
    if (slash > 0) this.#makeFolder(path.slice(0, slash));
    const full = fullPath(path);
    if (mode === "120000") symlinkSync(bytes, full);
    else writeFileSync(full, bytes, { mode: mode === "100755" ? 0o755 : 0o644, flag: "wx" });
    this.#traces.set(path, traceOf(full));
  }

  /**
   * Puts links to the prepared environment beside the files: of a whole folder, except where a command may have to write beside what is in it.
   * A file of the workspace is never replaced.
   */
  linkEnvironment(folder = ""): void {
    const options = { withFileTypes: true, encoding: "buffer" } as const;
    for (const entry of readdirSync(Buffer.from(ENVIRONMENT + folder, "latin1"), options)) {
      const path = folder + entry.name.toString("latin1");
      const original = Buffer.from(ENVIRONMENT + path, "latin1");
      const there = lstatSync(fullPath(path), { throwIfNoEntry: false });
      if (entry.isDirectory() && (there ? there.isDirectory() : isShared(path))) {
        if (!there) mkdirSync(fullPath(path));
        this.linkEnvironment(`${path}/`);
      } else if (!there) {
        this.put(path, "120000", entry.isSymbolicLink() ? readlinkSync(original, "buffer") : original);
      }
    }
  }

  #makeFolder(path: string): void {
    if (this.#made.has(path)) return;
    const full = fullPath(path);
    mkdirSync(full, { recursive: true });
    // A repository can contain a link and files that claim to be below it.
    if (!realpathSync.native(full, "buffer").equals(full))
      throw new Error(`'${path}' is not a folder of the workspace`);
    this.#made.add(path);
  }
}

/** Entries that a command may leave to be listed; builds make many files. */
const MAX_ENTRIES = 200_000;
const MAX_PATH = 4_000;
/** Of the whole list, as JSON. */
const MAX_LIST_BYTES = 24 * 1024 * 1024;

type Left = Pick<End, "left" | "odd" | "tooMany">;

const TOO_MANY: Left = { left: [], odd: [], tooMany: true };

/** The files that differ from the originals. Call it only when no process of the command is left: a path is looked up several times. */
export function findLeft(before: ReadonlyMap<string, Trace>): Left {
  const left: LeftFile[] = [];
  const odd: string[] = [];
  let bytes = 0;
  for (const one of differences(before)) {
    bytes += Buffer.byteLength(JSON.stringify(one)) + 1;
    if (one === "too many" || bytes > MAX_LIST_BYTES) return TOO_MANY;
    if ("kind" in one) left.push(one);
    else odd.push(one.odd);
  }
  return { left, odd, tooMany: false };
}

function* differences(
  before: ReadonlyMap<string, Trace>,
): Generator<LeftFile | { odd: string } | "too many"> {
  const seen = new Set<string>();
  let entries = 0;
  for (const { path, entry } of entriesBelow()) {
    entries += 1;
    if (entries > MAX_ENTRIES || path.length > MAX_PATH) return yield "too many";
    if (entry.isDirectory()) continue;
    seen.add(path);
    const trace = before.get(path);
    const { ino, ctimeNs, size } = lstatSync(fullPath(path), { bigint: true });
    if (trace?.inode === ino && trace.changedNs === ctimeNs) continue;
    yield entry.isFile() ? { path, kind: trace ? "changed" : "new", bytes: Number(size) } : { odd: path };
  }
  for (const path of before.keys())
    if (!seen.has(path) && isGone(path)) yield { path, kind: "gone", bytes: 0 };
}

/** All entries of the workspace except git's own folders, which do not belong to the files and are never collected. */
function* entriesBelow(): Generator<{ path: string; entry: Dirent<Buffer> }> {
  const open = [""];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const entry of entriesOf(folder)) {
      const name = entry.name.toString("latin1");
      if (name === ".git") continue;
      const path = folder + name;
      yield { path, entry };
      if (entry.isDirectory()) open.push(`${path}/`);
    }
  }
}

function entriesOf(folder: string): Dirent<Buffer>[] {
  const full = fullPath(folder);
  try {
    // The command and this process have the same user; the command may have made it unreadable.
    chmodSync(full, 0o755);
    return readdirSync(full, { withFileTypes: true, encoding: "buffer" });
  } catch {
    return [];
  }
}

/** Whether the path is now missing or a folder. An entry that cannot be examined is not gone. */
function isGone(path: string): boolean {
  try {
    return lstatSync(fullPath(path)).isDirectory();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR";
  }
}

export function readLink(path: string): { kind: "link"; bytes: Buffer } | null {
  try {
    return { kind: "link", bytes: readlinkSync(fullPath(path), "buffer") };
  } catch {
    return null;
  }
}

export function readLeft(path: string, maxBytes: number) {
  let fd: number | undefined;
  try {
    makeReadable(path);
    fd = openSync(fullPath(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const facts = fstatSync(fd);
    if (!facts.isFile() || facts.size > maxBytes) return null;
    return { kind: "file" as const, bytes: readFileSync(fd), executable: (facts.mode & 0o100) !== 0 };
  } catch {
    return null;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Lets the owner read a regular file that the command made unreadable. */
function makeReadable(path: string): void {
  const facts = lstatSync(fullPath(path));
  if (facts.isFile()) chmodSync(fullPath(path), facts.mode | 0o400);
}
