import { indexLines, type Located } from "../../code/tree.ts";

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

/** The tree of the nodes of some kinds alone. */
export function reduceTree(located: readonly Located[], kinds: ReadonlySet<string>, text: string): Reduced {
  const { lineAt } = indexLines(text);
  const nodes = located.flatMap(({ kind, from, to }): Reduced[] =>
    kinds.has(kind) ? [{ kind, from, to, line: lineAt(from), lastLine: lineAt(to), children: [] }] : [],
  );
  // What begins and ends with another one keeps its place behind it: the search enters a node after it was found.
  nodes.sort((a, b) => a.from - b.from || b.to - a.to);
  const none = { kind: "", from: 0, to: Number.POSITIVE_INFINITY, line: 1, lastLine: 1 };
  const top: Reduced = { ...none, children: [] };
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
