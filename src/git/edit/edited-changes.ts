import type { Change, TreeEntry } from "../workspace.ts";
import { byPathBytes } from "./git-order.ts";

/** What a workspace was before it was edited, and the head as it stands. */
export interface EditedTrees {
  /** The change of the head that was not edited. */
  changes: readonly Change[];
  mergeBase: ReadonlyMap<string, TreeEntry>;
  head: ReadonlyMap<string, TreeEntry>;
  isEdited: (path: string) => boolean;
}

/** A changed file whose lines are not counted yet. */
export type UncountedChange = Omit<Change, "additions" | "deletions">;

const NO_MODE = "000000";

/**
 * The change from the merge base to an edited head, in git's order: what was not edited as git found it, the rest file by file.
 * What was renamed stays renamed, as long as nothing stands at its old path; nothing else becomes a rename.
 */
export function editedChanges(trees: EditedTrees): (Change | UncountedChange)[] {
  const { changes, mergeBase, head, isEdited } = trees;
  const listed = new Map<string, Change | UncountedChange>();
  const put = (change: Change | UncountedChange | null) => change && listed.set(change.path, change);
  const isStillRenamed = ({ oldPath, path, type }: Change) =>
    oldPath !== null && head.has(path) && (type === "copied" || !head.has(oldPath));
  const concerned = new Set<string>([...mergeBase.keys(), ...head.keys()].filter(isEdited));
  for (const change of changes) {
    const { path, oldPath } = change;
    const isTouched = isEdited(path) || (oldPath !== null && isEdited(oldPath));
    if (!isTouched) put(change);
    else if (isStillRenamed(change)) {
      put({ ...between(mergeBase.get(oldPath ?? ""), head.get(path)), path, oldPath, type: change.type });
      concerned.delete(path);
    } else for (const one of [path, oldPath]) if (one !== null) concerned.add(one);
  }
  for (const path of concerned) put(changeAt(path, mergeBase.get(path), head.get(path)));
  return [...listed.values()].sort((left, right) => byPathBytes(left.path, right.path));
}

function changeAt(
  path: string,
  before: TreeEntry | undefined,
  after: TreeEntry | undefined,
): UncountedChange | null {
  if (before?.oid === after?.oid && before?.mode === after?.mode) return null;
  return { ...between(before, after), path, oldPath: null, type: typeOf(before, after) };
}

function typeOf(before: TreeEntry | undefined, after: TreeEntry | undefined): Change["type"] {
  if (!before) return "added";
  if (!after) return "deleted";
  return before.mode.slice(0, 3) === after.mode.slice(0, 3) ? "modified" : "type_changed";
}

function between(before: TreeEntry | undefined, after: TreeEntry | undefined) {
  const noOid = "0".repeat((before ?? after)?.oid.length ?? 0);
  return {
    oldMode: before?.mode ?? NO_MODE,
    newMode: after?.mode ?? NO_MODE,
    oldOid: before?.oid ?? noOid,
    newOid: after?.oid ?? noOid,
  };
}
