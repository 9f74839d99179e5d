import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import type { Sandbox } from "./sandbox.ts";

/** Where programs and their libraries lie. On most systems all but the first are links into it. */
const folders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** What programs need of /etc to find their libraries, and which of several programs is meant. No names of people or machines. */
const settings = [
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/alternatives",
  "/etc/localtime",
];

/** What of this machine can be seen, and not changed, behind a wall. */
export interface Seen {
  /** Absolute paths of folders that the operator names: tool chains outside of /usr. */
  readable: readonly string[];
  /** Absolute paths of what must not be seen, wherever it lies: the data folder, the key file, the program's own folder. */
  hidden: readonly string[];
}

/** What walls take from the disk, as it is now. */
export const mountsOf = (seen: Seen): Pick<Sandbox, "readable" | "system" | "hiding"> => ({
  readable: [...seen.readable],
  system: systemArguments(),
  hiding: hidingArguments(seen),
});

/** Arguments of bubblewrap for the system's own folders. */
const systemArguments = (): string[] => [
  ...folders.flatMap(folderArguments),
  ...settings.flatMap((path) => ["--ro-bind-try", path, path]),
];

/** Arguments of bubblewrap for what the operator names; behind everything else, so that nothing covers it. */
export const namedArguments = (readable: readonly string[]): string[] =>
  readable.flatMap((path) => ["--ro-bind", path, path]);

/** Arguments that cover what lies in these folders and must not be seen: an empty folder, an empty file. */
function hidingArguments({ readable, hidden }: Seen): string[] {
  // Links among the system's folders stay links behind the wall.
  const system = [...folders, ...settings].filter((path) => existsSync(path) && !isLink(path));
  const roots = [...system, ...readable.filter((path) => existsSync(path))];
  return hidden
    .filter((path) => existsSync(path))
    .flatMap((path) => {
      const real = realpathSync(path);
      const cover = (at: string) =>
        statSync(real).isDirectory() ? ["--tmpfs", at, "--remount-ro", at] : ["--ro-bind", "/dev/null", at];
      return [...new Set(roots.flatMap((root) => placeWithin(root, real)))].flatMap(cover);
    });
}

/** Under which name a path is seen in a folder that is shown under this one, whatever both are links to. */
function placeWithin(root: string, real: string): string[] {
  const way = relative(realpathSync(root), real);
  return way === ".." || way.startsWith("../") ? [] : [join(root, way)];
}

const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;

function folderArguments(path: string): string[] {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (!facts) return [];
  return facts.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}
