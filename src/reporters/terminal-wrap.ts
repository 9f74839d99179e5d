/**
 * Breaks text at spaces into lines of at most `width` characters. Line breaks of the text stay, and so do the indentation
 * and the bullet of a line, under which its continuation is set. A word longer than a line stays whole.
 */
export function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => wrapLine(line.trimEnd(), Math.max(20, width)));
}

function wrapLine(line: string, width: number): string[] {
  const lead = /^\s*(?:(?:[-*+]|\d+[.)])\s+)?/.exec(line)?.[0] ?? "";
  const lines: string[] = [];
  let current = lead;
  let empty = true;
  for (const word of line.slice(lead.length).split(/ +/)) {
    if (!empty && columns(current) + 1 + columns(word) > width) {
      lines.push(current);
      current = " ".repeat(lead.length);
      empty = true;
    }
    current += empty ? word : ` ${word}`;
    empty = false;
  }
  return [...lines, current.trimEnd()];
}

// Wide and zero-width characters by Unicode block: near enough to keep frames straight without a table of all of them.
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** Columns that text without control characters takes on a terminal. */
export function columns(text: string): number {
  let sum = 0;
  for (const character of text) sum += /\p{Mn}/u.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return sum;
}

/** The beginning of a line that fits into `width` columns, with an ellipsis where something was cut. */
export function clip(text: string, width: number): string {
  if (text.length * 2 <= width || columns(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += columns(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}
