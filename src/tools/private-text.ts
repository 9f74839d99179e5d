import { createPrivacy } from "../diff/filter.ts";
import type { Change, Ref, TreeEntry, Workspace } from "../git/workspace.ts";

const refs: readonly Ref[] = ["head", "base", "merge_base"];
/** No blob, or the empty one, by SHA-1 and SHA-256: two empty files need not be related. */
const isNothing = (oid: string) =>
  /^(?:0+|e69de29bb2d1d6434b8b29ae775ad8c2e48c5391|473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813)$/.test(
    oid,
  );

/**
 * Whether a path is withheld from every model: by the workspace, by its name or by its text. If a blob has a private path at head, base or merge base, all of
 * its other paths are private too, and so is every file that this change made from such a blob by a rename (as git detects it) or an edit.
 *
 * @param patterns `paths.private` of the configuration
 */
export async function privacyOf(
  workspace: Pick<Workspace, "tree" | "changes" | "withheld">,
  patterns: readonly string[],
): Promise<(path: string) => boolean> {
  const byName = createPrivacy(patterns);
  const { withheld } = workspace;
  if (patterns.length === 0) return (path) => withheld.has(path);
  const [changes, ...trees] = await Promise.all([
    workspace.changes(),
    ...refs.map((ref) => workspace.tree(ref)),
  ]);
  const entries = trees.flatMap((tree) => [...tree.values()]).filter(({ mode }) => mode !== "160000");
  const blobs = privateBlobs(entries, changes, byName);
  const names = new Set(entries.filter(({ oid }) => blobs.has(oid)).map(({ path }) => path));
  return (path) => withheld.has(path) || byName(path) || names.has(path);
}

function privateBlobs(
  entries: readonly TreeEntry[],
  changes: readonly Change[],
  byName: (path: string) => boolean,
): Set<string> {
  const unchecked = entries.filter(({ path }) => byName(path)).map(({ oid }) => oid);
  const successors = Map.groupBy(changes, ({ oldOid }) => oldOid);
  const found = new Set<string>();
  for (const oid of unchecked) {
    if (found.has(oid) || isNothing(oid)) continue;
    found.add(oid);
    unchecked.push(...(successors.get(oid) ?? []).map(({ newOid }) => newOid));
  }
  return found;
}
