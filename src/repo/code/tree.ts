import type { SgNode } from "@ast-grep/napi";
import { findersOf, type Shape } from "./shape.ts";

/** Start and end index of a node. */
export interface Extent {
  from: number;
  to: number;
}

/** The position of a node in its text, by the cheapest query for it: a range also counts lines and columns. */
export function extentOf(node: SgNode): Extent {
  const { startPos, endPos } = node.replace("");
  return { from: startPos, to: endPos };
}

export interface Located extends Extent {
  node: SgNode;
  kind: string;
}

/** A node that asks each question only once, because queries of the parser are expensive. */
export class CachedNode {
  readonly node: SgNode;
  #parent: CachedNode | null | undefined;
  #kind: string | undefined;
  #id: number | undefined;
  #extent: Extent | undefined;
  #children: readonly CachedNode[] | undefined;

  /** @param parent if it is known; a query for it counts everything before the node */
  constructor(node: SgNode, parent?: CachedNode | null) {
    this.node = node;
    this.#parent = parent;
  }

  get kind(): string {
    this.#kind ??= String(this.node.kind());
    return this.#kind;
  }

  get id(): number {
    this.#id ??= this.node.id();
    return this.#id;
  }

  get extent(): Extent {
    this.#extent ??= extentOf(this.node);
    return this.#extent;
  }

  get parent(): CachedNode | null {
    if (this.#parent === undefined) {
      const parent = this.node.parent();
      this.#parent = parent && new CachedNode(parent);
    }
    return this.#parent;
  }

  get children(): readonly CachedNode[] {
    this.#children ??= this.node.children().map((child) => new CachedNode(child, this));
    return this.#children;
  }
}

export interface Tree {
  path: string;
  text: string;
  root: CachedNode;
  shape: Shape;
  index: LineIndex;
  /** Whether the tree's dialect has nodes of a kind; a search for others is an error. */
  hasKind(kind: string): boolean;
}

export const locate = (node: SgNode): Located => ({ node, kind: String(node.kind()), ...extentOf(node) });

const selectorOf = (kinds: Iterable<string>) => ({ rule: { kind: [...kinds].join(",") } });

/** The nodes that may be definitions, in text order. Kinds without a head form one selector, which the parser reads faster than many rules. */
export function findDefining({ root, shape, text, hasKind }: Tree): SgNode[] {
  const heads = Object.entries(shape.heads ?? {}).filter(([kind]) => hasKind(kind));
  const plain = [...findersOf(shape).keys()].filter((kind) => hasKind(kind) && !shape.heads?.[kind]);
  const any = [
    ...(plain.length > 0 ? [selectorOf(plain).rule] : []),
    ...heads.flatMap(([kind, regex]) => (mayBegin(text, regex) ? [{ kind, regex }] : [])),
  ];
  return any.length > 0 ? root.node.findAll({ rule: { any } }) : [];
}

interface Part {
  node: CachedNode;
  /** Whether all nodes within it lie on the lines as well; otherwise those that do are parts of their own. */
  isWhole: boolean;
}

/** Lines from 1, both included. */
export interface LineRange {
  start: number;
  end: number;
}

export const wholeText: LineRange = { start: 1, end: Number.POSITIVE_INFINITY };

/** The nodes on some lines, in text order, each before those within it; none within a whole one. */
function partsOn({ root, index }: Tree, { start, end }: LineRange): Part[] {
  const [from, to] = [index.startOf(start), index.startOf(end + 1)];
  const parts: Part[] = [];
  const visit = (node: CachedNode) => {
    const isWhole = node.extent.from >= from && node.extent.to < to;
    parts.push({ node, isWhole });
    if (isWhole) return;
    const { children } = node;
    // In text order, so that nodes before and after the lines are skipped.
    for (let at = firstIndex(children, ({ extent }) => extent.to >= from); at < children.length; at++) {
      const child = children[at] as CachedNode;
      if (child.extent.from >= to) break;
      visit(child);
    }
  };
  visit(root);
  return parts;
}

/** The nodes of these kinds that begin, end or lie on the lines, in text order; with `names`, only those with one of these texts. */
export function findOn(
  tree: Tree,
  kinds: readonly string[],
  lines: LineRange,
  names?: ReadonlySet<string>,
): CachedNode[] {
  const known = kinds.filter(tree.hasKind);
  if (known.length === 0) return [];
  const text = tree.text.slice(tree.index.startOf(lines.start), tree.index.startOf(lines.end + 1));
  const wanted = names && namesIn(text, names);
  if (wanted?.length === 0) return [];
  const rule = {
    ...selectorOf(known).rule,
    ...(wanted && wanted.length <= maximumAlternatives && { regex: anyOf(wanted) }),
  };
  const found = partsOn(tree, lines).flatMap(({ node, isWhole }) =>
    isWhole
      ? node.node.findAll({ rule }).map((one) => new CachedNode(one))
      : known.includes(node.kind)
        ? [node]
        : [],
  );
  return names ? found.filter((node) => names.has(textOfNode(tree, node))) : found;
}

/** More names than this are searched one by one, because one expression with all of them would be too large. */
const maximumAlternatives = 200;

const namesIn = (text: string, names: ReadonlySet<string>): string[] =>
  [...names].filter((name) => /^\S{1,200}$/.test(name) && text.includes(name));

const anyOf = (names: readonly string[]) =>
  `^(${names.map((name) => name.replace(/[.*+?^${}()|[\]\\#&~-]/g, "\\$&")).join("|")})$`;

/** The text of a node: the parser would copy it. */
export const textOfNode = ({ text }: Pick<Tree, "text">, { extent }: CachedNode): string =>
  text.slice(extent.from, extent.to);

/** Whether a text contains what an expression for the beginning of a node matches: most texts do not, and no node is read then. */
const mayBegin = (text: string, head: string) => new RegExp(head.replace(/^\^/, ""), "m").test(text);

/** The lines of a text, 1-indexed. */
export interface LineIndex {
  text: string;
  lines: readonly string[];
  /** The line of an index of the text. */
  lineAt(index: number): number;
  /** The index at which a line starts; infinite for lines after the last one. */
  startOf(line: number): number;
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
  const startOf = (line: number) => starts[Math.max(1, line) - 1] ?? Number.POSITIVE_INFINITY;
  return { text, lines, lineAt, startOf };
}

/** Maximum lines of a comment in which its beginning is searched. */
const longestComment = 200;

/** The start of the comment directly above a line, or the line itself. `lineComment` matches the beginning of a line of comment. */
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
