import { isUtf8 } from "node:buffer";
import { AppError } from "../errors.ts";
import { nameBytes } from "../git/names.ts";
import type { TreeEntry, Workspace } from "../git/workspace.ts";
import { type EditPort, ToolError } from "../tools/tool.ts";
import type { PlacedFile } from "./run-in-sandbox.ts";

/** The files that a command is run on. */
export interface CommandFiles {
  /** Which there are. */
  workspace: Pick<Workspace, "tree" | "readBlob">;
  /** Their bytes, and the door for those that a command changed. */
  edit: EditPort;
  isPrivate: (path: string) => boolean;
}

/** A path as the sandbox speaks of it: each character a byte of the name. */
export const sandboxPath = (key: string): string => nameBytes(key).toString("latin1");

/**
 * The name of a folder as an argument of a program, which is text.
 * @throws ToolError where it is none
 */
export function folderName(key: string): string {
  const name = nameBytes(key);
  if (!isUtf8(name)) throw new ToolError(`no command can be run in '${key}': its name is not UTF-8`);
  return name.toString("utf8");
}

/** Of the files' bytes, how much may be there before a command has written any. */
const FILLED = 0.8;
/** Bytes that a file takes at least, and by which it grows. */
const PAGE = 4_096;

/**
 * The files for a command, as they stand, but none that the configuration withholds. Links are there too (they lead nowhere that matters
 * in a sandbox), submodules and git's own data are not. What is too large to be read is left out, and its path told.
 * @throws ToolError where they take more than the sandbox has room for
 */
export async function* workspaceFiles(
  files: CommandFiles,
  filesBytes: number,
  onLeftOut: (path: string) => void,
): AsyncGenerator<PlacedFile> {
  let left = filesBytes * FILLED;
  for (const entry of (await files.workspace.tree("head")).values()) {
    const { path, mode } = entry;
    if (files.isPrivate(path) || !(mode.startsWith("100") || mode === "120000")) continue;
    const bytes = await bytesOf(files, entry);
    if (!bytes) {
      onLeftOut(path);
      continue;
    }
    left -= Math.ceil(bytes.length / PAGE) * PAGE;
    if (left < 0)
      throw new ToolError("no command can be run: the files of this repository are too many for the sandbox");
    const kind = mode === "120000" || mode === "100755" ? mode : "100644";
    yield { path: sandboxPath(path), mode: kind, bytes };
  }
}

async function bytesOf({ workspace, edit }: CommandFiles, { path, mode, oid }: TreeEntry) {
  if (mode === "120000") return Buffer.from((await workspace.readBlob(oid)).text, "utf8");
  try {
    return await edit.read(path);
  } catch (error) {
    if (error instanceof AppError && error.code === "too_large") return null;
    throw error;
  }
}
