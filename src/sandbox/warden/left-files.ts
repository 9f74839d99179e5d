import {
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import type { LeftFile } from "./messages.ts";
import { placeOf, type Trace } from "./room.ts";

/** What a command may leave behind and is still looked at; builds make many files. */
const MAX_ENTRIES = 200_000;
const MAX_PATH = 4_000;
/** Of all names that are told, as JSON. */
const MAX_TOLD_BYTES = 24 * 1024 * 1024;

export interface Left {
  left: LeftFile[];
  odd: number;
  tooMany: boolean;
}

/** All that is not as it was put there. Only after everybody who could change it is gone: nothing is asked for twice here. */
export function findLeft(before: ReadonlyMap<string, Trace>): Left {
  const found = new Found();
  const seen = new Set<string>();
  let entries = 0;
  for (const { path, entry } of entriesBelow()) {
    entries += 1;
    if (entries > MAX_ENTRIES || path.length > MAX_PATH || found.isTooLong) return found.none();
    if (entry.isDirectory()) continue;
    const trace = before.get(path);
    if (trace) seen.add(path);
    note(path, entry, trace, found);
  }
  for (const path of before.keys())
    if (!seen.has(path) && isGone(path)) found.add({ path, kind: "gone", bytes: 0 });
  return found.isTooLong ? found.none() : { left: found.left, odd: found.odd, tooMany: false };
}

/** All that lies in the workspace, but for git's own folders: they are no part of the files, and nothing is ever taken from there. */
function* entriesBelow(): Generator<{ path: string; entry: Dirent<Buffer> }> {
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(folder)) {
      const name = entry.name.toString("latin1");
      if (name === ".git") continue;
      const path = folder + name;
      yield { path, entry };
      if (entry.isDirectory()) folders.push(`${path}/`);
    }
  }
}

/** What was found so far, and how much it takes to tell it. */
class Found {
  readonly left: LeftFile[] = [];
  odd = 0;
  #bytes = 0;

  get isTooLong(): boolean {
    return this.#bytes > MAX_TOLD_BYTES;
  }

  add(file: LeftFile): void {
    if (this.isTooLong) return;
    this.#bytes += Buffer.byteLength(JSON.stringify(file)) + 1;
    this.left.push(file);
  }

  /** The answer where there is too much to be told. */
  none(): Left {
    return { left: [], odd: this.odd, tooMany: true };
  }
}

function entriesOf(folder: string): Dirent<Buffer>[] {
  const place = placeOf(folder);
  try {
    // It belongs to whoever runs the command and this, but may have been closed.
    chmodSync(place, 0o755);
    return readdirSync(place, { withFileTypes: true, encoding: "buffer" });
  } catch {
    return [];
  }
}

function note(path: string, entry: Dirent<Buffer>, before: Trace | undefined, found: Found): void {
  const { ino, ctimeNs, size } = lstatSync(placeOf(path), { bigint: true });
  if (before?.inode === ino && before.changedNs === ctimeNs) return;
  if (!entry.isFile()) found.odd += 1;
  else found.add({ path, kind: before ? "changed" : "new", bytes: Number(size) });
}

/** Whether nothing is there any more, or a folder. What cannot be seen is not gone. */
function isGone(path: string): boolean {
  try {
    return lstatSync(placeOf(path)).isDirectory();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR";
  }
}

/** A regular file and whether it may be run; null where it is none, or longer than `maxBytes`. */
export function readLeft(path: string, maxBytes: number): { bytes: Buffer; executable: boolean } | null {
  let fd: number | undefined;
  try {
    chmodIfFile(path);
    fd = openSync(placeOf(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const facts = fstatSync(fd);
    if (!facts.isFile() || facts.size > maxBytes) return null;
    return { bytes: readFileSync(fd), executable: (facts.mode & 0o100) !== 0 };
  } catch {
    return null;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Gives its owner the right to read a file that was closed. */
function chmodIfFile(path: string): void {
  const facts = lstatSync(placeOf(path));
  if (facts.isFile()) chmodSync(placeOf(path), facts.mode | 0o400);
}
