import type { SgNode } from "@ast-grep/napi";
import { bindingsOf, bindingsOfImports } from "./bindings.ts";
import { isTypeName, typeNameOf, wordsDeclaring } from "./declared-types.ts";
import { importsOf, isGo, isPython, isScript } from "./imports.ts";
import { type FoundDefinition, findersOf, firstField, type Shape, type Slot } from "./shape.ts";
import {
  type Binding,
  type Call,
  type Definition,
  type DefinitionKind,
  definitionsAt,
  type Import,
  memo,
  Nesting,
  once,
  type Reference,
  type ReferenceRole,
  type Source,
  shortText,
  tellingLiterals,
  type Use,
  within,
} from "./source.ts";
import {
  type CachedNode,
  docStartOf,
  type Extent,
  extentOf,
  findDefining,
  findOn,
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
  type: string | null;
}

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
    docStart: docStartOf(index.lines, start, shape.lineComment ?? /^\/\//),
    signatureEnd: Math.min(end, index.lineAt(lastInk(index.text, from, headEnd))),
    container: found.container ?? (isMember ? outer.name : null),
    exported: kind !== "test" && isOwn && isSeen,
    type: typedKinds.includes(kind) ? one.type : null,
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
    const all = findersOf(shape).get(own.kind)?.(own.node, isLocal) ?? [];
    const found = all.filter(({ name }) => name !== "");
    const [first] = found;
    if (!first) return [];
    around.push({ isRun: runs.includes(first.kind), to: own.to });
    const { from, to } = reachOf(own, index, shape);
    const [start, end] = [index.lineAt(from), index.lineAt(Math.max(from, to - 1))];
    return [{ found, start, end, from, at: own.from, to, type: writtenType(own.node, index) }];
  });
}

const typedKinds: readonly DefinitionKind[] = ["function", "method", "constant", "variable", "field", "type"];
/** The fields of a node, or of the function that is its value, that have a written type. */
const typeFields = ["return_type", "result", "returns", "type"];

