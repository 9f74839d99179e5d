import { LRUCache } from "lru-cache";
import { isUnreadable } from "../core/errors.ts";
import { Modules, type Package, packageOf } from "./code/imports.ts";
import { parseSource } from "./code/parse.ts";
import type { Definition } from "./code/source.ts";
import type { FileText, TreeEntry, Workspace } from "./git/workspace.ts";

/** Maximum definitions in the cache of each workspace; syntax trees are not kept. */
const KEPT_DEFINITIONS = 100_000;

const keptByWorkspace = new WeakMap<Workspace, LRUCache<string, readonly Definition[]>>();

type Entry = Pick<TreeEntry, "path" | "oid">;

/** A file's text; null if it has none: binary, too large. The path of a file that git cannot read is added to `unread`. */
export async function readText(
  { path, oid }: Entry,
  workspace: Workspace,
  unread?: Set<string>,
): Promise<FileText | null> {
  try {
    const file = await workspace.readBlob(oid);
    return file.binary ? null : file;
  } catch (error) {
    if (isUnreadable(error)) unread?.add(path);
    return null;
  }
}

/** The definitions of a file in line order. Null if it cannot be read: binary, too large, generated. */
export async function parseEntry(
  { path, oid }: Entry,
  workspace: Workspace,
  unread?: Set<string>,
): Promise<{ file: FileText; definitions: readonly Definition[] } | null> {
  const file = await readText({ path, oid }, workspace, unread);
  if (file === null) return null;
  const kept = keptByWorkspace.get(workspace) ?? new LRUCache({ maxSize: KEPT_DEFINITIONS });
  keptByWorkspace.set(workspace, kept);
  // The path decides the language of the same bytes.
  const key = `${oid} ${path}`;
  const known = kept.get(key);
  if (known) return { file, definitions: known };
  const source = await parseSource(path, file.text);
  if (source === null) return null;
  const { definitions } = source;
  kept.set(key, definitions, { size: definitions.length + 1 });
  return { file, definitions };
}

const modulesByWorkspace = new WeakMap<Workspace, Promise<Modules>>();

/** Maximum manifests that are read for package names, those nearest to the root first. */
const MAX_MANIFESTS = 30;
const MAX_MANIFEST_BYTES = 1_000_000;

/** What imports of the head mean. Only readable manifests name packages; computed once for each workspace. */
export function modulesOf(workspace: Workspace, isReadable: (path: string) => boolean): Promise<Modules> {
  const known = modulesByWorkspace.get(workspace) ?? findModules(workspace, isReadable);
  modulesByWorkspace.set(workspace, known);
  return known;
}

async function findModules(workspace: Workspace, isReadable: (path: string) => boolean): Promise<Modules> {
  const tree = await workspace.tree("head");
  const manifests = [...tree.values()]
    .filter(
      ({ path, mode }) =>
        mode.startsWith("100") && /(?:^|\/)(?:go\.mod|package\.json)$/.test(path) && isReadable(path),
    )
    .toSorted((a, b) => a.path.split("/").length - b.path.split("/").length)
    .slice(0, MAX_MANIFESTS);
  const packages: Package[] = [];
  for (const { path, oid } of manifests) {
    const file = await readText({ path, oid }, workspace);
    const kind = path.endsWith("go.mod") ? "go.mod" : "package.json";
    const name = file === null || file.bytes > MAX_MANIFEST_BYTES ? null : packageOf(kind, file.text);
    if (name !== null)
      packages.push({ name, folder: path.slice(0, Math.max(0, path.lastIndexOf("/"))) || "." });
  }
  return new Modules(tree.keys(), packages);
}
