import type { SgNode } from "@ast-grep/napi";

/** A syntax tree takes up to 200 bytes for each character of dense code: beyond this a file costs too much memory. */
const maximumCharacters = 300_000;
/** Longer lines on average are written by machines. */
const maximumAverageLine = 300;

/** Whether a text is small enough to parse and looks as if a person wrote it. */
export function isWorthParsing(text: string): boolean {
  return text.length <= maximumCharacters && text.length / text.split("\n").length <= maximumAverageLine;
}

/**
 * Levels of a syntax tree; a chain of 190 `else if` has about that many. Rules look at what is around a node and inside of
 * it, natively and without a pause, and on a chain of thousands that takes minutes.
 */
const maximumDepth = 400;

/**
 * Whether brackets are nested deeper than a tree may be, strings and comments included. A parser spends seconds on thousands
 * of brackets that nothing closes, and what it makes of them is one flat error.
 */
export function isNestedTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (openers.has(code)) depth += 1;
    else if (closers.has(code)) depth = Math.max(0, depth - 1);
    if (depth > maximumDepth) return true;
  }
  return false;
}

const codesOf = (brackets: string) => new Set([...brackets].map((one) => one.charCodeAt(0)));
const openers = codesOf("([{");
const closers = codesOf(")]}");

/** Whether a tree has more levels than it can be searched with. */
export function isTooDeep(root: SgNode): boolean {
  const open = [{ node: root, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    if (depth > maximumDepth) return true;
    // Nesting takes text, about a character a level: what is short cannot hold the levels that are still missing.
    const enough = (maximumDepth - depth) / 2;
    for (const child of node.children())
      if (lengthOf(child) >= enough) open.push({ node: child, depth: depth + 1 });
  }
  return false;
}

function lengthOf(node: SgNode): number {
  const { start, end } = node.range();
  return end.index - start.index;
}
