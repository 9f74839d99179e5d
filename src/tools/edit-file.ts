import { z } from "zod";
import { decodeText } from "../text/decode.ts";
import { unescapeInvisible } from "../text/escape-invisible.ts";
import { absentText } from "./absent-text.ts";
import { changedLines } from "./changed-lines.ts";
import { editsOf } from "./edit-port.ts";
import { type EditableText, encode, requireText, toBytes, toEditable, withLineEnds } from "./file-bytes.ts";
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

/** What is looked for and what is put there, in a file's bytes. */
interface Replacement {
  from: string;
  to: string;
}

/** The ways in which a text may be meant: as it was given, as a rendering showed it, and each with the file's line ends. */
function spellings(file: EditableText, old: string, now: string): Replacement[] {
  const asGiven = { from: old, to: now };
  const asShown = { from: unescapeInvisible(old), to: unescapeInvisible(now) };
  return [asGiven, asShown].flatMap(({ from, to }) =>
    [from, withLineEnds(from, file.lineEnd)].map((one) => ({
      from: one,
      to: withLineEnds(to, file.lineEnd),
    })),
  );
}

/** The replacement in bytes as the file has them; undefined where none of its spellings is in the file. */
function findIn(file: EditableText, old: string, now: string): Replacement | undefined {
  for (const { from, to } of spellings(file, old, now)) {
    // Lines that are UTF-8 are shown as such in a file that is not.
    const raw = encode(from, "utf8");
    const isPlain = raw === from;
    if (file.raw.includes(raw)) return { from: raw, to: encode(to, isPlain ? file.encoding : "utf8") };
    if (file.encoding === "latin1" && file.raw.includes(from)) return { from, to: encode(to, "latin1") };
  }
  return undefined;
}

async function execute(input: Input, context: ToolContext) {
  const files = editsOf(context);
  const { path } = await resolveFile(input.path, "head", context);
  if (input.old_string === input.new_string) throw new ToolError("old_string and new_string are the same");
  requireText(input.new_string, "new_string");
  const bytes = await files.read(path);
  const file = toEditable(path, bytes);
  const found = findIn(file, input.old_string, input.new_string);
  if (found === undefined)
    throw new ToolError(absentText(path, input.old_string, input.new_string, decodeText(bytes).text));
  const parts = file.raw.split(found.from);
  const occurrences = parts.length - 1;
  const replaced = input.replace_all ? occurrences : 1;
  const after =
    parts.slice(0, replaced + 1).join(found.to) +
    parts
      .slice(replaced + 1)
      .map((part) => found.from + part)
      .join("");
  await files.write(path, toBytes(after));
  const excerpt = changedLines(file.raw, after);
  return { output: { file_path: path, replaced, left: occurrences - replaced, excerpt } };
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
