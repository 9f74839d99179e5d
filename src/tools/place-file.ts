import { z } from "zod";
import { editsOf } from "./edit-port.ts";
import { resolveFile, resolveTarget } from "./resolve-path.ts";
import { type ToolContext, ToolError } from "./tool.ts";

/** What a tool takes that puts a file at another place; `destination` says for the model what becomes of it there. */
export const placeInput = (destination: string) =>
  z.strictObject({
    source_path: z.string().describe("From the repository root."),
    destination_path: z.string().describe(destination),
    overwrite: z.boolean().default(false).describe("Replace a file that is there."),
  });
export type PlaceInput = z.infer<ReturnType<typeof placeInput>>;

/** From where to where, as keys of the tree. */
export interface Placed {
  source_path: string;
  destination_path: string;
}

/** Puts a file, its mode too, at another place as well. Throws a ToolError where it cannot be read or something stands there. */
export async function placeFile(input: PlaceInput, context: ToolContext): Promise<Placed> {
  const files = editsOf(context);
  const from = await resolveFile(input.source_path, "head", context);
  const { path: to, entry } = await resolveTarget(input.destination_path, context);
  if (to === from.path) throw new ToolError(`'${to}' is where the file is`);
  if (entry && !input.overwrite)
    throw new ToolError(`there is a file '${to}' already; set overwrite to replace it`);
  const mode = from.mode === "100755" ? "100755" : "100644";
  await files.write(to, await files.read(from.path), { mode });
  return { source_path: from.path, destination_path: to };
}