function writtenType(node: SgNode, { text }: LineIndex): string | null {
  const value = node.field("value");
  // `type Name = Type` of TypeScript has the type as its value.
  const isAlias = node.kind() === "type_alias_declaration";
  const isRun = value !== null && /function/.test(String(value.kind()));
  const written = isAlias ? value : firstField(isRun ? value : node, typeFields);
  if (!written) return null;
  const { from, to } = extentOf(written);
  return typeNameOf(text.slice(from, to));
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

const maximumAround = 100;

/** The extent of a definition, with the nodes around and before it that belong to it. */
function reachOf(own: Located, { lineAt, text }: LineIndex, shape: Shape): Extent {
  let outer = own.node;
  let { from, to } = own;
  for (let level = 0; level < maximumAround; level++) {
    const around = outer.parent();
    const kind = String(around?.kind() ?? "");
    const [isWrapper, isGroup] = [shape.wrappers, shape.groups].map(
      (kinds) => kinds?.includes(kind) === true,
    );
    if (!around || !(isWrapper || isGroup)) break;
    const extent = extentOf(around);
    if (isGroup && lineAt(extent.from) !== lineAt(from)) break;
    // A group may contain more after its first node, which does not belong to this definition.
    if (isWrapper && lineAt(extent.to) >= lineAt(to) && outer === own.node) to = extent.to;
    from = extent.from;
    outer = around;
  }
  return { from: withAttributes(outer, from, text, shape), to };
}

/** The start of the attributes before a node, or of the node itself. A query of the previous node costs as much as one of the parent. */
function withAttributes(node: SgNode, start: number, text: string, { attributes = [] }: Shape): number {
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

type SlotTable = ReadonlyMap<string, readonly Entry[]>;

const slotTableOf = memo((shape: Shape): SlotTable => {
  const table = new Map<string, Entry[]>();
  for (const node of Object.values(shape.named).flatMap((nodes) => nodes.split(" ")))
    table.set(node, [{ where: "name", slot: "definition" }]);
  for (const [slot, positions = ""] of Object.entries(shape.slots) as [Slot, string?][])
    for (const [, parent = "", where = ""] of positions.matchAll(/(\w+)\.?(\S+)/g)) {
      const entries = table.get(parent) ?? [];
      entries.push({ where, slot });
      table.set(parent, entries);
    }
  const isRest = ({ where }: Entry) => Number(where === "*");
  for (const entries of table.values()) entries.sort((a, b) => isRest(a) - isRest(b));
  return table;
});

const maximumLevels = 40;

interface NameRole {
  slot: Exclude<Slot, "through" | "member">;
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
  // If several nodes have the field, this is the first: tables name such nodes by kind.
  return around.node.field(where)?.id() === node.id;
}

function childAt(node: SgNode, where: string): SgNode | null {
  const children = node.namedChildren();
  return (where === "#0" ? children[0] : children.at(-1)) ?? null;
}

const isCall = (slot: Slot) => slot === "call" || slot === "method";

const stringKinds =
  "string_fragment string_content string_literal_content multiline_string_fragment interpreted_string_literal_content raw_string_literal_content character_literal_content".split(
    " ",
  );

/** The facts that a syntax tree contains about its file. Those of some lines are read from the nodes on these lines. */
export const createTreeSource = (tree: Tree): Source => new TreeSource(tree);

/** A class, because V8 keeps the getters of an object literal, and with them all nodes, until its next full collection. */
class TreeSource implements Source {
  readonly isParsed = true;
  readonly #tree: Tree;
  readonly #table: SlotTable;
  readonly #definitions: () => Definition[];
  readonly #imports: () => Import[];
  readonly #scopes: () => Nesting;
  readonly #bindings: () => Binding[];

  constructor(tree: Tree) {
    this.#tree = tree;
    this.#table = slotTableOf(tree.shape);
    this.#definitions = once(() => findDefinitions(findDefining(tree).map(locate), tree.index, tree.shape));
    this.#imports = once(() => importsOf(tree.path, tree.text));
    this.#scopes = once(() => new Nesting(this.definitions.filter(isScope), tree.index.lines.length));
    this.#bindings = once(() =>
      isScript(tree.path) || isPython(tree.path) || isGo(tree.path)
        ? bindingsOf(
            tree,
            this.definitions.filter((one) => this.#scopes().at(one.start) === null),
          )
        : bindingsOfImports(this.imports),
    );
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

  uses(): Use[] {
    return usesOf(
      this.#tree,
      new Variables(this.#scopes(), this.#tree, this.definitions, this.bindings()),
      this.#table,
    );
  }

  bindings(): Binding[] {
    return this.#bindings();
  }
}

const lineOf = ({ index }: Tree, { extent }: CachedNode) => index.lineAt(extent.from);

function callsOn(tree: Tree, lines: LineRange, table: SlotTable): Call[] {
  const { shape } = tree;
  const written = findOn(tree, shape.identifiers, lines).flatMap((node) => {
    const place = placeOf(node, table);
    if (!isCall(place.slot)) return [];
    const name = shortText(textOfNode(tree, node));
    return [{ name, line: lineOf(tree, node), receiver: receiverOfCall(tree, node, place) }];
  });
  return shape.tokenTree ? [...written, ...callsInTokens(tree, shape.tokenTree, lines)] : written;
}

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

const isScope = ({ kind }: Definition) => runs.includes(kind) || kind === "macro";

/** Variables of one name that hide a definition or an import in a part of a file; more of them hide nothing. */
const maximumHiding = 200;

const blocks =
  /block$|function|method|func_literal|lambda|closure|^for_|^if_|switch|case$|^catch|comprehension|^generator_expression$/;
const functions = /function|method|lambda|comprehension|^generator_expression$/;

/** The variables of a file. Those with the name of a definition or an import are known in their block, others in the function around. */
class Variables {
  readonly #scopes: Nesting;
  readonly #tree: Tree;
  /** Lines with names of definitions and imports. */
  readonly #defining: ReadonlySet<string>;
  readonly #defined: ReadonlySet<string>;
  readonly #hiding = new Map<string, Extent[]>();
  /** Null is the file itself. */
  readonly #names = new Map<Definition | null, Set<string>>();
  readonly #types = new Map<Definition, Map<string, string>>();

  constructor(scopes: Nesting, tree: Tree, definitions: readonly Definition[], bindings: readonly Binding[]) {
    this.#scopes = scopes;
    this.#tree = tree;
    this.#defining = new Set([
      ...bindings.map(({ local, line }) => `${line} ${local}`),
      ...definitions.flatMap(({ name, start, signatureEnd }) =>
        Array.from(
          { length: Math.min(signatureEnd - start, longestHeadLines) + 1 },
          (_, at) => `${start + at} ${name}`,
        ),
      ),
    ]);
    const named = definitions.filter(({ container }) => container === null);
    this.#defined = new Set([...named.map(({ name }) => name), ...bindings.map(({ local }) => local)]);
  }

  /** Whether the file defines or imports a name. */
  isDefined(name: string): boolean {
    return this.#defined.has(name);
  }

  /** Declares a name, unless it is that of a definition or of an import on this line. */
  declare({ name, line, node }: NameAt): void {
    if (this.#defining.has(`${line} ${name}`)) return;
    if (this.#defined.has(name)) {
      const hiding = this.#hiding.get(name) ?? [];
      if (hiding.length < maximumHiding) hiding.push(this.#blockAround(node));
      this.#hiding.set(name, hiding);
      return;
    }
    const scope = this.#scopes.at(line);
    const names = this.#names.get(scope) ?? new Set();
    this.#names.set(scope, names.add(name));
  }

  #blockAround(node: CachedNode): Extent {
    const kinds = this.#tree.shape.assignmentDeclares ? functions : blocks;
    let around = node.parent;
    for (let level = 0; around && level < maximumLevels && !kinds.test(around.kind); level++)
      around = around.parent;
    return (around ?? this.#tree.root).extent;
  }

  /** The function around a name that declares a variable so called; null for the file, undefined if the name is none of a variable. */
  declaring(name: string, { line, node }: NameAt): Definition | null | undefined {
    const { from } = node.extent;
    if (this.#defined.has(name)) {
      const isHidden = this.#hiding.get(name)?.some((one) => one.from <= from && from < one.to);
      return isHidden ? this.#scopes.at(line) : undefined;
    }
    for (let scope = this.#scopes.at(line); scope; scope = this.#scopes.outer(scope))
      if (this.#names.get(scope)?.has(name)) return scope;
    return this.#names.get(null)?.has(name) ? null : undefined;
  }

  /** The name that declares the type of a variable; empty if none does. */
  typeOf(name: string, scope: Definition | null): string {
    if (scope === null) return "";
    const types = this.#types.get(scope) ?? new Map<string, string>();
    this.#types.set(scope, types);
    let type = types.get(name);
    if (type === undefined) {
      const { path, index } = this.#tree;
      const { start, end } = scope;
      const words = [...wordsDeclaring(name, { path, lines: index.lines, start, end })];
      type = words.find((word) => isTypeName(word.split(".").at(-1) ?? "")) ?? words[0] ?? "";
      types.set(name, type);
    }
    return type;
  }
}

const longestHeadLines = 20;
/** Maximum names of a file whose uses are read: each one is asked for the nodes around it. */
const maximumNames = 60_000;
const members = /^(?:private_)?(?:property|field)_identifier$/;
/** `{ name } = …` declares a variable and reads a member of an object that is not followed. */
const shorthand = "shorthand_property_identifier_pattern";

function usesOf(tree: Tree, variables: Variables, table: SlotTable): Use[] {
  const { shape, text } = tree;
  const kinds = shape.baseCall ? [...shape.identifiers, shape.baseCall] : shape.identifiers;
  const names = findOn(tree, kinds, wholeText)
    .slice(0, maximumNames)
    .map((node): NameAt => {
      const { from, to } = node.extent;
      const name = text.slice(from, to);
      return { node, name, line: tree.index.lineAt(from), place: once(() => placeOf(node, table)) };
    });
  // In JavaScript and Python, what a file neither defines nor imports is a variable, or not of the repository.
  const isClosed = (isScript(tree.path) || isPython(tree.path)) && !variables.isDefined("*");
  const objects = new Set(names.filter((one) => hasMember(one, tree)).map(({ name }) => name));
  // Such a variable only matters if a member of it is used, because its type may be declared.
  const mayMatter = (one: NameAt) =>
    !isClosed || (!hasMember(one, tree) && (objects.has(one.name) || variables.isDefined(one.name)));
  for (const one of names)
    if (!isAfterDot(one, tree) && mayMatter(one) && declaresVariable(one, tree)) variables.declare(one);
  return names.flatMap((one) => {
    if (one.name === shape.baseCall) return baseCall(one, tree);
    const mayBeUse = !isClosed || isAfterDot(one, tree) || variables.isDefined(one.name);
    return mayBeUse ? useOf(one, variables, tree) : [];
  });
}

/** A name in the code, and its place, which takes several queries. */
interface NameAt {
  node: CachedNode;
  name: string;
  line: number;
  place: () => NameRole;
}

const hasMember = ({ node }: NameAt, { text }: Tree): boolean =>
  /^(?:[.!([]|\?\.)/.test(text.slice(node.extent.to, node.extent.to + 2));

/** Whether a name is that of a member, by the signs before it; `...name` is none. */
function isAfterDot({ node }: NameAt, { text }: Tree): boolean {
  const { from } = node.extent;
  return text[from - 1] === "." && text[from - 2] !== ".";
}

/** `super(…)` calls a member that every class has. */
function baseCall({ node, name, line }: NameAt, { text }: Tree): Use[] {
  const { to } = node.extent;
  const isCalled = /^\s*\(/.test(text.slice(to, to + 20));
  return isCalled ? [{ name: "constructor", line, role: "call", receiver: name, variable: null }] : [];
}

/** The use that a name is; none for declarations, imports, variables, and members of what is not followed. */
function useOf(one: NameAt, variables: Variables, tree: Tree): Use[] {
  const { node, name, line } = one;
  const place = one.place();
  const isInTokens = isCallInTokens(node, tree);
  const role = isInTokens ? "call" : place.slot === "shorthand" ? "read" : roleOf(place, tree.text);
  if ((role !== "call" && role !== "read" && role !== "type") || node.kind === shorthand) return [];
  const receiver = objectOf(one, role === "call" && !isInTokens, tree);
  if (receiver === null) {
    const isVariable = place.isMember || variables.declaring(name, one) !== undefined;
    return isVariable ? [] : [{ name, line, role, receiver, variable: null }];
  }
  const root = rootOf.exec(receiver)?.[1] ?? "";
  const isOwn = ownNames.has(root);
  const scope = isOwn ? undefined : variables.declaring(root, one);
  const variable = scope === undefined ? null : variables.typeOf(root, scope);
  // What a read of a member of a variable or of the own object means is not followed.
  const isFollowed = role === "call" || !(isOwn || root === "" || scope !== undefined);
  return isFollowed ? [{ name, line, role, receiver, variable }] : [];
}

/** The text before the name of a member; null if it belongs to no object. */
function objectOf({ node, place }: NameAt, isCalled: boolean, tree: Tree): string | null {
  const before = isCalled ? receiverOfCall(tree, node, place()) : pathBefore(tree.text, node.extent.from);
  // In PHP, the name of a variable is without its sign.
  return before !== null && tree.path.endsWith(".php") ? before.replace(/^\$/, "") : before;
}

/** The name that an expression begins with. */
const rootOf = /^[(*&\s]*(?:await\s+)?[(*&]*(?:new\s+)?([\p{L}_$][\p{L}\p{N}_$]*)/u;

/** A macro's arguments are tokens, as in {@link callsInTokens}. */
const isCallInTokens = ({ parent, extent }: CachedNode, { shape, text }: Tree): boolean =>
  shape.tokenTree !== undefined && text[extent.to] === "(" && parent?.kind === shape.tokenTree;

function declaresVariable({ node, place }: NameAt, { shape, text }: Tree): boolean {
  if (node.kind === shorthand) return true;
  if (members.test(node.kind)) return false;
  const role = roleOf(place(), text);
  if (place().isMember) return false;
  if (role === "definition" || place().slot === "parameter") return true;
  if (role !== "write" || !isVariable(place())) return false;
  return shape.assignmentDeclares === true || /assignment_pattern$/.test(node.parent?.kind ?? "");
}

/** The names and dots before a name; null if there is no dot before it, empty if something else than a name is before a dot. */
function pathBefore(text: string, end: number): string | null {
  const steps: string[] = [];
  let at = end;
  for (;;) {
    const sign = /(?:\?\.|(?<!\.)\.|::|->)$/.exec(text.slice(Math.max(0, at - 2), at))?.[0];
    if (sign === undefined) break;
    const name = /[\p{L}\p{N}_$]{1,100}$/u.exec(
      text.slice(Math.max(0, at - sign.length - 100), at - sign.length),
    )?.[0];
    if (name === undefined || steps.length >= longestPath) return "";
    steps.unshift(name);
    at -= sign.length + name.length;
  }
  return at === end ? null : steps.join(".");
}
