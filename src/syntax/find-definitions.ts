import type { SgNode } from "@ast-grep/napi";
import { type Extent, extentOf } from "./extent.ts";
import type { Located } from "./find-nodes.ts";
import { docStartOf, type LineIndex } from "./line-index.ts";
import type { Found, Shape } from "./shape.ts";
import type { Definition, DefinitionKind } from "./source.ts";

/** What one node defines, which does not know yet what it lies in. Several names where it declares several. */
interface Candidate {
  found: readonly Found[];
  start: number;
  end: number;
  /** Where the text begins that belongs to it: with decorators and `export`. */
  from: number;
  /** First and behind the last index of the node alone. */
  at: number;
  to: number;
}

/** The definitions that nodes of the right kinds hold, each after the one it lies in. */
export function findDefinitions(nodes: readonly Located[], index: LineIndex, shape: Shape): Definition[] {
  const candidates = candidatesOf(nodes, index, shape);
  candidates.sort((a, b) => a.at - b.at || b.to - a.to);
  const listed = shape.exportList?.(index.text) ?? new Set<string>();
  const open: { definition: Definition; to: number }[] = [];
  return candidates.flatMap((one) => {
    while (open.length > 0 && (open.at(-1)?.to ?? 0) < one.to) open.pop();
    const outer = open.at(-1)?.definition ?? null;
    const definitions = one.found.map((found) => define(one, found, outer, { index, shape, listed }));
    const [first] = definitions;
    if (first) open.push({ definition: first, to: one.to });
    return definitions;
  });
}

const classes: readonly DefinitionKind[] = ["class", "interface", "type", "extension"];
const runs: readonly DefinitionKind[] = ["function", "method", "test"];

interface File {
  index: LineIndex;
  shape: Shape;
  listed: ReadonlySet<string>;
}

/** Longest head that is looked at for words such as `public`. */
const longestHead = 500;

function define(one: Candidate, found: Found, outer: Definition | null, file: File): Definition {
  const { index, shape, listed } = file;
  const { start, end, from, to } = one;
  const { name, kind } = found;
  const headEnd = found.body ? extentOf(found.body).from : to;
  const head = beforeName(index.text.slice(from, Math.min(headEnd, from + longestHead)), name);
  const isMember = outer !== null && classes.includes(outer.kind);
  const inInterface = outer?.kind === "interface" || isTraitOf(outer, index);
  const isOwn = shape.isExported({ name, head, inInterface, inClass: isMember, listed });
  const isSeen = outer === null || (outer.exported && !runs.includes(outer.kind));
  return {
    name,
    kind,
    start,
    end,
    docStart: docStartOf(index.lines, start, shape.lineComment),
    signatureEnd: Math.min(end, index.lineAt(lastInk(index.text, from, headEnd))),
    container: found.container ?? (isMember ? outer.name : null),
    exported: kind !== "test" && isOwn && isSeen,
  };
}

/** What a type does for a trait is seen wherever the trait is. */
function isTraitOf(outer: Definition | null, { lines }: LineIndex): boolean {
  if (outer?.kind !== "extension") return false;
  const last = Math.min(outer.signatureEnd, outer.start + 10);
  return / for /.test(lines.slice(outer.start - 1, last).join(" "));
}

/** Nodes come in the order of the text, those that lie in another one behind it. */
function candidatesOf(nodes: readonly Located[], index: LineIndex, shape: Shape): Candidate[] {
  const around: { isRun: boolean; to: number }[] = [];
  return nodes.flatMap((own) => {
    while ((around.at(-1)?.to ?? Number.POSITIVE_INFINITY) <= own.from) around.pop();
    const isLocal = around.at(-1)?.isRun ?? false;
    const all = shape.definitions[own.kind]?.(own.node, isLocal) ?? [];
    const found = all.filter(({ name }) => name !== "");
    const [first] = found;
    if (!first) return [];
    around.push({ isRun: runs.includes(first.kind), to: own.to });
    const { from, to } = reachOf(own, index, shape);
    const [start, end] = [index.lineAt(from), index.lineAt(Math.max(from, to - 1))];
    return [{ found, start, end, from, at: own.from, to }];
  });
}

/** What stands in front of the name; the whole head where the name does not stand in it. */
function beforeName(head: string, name: string): string {
  const isWord = (character: string | undefined) => /[\p{L}\p{N}_$]/u.test(character ?? "");
  for (let at = head.indexOf(name); at >= 0; at = head.indexOf(name, at + 1))
    if (!isWord(head[at - 1]) && !isWord(head[at + name.length])) return head.slice(0, at);
  return head;
}

function lastInk(text: string, from: number, to: number): number {
  let at = to - 1;
  while (at > from && /\s/.test(text[at] ?? "")) at -= 1;
  return Math.max(from, at);
}

/** Attributes that a definition can have, and levels around it. */
const maximumAround = 100;

/** From where to where a definition reaches, with what is around and in front of it and belongs to it. */
function reachOf(own: Located, { lineAt, text }: LineIndex, shape: Shape): Extent {
  let outer = own.node;
  let { from, to } = own;
  for (let level = 0; level < maximumAround; level++) {
    const around = outer.parent();
    const kind = String(around?.kind() ?? "");
    const isWrapper = shape.wrappers.includes(kind);
    if (!around || !(isWrapper || shape.groups.includes(kind))) break;
    const extent = extentOf(around);
    if (shape.groups.includes(kind) && lineAt(extent.from) !== lineAt(from)) break;
    // What a group begins with may be followed by others, which do not belong to this one.
    if (isWrapper && lineAt(extent.to) >= lineAt(to) && outer === own.node) to = extent.to;
    from = extent.from;
    outer = around;
  }
  return { from: withAttributes(outer, from, text, shape), to };
}

/** Where the attributes in front of a node begin, or the node itself. A question to what stands in front costs as much as one to what is around. */
function withAttributes(node: SgNode, start: number, text: string, { attributes }: Shape): number {
  let from = start;
  const isFirst = /[;{}]\s*$/.test(text.slice(Math.max(0, start - 200), start));
  let before = attributes.length > 0 && !isFirst ? node.prev() : null;
  for (let left = maximumAround; before && left > 0; left--) {
    if (!attributes.includes(String(before.kind()))) break;
    from = extentOf(before).from;
    before = before.prev();
  }
  return from;
}
