import { type CopyInput, copyFileTo, copyInput, type PathPair } from "./editing.ts";
import { showPath } from "./show.ts";
import { defineTool } from "./tool.ts";

export const copyFile = defineTool<CopyInput, PathPair>({
  name: "copy_file",
  title: "Copy a file",
  description: "Copies a file of any kind, with its mode.",
  returns: "`source_path`, `destination_path`.",
  example: { source_path: "src/parser.ts", destination_path: "src/lexer.ts" },
  kind: "change",
  input: copyInput("Of the copy; folders are made."),
  execute: async (input, context) => ({ output: await copyFileTo(input, context) }),
  render: (output) => ({
    text: `Copied ${showPath(output.source_path)} to ${showPath(output.destination_path)}.`,
  }),
});
