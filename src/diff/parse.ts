import parseDiff from "parse-diff";
import type { DiffLine, FileDiff, Hunk } from "./file-diff.ts";

/**
 * parse-diff decodes paths its own way and takes a `\ No newline` line for one more line of the file. It is therefore
 * given neither: a made-up header, and a copy of the hunks without those lines, which are put back afterwards.
 */
const NEUTRAL_HEADER = "diff --git a/file b/file\n--- a/file\n+++ b/file\n";

/** `@@ -1,2 +3,4 @@ section`: what stands behind the second `@@`. */
const sectionOf = (header: string) => /^@@ [^@]*@@ ?(.*)$/s.exec(header)?.[1] ?? "";

interface Body {
  text: string;
  /** Positions (in lines of `text`) of the lines that end without a line feed. */
  withoutNewline: Set<number>;
}

function takeNoNewlineMarks(lines: readonly string[]): Body {
  const kept: string[] = [];
  const withoutNewline = new Set<number>();
  for (const line of lines) {
    // Within hunks every line of a file begins with a sign, so a backslash in front can only be git's remark.
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

/**
 * Parses the patch of one file as git prints it. Paths are given, not read from the patch: git quotes them there. A
 * patch without hunks (binary, mode only, pure rename) gives the header alone.
 */
export function parseFilePatch(patch: string, path: string, oldPath: string | null): FileDiff {
  const lines = patch.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const first = lines.findIndex((line) => line.startsWith("@@ -"));
  if (first < 0) return { path, oldPath, header: lines, hunks: [] };
  return { path, oldPath, header: lines.slice(0, first), hunks: parseHunks(lines.slice(first)) };
}
