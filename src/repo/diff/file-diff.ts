import { hash } from "node:crypto";
import parseDiff from "parse-diff";
import type { Side } from "../../core/finding.ts";
import { byteLength, cutLine } from "../../core/text/cut.ts";
import { escapeInvisible } from "../../core/text/escape-invisible.ts";

/** A line of a hunk. `text` has no leading sign; a trailing carriage return is kept, because it is part of the line. */
export type DiffLine =
  | { kind: "context"; text: string; oldLine: number; newLine: number; noNewline?: true }
  | { kind: "added"; text: string; newLine: number; noNewline?: true }
  | { kind: "removed"; text: string; oldLine: number; noNewline?: true };

/** One `@@` section of a unified diff. Starts and counts are those of its header, 1-indexed as git prints them. */
export interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  /** The text after the second `@@` (usually the enclosing function); empty if there is none. */
  section: string;
  lines: DiffLine[];
}

export const addedLinesOf = (hunks: readonly Hunk[]): number[] =>
  hunks.flatMap(({ lines }) => lines.flatMap((line) => (line.kind === "added" ? [line.newLine] : [])));

/** One file's textual diff. Files without one (binary, mode only, pure rename) have no hunks. */
export interface FileDiff {
  path: string;
  /** The path at the merge base if it differs, else null. */
  oldPath: string | null;
  /** The lines before the first hunk exactly as git printed them (`diff --git`, `index`, `---`, `+++`, ...). */
  header: string[];
  hunks: Hunk[];
}

/**
 * parse-diff decodes paths in its own way and counts a `\ No newline` line as a line of the file. So it gets a made-up header, and hunks without
 * those lines.
 */
const NEUTRAL_HEADER = "diff --git a/file b/file\n--- a/file\n+++ b/file\n";

const sectionOf = (header: string) => /^@@ [^@]*@@ ?(.*)$/s.exec(header)?.[1] ?? "";

interface Body {
  text: string;
  /** Indexes (in lines of `text`) of the lines that end without a line feed. */
  withoutNewline: Set<number>;
}

function takeNoNewlineMarks(lines: readonly string[]): Body {
  const kept: string[] = [];
  const withoutNewline = new Set<number>();
  for (const line of lines) {
    // Within hunks every line of a file begins with a sign, so a leading backslash can only be git's remark.
    if (line.startsWith("\\")) withoutNewline.add(kept.length - 1);
    else kept.push(line);
  }
  return { text: kept.join("\n"), withoutNewline };
}

function toLine(change: parseDiff.Change, noNewline: boolean): DiffLine {
  const text = change.content.slice(1);
  const end = noNewline ? ({ noNewline: true } as const) : {};
  if (change.type === "add") return { kind: "added", text, newLine: change.ln, ...end };
  if (change.type === "del") return { kind: "removed", text, oldLine: change.ln, ...end };
  return { kind: "context", text, oldLine: change.ln1, newLine: change.ln2, ...end };
}

function parseHunks(lines: readonly string[]): Hunk[] {
  const body = takeNoNewlineMarks(lines);
  const chunks = parseDiff(NEUTRAL_HEADER + body.text)[0]?.chunks ?? [];
  let position = 0;
  return chunks.map((chunk) => {
    position += 1;
    return {
      oldStart: chunk.oldStart,
      oldLines: chunk.oldLines,
      newStart: chunk.newStart,
      newLines: chunk.newLines,
      section: sectionOf(chunk.content),
      lines: chunk.changes.map((change) => toLine(change, body.withoutNewline.has(position++))),
    };
  });
}

/** Parses the patch of one file. Paths are given, because git quotes them there. Without hunks, it has only the header. */
export function parseFilePatch(patch: string, path: string, oldPath: string | null): FileDiff {
  const lines = patch.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const first = lines.findIndex((line) => line.startsWith("@@ -"));
  if (first < 0) return { path, oldPath, header: lines, hunks: [] };
  return { path, oldPath, header: lines.slice(0, first), hunks: parseHunks(lines.slice(first)) };
}

