import type { TreeEntry } from "../git/workspace.ts";
import { editsOf } from "./edit-port.ts";
import { resolveFile, resolveTarget } from "./resolve-path.ts";
import { type ToolContext, ToolError } from "./tool.ts";

export interface PlaceRequest {
  source_path: string;
  destination_path: string;
  overwrite: boolean;
}

/** Puts a file, its mode too, at another place as well. Throws a ToolError where it cannot be read or something stands there. */
export async function placeFile(
  request: PlaceRequest,
  context: ToolContext,
): Promise<{ from: TreeEntry; to: string }> {
  const files = editsOf(context);
  const from = await resolveFile(request.source_path, "head", context);
  const { path: to, entry } = await resolveTarget(request.destination_path, context);
  if (to === from.path) throw new ToolError(`'${to}' is where the file is`);
  if (entry && !request.overwrite)
    throw new ToolError(`there is a file '${to}' already; set overwrite to replace it`);
  const mode = from.mode === "100755" ? "100755" : "100644";
  await files.write(to, await files.read(from.path), { mode });
  return { from, to };
}
