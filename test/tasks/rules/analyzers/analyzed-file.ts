import type { DiffLine, Hunk } from "../../../../src/repo/diff/file-diff.ts";
import type { AnalyzedFile } from "../../../../src/tasks/rules/analyzers/analyzer.ts";

const header = (path: string) => [`diff --git a/${path} b/${path}`, `--- a/${path}`, `+++ b/${path}`];

/** A file that the change added as a whole. */
export function wholeFile(path: string, text: string): AnalyzedFile {
  const rows = text.replace(/\n$/, "").split("\n");
  const lines: DiffLine[] = rows.map((row, index) => ({ kind: "added", text: row, newLine: index + 1 }));
  const hunk: Hunk = { oldStart: 0, oldLines: 0, newStart: 1, newLines: lines.length, section: "", lines };
  return analyzed(path, text, [hunk]);
}

/**
 * A file that the change edited, written as one hunk over the whole of it: lines start with `+`, `-` or a space as in a
 * diff.
 */
export function editedFile(path: string, diff: string): AnalyzedFile {
  const lines: DiffLine[] = [];
  let [oldLine, newLine] = [1, 1];
  for (const row of diff.split("\n")) {
    const text = row.slice(1);
    if (row.startsWith("+")) lines.push({ kind: "added", text, newLine: newLine++ });
    else if (row.startsWith("-")) lines.push({ kind: "removed", text, oldLine: oldLine++ });
    else lines.push({ kind: "context", text, oldLine: oldLine++, newLine: newLine++ });
  }
  const head = lines.filter((line) => line.kind !== "removed");
  const text = head.map((line) => line.text).join("\n");
  const hunk: Hunk = {
    oldStart: 1,
    oldLines: oldLine - 1,
    newStart: 1,
    newLines: newLine - 1,
    section: "",
    lines,
  };
  return analyzed(path, `${text}\n`, [hunk]);
}

function analyzed(path: string, text: string, hunks: Hunk[]): AnalyzedFile {
  const added = hunks
    .flatMap((hunk) => hunk.lines)
    .flatMap((line) => (line.kind === "added" ? [line.newLine] : []));
  return {
    path,
    text,
    addedLines: new Set(added),
    diff: { path, oldPath: null, header: header(path), hunks },
  };
}
