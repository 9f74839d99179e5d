import type { SgNode } from "@ast-grep/napi";
import { importsOf } from "./imports.ts";
import type { FoundDefinition, Shape, Slot } from "./shape.ts";
import {
  type Call,
  type Definition,
  type DefinitionKind,
  definitionsAt,
  type Import,
  once,
  type Reference,
  type ReferenceRole,
  type Source,
  shortText,
  tellingLiterals,
  within,
} from "./source.ts";
import {
  CachedNode,
  docStartOf,
  type Extent,
  extentOf,
  findDefining,
  findOn,
  isHeaded,
  type LineIndex,
  type LineRange,
  type Located,
  locate,
  type Tree,
  textOfNode,
  wholeText,
} from "./tree.ts";

/** The definitions of one node, before the definition around it is known. Several if it declares several names. */
interface Candidate {
  found: readonly FoundDefinition[];
  start: number;
  end: number;
  /** The start of the text that belongs to it, with decorators and `export`. */
  from: number;
  /** Start and end index of the node itself. */
  at: number;
  to: number;
}

/** The definitions in nodes of the right kinds, each after the one around it. */
function findDefinitions(nodes: readonly Located[], index: LineIndex, shape: Shape): Definition[] {
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

/** Longest head that is searched for words such as `public`. */
const longestHead = 500;

function define(one: Candidate, found: FoundDefinition, outer: Definition | null, file: File): Definition {
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

/** A type's implementation of a trait is as visible as the trait. */
function isTraitOf(outer: Definition | null, { lines }: LineIndex): boolean {
  if (outer?.kind !== "extension") return false;
  const last = Math.min(outer.signatureEnd, outer.start + 10);
  return / for /.test(lines.slice(outer.start - 1, last).join(" "));
}

/** Nodes are in text order, each before the nodes within it. */
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

/** The text before the name; the whole head if it does not contain the name. */
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

/** Maximum attributes of a definition, and levels around it. */
const maximumAround = 100;

/** The extent of a definition, with the nodes around and before it that belong to it. */
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
    // A group may contain more after its first node, which does not belong to this definition.
    if (isWrapper && lineAt(extent.to) >= lineAt(to) && outer === own.node) to = extent.to;
    from = extent.from;
    outer = around;
  }
  return { from: withAttributes(outer, from, text, shape), to };
}

/** The start of the attributes before a node, or of the node itself. A query of the previous node costs as much as one of the parent. */
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

interface Entry {
  /** The name of a field, `#0`, `#last`, `*`, or `>` and a kind. */
  where: string;
  slot: Slot;
}

/** The slots of a language by the kind of the node around. */
type SlotTable = ReadonlyMap<string, readonly Entry[]>;

const tables = new WeakMap<Shape, SlotTable>();

function slotTableOf(shape: Shape): SlotTable {
  const known = tables.get(shape);
  if (known) return known;
  const table = new Map<string, Entry[]>();
  for (const [key, slot] of Object.entries(shape.slots)) {
    const at = key.search(/[.>]/);
    const where = key[at] === ">" ? key.slice(at) : key.slice(at + 1);
    const entries = table.get(key.slice(0, at)) ?? [];
    entries.push({ where, slot });
    table.set(key.slice(0, at), entries);
  }
  tables.set(shape, table);
  return table;
}

/** Maximum levels through which a name is passed. */
const maximumLevels = 40;

/** The role of a name in the code around it. */
interface NameRole {
  slot: Exclude<Slot, "through" | "member">;
  /** Whether it is the name of an object's member. */
  isMember: boolean;
  /** The largest node that this name represents: `a.b` for the `b` in it. */
  node: CachedNode;
}

function placeOf(name: CachedNode, table: SlotTable): NameRole {
  let [node, isMember] = [name, false];
  for (let level = 0; level < maximumLevels; level++) {
    const around = node.parent;
    const slot = around && slotIn(around, node, table);
    if (!slot) break;
    if (slot === "method" && isWritten(around, table)) return { slot: "write", isMember: true, node: around };
    if (slot !== "through" && slot !== "member") return { slot, isMember, node };
    if (slot === "member") isMember = true;
    node = around;
  }
  return { slot: /type_identifier$/.test(name.kind) ? "type" : "read", isMember, node };
}

/** In some grammars `object.name = value` is a method call. */
function isWritten(call: CachedNode, table: SlotTable): boolean {
  return call.parent !== null && slotIn(call.parent, call, table) === "write";
}

function slotIn(around: CachedNode, node: CachedNode, table: SlotTable): Slot | null {
  const entries = table.get(around.kind);
  return entries?.find(({ where }) => isAt(around, node, where))?.slot ?? null;
}

