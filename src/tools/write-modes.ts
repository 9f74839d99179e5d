import { type EditableText, encode, withLineEnds } from "./file-bytes.ts";
import { count } from "./show.ts";
import { ToolError } from "./tool.ts";

export const WRITE_MODES = ["overwrite", "append", "insert", "replace_lines"] as const;
export type WriteMode = (typeof WRITE_MODES)[number];

export interface WriteRequest {
  mode: WriteMode;
  content: string;
  /** 1-indexed, inclusive. */
  startLine?: number | undefined;
  endLine?: number | undefined;
}

/** The bytes of a file once something was written into it. Throws a ToolError for lines that are not there. */
export function writeInto(file: EditableText, request: WriteRequest): string {
  const { mode } = request;
  const content = encode(withLineEnds(request.content, file), file.encoding);
  if (mode === "overwrite") return content;
  const lines = linesOf(file.raw);
  if (mode === "append") return ended(file.raw, file.lineEnd) + content;
  const { start, behind } = rangeOf(lines.length, request);
  const [before, after] = [lines.slice(0, start - 1), lines.slice(behind - 1)];
  const written = content === "" ? "" : ended(content, file.lineEnd);
  const joined =
    (after.length > 0 ? before : before.map((line) => ended(line, file.lineEnd))).join("") + written;
  return after.length > 0 ? joined + after.join("") : withEndOf(file, joined);
}

/** Each with its line end, which the last may lack. */
const linesOf = (raw: string) => (raw === "" ? [] : raw.split(/(?<=\n)/));

const ended = (text: string, lineEnd: string) => (text === "" || text.endsWith("\n") ? text : text + lineEnd);

/** What was the end of a file stays its end: without a line end where there was none. */
function withEndOf({ raw, lineEnd }: EditableText, text: string): string {
  const isOpen = raw !== "" && !raw.endsWith("\n");
  return isOpen && text.endsWith(lineEnd) ? text.slice(0, -lineEnd.length) : text;
}

/** The line at which the content begins, and the first line that stays behind it. */
function rangeOf(
  total: number,
  { mode, startLine, endLine }: WriteRequest,
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
  if (last > total) throw new ToolError(`lines ${startLine}-${last} are not all there: ${has}`);
  return { start: startLine, behind: last + 1 };
}
