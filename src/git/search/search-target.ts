import { AppError } from "../../errors.ts";
import type { SearchQuery, TreeEntry } from "../workspace.ts";

/** Where a query looks. */
export interface SearchTarget {
  /** The file or folder as a key, "" for the root. */
  key: string;
  isFile: boolean;
  /** Whether the file with this key is meant. */
  covers: (key: string) => boolean;
}

/** Rejects with `usage` for a path that is not in the tree. */
export function searchTarget(
  tree: ReadonlyMap<string, TreeEntry>,
  { path = "" }: Pick<SearchQuery, "path">,
): SearchTarget {
  const key = path.replace(/^(?:\.\/)+/, "").replace(/\/+$/, "");
  if (key === "" || key === ".") return { key: "", isFile: false, covers: () => true };
  if (tree.has(key)) return { key, isFile: true, covers: (one) => one === key };
  const prefix = `${key}/`;
  for (const one of tree.keys()) {
    if (one.startsWith(prefix)) return { key, isFile: false, covers: (other) => other.startsWith(prefix) };
  }
  throw new AppError("usage", `There is no file or folder '${key}' at head`);
}

export const folderOf = (key: string) => key.slice(0, Math.max(key.lastIndexOf("/"), 0));
