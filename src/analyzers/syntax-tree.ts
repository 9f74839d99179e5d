import type { SgNode } from "../code/languages.ts";
import { firstIndex } from "../code/tree.ts";

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