function isAt(around: CachedNode, node: CachedNode, where: string): boolean {
  if (where === "*") return true;
  if (where.startsWith(">")) return node.kind === where.slice(1);
  if (where.startsWith("#")) return childAt(around.node, where)?.id() === node.id;
  // If several nodes have the field, this is the first: tables name such nodes by kind, because otherwise each of them would be searched
  // among thousands.
  return around.node.field(where)?.id() === node.id;
}

function childAt(node: SgNode, where: string): SgNode | null {
  const children = node.namedChildren();
  return (where === "#0" ? children[0] : children.at(-1)) ?? null;
}

/** Kinds of nodes that are calls. */
const callKinds = (table: SlotTable): string[] =>
  [...table].filter(([, entries]) => entries.some(({ slot }) => isCall(slot))).map(([kind]) => kind);

const isCall = (slot: Slot) => slot === "call" || slot === "method";

/** The called name, and the start of its receiver's text. */
function calleeOf(call: CachedNode, table: SlotTable): { name: CachedNode; start: number } | null {
  const entry = table.get(call.kind)?.find(({ slot }) => isCall(slot));
  let node = entry ? childIn(call, entry.where) : null;
  if (!entry || !node) return null;
  const start = (entry.slot === "method" ? call : node).extent.from;
  for (let level = 0; level < maximumLevels; level++) {
    const inner = innerOf(node, table);
    if (!inner) break;
    node = inner;
  }
  return { name: node, start };
}

function innerOf(node: CachedNode, table: SlotTable): CachedNode | null {
  const entries = table.get(node.kind) ?? [];
  for (const { where, slot } of entries) {
    const inner = (slot === "through" || slot === "member") && where !== "*" ? childIn(node, where) : null;
    if (inner) return inner;
  }
  return null;
}

function childIn({ node }: CachedNode, where: string): CachedNode | null {
  const child = where.startsWith("#")
    ? childAt(node, where)
    : where.startsWith(">")
      ? node.children().find((one) => one.kind() === where.slice(1))
      : node.field(where);
  return child ? new CachedNode(child) : null;
}

const stringKinds = [
  ...["string_fragment", "string_content", "string_literal_content", "multiline_string_fragment"],
  ...["interpreted_string_literal_content", "raw_string_literal_content", "character_literal_content"],
];

/** The facts that a syntax tree contains about its file. Those of some lines are read from the nodes on these lines. */
export const createTreeSource = (tree: Tree): Source => new TreeSource(tree);

/**
 * A class, because V8 keeps the getters of an object literal, and with them all nodes of the tree, until its next full collection: that
 * is three times the memory for the index of a repository.
 */
class TreeSource implements Source {
  readonly isParsed = true;
  readonly #tree: Tree;
  readonly #table: SlotTable;
  readonly #definitions: () => Definition[];
  readonly #imports: () => Import[];

  constructor(tree: Tree) {
    this.#tree = tree;
    this.#table = slotTableOf(tree.shape);
    this.#definitions = once(() => findDefinitions(definingNodes(tree), tree.index, tree.shape));
    this.#imports = once(() => importsOf(tree.path, tree.text));
  }

  get definitions(): Definition[] {
    return this.#definitions();
  }

  get imports(): Import[] {
    return this.#imports();
  }

  enclosing(line: number): Definition[] {
    return definitionsAt(this.definitions, line);
  }

