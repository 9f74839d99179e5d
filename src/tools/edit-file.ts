import { z } from "zod";
import { decodeText } from "../text/decode.ts";
import { absentText } from "./absent-text.ts";
import { changedLines } from "./changed-lines.ts";
import { editsOf } from "./edit-port.ts";
import { requireText, toBytes, toEditable } from "./file-bytes.ts";
import { replaceText } from "./replace-text.ts";
import { resolveFile } from "./resolve-path.ts";
import { count, showPath } from "./show.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";
import { MAX_CONTENT } from "./write-file.ts";

const Input = z.strictObject({
  path: z.string().describe("From the repository root."),
  old_string: z
    .string()
    .min(1)
    .max(MAX_CONTENT)
    .describe("Exact text, white space too, without line numbers."),
  new_string: z.string().max(MAX_CONTENT),
  replace_all: z.boolean().default(false).describe("Every occurrence, not the first alone."),
});
type Input = z.infer<typeof Input>;

export interface EditedFile {
  file_path: string;
  replaced: number;
  /** Other occurrences that stand there still. */
  left: number;
  /** The lines that are other than they were, numbered, with some around them. */
  excerpt: string;
}

async function execute(input: Input, context: ToolContext) {
  const files = editsOf(context);
  const { path } = await resolveFile(input.path, "head", context);
  if (input.old_string === input.new_string) throw new ToolError("old_string and new_string are the same");
  requireText(input.new_string, "new_string");
  const bytes = await files.read(path);
  const file = toEditable(path, bytes);
  const { old_string: old, new_string: now, replace_all: all } = input;
  const found = replaceText(file, { old, now, all });
  if (found === undefined) throw new ToolError(absentText(path, old, now, decodeText(bytes).text));
  await files.write(path, toBytes(file, found.raw));
  const { raw, replaced, left } = found;
  return { output: { file_path: path, replaced, left, excerpt: changedLines(file.raw, raw) } };
}

function render({ file_path, replaced, left, excerpt }: EditedFile) {
  const others =
    left === 0 ? "" : `; ${count(left, "other occurrence")} left as ${left === 1 ? "it is" : "they are"}`;
  const heading = `Replaced ${count(replaced, "occurrence")} in ${showPath(file_path)}${others}.`;
  return { text: excerpt === "" ? heading : `${heading}\n${excerpt}` };
}

export const editFile = defineTool<Input, EditedFile>({
  name: "edit_file",
  title: "Replace text in a file",
  description:
    "Replaces an exact text. When it is not there the answer shows the nearest lines; it says how many other occurrences were left.",
  returns: "`file_path`, `replaced`, `left`, `excerpt` (the lines that changed as `12|text`).",
  example: { path: "src/parser.ts", old_string: "return undefined;", new_string: "return null;" },
  kind: "change",
  input: Input,
  execute,
  render,
});
