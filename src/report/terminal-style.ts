import pc from "picocolors";
import type { Severity } from "../core/finding.ts";
import { escapeInvisible } from "../core/text/escape-invisible.ts";

type Paint = (text: string) => string;

/** How a report looks: colors or none, and how wide it may be. */
export interface Style {
  width: number;
  /** Longer lines of code are cut; `Infinity` if the output is not a terminal. Suggestions are never cut. */
  codeWidth: number;
  color: boolean;
  bold: Paint;
  dim: Paint;
  alarm: Paint;
  path: Paint;
  removed: Paint;
  added: Paint;
  code: Paint;
  severity: Record<Severity, Paint>;
}

/** Of prose on a terminal: longer lines are hard to read. */
export const WIDEST = 100;
/** Of prose in a pipe or a file, if nothing names another width. */
export const PIPED_WIDTH = 80;

/** @param codeWidth of a terminal; default: code is never cut and prose has the given width, because a file or a log has no right edge */
export function createStyle(color: boolean, width: number, codeWidth = Number.POSITIVE_INFINITY): Style {
  const colors = pc.createColors(color);
  const label = (background: Paint) =>
    color ? (text: string) => background(colors.bold(` ${text} `)) : String;
  return {
    width: codeWidth === Number.POSITIVE_INFINITY ? width : Math.min(width, WIDEST),
    codeWidth,
    color,
    bold: colors.bold,
    dim: colors.dim,
    alarm: (text) => colors.bold(colors.yellow(text)),
    path: (text) => colors.bold(colors.underline(text)),
    removed: colors.red,
    added: colors.green,
    code: colors.cyan,
    severity: {
      critical: label((text) => colors.bgRed(colors.white(text))),
      high: label((text) => colors.bgRed(colors.white(text))),
      medium: label((text) => colors.bgYellow(colors.black(text))),
      low: label((text) => colors.bgCyan(colors.black(text))),
    },
  };
}

const TAB = 4;

/** One line of untrusted text, made harmless for a terminal: nothing in it moves the cursor, changes colors or hides. */
export function plainLine(text: string): string {
  const cut = text.endsWith("\r") ? text.slice(0, -1) : text;
  let expanded = "";
  for (const part of cut.split(/(\t)/)) {
    expanded += part === "\t" ? " ".repeat(TAB - (expanded.length % TAB)) : part;
  }
  return escapeInvisible(expanded.replaceAll("\n", " "));
}

/** The same for text of several lines. */
export function plainLines(text: string): string[] {
  return text.split("\n").map(plainLine);
}

/** Breaks text at spaces into lines of at most `width` characters. Keeps line breaks, indentation and bullets, and longer words. */
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

/** Number of terminal columns of a text without control characters. */
export function columns(text: string): number {
  let sum = 0;
  for (const character of text) sum += /\p{Mn}/u.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return sum;
}

/** Rows with their cells below one another. `isRight`: by column, whether its cells are aligned to the right. */
export function alignedLines(
  rows: readonly (readonly string[])[],
  isRight: (at: number) => boolean,
): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => columns(row[at] ?? ""))));
  const aligned = (cell: string, at: number) => {
    const space = " ".repeat((widths[at] ?? 0) - columns(cell));
    return isRight(at) ? space + cell : cell + space;
  };
  return rows.map((row) => row.map(aligned).join("  ").trimEnd());
}

/** The beginning of a line that fits into `width` columns, with an ellipsis if something was cut. */
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
