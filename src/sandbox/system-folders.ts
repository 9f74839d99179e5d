import { lstatSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
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
  const roots = [...folders, ...settings, ...readable];
  const within = hidden.filter((path) =>
    roots.some((root) => path === root || path.startsWith(join(root, "/"))),
  );
  return within.flatMap((path) => {
    const facts = statSync(path, { throwIfNoEntry: false });
    if (!facts) return [];
    return facts.isDirectory() ? ["--tmpfs", path, "--remount-ro", path] : ["--ro-bind", "/dev/null", path];
  });
}

function folderArguments(path: string): string[] {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (!facts) return [];
  return facts.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}
