import { type BaseWord, HEADER_BYTES, type LinguistAttributes, saysGenerated } from "../diff/origin.ts";
import { AppError, errorLine } from "../errors.ts";
import type { Change, Workspace } from "../git/workspace.ts";

/** What the base branch says of changed files, of a renamed one at either path. */
export interface BaseWords {
  of(change: Change, path: string): BaseWord;
  /** What people should hear of: attributes that could not be read. */
  warnings: readonly string[];
}

/**
 * Asks the base about a change. When its attributes cannot be told, whatever the reason, the review goes on without them and
 * with a warning: rather is something read that nobody has written than something left out that the base wants read.
 */
export async function askBase(workspace: Workspace, changes: readonly Change[]): Promise<BaseWords> {
  const warnings: string[] = [];
  const attributes = await workspace
    .linguistAttributes(changes.flatMap(({ path, oldPath }) => (oldPath === null ? [path] : [path, oldPath])))
    .catch((error: unknown): ReadonlyMap<string, LinguistAttributes> => {
      if (error instanceof AppError && error.code === "aborted") throw error;
      warnings.push(
        `The base's .gitattributes could not be read, so generated and vendored files were told by their headers alone: ${errorLine(error)}`,
      );
      return new Map();
    });
  return {
    warnings,
    of: (change, path) => ({
      attributes: attributes.get(path) ?? null,
      headerSaysGenerated: () => headerSaysGenerated(workspace, change, path),
    }),
  };
}

/**
 * Whether a file's header calls it generated both at head and at the base's tip: where the base says nothing at that path,
 * the pull request would say it of itself, and where the head says it no more, people go on writing the file. The head is
 * asked first; its files lie on the disk, so that few blobs have to be read. What cannot be read is reviewed.
 */
async function headerSaysGenerated(
  workspace: Workspace,
  { path, newMode }: Change,
  basePath: string,
): Promise<boolean> {
  if (!newMode.startsWith("100")) return false;
  try {
    if (!saysGenerated((await workspace.headStart(path, HEADER_BYTES)).text, path)) return false;
    const before = (await workspace.tree("base")).get(basePath);
    return before !== undefined && saysGenerated((await workspace.readBlob(before.oid)).text, basePath);
  } catch {
    return false;
  }
}
