import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { count } from "../../core/text/count.ts";
import { cutLine } from "../../core/text/cut.ts";
import { decodeText } from "../../core/text/decode.ts";
import { unescapeInvisible } from "../../core/text/escape-invisible.ts";
import { showPath } from "../../repo/show.ts";
import {
  changedLines,
  type EditableText,
  editsOf,
  encode,
  plainText,
  requireText,
  toBytes,
  toEditable,
} from "./editing.ts";
import { resolveFile } from "./paths.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";
import { MAX_CONTENT } from "./write-file.ts";

const MARGIN = 2;
const MAX_LINE_BYTES = 300;
/** Longer lines are compared by their beginnings. */
const COMPARED = 200;
/** Maximum lines of a file that are compared. */
const MAX_LINES = 20_000;

const squeezed = (text: string) => text.replaceAll(/\s+/g, " ").trim();

/** The error for a text that is not in a file: shows the most similar place, if there is one. */
function absentText(path: string, wanted: string, replacement: string, text: string): string {
  const lines = text.split("\n");
  const first = wanted.split("\n").find((line) => line.trim() !== "") ?? "";
  const nearest = nearestLine(first, lines);
  const hints = [
    ...(replacement.trim() !== "" && text.includes(replacement)
      ? ["The file holds new_string already."]
      : []),
    ...(squeezed(text).includes(squeezed(wanted))
      ? ["It occurs with other white space: copy it exactly."]
      : []),
    ...(nearest === null
      ? []
      : [`Nearest to its first line is line ${nearest + 1}:`, around(lines, nearest)]),
  ];
  return [`old_string is not in '${path}'.`, ...hints].join("\n");
}

/** The line most similar to the wanted one; null if none is similar. */
function nearestLine(wanted: string, lines: readonly string[]): number | null {
  const sought = squeezed(wanted).slice(0, COMPARED);
  if (sought === "") return null;
  let best: { at: number; apart: number } | null = null;
  for (const [at, line] of lines.slice(0, MAX_LINES).entries()) {
    const shown = squeezed(line).slice(0, COMPARED);
    const limit = best?.apart ?? Math.ceil(sought.length * 0.6);
    if (shown === "" || Math.abs(shown.length - sought.length) >= limit) continue;
    const apart = distance(shown, sought);
    if (apart < limit) best = { at, apart };
  }
  return best?.at ?? null;
}

function around(lines: readonly string[], at: number): string {
  const start = Math.max(at - MARGIN, 0);
  const shown = lines.slice(start, at + MARGIN + 1);
  return shown.map((line, index) => cutLine(`${start + index + 1}|${line}`, MAX_LINE_BYTES)).join("\n");
}

/** More than a workspace accepts, which reports its own limit: 16 MB. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Replaces one text by another, with any line ends, which stay the same. Undefined if the file contains the text in none of its spellings.
 * `left`: occurrences that were not replaced. Throws a ToolError if the file would become too large.
 */
function replaceText(file: EditableText, input: Input) {
  const plain = file.raw.replaceAll("\r\n", "\n");
  for (const { from, text, encoding } of spellings(file, input.old_string, input.new_string)) {
    const parts = plain.split(from);
    if (parts.length === 1) continue;
    const occurrences = parts.length - 1;
    const replaced = input.replace_all ? occurrences : 1;
    const to = encode(text, encoding);
    requireRoom(file.raw.length + replaced * (to.length - from.length));
    const raw = rejoin(file, parts, { from, to, replaced });
    return { raw, replaced, left: occurrences - replaced };
  }
  return undefined;
}

/** If a text that occurs a million times is replaced by a long one, the result may not fit into memory. */
function requireRoom(bytes: number): void {
  if (bytes > MAX_BYTES) throw new ToolError(`the file would have ${bytes} bytes, more than ${MAX_BYTES}`);
}

/** The text to find and its replacement, in a file's bytes. Lines of both end with line feeds. */
interface Spelling {
  from: string;
  text: string;
  encoding: EditableText["encoding"];
}

/** The possible spellings of a text: as given, or as a rendering showed it; each in the file's encodings. */
function spellings(file: EditableText, old: string, now: string): Spelling[] {
  const asGiven = { from: plainText(old, file), text: plainText(now, file) };
  const asShown = {
    from: plainText(unescapeInvisible(old), file),
    text: plainText(unescapeInvisible(now), file),
  };
  return [asGiven, asShown].flatMap(({ from, text }): Spelling[] => {
    if (from === "") return [];
    const raw = encode(from, "utf8");
    if (raw === from) return [{ from, text, encoding: file.encoding }];
    // UTF-8 lines are shown as such even in a file that is not UTF-8.
    const asUtf8: Spelling = { from: raw, text, encoding: "utf8" };
    return file.encoding === "utf8" ? [asUtf8] : [asUtf8, { from, text, encoding: "latin1" }];
  });
}

/** @param replaced number of occurrences that become `to` */
function rejoin(
  file: EditableText,
  parts: readonly string[],
  { from, to, replaced }: { from: string; to: string; replaced: number },
): string {
  const ends = file.raw.match(/\r?\n/g) ?? [];
  let line = 0;
  const kept = (text: string) => text.replaceAll("\n", () => ends[line++] ?? file.lineEnd);
  const put = () => {
    const own = ends.slice(line, line + from.split("\n").length - 1);
    const last = own.at(-1) ?? ends[line] ?? file.lineEnd;
    line += own.length;
    let at = 0;
    return to.replaceAll("\n", () => own[at++] ?? last);
  };
  return parts.map((part, at) => (at === 0 ? "" : at <= replaced ? put() : kept(from)) + kept(part)).join("");
}

const Input = z.strictObject({
  path: z.string().describe("From the repository root."),
  old_string: z
    .string()
    .min(1)
    .max(MAX_CONTENT)
    .describe("Exact text, white space too, without line numbers."),
  new_string: z.string().max(MAX_CONTENT),
  replace_all: z.boolean().default(false).describe("Every occurrence, not only the first."),
});
type Input = z.infer<typeof Input>;

interface EditedFile {
  file_path: string;
  replaced: number;
  /** Occurrences that were not replaced. */
  left: number;
  /** The changed lines, numbered, with some lines around them. */
  excerpt: string;
}

async function execute(input: Input, context: ToolContext) {
  const files = editsOf(context);
  const { path } = await resolveFile(input.path, "head", context);
  if (input.old_string === input.new_string) throw new ToolError("old_string and new_string are the same");
  requireText(input.new_string, "new_string");
  const bytes = await files.read(path);
  const file = toEditable(path, bytes);
  const found = replaceText(file, input);
  if (found === undefined)
    throw new ToolError(absentText(path, input.old_string, input.new_string, decodeText(bytes).text));
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
    "Replaces an exact text. If the file does not hold it, the answer shows the nearest lines. The answer says how many other occurrences were left.",
  returns: "`file_path`, `replaced`, `left`, `excerpt` (the changed lines as `12|text`).",
  example: { path: "src/parser.ts", old_string: "return undefined;", new_string: "return null;" },
  kind: "change",
  input: Input,
  execute,
  render,
});
