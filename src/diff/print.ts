import type { DiffLine, FileDiff, Hunk } from "./file-diff.ts";

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
