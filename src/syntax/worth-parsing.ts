import type { SgNode } from "@ast-grep/napi";
import { extentOf } from "./extent.ts";

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
    const step = nesting[text.charCodeAt(at)];
    if (step === undefined || step === 0) continue;
    depth = Math.max(0, depth + step);
    if (depth > maximumDepth) return true;
  }
  return false;
}

/** What a character adds to the depth, by its code. Sets take five times as long. */
const nesting = Int8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return "([{".includes(character) ? 1 : ")]}".includes(character) ? -1 : 0;
});

/**
 * Nesting takes tokens. Of 39,000 units of up to five tokens that were tried in the grammars, each repeated 40 times, the densest
 * made two levels of each token (`a b c` is two calls in Ruby) and a few around the innermost one.
 */
const levelsOfToken = 2;
const innermostLevels = 8;

/**
 * Whether a tree has more levels than it can be searched with. Each question to the tree costs as much as parsing a line does:
 * it is asked only for nodes that hold enough tokens to be that deep.
 */
export function isTooDeep(root: SgNode): boolean {
  const text = root.text();
  const first = extentOf(root).from;
  const tokens = tokensBefore(text);
  /** The most levels that a node may have, itself among them. */
  const levelsIn = (node: SgNode) => {
    const { from, to } = extentOf(node);
    const count = (tokens[to - first] ?? 0) - (tokens[from - first] ?? 0);
    return levelsOfToken * count + innermostLevels;
  };
  if (levelsIn(root) <= maximumDepth) return false;
  const open = [{ node: root, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    if (depth > maximumDepth) return true;
    for (const child of node.children())
      if (depth + levelsIn(child) > maximumDepth) open.push({ node: child, depth: depth + 1 });
  }
  return false;
}

/** How many tokens begin in front of each index: words, and every other character but blanks. */
function tokensBefore(text: string): Uint32Array {
  const tokens = new Uint32Array(text.length + 1);
  let count = 0;
  let last: number = blank;
  for (let at = 0; at < text.length; at++) {
    const now = classes[text.charCodeAt(at)] ?? sign;
    if (now === sign || (now === letter && last !== letter)) count += 1;
    tokens[at + 1] = count;
    last = now;
  }
  return tokens;
}

const blank = 0;
const letter = 1;
/** Also what is beyond ASCII: nobody knows what an operator is made of. */
const sign = 2;
const classes = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /\s/.test(character) ? blank : /\w/.test(character) ? letter : sign;
});
