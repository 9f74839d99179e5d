import { z } from "zod";
import { count } from "../../core/text/count.ts";
import { showPath } from "../../repo/show.ts";
import {
  changedLines,
  type EditableText,
  editsOf,
  encode,
  requireText,
  toBytes,
  toEditable,
  withLineEnds,
} from "./editing.ts";
import { isFolder, resolveTarget } from "./paths.ts";
import { defineTool, type EditPort, type ToolContext, ToolError } from "./tool.ts";

const WRITE_MODES = ["overwrite", "append", "insert", "replace_lines"] as const;

/** The bytes of a file after the write. Throws a ToolError for lines that do not exist. */
function writeInto(file: EditableText, input: Input): string {
  const { mode } = input;
  const content = encode(withLineEnds(input.content, file), file.encoding);
  if (mode === "overwrite") return content;
  // With their line ends; the last one may have none.
  const lines = file.raw === "" ? [] : file.raw.split(/(?<=\n)/);
  if (mode === "append") return ended(file.raw, file.lineEnd) + content;
  const { start, behind } = rangeOf(lines.length, input);
  const [before, after] = [lines.slice(0, start - 1), lines.slice(behind - 1)];
  const written = content === "" ? "" : ended(content, file.lineEnd);
  const joined =
    (after.length > 0 ? before : before.map((line) => ended(line, file.lineEnd))).join("") + written;
  return after.length > 0 ? joined + after.join("") : withEndOf(file, joined);
}

const ended = (text: string, lineEnd: string) => (text === "" || text.endsWith("\n") ? text : text + lineEnd);

/** The text with the file's old ending: without a final line end if there was none. */
function withEndOf({ raw, lineEnd }: EditableText, text: string): string {
  const isOpen = raw !== "" && !raw.endsWith("\n");
  return isOpen && text.endsWith(lineEnd) ? text.slice(0, -lineEnd.length) : text;
}

/** The start line of the content, and the first line that stays after it. */
function rangeOf(
  total: number,
  { mode, start_line: startLine, end_line: endLine }: Input,
): { start: number; behind: number } {
  if (startLine === undefined) throw new ToolError(`mode ${mode} needs start_line`);
  const has = `the file has ${count(total, "line")}`;
  if (mode === "insert") {
    if (startLine > total + 1)
      throw new ToolError(
        `start_line ${startLine} is past the end: ${has}; ${total + 1} inserts behind the last`,
      );
    return { start: startLine, behind: startLine };
  }
  const last = endLine ?? startLine;
  if (last < startLine) throw new ToolError(`end_line ${last} is before start_line ${startLine}`);
  if (last > total) throw new ToolError(`the file does not have all of lines ${startLine}-${last}: ${has}`);
  return { start: startLine, behind: last + 1 };
}

/** Maximum characters of one call. */
export const MAX_CONTENT = 500_000;

const Input = z.strictObject({
  path: z.string().describe("From the repository root."),
  content: z.string().max(MAX_CONTENT),
  mode: z.enum(WRITE_MODES).default("overwrite").describe("insert: before start_line."),
  start_line: z.int().min(1).optional().describe("For insert and replace_lines, from 1."),
  end_line: z.int().min(1).optional().describe("Last line to replace, inclusive; default start_line."),
  create_dirs: z.boolean().default(true).describe("Make missing folders."),
  backup: z.boolean().default(false).describe("Keep the old file as PATH.bak."),
});
type Input = z.infer<typeof Input>;

interface WrittenFile {
  file_path: string;
  created: boolean;
  bytes: number;
  total_lines: number;
  backup_path: string | null;
  /** The changed lines, numbered, with some lines around them. */
  excerpt: string;
}

const NEW_FILE: EditableText = { raw: "", mark: "", encoding: "utf8", lineEnd: "\n" };

async function execute(input: Input, context: ToolContext) {
  const files = editsOf(context);
  requireText(input.content, "content");
  const { path, entry } = await resolveTarget(input.path, context);
  const isWhole = input.mode === "overwrite";
  if (entry === null && !isWhole && input.mode !== "append")
    throw new ToolError(`no file '${path}' exists; mode overwrite makes it`);
  const folder = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
  if (!input.create_dirs && !(await isFolder(folder, context)))
    throw new ToolError(`no folder '${folder}' exists; set create_dirs to make it`);
  const before = entry && (await files.read(path));
  const file = before ? toEditable(path, before) : NEW_FILE;
  const after = writeInto(file, input);
  const backup = input.backup && before ? await resolveTarget(`${path}.bak`, context) : null;
  const bytes = toBytes(file, after);
  await files.write(path, bytes);
  if (backup && before) await keepBackup(files, { path, before, backup: backup.path });
  const output: WrittenFile = {
    file_path: path,
    created: before === null,
    bytes: bytes.length,
    total_lines: after === "" ? 0 : after.split(/(?<=\n)/).length,
    backup_path: backup?.path ?? null,
    excerpt: isWhole ? "" : changedLines(file.raw, after),
  };
  return { output };
}

/** Copies the old file to a backup, over an earlier one; if that fails, the old file is restored. */
async function keepBackup(
  files: EditPort,
  { path, before, backup }: { path: string; before: Buffer; backup: string },
): Promise<void> {
  try {
    await files.write(backup, before);
  } catch (error) {
    await files.write(path, before);
    throw error;
  }
}

function render(output: WrittenFile) {
  const backup =
    output.backup_path === null ? "" : `; the old file is kept as ${showPath(output.backup_path)}`;
  const what = `${output.created ? "Made" : "Wrote"} ${showPath(output.file_path)}`;
  const heading = `${what}, ${count(output.total_lines, "line")}, ${count(output.bytes, "byte")}${backup}.`;
  return { text: output.excerpt === "" ? heading : `${heading}\n${output.excerpt}` };
}

export const writeFile = defineTool<Input, WrittenFile>({
  name: "write_file",
  title: "Write a file",
  description:
    "Makes a file, or changes lines of one, completely or not at all. It keeps the line ends, encoding and mode of an existing file, and a missing line end at the end of a file that is changed by lines.",
  returns:
    "`file_path`, `created`, `bytes`, `total_lines`, `backup_path`, `excerpt` (the changed lines as `12|text`, except after an overwrite).",
  example: {
    path: "src/parser.ts",
    content: "return null;\n",
    mode: "replace_lines",
    start_line: 12,
    end_line: 14,
  },
  kind: "change",
  input: Input,
  execute,
  render,
});
