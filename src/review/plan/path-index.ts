import { extensionOf } from "../../syntax/grammars.ts";
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

/** Finds changed files by what an import says of them. */
export interface PathIndex {
  /** The files that a target of an import in `from` means, the file itself left out; few at most. */
  find(target: Target, from: IndexedPath): readonly number[];
}

interface Entry extends IndexedPath {
  /** The path as imports say it: without extension, and without `/index`. */
  said: string;
}

export function createPathIndex(paths: readonly IndexedPath[]): PathIndex {
  const byPath = new Map(paths.map(({ id, path }) => [path, id]));
  const bySaid = new Map<string, number>();
  const byName = new Map<string, Entry[]>();
  const folders = new Map<string, Map<string, number[]>>();
  for (const { id, path } of paths) {
    const family = familyOf(path);
    if (family === null) continue;
    const said = saidOf(path, family);
    if (!bySaid.has(`${family}:${said}`)) bySaid.set(`${family}:${said}`, id);
    addFew(byName, `${family}:${lastOf(said)}`, { id, path, said });
    if (!isTestPath(path)) addToFolder(folders, family, { id, path });
  }

  function exact(path: string, family: Family): number | undefined {
    return (
      byPath.get(path) ??
      bySaid.get(`${family}:${path}`) ??
      (familyOf(path) === family ? bySaid.get(`${family}:${saidOf(path, family)}`) : undefined)
    );
  }

  function bySuffix(suffix: string, family: Family, from: IndexedPath): readonly number[] {
    const said = familyOf(suffix) === family ? saidOf(suffix, family) : suffix;
    const named = byName.get(`${family}:${lastOf(said)}`) ?? [];
    const ending = named.filter((one) => one.said === said || one.said.endsWith(`/${said}`));
    const nearest = nearestOf(
      ending.filter(({ id }) => id !== from.id),
      from.path,
    );
    return nearest === undefined ? [] : [nearest.id];
  }

  function byFolder(name: string, family: Family): readonly number[] {
    const candidates = folders.get(`${family}:${lastOf(name)}`);
    let best: readonly number[] = [];
    let most = 1;
    for (const [folder, ids] of candidates ?? []) {
      const shared = sharedEnd(folder.split("/"), name.split("/"));
      // One name is too little to go by, unless it is the whole folder and the package's name begins with a host.
      const enough = shared === 1 && folder === lastOf(name) && isHosted(name) ? 2 : shared;
      if (enough > most) [best, most] = [ids, enough];
    }
    return best;
  }

  return {
    find({ by, path }, from) {
      const family = familyOf(from.path);
      if (family === null) return [];
      if (by === "folder") return byFolder(path, family).filter((id) => id !== from.id);
      if (by === "suffix") return bySuffix(path, family, from);
      const id = exact(path, family);
      return id === undefined || id === from.id ? [] : [id];
    },
  };
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

function addToFolder(
  folders: Map<string, Map<string, number[]>>,
  family: Family,
  { id, path }: IndexedPath,
): void {
  const folder = folderOf(path);
  const key = `${family}:${lastOf(folder)}`;
  const alike = folders.get(key) ?? new Map<string, number[]>();
  if (alike.has(folder) || alike.size < MAX_ALIKE) addFew(alike, folder, id, MAX_FOLDER_FILES);
  folders.set(key, alike);
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
