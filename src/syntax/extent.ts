import type { SgNode } from "@ast-grep/napi";

/** First and behind the last index of a node. */
export interface Extent {
  from: number;
  to: number;
}

/**
 * Where a node stands in its text. Of the questions to a node that tell it this is the cheapest: a range also counts the lines and
 * columns of both its ends, and hands over three objects instead of one.
 */
export function extentOf(node: SgNode): Extent {
  const { startPos, endPos } = node.replace("");
  return { from: startPos, to: endPos };
}
