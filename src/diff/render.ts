import { byteLength, cutLine } from "../text/cut.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";
import type { DiffLine, FileDiff, Hunk } from "./file-diff.ts";

/** A line that takes more than this many bytes once escaped is shown in part only. */
export const MAX_LINE_BYTES = 12 * 1024;

/** Escaping makes six bytes of one at worst (`\u{1F}` of a control character). */
const WORST_ESCAPE = 6;

/** Bytes a text takes in front of the model, where invisible characters are spelled out. */
export function shownBytes(text: string): number {
  return byteLength(escapeInvisible(text));
}

/** Whether a line is too long to be shown whole: minified code, data, or a line made to hide something. */
export function isOverlong(text: string): boolean {
  // A UTF-16 unit takes eight bytes at most (`\u{200B}`), so ordinary lines need not be looked at.
  return text.length * 8 > MAX_LINE_BYTES && shownBytes(text) > MAX_LINE_BYTES;
}

/** A line as far as it is shown; one that is overlong ends in a note that says so. */
export function shorten(text: string): string {
  return isOverlong(text) ? cutLine(text, MAX_LINE_BYTES / WORST_ESCAPE) : text;
}

/**
 * One line for the model: the number a comment would carry, then the sign, then the text. Context and added lines show
 * their number at head, removed ones (`-`) their number at the merge base. Invisible characters are not escaped here.
 */
export function renderLine(line: DiffLine): string {
  const number = line.kind === "removed" ? line.oldLine : line.newLine;
  const text = `${number} ${signs[line.kind]}${shorten(line.text)}`;
  return line.noNewline ? `${text}\n${NO_NEWLINE}` : text;
}

/** A hunk for the model under its `@@` line. */
export function renderHunk(hunk: Hunk): string {
  return [hunkHeader(hunk), ...hunk.lines.map(renderLine)].join("\n");
}

/** Hunks for the model, one after the other, without a header of the file. */
export function renderHunks(hunks: readonly Hunk[]): string {
  return hunks.map(renderHunk).join("\n");
}

/** What the header of a file says beyond its path, in words: `new file`, `was src/old.ts`, `mode 100644 -> 100755`. */
export function headerFacts(header: readonly string[]): string[] {
  const after = (start: string) => header.find((line) => line.startsWith(start))?.slice(start.length);
  const [created, deleted] = [after("new file mode "), after("deleted file mode ")];
  const [oldMode, newMode] = [after("old mode "), after("new mode ")];
  const renamedFrom = after("rename from ");
  const facts: string[] = [];
  if (created !== undefined) facts.push(created === "100755" ? "new executable file" : "new file");
  if (deleted !== undefined) facts.push("deleted");
  if (renamedFrom !== undefined) facts.push(`was ${renamedFrom}`);
  if (oldMode !== undefined) facts.push(`mode ${oldMode} -> ${newMode}`);
  return facts;
}

export const NO_NEWLINE = "\\ No newline at end of file";

export const signs = { context: " ", added: "+", removed: "-" } as const satisfies Record<
  DiffLine["kind"],
  string
>;

/** git leaves out a count of one. */
const range = (start: number, lines: number) => (lines === 1 ? `${start}` : `${start},${lines}`);

/** The `@@` line of a hunk as git prints it. */
export function hunkHeader(hunk: Hunk): string {
  const ranges = `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`;
  return hunk.section === "" ? ranges : `${ranges} ${hunk.section}`;
}

function printHunk(hunk: Hunk): string[] {
  const lines = [hunkHeader(hunk)];
  for (const line of hunk.lines) {
    lines.push(signs[line.kind] + line.text);
    if (line.noNewline) lines.push(NO_NEWLINE);
  }
  return lines;
}

/** A unified diff of these hunks under the file's own header: what git printed, for all hunks of a file. */
export function printDiff(diff: Pick<FileDiff, "header" | "hunks">): string {
  return [...diff.header, ...diff.hunks.flatMap(printHunk)].map((line) => `${line}\n`).join("");
}
