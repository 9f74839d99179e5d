import { reasonByName } from "../../diff/skipped-names.ts";
import type { TreeEntry, Workspace } from "../../git/workspace.ts";
import { splitLines } from "../../text/cut.ts";
import type { TextFile } from "./text-file.ts";

/** Larger files are data, or made to be slow. */
const MAX_BYTES = 1_000_000;
/** Files read for one first message; a name that stands in more of them says nothing of any. */
const MAX_FILES = 400;

/** Reads files of the repository as far as a model may see them. */
export interface RepositoryFiles {
  /** The file, or null: not there, no regular file, withheld, vendored, generated, binary, or too large. */
  read(path: string, ref: TextFile["ref"]): Promise<TextFile | null>;
  /** Whether the file at this path of the head may be shown at all, by its name. */
  isReadable(path: string): boolean;
}

export function createRepositoryFiles(
  workspace: Workspace,
  isPrivate: (path: string) => boolean,
): RepositoryFiles {
  const files = new Map<string, Promise<TextFile | null>>();
  const isReadable = (path: string) => !isPrivate(path) && reasonByName(path) === null;

  async function load(path: string, ref: TextFile["ref"]): Promise<TextFile | null> {
    const entry: TreeEntry | undefined = (await workspace.tree(ref)).get(path);
    if (!entry?.mode.startsWith("100")) return null;
    const file = await workspace.readBlob(entry.oid).catch(() => null);
    if (file === null || file.binary || file.bytes > MAX_BYTES) return null;
    return { path, ref, lines: splitLines(file.text) };
  }

  return {
    isReadable,
    async read(path, ref) {
      if (!isReadable(path)) return null;
      const key = `${ref} ${path}`;
      const known = files.get(key);
      if (known || files.size >= MAX_FILES) return (await known) ?? null;
      const file = load(path, ref);
      files.set(key, file);
      return await file;
    },
  };
}
