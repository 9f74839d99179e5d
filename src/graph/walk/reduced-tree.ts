import type { SgNode } from "../../syntax/grammars.ts";

/** A node of one of the kinds that were asked for; its children are the nearest such nodes within it. */
export interface Reduced {
  kind: string;
  /** First and behind the last index of the text. */
  from: number;
  to: number;
  /** 1-indexed. */
  line: number;
  lastLine: number;
  children: Reduced[];
}

/**
 * The tree of the nodes of some kinds alone. Each question to the parser's tree costs as much as parsing a line does, so it
 * is asked for all of them at once, and no node is asked for its children.
 */
export function reduceTree(root: SgNode, kinds: readonly string[]): Reduced {
  const found = root.findAll({ rule: { any: kinds.map((kind) => ({ kind })) } });
  const nodes = found.map((node): Reduced => {
    const { start, end } = node.range();
    return {
      kind: String(node.kind()),
      from: start.index,
      to: end.index,
      line: start.line + 1,
      lastLine: end.line + 1,
      children: [],
    };
  });
  // What begins and ends with another one keeps its place behind it: the search enters a node after it was found.
  nodes.sort((a, b) => a.from - b.from || b.to - a.to);
  const top: Reduced = {
    kind: "",
    from: 0,
    to: Number.POSITIVE_INFINITY,
    line: 1,
    lastLine: 1,
    children: [],
  };
  const open = [top];
  for (const node of nodes) {
    while ((open.at(-1) as Reduced).to < node.to || (open.at(-1) as Reduced).to <= node.from) open.pop();
    (open.at(-1) as Reduced).children.push(node);
    open.push(node);
  }
  return top;
}

export const childOf = (node: Reduced, ...kinds: string[]): Reduced | undefined =>
  node.children.find(({ kind }) => kinds.includes(kind));
