import type { AnalyzedFile } from "./analyzer.ts";

/** The file before the change, made from its text at head and its diff; null for a file that is new. */
export function baseText(file: AnalyzedFile): string | null {
  if (isNew(file)) return null;
  const head = file.text.split("\n");
  const base: (string | string[])[] = [];
  let next = 1;
  for (const hunk of file.diff.hunks) {
    // git numbers a hunk that leaves no line by the line before it.
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

/**
 * Lines next to which the change removed some and put nothing in their place. What a removal breaks shows there; they
 * stand in the diff, so that a comment can too.
 */
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
