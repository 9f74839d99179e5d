import type { Change, Workspace } from "../git/workspace.ts";

const kinds: Record<string, string> = {
  "100644": "file",
  "100755": "executable file",
  "120000": "symbolic link",
  "160000": "submodule",
};
const kindOf = (mode: string) => kinds[mode] ?? `mode ${mode}`;
const ABSENT = "000000";

/** What a special entry holds: the target of a link, the commit of a submodule. */
async function contentOf(mode: string, oid: string, workspace: Workspace): Promise<string> {
  if (mode === "120000") return `symbolic link to '${(await workspace.readBlob(oid)).text}'`;
  if (mode === "160000") return `submodule at commit ${oid}`;
  return kindOf(mode);
}

/** A change that has no hunks, in words: binary, mode only, pure rename, submodule, symbolic link, empty file. */
export async function changeInWords(change: Change, workspace: Workspace): Promise<string> {
  const sentences: string[] = [];
  if (change.oldPath !== null) sentences.push(`Renamed from '${change.oldPath}'.`);
  const special = [change.oldMode, change.newMode].some((mode) => mode === "120000" || mode === "160000");
  if (special) {
    sentences.push(await specialChange(change, workspace));
    return sentences.join(" ");
  }
  const both = change.oldMode !== ABSENT && change.newMode !== ABSENT;
  if (both && change.oldMode !== change.newMode) {
    sentences.push(
      `Mode changed from ${change.oldMode} to ${change.newMode} (now ${kindOf(change.newMode)}).`,
    );
  }
  if (change.additions === null) sentences.push(`Binary file ${change.type}; there is no textual diff.`);
  else if (change.oldOid === change.newOid) sentences.push("The content is unchanged.");
  else sentences.push(`Empty file ${change.type}.`);
  return sentences.join(" ");
}

async function specialChange(change: Change, workspace: Workspace): Promise<string> {
  const now = () => contentOf(change.newMode, change.newOid, workspace);
  const before = () => contentOf(change.oldMode, change.oldOid, workspace);
  if (change.oldMode === ABSENT) return `Added: ${await now()}.`;
  if (change.newMode === ABSENT) return `Deleted: ${await before()}.`;
  return `Was: ${await before()}. Now: ${await now()}.`;
}
