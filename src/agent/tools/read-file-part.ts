import { z } from "zod";
import { count } from "../../core/text/count.ts";
import { shorten, shownBytes } from "../../repo/diff/file-diff.ts";
import { type LineRange, MAX_RENDERED_BYTES, showPath, takeLines, totalLines } from "../../repo/show.ts";
import { readEntry, resolveFile } from "./paths.ts";
import { wholeNumber } from "./read-arguments.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

/** Reserved in every answer for its heading and for the call that continues. */
const RESERVED_BYTES = 1_024;

const Input = z.strictObject({
  file_path: z.string().describe("From the repository root."),
  start_line: wholeNumber(1).optional().describe("First, from 1."),
  end_line: wholeNumber(1).optional().describe("Last, inclusive."),
  ref: z
    .enum(["head", "base", "merge_base"])
    .default("head")
    .describe("head: with the change. merge_base: before it. base: target branch now."),
});
type Input = z.infer<typeof Input>;

export interface FileContent {
  file_path: string;
  /** Lines as `12|text`. */
  content: string;
  start_line: number;
  end_line: number;
  total_lines: number;
  ref: Input["ref"];
  /** "latin1" if some lines are not UTF-8: their characters beyond ASCII may be wrong. */
  encoding: "utf8" | "latin1";
}

/** The wanted range within a file, `end_line` clamped. An empty file read whole has the range 1 to 0. */
function rangeOf(input: Input, total: number): LineRange {
  const { start_line: start = 1, file_path: path } = input;
  if (total === 0 && input.start_line === undefined) return { start: 1, end: 0 };
  if (start > total) {
    throw new ToolError(
      `start_line ${start} is past the end: '${path}' has ${count(total, "line")} at ${input.ref}`,
    );
  }
  const end = Math.min(input.end_line ?? total, total);
  if (end < start) {
    throw new ToolError(
      `end_line ${end} is before start_line ${start}; '${path}' has ${count(total, "line")}`,
    );
  }
  return { start, end };
}

async function execute(input: Input, context: ToolContext) {
  const entry = await resolveFile(input.file_path, input.ref, context);
  const file = await readEntry(entry, context);
  if (file.binary) throw new ToolError(`'${entry.path}' is a binary file of ${count(file.bytes, "byte")}`);
  const total = totalLines(file.text);
  const { start, end } = rangeOf(input, total);
  const budget = MAX_RENDERED_BYTES - RESERVED_BYTES - 3 * shownBytes(JSON.stringify(entry.path));
  const taken = takeLines(file.text, { start, end }, budget);
  const last = start - 1 + taken.length;
  const output: FileContent = {
    file_path: entry.path,
    content: taken.join("\n"),
    start_line: start,
    end_line: last,
    total_lines: total,
    ref: input.ref,
    encoding: file.encoding,
  };
  if (last === end) return { output };
  const ref = input.ref === "head" ? {} : { ref: input.ref };
  return { output, next: { file_path: entry.path, start_line: last + 1, end_line: end, ...ref } };
}

function render(output: FileContent) {
  const where = output.ref === "head" ? "" : ` at ${output.ref}`;
  const encoding = output.encoding === "latin1" ? " (not UTF-8, decoded as Latin-1)" : "";
  const whole = output.start_line === 1 && output.end_line === output.total_lines;
  const which = whole
    ? count(output.total_lines, "line")
    : `lines ${output.start_line}-${output.end_line} of ${output.total_lines}`;
  const heading = `${showPath(output.file_path)}${where}, ${which}${encoding}`;
  if (output.total_lines === 0) return { text: `${showPath(output.file_path)}${where} is empty` };
  return { text: [heading, ...output.content.split("\n").map(shorten)].join("\n") };
}

export const readFilePart = defineTool<Input, FileContent>({
  name: "read_file_part",
  title: "Read a file",
  description: `Lines of any file as "12|text", or the whole file. An answer holds up to ${MAX_RENDERED_BYTES / 1024} KiB and names the call that continues.`,
  returns:
    "`FileContent`: `file_path`, `content` (lines as `12|text`), `start_line`, `end_line`, `total_lines`, `ref`, `encoding`. An `end_line` beyond the end of the file is clamped.",
  example: { file_path: "src/parser.ts", start_line: 40, end_line: 80 },
  kind: "read",
  input: Input,
  execute,
  render,
});
