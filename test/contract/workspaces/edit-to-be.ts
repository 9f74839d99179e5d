import type { EditableWorkspace, Workspace } from "../../../src/repo/git/workspace.ts";

/** Writes and removes regular files until `edited` has those of `wanted`'s head. */
export async function editToBe(edited: EditableWorkspace, wanted: Workspace): Promise<void> {
  const [now, then] = [await edited.tree("head"), await wanted.tree("head")];
  for (const { path, mode } of now.values()) {
    if (mode.startsWith("100") && !then.get(path)?.mode.startsWith("100")) await edited.remove(path);
  }
  for (const { path, mode, oid } of then.values()) {
    const before = now.get(path);
    if ((mode !== "100644" && mode !== "100755") || (before?.oid === oid && before.mode === mode)) continue;
    await edited.write(path, await wanted.readBytes(oid), { mode });
  }
}
