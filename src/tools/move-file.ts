import { z } from "zod";
import { editsOf } from "./edit-port.ts";
import { placeFile } from "./place-file.ts";
import { showPath } from "./show.ts";
import { defineTool, type ToolContext } from "./tool.ts";

const Input = z.strictObject({
  source_path: z.string().describe("From the repository root."),
  destination_path: z.string().describe("Where it goes; folders are made."),
  overwrite: z.boolean().default(false).describe("Replace a file that is there."),
});
type Input = z.infer<typeof Input>;

interface Output {
  source_path: string;
  destination_path: string;
}

async function execute(input: Input, context: ToolContext) {
  const { from, to } = await placeFile(input, context);
  await editsOf(context).remove(from.path);
  return { output: { source_path: from.path, destination_path: to } };
}

export const moveFile = defineTool<Input, Output>({
  name: "move_file",
  title: "Move a file",
  description: "Moves or renames a file of any kind, with its mode; what refers to it is not changed.",
  returns: "`source_path`, `destination_path`.",
  example: { source_path: "src/parser.ts", destination_path: "src/lexer.ts" },
  kind: "change",
  input: Input,
  execute,
  render: (output) => ({
    text: `Moved ${showPath(output.source_path)} to ${showPath(output.destination_path)}.`,
  }),
});
