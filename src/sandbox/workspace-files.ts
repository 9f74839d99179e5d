import { nameBytes } from "../git/names.ts";
import type { EditableWorkspace, TreeEntry } from "../git/workspace.ts";
import { ToolError } from "../tools/tool.ts";
import type { PlacedFile } from "./run-in-sandbox.ts";

/** A path as the sandbox speaks of it: each character a byte of the name. */
export const sandboxPath = (key: string): string => nameBytes(key).toString("latin1");

/** Of the files' bytes, how much may be there before a command has written any. */
const FILLED = 0.8;

/**
 * The workspace for a command: every file as it stands, but none that the configuration withholds. Links are there too (they lead
 * nowhere that matters in a sandbox), submodules and git's own data are not.
 * @throws ToolError where they take more than the sandbox has room for
 */
export async function* workspaceFiles(
  workspace: EditableWorkspace,
  isPrivate: (path: string) => boolean,
  filesBytes: number,
): AsyncGenerator<PlacedFile> {
  let left = filesBytes * FILLED;
  for (const entry of (await workspace.tree("head")).values()) {
    const { path, mode } = entry;
    if (isPrivate(path) || !(mode.startsWith("100") || mode === "120000")) continue;
    const bytes = await bytesOf(workspace, entry);
    left -= bytes.length;
    if (left < 0)
      throw new ToolError(
        "the files of this repository are too many for the sandbox, so that no command can be run",
      );
    const kind = mode === "120000" || mode === "100755" ? mode : "100644";
    yield { path: sandboxPath(path), mode: kind, bytes };
  }
}

async function bytesOf(workspace: EditableWorkspace, { path, mode, oid }: TreeEntry): Promise<Buffer> {
  if (mode !== "120000") return workspace.read(path);
  return Buffer.from((await workspace.readBlob(oid)).text, "utf8");
}
