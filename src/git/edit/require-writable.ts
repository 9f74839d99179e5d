import { AppError } from "../../errors.ts";
import { decodeName, nameBytes } from "../names.ts";
import type { TreeEntry } from "../workspace.ts";
import { isWritable } from "../writable.ts";

/** A file that somebody writes: 5 MB. */
export const MAX_WRITTEN_BYTES = 5 * 1024 * 1024;

/** Rejects with `not_allowed` or `too_large` what no edit may put there: each path is one of a regular file, or free. */
export function requireWritable(path: string, bytes: Buffer, tree: ReadonlyMap<string, TreeEntry>): void {
  // Under a name that git tells otherwise, it would not be the file that was looked at.
  if (!isWritable(path) || decodeName(nameBytes(path)) !== path)
    throw new AppError("not_allowed", `No file can be written at '${path}'`);
  if (bytes.length > MAX_WRITTEN_BYTES)
    throw new AppError(
      "too_large",
      `'${path}' would have ${bytes.length} bytes, more than ${MAX_WRITTEN_BYTES}`,
    );
  const standing = tree.get(path);
  if (standing && !standing.mode.startsWith("100")) throw inTheWay(path, path);
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
    const folder = path.slice(0, slash);
    if (tree.has(folder)) throw inTheWay(path, folder);
  }
  if (standing) return;
  for (const other of tree.keys()) if (other.startsWith(`${path}/`)) throw inTheWay(path, `${path}/`);
}

const inTheWay = (path: string, what: string) =>
  new AppError("not_allowed", `No file can be written at '${path}': '${what}' stands in the way`);