  calls(start: number, end: number): Call[] {
    return within(callsOn(this.#tree, { start, end }, this.#table), start, end);
  }

  references(names: ReadonlySet<string>, lines?: LineRange): Reference[] {
    return referencesOf(this.#tree, names, lines, this.#table);
  }

  readNames(start: number, end: number, among?: ReadonlySet<string>): Set<string> {
    return readNames(this.#tree, { start, end }, among, this.#table);
  }

  literals(start: number, end: number): string[] {
    const tree = this.#tree;
    const found = findOn(tree, stringKinds, { start, end });
    const literals = found.map((node) => ({ line: lineOf(tree, node), text: textOfNode(tree, node) }));
    return tellingLiterals(within(literals, start, end).map(({ text }) => text));
  }
}

function definingNodes(tree: Tree): readonly Located[] {
  const { shape, text, located } = tree;
  if (!located) return findDefining(tree).map(locate);
  return located().filter(({ kind, from, to }) => {
    const head = shape.heads?.[kind];
    return shape.definitions[kind] !== undefined && (head === undefined || isHeaded(text, head, from, to));
  });
}

const lineOf = ({ index }: Tree, { extent }: CachedNode) => index.lineAt(extent.from);

function callsOn(tree: Tree, lines: LineRange, table: SlotTable): Call[] {
  const { text, shape } = tree;
  const written = findOn(tree, callKinds(table), lines).flatMap((node) => {
    const callee = calleeOf(node, table);
    if (!callee || !shape.identifiers.includes(callee.name.kind)) return [];
    const { name, start } = callee;
    const receiver = receiverOf(text, start, name.extent.from);
    return [{ name: shortText(textOfNode(tree, name)), line: lineOf(tree, name), receiver }];
  });
  return shape.tokenTree ? [...written, ...callsInTokens(tree, shape.tokenTree, lines)] : written;
}

/** Longest receiver that is read. */
const longestReceiver = 400;

function receiverOf(text: string, from: number, to: number): string | null {
  const before = text.slice(from, Math.min(to, from + longestReceiver)).replace(/[\s.?!:>-]+$/, "");
  return before === "" ? null : shortText(before);
}

/** A macro's arguments are tokens: a name before parentheses is taken for a call. */
function callsInTokens(tree: Tree, kind: string, lines: LineRange): Call[] {
  return findOn(tree, [kind], lines).flatMap(({ children }) =>
    children.flatMap((child, at) => {
      const next = children[at + 1];
      const isCall =
        child.kind === "identifier" && next?.kind === kind && tree.text[next.extent.from] === "(";
      return isCall
        ? [{ name: shortText(textOfNode(tree, child)), line: lineOf(tree, child), receiver: null }]
        : [];
    }),
  );
}

/** Maximum references read in one file; only generated files have more. */
const maximumReferences = 3_000;

function referencesOf(
  tree: Tree,
  names: ReadonlySet<string>,
  lines: LineRange = wholeText,
  table: SlotTable,
): Reference[] {
  const nodes = findOn(tree, tree.shape.identifiers, lines, names);
  return nodes.slice(0, maximumReferences).map((node) => {
    const place = placeOf(node, table);
    const reference = {
      name: textOfNode(tree, node),
      line: lineOf(tree, node),
      role: roleOf(place, tree.text),
    };
    return isCall(place.slot) ? { ...reference, receiver: receiverOfCall(tree, node, place) } : reference;
  });
}

/** The text before a called name, as {@link callsOn} finds it from the call. */
function receiverOfCall({ text }: Tree, name: CachedNode, { slot, node }: NameRole): string | null {
  const callee = slot === "method" ? (node.parent ?? node) : node;
  return receiverOf(text, callee.extent.from, name.extent.from);
}

const roles: Record<NameRole["slot"], ReferenceRole | null> = {
  call: "call",
  method: "call",
  definition: "definition",
  import: "import",
  write: "write",
  key: "write",
  shorthand: "write",
  read: "read",
  type: "type",
  // The code after it decides.
  parameter: null,
  keyword: null,
  path: null,
  specifier: null,
};

function roleOf({ slot, node }: NameRole, text: string): ReferenceRole {
  const role = roles[slot];
  if (role) return role;
  if (slot === "path") return isImported(node) ? "import" : "read";
  if (slot === "specifier") return node.parent?.node.field("body") ? "definition" : "type";
  if (isGiven(node, text)) return "write";
  return slot === "parameter" ? "definition" : "read";
}

/** Whether a `=` follows, after the type of a parameter if it has one. */
function isGiven({ extent: { to } }: CachedNode, text: string): boolean {
  return /^\??\s*(:[^=,()\n]*)?=(?![=>])/.test(text.slice(to, to + 200));
}

/** Maximum levels of a path such as `a::b::c` or `a.b.c`. */
const longestPath = 12;

function isImported(node: CachedNode): boolean {
  let around = node.parent;
  for (let level = 0; around && level < longestPath; level++) {
    if (/^(import|use|using|package|namespace_use)_/.test(around.kind)) return true;
    around = around.parent;
  }
  return false;
}

/** Names of the object that a method belongs to; they are never looked up. */
const ownNames = new Set(["self", "cls", "this", "super"]);

function readNames(
  tree: Tree,
  lines: LineRange,
  among: ReadonlySet<string> | undefined,
  table: SlotTable,
): Set<string> {
  const read = new Set<string>();
  const defined = new Set<string>();
  // The last ones first.
  for (const node of findOn(tree, tree.shape.identifiers, lines, among).toReversed()) {
    const place = placeOf(node, table);
    const role = roleOf(place, tree.text);
    const name = textOfNode(tree, node);
    if (role === "read" || place.slot === "shorthand") read.add(name);
    else if (role === "definition" || (role === "write" && isVariable(place))) defined.add(name);
  }
  return new Set([...read].filter((name) => !defined.has(name) && !ownNames.has(name)));
}

const keys: readonly Slot[] = ["key", "keyword"];
const isVariable = ({ slot, isMember }: NameRole) => !isMember && !keys.includes(slot);
