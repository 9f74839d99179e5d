import { type Placed, type PlaceInput, placeFile, placeInput } from "./editing.ts";
import { showPath } from "./show.ts";
import { defineTool } from "./tool.ts";

export const copyFile = defineTool<PlaceInput, Placed>({
  name: "copy_file",
  title: "Copy a file",
  description: "Copies a file of any kind, with its mode.",
  returns: "`source_path`, `destination_path`.",
  example: { source_path: "src/parser.ts", destination_path: "src/lexer.ts" },
  kind: "change",
  input: placeInput("Of the copy; folders are made."),
  execute: async (input, context) => ({ output: await placeFile(input, context) }),
  render: (output) => ({
    text: `Copied ${showPath(output.source_path)} to ${showPath(output.destination_path)}.`,
  }),
});
