/** Longest piece of text that is taken for a name. */
const maximumName = 120;

/** A text by its lines. Lines are 1-indexed. */
export interface LineIndex {
  text: string;
  lines: readonly string[];
  /** The line of an index of the text. */
  lineAt(index: number): number;
}

export function indexLines(text: string): LineIndex {
  const lines = text.split("\n");
  const starts: number[] = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  const lineAt = (index: number) => {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) > index) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return { text, lines, lineAt };
}

/** A piece of code on one line, cut where it is too long for a name. */
export function shortText(text: string): string {
  const line = text
    .slice(0, maximumName * 2)
    .trim()
    .replace(/\s+/g, " ");
  return line.length > maximumName ? `${line.slice(0, maximumName)}…` : line;
}

/** Longest comment that is searched for its beginning, in lines. */
const longestComment = 200;

/**
 * Where the comment directly above a line begins; the line itself where there is none.
 * `lineComment` matches the beginning of a line that is a comment as a whole.
 */
export function docStartOf(lines: readonly string[], start: number, lineComment: RegExp): number {
  let first = start;
  while (first > 1 && start - first < longestComment) {
    const above = (lines[first - 2] ?? "").trim();
    if (lineComment.test(above)) first -= 1;
    else if (above.endsWith("*/")) {
      const opened = openingOf(lines, first - 1);
      if (opened === null) return first;
      first = opened;
    } else return first;
  }
  return first;
}

function openingOf(lines: readonly string[], last: number): number | null {
  for (let line = last; line > Math.max(0, last - longestComment); line--) {
    const row = lines[line - 1] ?? "";
    const open = row.indexOf("/*");
    // Code in front of it: the comment belongs to that line.
    if (open >= 0) return row.slice(0, open).trim() === "" ? line : null;
  }
  return null;
}
