import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isNestedName } from "../config/config-files.ts";

/** What lies in these is not the repository's own. */
const foreign = new Set([".git", "node_modules"]);

/** The nested configuration files of a working tree, whatever git knows of them. */
export async function findNestedFiles(root: string): Promise<{
  files: string[];
  /** Links and the like of such a name. */
  others: string[];
}> {
  const found = { files: [] as string[], others: [] as string[] };
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(nothingToRead);
    const inside = entries.filter((entry) => entry.isDirectory() && !foreign.has(entry.name));
    folders.push(...inside.map(({ name }) => join(folder, name)));
    const named = entries.filter((entry) => !entry.isDirectory() && isNestedName(entry.name));
    for (const entry of named) found[entry.isFile() ? "files" : "others"].push(join(folder, entry.name));
  }
  return { files: found.files.toSorted(), others: found.others.toSorted() };
}

/** Data of containers and the like, which git could not read either. */
function nothingToRead(error: NodeJS.ErrnoException): [] {
  if (error.code === "EACCES" || error.code === "EPERM" || error.code === "ENOENT") return [];
  throw error;
}