interface Cursor {
  old: number;
  new: number;
}

/** A side without lines has the number of the line before it, so its next line is one higher. */
const startOf = (hunk: Hunk): Cursor => ({
  old: hunk.oldLines === 0 ? hunk.oldStart + 1 : hunk.oldStart,
  new: hunk.newLines === 0 ? hunk.newStart + 1 : hunk.newStart,
});

const changed = (line: DiffLine | undefined) => line !== undefined && line.kind !== "context";

/** Makes consecutive lines of a file's diff a hunk of their own; moves the cursor, which is at the first of them, past them. */
export function hunkOf(lines: DiffLine[], section: string, cursor: Cursor): Hunk {
  const oldLines = lines.filter((line) => line.kind !== "added").length;
  const newLines = lines.filter((line) => line.kind !== "removed").length;
  const oldStart = oldLines === 0 ? cursor.old - 1 : cursor.old;
  const newStart = newLines === 0 ? cursor.new - 1 : cursor.new;
  cursor.old += oldLines;
  cursor.new += newLines;
  return { oldStart, oldLines, newStart, newLines, section, lines };
}

/** The number of lines from `start` on that fit; at least one, because a line is never divided. */
function fitting(sizes: readonly number[], start: number, maxSize: number): number {
  let end = start;
  let size = 0;
  for (; end < sizes.length; end += 1) {
    size += sizes[end] ?? 0;
    if (size > maxSize) break;
  }
  return Math.max(end, start + 1);
}

/** The best place to cut in `(start, limit]`: next to an unchanged line, late, with changes on both sides; else inside the change. */
function cutPlace(lines: readonly DiffLine[], start: number, limit: number, lastChange: number): number {
  const latest = lastChange > start ? Math.min(limit, lastChange) : limit;
  let firstChange = start;
  while (firstChange < latest && !changed(lines[firstChange])) firstChange += 1;
  for (let place = latest; place > firstChange; place -= 1) {
    if (!changed(lines[place]) || !changed(lines[place - 1])) return place;
  }
  return latest;
}

/** Divides a hunk into valid hunks of at most `maxSize`, in the unit of `sizeOf`. Only a part with a single line can be larger. */
export function divideHunk(hunk: Hunk, maxSize: number, sizeOf: (line: DiffLine) => number): Hunk[] {
  const sizes = hunk.lines.map(sizeOf);
  if (fitting(sizes, 0, maxSize) >= hunk.lines.length) return [hunk];
  const lastChange = hunk.lines.findLastIndex(changed);
  const cursor = startOf(hunk);
  const parts: Hunk[] = [];
  for (let start = 0; start < hunk.lines.length; ) {
    const limit = fitting(sizes, start, maxSize);
    const end = limit >= hunk.lines.length ? limit : cutPlace(hunk.lines, start, limit, lastChange);
    parts.push(hunkOf(hunk.lines.slice(start, end), hunk.section, cursor));
    start = end;
  }
  return parts;
}

interface DiffPlace {
  /** 1-indexed. */
  hunk: number;
  line: DiffLine;
}

/** The lines of one file's diff by side and number. In the `-U3` diff these are the lines that can have a comment. */
interface LineIndex {
  at(side: Side, line: number): DiffPlace | undefined;
}

export function createLineIndex(diff: FileDiff): LineIndex {
  const sides = { RIGHT: new Map<number, DiffPlace>(), LEFT: new Map<number, DiffPlace>() };
  diff.hunks.forEach((hunk, index) => {
    for (const line of hunk.lines) {
      const place = { hunk: index + 1, line };
      if (line.kind !== "removed") sides.RIGHT.set(line.newLine, place);
      if (line.kind !== "added") sides.LEFT.set(line.oldLine, place);
    }
  });
  return { at: (side, line) => sides[side].get(line) };
}

