import pc from "picocolors";
import type { Severity } from "../finding.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";

type Paint = (text: string) => string;

/** How a report looks: colours or none, and how wide it may be. */
export interface Style {
  /** Of prose. */
  width: number;
  /** Beyond this, lines of code are cut; `Infinity` where nobody sees a terminal. Suggestions are never cut. */
  codeWidth: number;
  colour: boolean;
  bold: Paint;
  dim: Paint;
  /** Something went wrong or was left undone. */
  alarm: Paint;
  path: Paint;
  removed: Paint;
  added: Paint;
  code: Paint;
  severity: Record<Severity, Paint>;
}

export const WIDEST = 100;
export const PIPED_WIDTH = 80;

/** @param codeWidth left out, code is cut nowhere: a file or a log has no right edge */
export function createStyle(colour: boolean, width: number, codeWidth = Number.POSITIVE_INFINITY): Style {
  const colours = pc.createColors(colour);
  const label = (background: Paint) =>
    colour ? (text: string) => background(colours.bold(` ${text} `)) : String;
  return {
    width: Math.min(width, WIDEST),
    codeWidth,
    colour,
    bold: colours.bold,
    dim: colours.dim,
    alarm: (text) => colours.bold(colours.yellow(text)),
    path: (text) => colours.bold(colours.underline(text)),
    removed: colours.red,
    added: colours.green,
    code: colours.cyan,
    severity: {
      critical: label((text) => colours.bgRed(colours.white(text))),
      high: label((text) => colours.bgRed(colours.white(text))),
      medium: label((text) => colours.bgYellow(colours.black(text))),
      low: label((text) => colours.bgCyan(colours.black(text))),
    },
  };
}

const TAB = 4;

/**
 * One line of text that came from a repository or a model, made harmless for a terminal: nothing in it moves the cursor,
 * changes colours or hides. Tabs become spaces, a carriage return at the end goes.
 */
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
