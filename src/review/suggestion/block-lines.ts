import { isBlank, widthOf } from "./indentation.ts";
import type { Lexis } from "./lexis.ts";
import { type MaskedLine, maskLines } from "./mask.ts";

/** A line at its place in the blocks of a file, where indentation or headings make blocks. */
export interface BlockLine {
  /** Index of the line. */
  at: number;
  /** 1 for what follows the dash of a list's item, which is a block inside of the item; else 0. */
  part: 0 | 1;
  /** Whether it is text that a key of YAML has for a value. */
  isText?: boolean;
  /** What heads the innermost block around. */
  parent: BlockLine | null;
}

/** Lines where a statement, a key or an item begins: not blank, no comment, not the rest of what an earlier line began. */
export function logicalLines(masked: readonly MaskedLine[]): number[] {
  const starts: number[] = [];
  let depth = 0;
  let isContinued = false;
  for (const [at, { code, startsInside }] of masked.entries()) {
    if (depth === 0 && !isContinued && !startsInside && !isBlank(code)) starts.push(at);
    for (const [bracket] of code.matchAll(/[()[\]{}]/g))
      depth = Math.max(0, depth + ("([{".includes(bracket) ? 1 : -1));
    isContinued = code.endsWith("\\");
  }
  return starts;
}

/** The lines that stand in blocks, in order. Empty for languages whose blocks have brackets. */
export function blockLines(lines: readonly string[], lexis: Lexis): BlockLine[] {
  if (lexis.sections) return sectionLines(lines, lexis);
  if (!lexis.indented) return [];
  // YAML, whose brackets and quotes may be plain text; its parser sees to them.
  return lexis.brackets ? indentedLines(lines, lexis) : yamlLines(lines);
}

function sectionLines(lines: readonly string[], lexis: Lexis): BlockLine[] {
  let section: BlockLine | null = null;
  return logicalLines(maskLines(lines, lexis)).map((at) => {
    const isHeading = /^\s*\[/.test(lines[at] ?? "");
    const line: BlockLine = { at, part: 0, parent: isHeading ? null : section };
    if (isHeading) section = line;
    return line;
  });
}

/** The blocks around the present line, the innermost last. */
type Stack = { depth: number; line: BlockLine }[];

function push(stack: Stack, depth: number, at: number, part: 0 | 1): BlockLine {
  while ((stack.at(-1)?.depth ?? -1) >= depth) stack.pop();
  const line: BlockLine = { at, part, parent: stack.at(-1)?.line ?? null };
  stack.push({ depth, line });
  return line;
}

function indentedLines(lines: readonly string[], lexis: Lexis): BlockLine[] {
  const stack: Stack = [];
  return logicalLines(maskLines(lines, lexis)).map((at) => push(stack, widthOf(lines[at] ?? ""), at, 0));
}

/** A tag or an anchor may stand in front, and ends with white space. */
const textHeader = /(?<=^|[:\-?\s])[|>](?:[+-]?\d?|\d[+-])\s*(?:\s#.*)?$/;

function yamlLines(lines: readonly string[]): BlockLine[] {
  const stack: Stack = [];
  const found: BlockLine[] = [];
  let text: { width: number } | null = null;
  for (const [at, line] of lines.entries()) {
    if (isBlank(line)) continue;
    const width = widthOf(line);
    if (text && width > text.width) {
      found.push({ ...push(stack, width * 2, at, 0), isText: true });
      continue;
    }
    text = null;
    if (/^\s*#/.test(line)) continue;
    if (/^(?:---|\.\.\.)(?:\s|$)/.test(line)) stack.length = 0;
    // The items of a list may stand as far to the left as the key above them.
    const dash = /^\s*-(\s+)(?=\S)/.exec(line);
    const isItem = /^\s*-(?:\s|$)/.test(line);
    found.push(push(stack, width * 2 + (isItem ? 1 : 0), at, 0));
    if (dash) found.push(push(stack, (width + 1 + (dash[1]?.length ?? 1)) * 2, at, 1));
    if (textHeader.test(line.slice(-80))) text = { width };
  }
  return found;
}
