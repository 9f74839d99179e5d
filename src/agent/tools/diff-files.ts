import { z } from "zod";
import { count } from "../../core/text/count.ts";
import { divideHunk, parseFilePatch, renderHunk, renderLine, shownBytes } from "../../repo/diff/file-diff.ts";
import { boundedPatch } from "../../repo/diff-source.ts";
import { fitting, LATIN1_NOTE } from "../../repo/show.ts";
import { readEntry, resolveFile } from "./paths.ts";
import { wholeNumber } from "./read-arguments.ts";
import { defineTool, type ToolContext } from "./tool.ts";

const IDENTICAL = "Files are identical.";
const DEFAULT_CONTEXT = 3;
const MAX_CONTEXT = 1_000;

const Ref = z.enum(["head", "base", "merge_base"]);
const Input = z.strictObject({
  file_path1: z.string(),
  file_path2: z.string().describe("May be the first, at another ref."),
  ref1: Ref.default("head"),
  ref2: Ref.default("head"),
  context_lines: wholeNumber(0, MAX_CONTEXT).default(DEFAULT_CONTEXT).describe(`Up to ${MAX_CONTEXT}.`),
});
type Input = z.infer<typeof Input>;

async function execute(input: Input, context: ToolContext) {
  const [from, to] = await Promise.all([
    resolveFile(input.file_path1, input.ref1, context),
    resolveFile(input.file_path2, input.ref2, context),
  ]);
  if (from.oid === to.oid) return { output: IDENTICAL };
  const [left, right] = await Promise.all([readEntry(from, context), readEntry(to, context)]);
  if (left.binary || right.binary) return { output: `Binary files '${from.path}' and '${to.path}' differ.` };
  const what = `'${from.path}' and '${to.path}'`;
  const reading = context.workspace.diffBlobs(from, to, input.context_lines);
  const output = (await boundedPatch(what, input.context_lines, reading)) || IDENTICAL;
  return [left, right].some((file) => file.encoding === "latin1")
    ? { output, note: LATIN1_NOTE }
    : { output };
}

function render(output: string, input: Input, maxBytes: number) {
  const { hunks } = parseFilePatch(output, input.file_path2, null);
  if (hunks.length === 0) return { text: output };
  const heading = `${input.file_path1} (${input.ref1}) -> ${input.file_path2} (${input.ref2}), ${count(hunks.length, "hunk")}`;
  const room = maxBytes - shownBytes(heading) - 128;
  const sizeOf = (line: Parameters<typeof renderLine>[0]) => shownBytes(renderLine(line)) + 1;
  const parts = hunks.flatMap((hunk) => divideHunk(hunk, room - 256, sizeOf)).map(renderHunk);
  const shown = fitting(parts, room);
  const left = parts.slice(shown).length;
  const rest =
    left > 0 ? [`(${count(left, "further hunk")} did not fit; read_file_part reads both files)`] : [];
  return { text: [heading, ...parts.slice(0, shown), ...rest].join("\n"), truncated: left > 0 };
}

export const diffFiles = defineTool<Input, string>({
  name: "diff_files",
  title: "Compare two files",
  description: "Diff of any two files, or of one at two revisions; numbers and limits as in diff_file.",
  returns: `A unified diff as one string, or exactly \`${IDENTICAL}\``,
  example: { file_path1: "src/parser.ts", file_path2: "src/parser.ts", ref1: "base", ref2: "head" },
  kind: "read",
  input: Input,
  execute,
  render,
});
