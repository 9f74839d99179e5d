import type { SgNode } from "@ast-grep/napi";
import { type Extent, extentOf } from "./extent.ts";
import type { Shape } from "./shape.ts";

/** A node with what was asked of it once. */
export interface Located extends Extent {
  node: SgNode;
  kind: string;
}

/** A syntax tree and what is needed to read it. */
export interface Tree {
  text: string;
  root: SgNode;
  shape: Shape;
  /** Whether the tree's dialect has nodes of a kind; to search for others is an error. */
  hasKind(kind: string): boolean;
  /** Nodes of the kinds of all definitions, where they are found for somebody else as well. */
  located?: (() => readonly Located[]) | undefined;
}

export const locate = (node: SgNode): Located => ({ node, kind: String(node.kind()), ...extentOf(node) });

/** Nodes of these kinds, in the order of the text and each in front of those within it. */
export const locateKinds = (root: SgNode, kinds: Iterable<string>): Located[] =>
  root.findAll(selectorOf(kinds)).map(locate);

const selectorOf = (kinds: Iterable<string>) => ({ rule: { kind: [...kinds].join(",") } });

/**
 * Nodes of these kinds in the order of the text. Kinds with an expression of their own have to match it. All others are one selector:
 * to read a rule of its own for each of them takes the parser longer than the search.
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

/** Whether a text holds what an expression for the beginning of a node asks for: most hold nothing of it, and no node is read. */
const mayBegin = (text: string, head: string) => new RegExp(head.replace(/^\^/, ""), "m").test(text);

/** Longest beginning of a node that is looked at. */
const longestHead = 200;

/** Whether a node begins as an expression asks for. */
export const isHeaded = (text: string, head: string, from: number, to: number): boolean =>
  new RegExp(head, "u").test(text.slice(from, Math.min(to, from + longestHead)));
