import { pathKeys, refusePrivate } from "./resolve-path.ts";
import type { ToolContext } from "./tool.ts";

/**
 * The tree's spelling of a path, where head or merge base have it; what neither has comes back as it was given. Throws a
 * ToolError for a private one.
 */
export async function pathOnAnySide(given: string, context: ToolContext): Promise<string> {
  const keys = pathKeys(given, context);
  const trees = await Promise.all([context.workspace.tree("head"), context.workspace.tree("merge_base")]);
  const path = keys.find((key) => trees.some((tree) => tree.has(key))) ?? keys[0];
  refusePrivate(path, context);
  return path;
}