/** The number at head of an unchanged line of the merge base, by the file's hunks. */
export function lineAtHead(hunks: readonly Hunk[], oldLine: number): number {
  let shift = 0;
  for (const hunk of hunks) {
    if (hunk.oldStart > oldLine) break;
    for (const line of hunk.lines) {
      if (line.kind === "context" && line.oldLine === oldLine) return line.newLine;
    }
    shift += hunk.newLines - hunk.oldLines;
  }
  return oldLine + shift;
}

/** A line with more bytes than this after escaping is only shown in part. */
export const MAX_LINE_BYTES = 12 * 1024;

/** Escaping turns one byte into at most six (`\u{1F}` for a control character). */
const WORST_ESCAPE = 6;

/** Bytes of a text as the model sees it, with invisible characters escaped. */
export function shownBytes(text: string): number {
  return byteLength(escapeInvisible(text));
}

/** Whether a line is too long to show whole: minified code, data, or a line built to hide something. */
export function isOverlong(text: string): boolean {
  // A UTF-16 unit takes at most eight bytes (`\u{200B}`), so ordinary lines need no check.
  return text.length * 8 > MAX_LINE_BYTES && shownBytes(text) > MAX_LINE_BYTES;
}

/** The shown part of a line; an overlong one ends with a note. */
export function shorten(text: string): string {
  return isOverlong(text) ? cutLine(text, MAX_LINE_BYTES / WORST_ESCAPE) : text;
}

/** One line for the model: the number for a comment (removed lines have that of the merge base), the sign, the text, which is not escaped here. */
export function renderLine(line: DiffLine): string {
  const number = line.kind === "removed" ? line.oldLine : line.newLine;
  const text = `${number} ${signs[line.kind]}${shorten(line.text)}`;
  return line.noNewline ? `${text}\n${NO_NEWLINE}` : text;
}

export function renderHunk(hunk: Hunk): string {
  return [hunkHeader(hunk), ...hunk.lines.map(renderLine)].join("\n");
}

/** Hunks for the model, without a header of the file. */
export function renderHunks(hunks: readonly Hunk[]): string {
  return hunks.map(renderHunk).join("\n");
}

/** The facts in the header of a file besides its path: `new file`, `was src/old.ts`, `mode 100644 -> 100755`. */
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

/** git omits a count of one. */
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

/** A unified diff of these hunks under the file's own header; for all hunks of a file, it equals git's output. */
export function printDiff(diff: Pick<FileDiff, "header" | "hunks">): string {
  return [...diff.header, ...diff.hunks.flatMap(printHunk)].map((line) => `${line}\n`).join("");
}

/**
 * GitHub shows no diff of a file beyond these limits, and answers 422 "path diff too large" to comments on its lines. Whether context lines
 * count is not documented, so we use the strictest reading: a file reported as hidden is hidden. For others GitHub's answer to the review
 * decides: those beyond the limits of a whole pull request, which GitHub counts for the view alone, and those that attributes give no diff.
 * https://docs.github.com/repositories/creating-and-managing-repositories/repository-limits#diff-limits
 * https://github.com/octokit/octokit.rb/pull/1324, https://github.com/ReviewNB/support/issues/29
 */
const GITHUB_FILE_LINES = 20_000;
const GITHUB_FILE_BYTES = 500 * 1024;

/**
 * Whether GitHub shows none of the `-U3` diff of a file because of its size. In a Latin-1 file every character counts as one byte: never more
 * than there were.
 */
export function isHiddenForSize(diff: FileDiff, encoding: "utf8" | "latin1"): boolean {
  const bytesOf = encoding === "utf8" ? byteLength : (text: string) => text.length;
  let [lines, bytes] = [0, 0];
  for (const hunk of diff.hunks) {
    lines += hunk.lines.length;
    bytes += bytesOf(hunkHeader(hunk)) + 1;
    for (const line of hunk.lines) {
      bytes += 1 + bytesOf(line.text) + 1;
      if (line.noNewline) bytes += NO_NEWLINE.length + 1;
    }
  }
  return lines > GITHUB_FILE_LINES || bytes > GITHUB_FILE_BYTES;
}

