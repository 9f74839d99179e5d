import type { LRParser } from "@lezer/lr";

/** A node of a syntax tree, with all that is asked of it. */
export interface Syntax {
  kind: string;
  text: string;
  /** On which it begins; from 1. */
  line: number;
  children: Syntax[];
  parent: Syntax | null;
}

/** Comments are left out. */
export function parseTree(parser: LRParser, text: string): Syntax {
  const starts = lineStarts(text);
  const top: Syntax = { kind: "", text: "", line: 1, children: [], parent: null };
  let open = top;
  parser.parse(text).iterate({
    enter({ name, from, to }) {
      if (/Comment$/.test(name)) return false;
      const node = {
        kind: name,
        text: text.slice(from, to),
        line: lineAt(starts, from),
        children: [],
        parent: open,
      };
      open.children.push(node);
      open = node;
      return true;
    },
    leave() {
      open = open.parent!;
    },
  });
  return top.children[0]!;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(starts: readonly number[], index: number): number {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= index) low = middle;
    else high = middle;
  }
  return low + 1;
}

export const childOf = (node: Syntax, ...kinds: string[]): Syntax | null =>
  node.children.find(({ kind }) => kinds.includes(kind)) ?? null;

export const childrenOf = (node: Syntax, ...kinds: string[]): Syntax[] =>
  node.children.filter(({ kind }) => kinds.includes(kind));

/** What follows a child among its siblings. */
export const after = (node: Syntax, child: Syntax): Syntax[] =>
  node.children.slice(node.children.indexOf(child) + 1);

/** Lines around places where the parser could not go on, and may have taken what follows for something else. */
export function unreadLines(node: Syntax): number[] {
  const own = node.kind === "⚠" ? [-1, 0, 1, 2, 3].map((off) => node.line + off) : [];
  return [...own, ...node.children.flatMap(unreadLines)];
}
