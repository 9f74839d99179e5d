import { z } from "zod";
import { editsOf } from "./editing.ts";
import { resolveFile } from "./paths.ts";
import { showPath } from "./show.ts";
import { defineTool, type ToolContext } from "./tool.ts";

const Input = z.strictObject({ path: z.string().describe("From the repository root.") });
type Input = z.infer<typeof Input>;

interface Output {
  file_path: string;
}

async function execute(input: Input, context: ToolContext) {
  const files = editsOf(context);
  const { path } = await resolveFile(input.path, "head", context);
  await files.remove(path);
  return { output: { file_path: path } };
}

export const deleteFile = defineTool<Input, Output>({
  name: "delete_file",
  title: "Delete a file",
  description: "Deletes one file; a folder goes with its last file.",
  returns: "`file_path`.",
  example: { path: "src/unused.ts" },
  kind: "change",
  input: Input,
  execute,
  render: (output) => ({ text: `Deleted ${showPath(output.file_path)}.` }),
});
