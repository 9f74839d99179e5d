import { type CopyInput, copyFileTo, copyInput, editsOf, type PathPair } from "./editing.ts";
import { showPath } from "./show.ts";
import { defineTool, type ToolContext } from "./tool.ts";

async function execute(input: CopyInput, context: ToolContext) {
  const output = await copyFileTo(input, context);
  await editsOf(context).remove(output.source_path);
  return { output };
}

export const moveFile = defineTool<CopyInput, PathPair>({
  name: "move_file",
  title: "Move a file",
  description: "Moves or renames a file of any kind, with its mode; what refers to it is not changed.",
  returns: "`source_path`, `destination_path`.",
  example: { source_path: "src/parser.ts", destination_path: "src/lexer.ts" },
  kind: "change",
  input: copyInput("Where it goes; folders are made."),
  execute,
  render: (output) => ({
    text: `Moved ${showPath(output.source_path)} to ${showPath(output.destination_path)}.`,
  }),
});
