import { z } from "zod";
import { showPath } from "../../repo/show.ts";
import { editsOf } from "./editing.ts";
import { resolveFile, resolveTarget } from "./paths.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

/** @param destination describes the second path for the model */
const pairOf = (destination: string) =>
  z.strictObject({
    source_path: z.string().describe("From the repository root."),
    destination_path: z.string().describe(destination),
    overwrite: z.boolean().default(false).describe("Replace an existing file."),
  });
type Input = z.infer<ReturnType<typeof pairOf>>;

interface PathPair {
  source_path: string;
  destination_path: string;
}

/** Copies a file with its mode. Throws a ToolError if it cannot be read or the destination is taken. */
async function copy(input: Input, context: ToolContext): Promise<PathPair> {
  const files = editsOf(context);
  const from = await resolveFile(input.source_path, "head", context);
  const { path: to, entry } = await resolveTarget(input.destination_path, context);
  if (to === from.path) throw new ToolError(`'${to}' is the file's present path`);
  if (entry && !input.overwrite)
    throw new ToolError(`a file '${to}' exists already; set overwrite to replace it`);
  const mode = from.mode === "100755" ? "100755" : "100644";
  await files.write(to, await files.read(from.path), { mode });
  return { source_path: from.path, destination_path: to };
}

const shown = ({ source_path, destination_path }: PathPair) =>
  `${showPath(source_path)} to ${showPath(destination_path)}.`;

export const copyFile = defineTool<Input, PathPair>({
  name: "copy_file",
  title: "Copy a file",
  description: "Copies a file of any kind, with its mode.",
  returns: "`source_path`, `destination_path`.",
  example: { source_path: "src/parser.ts", destination_path: "src/lexer.ts" },
  kind: "change",
  input: pairOf("Of the copy. Missing folders are made."),
  execute: async (input, context) => ({ output: await copy(input, context) }),
  render: (output) => ({ text: `Copied ${shown(output)}` }),
});

export const moveFile = defineTool<Input, PathPair>({
  name: "move_file",
  title: "Move a file",
  description: "Moves or renames a file of any kind, with its mode. References to it are not changed.",
  returns: "`source_path`, `destination_path`.",
  example: { source_path: "src/parser.ts", destination_path: "src/lexer.ts" },
  kind: "change",
  input: pairOf("Its new path. Missing folders are made."),
  async execute(input, context) {
    const output = await copy(input, context);
    await editsOf(context).remove(output.source_path);
    return { output };
  },
  render: (output) => ({ text: `Moved ${shown(output)}` }),
});

const Deleted = z.strictObject({ path: z.string().describe("From the repository root.") });

export const deleteFile = defineTool<z.infer<typeof Deleted>, { file_path: string }>({
  name: "delete_file",
  title: "Delete a file",
  description: "Deletes one file; a folder goes with its last file.",
  returns: "`file_path`.",
  example: { path: "src/unused.ts" },
  kind: "change",
  input: Deleted,
  async execute(input, context) {
    const files = editsOf(context);
    const { path } = await resolveFile(input.path, "head", context);
    await files.remove(path);
    return { output: { file_path: path } };
  },
  render: ({ file_path }) => ({ text: `Deleted ${showPath(file_path)}.` }),
});
