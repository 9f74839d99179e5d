import { existsSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { compiledCodeFolder } from "./compile-cache.ts";

/** `src/`, or `dist/` once it is built, and the rules beside it. */
const root = join(import.meta.dirname, "../..");

/** Where temporary files go. A process with an environment of its own has to be told. */
export const temporaryFolder = () => resolve(tmpdir());

/** What a process may open beside the checkout; absolute paths. */
export interface MoreToOpen {
  /** Files that it may read. */
  files?: readonly string[];
  /** Folders in which it may write. */
  writable?: readonly string[];
}

/**
 * Arguments that have Node itself refuse a review process every file but its own code, what it keeps in temporary folders
 * of ours, and the checkouts given here. A wall behind those of the tools: a fault in one of them then reads nothing of the server.
 * It holds JavaScript alone, and neither git nor ripgrep. https://nodejs.org/api/permissions.html
 *
 * @param readable absolute paths of folders
 */
export function confinement(
  readable: readonly string[],
  { files = [], writable = [] }: MoreToOpen = {},
): string[] {
  const scratch = namesOf(temporaryFolder()).map((folder) => join(folder, "hunkwise-range-*"));
  const more = writable.flatMap(namesOf).map(wholeFolder);
  const read = [
    ...[...code(), ...ownProcess, ...scratch, ...more],
    ...readable.flatMap(namesOf).map(wholeFolder),
    ...files.flatMap(namesOf),
  ];
  return [
    "--permission",
    // Reviews run git and ripgrep, parse with native grammars, and watch in a thread whether the parent lives.
    ...["--allow-child-process", "--allow-addons", "--allow-worker", "--disable-warning=SecurityWarning"],
    ...read.map((path) => `--allow-fs-read=${path}`),
    ...[...scratch, ...more, wholeFolder(compiledCodeFolder)].map((path) => `--allow-fs-write=${path}`),
  ];
}

/** Packages may lie beside the program's folder, above it, or behind a link. */
function code(): string[] {
  const place = fileURLToPath(import.meta.resolve("zod"));
  const folder = `${sep}node_modules${sep}`;
  const packages = place.slice(0, place.indexOf(folder) + folder.length);
  const own = ["src", "dist", "rules", "package.json"].map((name) => join(root, name));
  return [...own, join(root, "node_modules"), packages];
}

/** Who this process is, and where the files are that it holds open. */
const ownProcess = [
  ...["/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid", "/proc/self/stat"],
  "/proc/self/fd/",
];

/** Where links lead to a folder, its real name too: what is opened there is asked for by that one (`git/confined-file.ts`). */
function namesOf(folder: string): string[] {
  // What is not there has no other name.
  const real = existsSync(folder) ? realpathSync.native(folder) : folder;
  return [...new Set([folder, real])];
}

const wholeFolder = (path: string) => join(path, sep);
