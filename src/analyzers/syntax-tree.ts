import type { SgNode } from "@ast-grep/napi";
import { firstIndex } from "./first-index.ts";

/**
 * Levels of a syntax tree; a chain of 190 `else if` has about that many. Rules look at what is around a node and inside of
 * it, natively and without a pause, and on a chain of thousands that takes minutes.
 */
const maximumDepth = 400;

/** Whether a tree has more levels than the rules can be run on. */
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

/**
 * Tells whether a node is inside of, or holds, what the parser could not read: the shape of the tree is its guess there.
 * The tree is searched once for all nodes.
 */
export function createGuessCheck(root: SgNode): (node: SgNode) => boolean {
  const errors = outermost(root.findAll({ rule: { kind: "ERROR" } }).map(spanOf));
  return (node) => {
    const { start, end } = spanOf(node);
    const error = errors[firstIndex(errors, (one) => one.end > start)];
    return error !== undefined && error.start < end;
  };
}

interface Span {
  start: number;
  /** The first character behind it. */
  end: number;
}

function spanOf(node: SgNode): Span {
  const { start, end } = node.range();
  return { start: start.index, end: end.index };
}

/** Nodes come in the order of their beginnings, and each before what it holds. */
function outermost(spans: readonly Span[]): Span[] {
  const kept: Span[] = [];
  for (const span of spans) if (span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span);
  return kept;
}
