import type { Finding } from "../../../core/finding.ts";
import { firstIndex } from "../../../repo/code/tree.ts";
import type { FileDiff } from "../../../repo/diff/file-diff.ts";

/** A changed file for an analyzer: the whole text at head and the lines that the change added. */
export interface AnalyzedFile {
  path: string;
  text: string;
  /** 1-indexed lines of `text` that the change added. */
  addedLines: ReadonlySet<number>;
  diff: FileDiff;
}

/** An analyzer's report: posted unchanged offline; otherwise a model judges it unless it is certain. */
export interface Diagnostic
  extends Pick<Finding, "path" | "line" | "severity" | "category" | "title" | "body" | "source">,
    Partial<Pick<Finding, "start_line" | "suggestion">> {
  /** All lines of the match, if there are more than reported: the id depends on their text. */
  extent?: { start: number; end: number };
}

/** No network, no repository code, no file system except its own rules. */
export interface Analyzer {
  name: string;
  /** Whether it also checks changed files that are not reviewed (vendored, generated and ignored files, lock files), of any size. */
  readsEvery?: true;
  prepare?(): Promise<unknown>;
  analyze(file: AnalyzedFile, signal: AbortSignal): Promise<Diagnostic[]>;
}

/** The file before the change, computed from its text at head and its diff; null for a new file. */
export function baseText(file: AnalyzedFile): string | null {
  if (isNew(file)) return null;
  const head = file.text.split("\n");
  const base: (string | string[])[] = [];
  let next = 1;
  for (const hunk of file.diff.hunks) {
    // git numbers a hunk without lines on one side by the line before it.
    const start = hunk.newLines === 0 ? hunk.newStart + 1 : hunk.newStart;
    base.push(head.slice(next - 1, start - 1));
    for (const line of hunk.lines) if (line.kind !== "added") base.push(line.text);
    next = start + hunk.newLines;
  }
  base.push(head.slice(next - 1));
  return base.flat().join("\n");
}

const isNew = (file: AnalyzedFile) =>
  file.diff.hunks.length === 0 || file.diff.hunks.every((hunk) => hunk.oldStart === 0 && hunk.oldLines === 0);

/** Context lines next to a removal. They show what a removal breaks, and can have a comment because they are in the diff. */
export function seamLines(file: AnalyzedFile): Set<number> {
  const seams = new Set<number>();
  for (const { lines } of file.diff.hunks) {
    for (const [index, line] of lines.entries()) {
      if (line.kind !== "context") continue;
      if (lines[index - 1]?.kind === "removed" || lines[index + 1]?.kind === "removed")
        seams.add(line.newLine);
    }
  }
  return seams;
}

export interface AddedLine {
  line: number;
  /** Without its line end, even if that is `\r\n`. */
  text: string;
}

/** The lines that the change added, in order, without lines after the text's end. */
export function addedLinesOf(file: AnalyzedFile): AddedLine[] {
  return file.text
    .split("\n")
    .map((text, index) => ({ line: index + 1, text: text.replace(/\r$/, "") }))
    .filter((one) => file.addedLines.has(one.line));
}

/** The index of every line feed, for looking up lines. */
export function lineEnds(text: string): number[] {
  const ends: number[] = [];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) ends.push(at);
  return ends;
}

/** The 1-indexed line of an index in the text. */
export function lineAt(ends: readonly number[], place: number): number {
  return firstIndex(ends, (end) => end >= place) + 1;
}
