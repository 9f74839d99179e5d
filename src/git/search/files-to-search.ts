import { pathFault } from "../../diff/path-fault.ts";
import type { SearchQuery, TreeEntry } from "../workspace.ts";
import { inSearchOrder } from "./path-order.ts";
import { folderOf, type SearchTarget } from "./search-target.ts";
import { selectFiles } from "./select-files.ts";

/** Those of the entries that are regular files and that a query means, in the order of its answer. */
export async function filesToSearch(
  entries: Iterable<TreeEntry>,
  target: SearchTarget,
  query: SearchQuery,
): Promise<TreeEntry[]> {
  const { wants = () => true } = query;
  const meant = [...entries].filter(
    ({ path, mode }) =>
      mode.startsWith("100") && target.covers(path) && pathFault(path) === undefined && wants(path),
  );
  const start = target.isFile ? folderOf(target.key) : target.key;
  const paths = meant.map(({ path }) => path);
  const selected = new Set(await selectFiles(paths, start, query));
  return inSearchOrder(
    meant.filter(({ path }) => selected.has(path)),
    ({ path }) => path,
  );
}