interface PatchSurvey {
  hunks: number;
  /** Whether an added or removed line is too long to show whole. */
  overlongChange: boolean;
  /** Bytes of its hunks as the model sees them, line numbers included; the same as for the output of `renderHunks`. */
  shownBytes: number;
  /** For each hunk the digests of its changes, in order: runs of added and removed lines, without context and position. */
  changes: string[][];
}

/** Longer diffs are not parsed, because every line becomes an object. */
export const MAX_DIFF_LINES = 200_000;

/** The number of line feeds in a text; for a patch, the number of its lines, including the header. */
export function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

const [AT, PLUS, MINUS, BACKSLASH] = ["@", "+", "-", "\\"].map((sign) => sign.charCodeAt(0));

/** Reads one file's patch without parsing it. After the header, only a hunk's own line begins with `@`: other lines have a sign. */
export function surveyPatch(patch: string): PatchSurvey {
  const survey: PatchSurvey = { hunks: 0, overlongChange: false, shownBytes: 0, changes: [] };
  const body = hunksOf(patch);
  survey.shownBytes = shownBytes(body);
  let [oldLine, newLine] = [0, 0];
  const changes = createChanges(body);
  for (let start = 0; start < body.length; ) {
    const newline = body.indexOf("\n", start);
    const end = newline < 0 ? body.length : newline;
    const sign = body.charCodeAt(start);
    changes.take(sign, start);
    if (sign === AT) {
      survey.hunks += 1;
      [oldLine, newLine] = hunkStart(body.slice(start, end));
    } else if (sign !== BACKSLASH) {
      survey.shownBytes += numberBytes(sign === MINUS ? oldLine : newLine);
      if (sign !== PLUS) oldLine += 1;
      if (sign !== MINUS) newLine += 1;
      takeOverlong(survey, body, start, end);
    }
    start = end + 1;
  }
  survey.changes = changes.end();
  return survey;
}

/** Computes the digests of changes line by line. */
function createChanges(body: string) {
  const hunks: string[][] = [];
  /** The start of the change with the last line; -1 outside of a change. */
  let begin = -1;
  function endAt(end: number): void {
    if (begin >= 0) hunks.at(-1)?.push(hash("sha256", body.slice(begin, end), "base64url"));
    begin = -1;
  }
  return {
    take(sign: number, start: number): void {
      if (sign === PLUS || sign === MINUS) {
        if (begin < 0) begin = start;
        // Git's remark that a changed line has no line feed is part of the change.
      } else if (sign !== BACKSLASH) endAt(start - 1);
      if (sign === AT) hunks.push([]);
    },
    end(): string[][] {
      endAt(body.length);
      return hunks;
    },
  };
}

/** A patch without its header and its last line feed. */
function hunksOf(patch: string): string {
  const first = patch.startsWith("@@ -") ? 0 : patch.indexOf("\n@@ -") + 1;
  if (first === 0 && !patch.startsWith("@@ -")) return "";
  return patch.slice(first, patch.endsWith("\n") ? -1 : undefined);
}

function hunkStart(header: string): [oldLine: number, newLine: number] {
  const [, oldStart, newStart] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(header) ?? [];
  return [Number(oldStart ?? 0), Number(newStart ?? 0)];
}

/** Bytes of a line's number and the space after it. */
function numberBytes(number: number): number {
  let bytes = 2;
  for (let rest = number; rest >= 10; rest /= 10) bytes += 1;
  return bytes;
}

/** Only the beginning of an overlong line is shown; one that the change adds or removes makes its file unreadable. */
function takeOverlong(survey: PatchSurvey, body: string, start: number, end: number): void {
  // No character takes more than eight bytes after escaping, so ordinary lines need no check.
  if ((end - start) * 8 <= MAX_LINE_BYTES) return;
  const text = body.slice(start + 1, end);
  if (!isOverlong(text)) return;
  survey.shownBytes += shownBytes(shorten(text)) - shownBytes(text);
  const sign = body.charCodeAt(start);
  survey.overlongChange ||= sign === PLUS || sign === MINUS;
}
