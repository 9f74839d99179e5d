import { z } from "zod";
import { placeFile } from "./place-file.ts";
import { showPath } from "./show.ts";
import { defineTool, type ToolContext } from "./tool.ts";

const Input = z.strictObject({
  source_path: z.string().describe("From the repository root."),
  destination_path: z.string().describe("Of the copy; folders are made."),
  overwrite: z.boolean().default(false).describe("Replace a file that is there."),
});
type Input = z.infer<typeof Input>;

interface Output {
  source_path: string;
  destination_path: string;
}

async function execute(input: Input, context: ToolContext) {
  const { from, to } = await placeFile(input, context);
  return { output: { source_path: from.path, destination_path: to } };
}

export const copyFile = defineTool<Input, Output>({
  name: "copy_file",
  title: "Copy a file",
  description: "Copies a file of any kind, with its mode.",
  returns: "`source_path`, `destination_path`.",
  example: { source_path: "src/parser.ts", destination_path: "src/lexer.ts" },
  kind: "change",
  input: Input,
  execute,
  render: (output) => ({
    text: `Copied ${showPath(output.source_path)} to ${showPath(output.destination_path)}.`,
  }),
});
