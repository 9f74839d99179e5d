import { LRUCache } from "lru-cache";
import { parseSource } from "../code/parse.ts";
import type { Definition } from "../code/source.ts";
import type { FileText, TreeEntry, Workspace } from "../git/workspace.ts";

/** Maximum definitions in the cache of each workspace; syntax trees are not kept. */
const KEPT_DEFINITIONS = 100_000;

const keptByWorkspace = new WeakMap<Workspace, LRUCache<string, readonly Definition[]>>();

/** A file and its definitions. */
interface ParsedFile {
  file: FileText;
  definitions: readonly Definition[];
}

/** The definitions of a file in line order. Null if it cannot be read: binary, too large, generated. */
export async function parseEntry(
  { path, oid }: Pick<TreeEntry, "path" | "oid">,
  workspace: Workspace,
): Promise<ParsedFile | null> {
  const file = await workspace.readBlob(oid).catch(() => null);
  if (file === null || file.binary) return null;
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
