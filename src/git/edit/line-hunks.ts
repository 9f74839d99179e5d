import { structuredPatch } from "diff";

/** Beyond so many lines that come or go the shortest way from one text to the other is not looked for: it takes the square. */
const MAX_EDITS = 2_000;
const MAX_SECTION = 80;
const NO_NEWLINE = "\\ No newline at end of file";

interface LineHunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  /** With their signs, without line feeds. */
  lines: string[];
}

/** The hunks between two texts as `git diff` writes them. Lines are those of bytes, whatever their encoding is. */
export function lineHunks(from: Buffer, to: Buffer, contextLines: number): Buffer {
  const [old, now] = [from.toString("latin1"), to.toString("latin1")];
  const sectionAt = sections(linesOf(old));
  const hunks = hunksBetween(old, now, contextLines);
  return Buffer.from(hunks.map((hunk) => written(hunk, sectionAt(hunk.oldStart))).join(""), "latin1");
}

/** What stands behind the second `@@`: the last line before the hunk that begins with a letter (xdiff, `def_ff`). */
function sections(lines: readonly string[]): (start: number) => string {
  let seen = 0;
  let section = "";
  return (start) => {
    for (; seen < start - 1; seen += 1) {
      const line = lines[seen] ?? "";
      if (/^[A-Za-z_$]/.test(line)) section = ` ${line.slice(0, MAX_SECTION).replace(/[ \t\n\v\f\r]+$/, "")}`;
    }
    return section;
  };
}

/** How many lines go and come. */
export function countChanges(from: Buffer, to: Buffer): { additions: number; deletions: number } {
  const counts = { additions: 0, deletions: 0 };
  for (const { lines } of hunksBetween(from.toString("latin1"), to.toString("latin1"), 0)) {
    for (const line of lines) {
      if (line.startsWith("+")) counts.additions += 1;
      else if (line.startsWith("-")) counts.deletions += 1;
    }
  }
  return counts;
}

function hunksBetween(old: string, now: string, context: number): LineHunk[] {
  if (old === now) return [];
  const patch = structuredPatch("a", "b", old, now, undefined, undefined, {
    context,
    maxEditLength: MAX_EDITS,
  });
  return patch?.hunks ?? [replacement(linesOf(old), linesOf(now), context)];
}

/** Each with its line feed, which the last may lack. */
const linesOf = (text: string) => (text === "" ? [] : text.split(/(?<=\n)/));

/** One hunk for all between the lines that both begin with and those that both end with. */
function replacement(old: readonly string[], now: readonly string[], context: number): LineHunk {
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const [first, behind] = [Math.max(start - context, 0), Math.max(end - context, 0)];
  const signed = (lines: readonly string[], sign: string) =>
    lines.flatMap((line) => (line.endsWith("\n") ? sign + line.slice(0, -1) : [sign + line, NO_NEWLINE]));
  return {
    oldStart: first + 1,
    oldLines: old.length - behind - first,
    newStart: first + 1,
    newLines: now.length - behind - first,
    lines: [
      ...signed(old.slice(first, start), " "),
      ...signed(old.slice(start, old.length - end), "-"),
      ...signed(now.slice(start, now.length - end), "+"),
      ...signed(old.slice(old.length - end, old.length - behind), " "),
    ],
  };
}

function written({ oldStart, oldLines, newStart, newLines, lines }: LineHunk, section: string): string {
  // Where there is no line, the one before it is named.
  const range = (start: number, count: number) =>
    count === 1 ? `${start}` : `${count === 0 ? start - 1 : start},${count}`;
  return `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@${section}\n${lines.join("\n")}\n`;
}
