import { extensionOf } from "../../code/languages.ts";
import { isTestPath } from "./file-kind.ts";
import { type Family, familyOf, type Target } from "./import-lines.ts";

/** A changed file under one of its paths. `id` is its place in the list of files. */
export interface IndexedPath {
  id: number;
  path: string;
}

/** Of more files with one name, or more folders, only the first are looked at. */
const MAX_ALIKE = 64;

/** So many files of a package stand for it. */
const MAX_FOLDER_FILES = 16;

/** Files that stand for their folder. */
const folderFiles = new Set(["index", "__init__", "mod"]);

interface Entry extends IndexedPath {
  /** The path as imports say it: without extension, and without `/index`. */
  said: string;
}

/** Finds changed files by what an import says of them; of several with one path the first counts. */
export class PathIndex {
  readonly #byPath = new Map<string, number>();
  /** By language and what imports say. */
  readonly #bySaid = new Map<string, number>();
  /** By language and the last part of what imports say. */
  readonly #byName = new Map<string, Entry[]>();
  /** By language and the last part of the folder: the files of each such folder. */
  readonly #folders = new Map<string, Map<string, number[]>>();

  constructor(paths: readonly IndexedPath[]) {
    for (const { id, path } of paths) {
      if (!this.#byPath.has(path)) this.#byPath.set(path, id);
      const family = familyOf(path);
      if (family === null) continue;
      const said = saidOf(path, family);
      if (!this.#bySaid.has(`${family}:${said}`)) this.#bySaid.set(`${family}:${said}`, id);
      addFew(this.#byName, `${family}:${lastOf(said)}`, { id, path, said });
      if (!isTestPath(path)) this.#addToFolder(family, { id, path });
    }
  }

  /** The files that a target of an import in `from` means, the file itself left out; few at most. */
  find({ by, path }: Target, from: IndexedPath): readonly number[] {
    const family = familyOf(from.path);
    if (family === null) return [];
    if (by === "folder") return this.#byFolder(path, family).filter((id) => id !== from.id);
    if (by === "suffix") return this.#bySuffix(path, family, from);
    const id = this.#exact(path, family);
    return id === undefined || id === from.id ? [] : [id];
  }

  #exact(path: string, family: Family): number | undefined {
    const plain = this.#byPath.get(path) ?? this.#bySaid.get(`${family}:${path}`);
    if (plain !== undefined || familyOf(path) !== family) return plain;
    return this.#bySaid.get(`${family}:${saidOf(path, family)}`);
  }

  #bySuffix(suffix: string, family: Family, from: IndexedPath): readonly number[] {
    const said = familyOf(suffix) === family ? saidOf(suffix, family) : suffix;
    const named = this.#byName.get(`${family}:${lastOf(said)}`) ?? [];
    const ending = named.filter((one) => one.said === said || one.said.endsWith(`/${said}`));
    const others = ending.filter(({ id }) => id !== from.id);
    const nearest = nearestOf(others, from.path);
    return nearest === undefined ? [] : [nearest.id];
  }

  #byFolder(name: string, family: Family): readonly number[] {
    let best: readonly number[] = [];
    let most = 1;
    for (const [folder, ids] of this.#folders.get(`${family}:${lastOf(name)}`) ?? []) {
      const shared = sharedEnd(folder.split("/"), name.split("/"));
      // One name is too little to go by, unless it is the whole folder and the package's name begins with a host.
      const enough = shared === 1 && folder === lastOf(name) && isHosted(name) ? 2 : shared;
      if (enough > most) [best, most] = [ids, enough];
    }
    return best;
  }

  #addToFolder(family: Family, { id, path }: IndexedPath): void {
    const folder = folderOf(path);
    const key = `${family}:${lastOf(folder)}`;
    const alike = this.#folders.get(key) ?? new Map<string, number[]>();
    if (alike.has(folder) || alike.size < MAX_ALIKE) addFew(alike, folder, id, MAX_FOLDER_FILES);
    this.#folders.set(key, alike);
  }
}

/** `example.com/store`, unlike `net/http`. */
const isHosted = (name: string) => name.slice(0, name.indexOf("/") + 1).includes(".");
const lastOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

function saidOf(path: string, family: Family): string {
  // A header and its source differ in the extension alone, and `#include` always has one.
  if (family === "c") return path;
  const stem = path.slice(0, path.length - extensionOf(path).length - 1);
  return folderFiles.has(lastOf(stem)) ? folderOf(stem) : stem;
}

function addFew<Value>(map: Map<string, Value[]>, key: string, value: Value, most = MAX_ALIKE): void {
  const values = map.get(key) ?? [];
  if (values.length < most) values.push(value);
  map.set(key, values);
}

function sharedEnd(a: readonly string[], b: readonly string[]): number {
  let shared = 0;
  while (shared < a.length && shared < b.length && a.at(-1 - shared) === b.at(-1 - shared)) shared += 1;
  return shared;
}

/** How many folders two paths have in common, from the root on. */
export function sharedFolders(a: string, b: string): number {
  let [shared, at] = [0, 0];
  for (; at < a.length && a[at] === b[at]; at++) if (a[at] === "/") shared += 1;
  return shared;
}

/** The one that shares most folders with `path`, the first of several. */
export function nearestOf<Item extends { path: string }>(
  items: readonly Item[],
  path: string,
): Item | undefined {
  let nearest: Item | undefined;
  let most = -1;
  for (const item of items) {
    const shared = sharedFolders(item.path, path);
    if (shared > most) [nearest, most] = [item, shared];
  }
  return nearest;
}
