import { chmodSync, lstatSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";

/** Everything that can be written to, on one file system of limited size. */
export const ROOM = "/room";
/** Its part that the command sees as the workspace. */
const WORK = `${ROOM}/work/`;

const folders = ["work", "tmp", "shm", "etc"].map((name) => `${ROOM}/${name}`);
const people = {
  passwd: "user:x:1000:1000::/tmp:/bin/sh\n",
  group: "user:x:1000:\n",
  hosts: "127.0.0.1 localhost\n::1 localhost\n",
};

/** Where a file of the workspace lies; of names each character is a byte. */
export const placeOf = (path: string): Buffer => Buffer.from(WORK + path, "latin1");

/** What tells whether anything was done to a file since: nobody in here can set that time. */
export interface Trace {
  inode: bigint;
  changedNs: bigint;
}

export function traceOf(place: Buffer): Trace {
  const { ino, ctimeNs } = lstatSync(place, { bigint: true });
  return { inode: ino, changedNs: ctimeNs };
}

/** Makes the parts of the room. */
export function furnish(): void {
  for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o755 });
  chmodSync(`${ROOM}/tmp`, 0o1777);
  for (const [name, text] of Object.entries(people)) writeFileSync(`${ROOM}/etc/${name}`, text);
}

/** Remembers what was put into the workspace. */
export class Inventory {
  readonly #traces = new Map<string, Trace>();
  readonly #made = new Set<string>();

  get traces(): ReadonlyMap<string, Trace> {
    return this.#traces;
  }

  put(path: string, mode: string, bytes: Buffer): void {
    const slash = path.lastIndexOf("/");
    if (slash > 0) this.#makeFolder(path.slice(0, slash));
    const place = placeOf(path);
    if (mode === "120000") symlinkSync(bytes, place);
    else writeFileSync(place, bytes, { mode: mode === "100755" ? 0o755 : 0o644, flag: "wx" });
    this.#traces.set(path, traceOf(place));
  }

  #makeFolder(path: string): void {
    if (this.#made.has(path)) return;
    const place = placeOf(path);
    mkdirSync(place, { recursive: true });
    // A repository can hold a link and files that are said to lie below it.
    if (!realpathSync.native(place, "buffer").equals(place))
      throw new Error(`'${path}' is no folder of the workspace`);
    this.#made.add(path);
  }
}
