import type { SgNode } from "@ast-grep/napi";
import type { Shape } from "./shape.ts";

/** Start and end index of a node. */
export interface Extent {
  from: number;
  to: number;
}

/**
 * The position of a node in its text. This is the cheapest query for it: a range also counts the lines and columns of both ends, and
 * returns three objects instead of one.
 */
export function extentOf(node: SgNode): Extent {
  const { startPos, endPos } = node.replace("");
  return { from: startPos, to: endPos };
}

/** A node with the facts that were queried once. */
export interface Located extends Extent {
  node: SgNode;
  kind: string;
}

/** A syntax tree and what is needed to read it. */
export interface Tree {
  path: string;
  text: string;
  root: SgNode;
  shape: Shape;
  /** Whether the tree's dialect has nodes of a kind; a search for others is an error. */
  hasKind(kind: string): boolean;
  /** Nodes of the kinds of all definitions, if they are also found for another purpose. */
  located?: (() => readonly Located[]) | undefined;
}

export const locate = (node: SgNode): Located => ({ node, kind: String(node.kind()), ...extentOf(node) });

/** Nodes of these kinds in text order, each before those within it. */
export const locateKinds = (root: SgNode, kinds: Iterable<string>): Located[] =>
  root.findAll(selectorOf(kinds)).map(locate);

const selectorOf = (kinds: Iterable<string>) => ({ rule: { kind: [...kinds].join(",") } });

/**
 * Nodes of these kinds in text order. Kinds with an expression of their own must match it. All others form one selector: to read a separate
 * rule for each of them takes the parser longer than the search.
 */
export function findKinds(tree: Tree, kinds: readonly string[], regex?: string): SgNode[] {
  const { root, shape, text, hasKind } = tree;
  const heads = shape.heads ?? {};
  const known = kinds.filter(hasKind);
  const plain = regex === undefined ? known.filter((kind) => heads[kind] === undefined) : [];
  const headed = known.filter((kind) => !plain.includes(kind));
  const any = [
    ...(plain.length > 0 ? [selectorOf(plain).rule] : []),
    ...headed.flatMap((kind) => {
      const head = regex ?? heads[kind] ?? "";
      return regex !== undefined || mayBegin(text, head) ? [{ kind, regex: head }] : [];
    }),
  ];
  return any.length > 0 ? root.findAll({ rule: { any } }) : [];
}

/** Whether a text contains what an expression for the beginning of a node matches: most texts do not, and no node is read then. */
const mayBegin = (text: string, head: string) => new RegExp(head.replace(/^\^/, ""), "m").test(text);

/** Maximum characters at the beginning of a node that are matched. */
const longestHead = 200;

/** Whether the beginning of a node matches an expression. */
export const isHeaded = (text: string, head: string, from: number, to: number): boolean =>
  new RegExp(head, "u").test(text.slice(from, Math.min(to, from + longestHead)));

/** The lines of a text, 1-indexed. */
export interface LineIndex {
  text: string;
  lines: readonly string[];
  /** The line of an index of the text. */
  lineAt(index: number): number;
}

export function indexLines(text: string): LineIndex {
  const lines = text.split("\n");
  const starts: number[] = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  const lineAt = (index: number) => {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) > index) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return { text, lines, lineAt };
}

/** Maximum lines of a comment in which its beginning is searched. */
const longestComment = 200;

/**
 * The start of the comment directly above a line; the line itself if there is none. `lineComment` matches the beginning of a line that is a
 * comment as a whole.
 */
export function docStartOf(lines: readonly string[], start: number, lineComment: RegExp): number {
  let first = start;
  while (first > 1 && start - first < longestComment) {
    const above = (lines[first - 2] ?? "").trim();
    if (lineComment.test(above)) first -= 1;
    else if (above.endsWith("*/")) {
      const opened = openingOf(lines, first - 1);
      if (opened === null) return first;
      first = opened;
    } else return first;
  }
  return first;
}

function openingOf(lines: readonly string[], last: number): number | null {
  for (let line = last; line > Math.max(0, last - longestComment); line--) {
    const row = lines[line - 1] ?? "";
    const open = row.indexOf("/*");
    // Code before it: the comment belongs to that line.
    if (open >= 0) return row.slice(0, open).trim() === "" ? line : null;
  }
  return null;
}

/** Binary search: the index of the first item for which `holds` is true, if it is true for all items after it. */
export function firstIndex<T>(items: readonly T[], holds: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
