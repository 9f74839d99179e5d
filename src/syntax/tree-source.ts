import type { SgNode } from "@ast-grep/napi";
import { findDefinitions } from "./find-definitions.ts";
import { findKinds, isHeaded, type Located, locate, type Tree } from "./find-nodes.ts";
import { firstIndex } from "./first-index.ts";
import { indexLines, shortText } from "./line-index.ts";
import { definitionsAt, once, tellingLiterals, within } from "./ranges.ts";
import type { Slot } from "./shape.ts";
import {
  calleeOf,
  callKinds,
  type Place,
  placeOf,
  type SlotTable,
  type Step,
  slotTableOf,
  stepAt,
} from "./slots.ts";
import type { Call, Import, Reference, ReferenceRole, Source } from "./source.ts";

const stringKinds = [
  ...["string_fragment", "string_content", "string_literal_content", "multiline_string_fragment"],
  ...["interpreted_string_literal_content", "raw_string_literal_content", "character_literal_content"],
];

/** What a syntax tree tells of its file. */
export function createTreeSource(tree: Tree): Source {
  const { shape, text } = tree;
  const table = slotTableOf(shape);
  const definitions = once(() => findDefinitions(definingNodes(tree), indexLines(text), shape));
  const calls = once(() => callsOf(tree, table));
  const imports = once(() => importsOf(tree));
  const literals = once(() =>
    findKinds(tree, stringKinds).map((node) => ({ line: lineOf(node), text: node.text() })),
  );
  return {
    isParsed: true,
    get definitions() {
      return definitions();
    },
    get imports() {
      return imports();
    },
    enclosing: (line) => definitionsAt(definitions(), line),
    calls: (start, end) => within(calls(), start, end),
    references: (names) => referencesOf(tree, names, table),
    readNames: (start, end) => readNames(tree, start, end, table),
    literals: (start, end) => tellingLiterals(within(literals(), start, end).map((one) => one.text)),
  };
}

function definingNodes(tree: Tree): readonly Located[] {
  const { shape, text, located } = tree;
  if (!located) return findKinds(tree, Object.keys(shape.definitions)).map(locate);
  return located().filter(({ kind, from, to }) => {
    const head = shape.heads?.[kind];
    return shape.definitions[kind] !== undefined && (head === undefined || isHeaded(text, head, from, to));
  });
}

const lineOf = (node: SgNode) => node.range().start.line + 1;

function importsOf(tree: Tree): Import[] {
  const { shape } = tree;
  const heads = { ...tree, shape: { ...shape, heads: shape.importHeads ?? {} } };
  return findKinds(heads, Object.keys(shape.imports)).flatMap((node) => {
    const specifiers = shape.imports[String(node.kind())]?.(node) ?? [];
    return specifiers.filter(Boolean).map((specifier) => ({ specifier, line: lineOf(node) }));
  });
}

function callsOf(tree: Tree, table: SlotTable): Call[] {
  const { text, shape } = tree;
  const bare = { ...tree, shape: { ...shape, heads: {} } };
  const written = findKinds(bare, callKinds(table)).flatMap((node) => {
    const callee = calleeOf(node, table);
    if (!callee || !shape.identifiers.includes(String(callee.name.kind()))) return [];
    const { start } = callee.name.range();
    const receiver = receiverOf(text, callee.start, start.index);
    return [{ name: shortText(callee.name.text()), line: start.line + 1, receiver }];
  });
  return shape.tokenTree ? [...written, ...callsInTokens(bare, shape.tokenTree)] : written;
}

/** Longest receiver that is looked at. */
const longestReceiver = 400;

function receiverOf(text: string, from: number, to: number): string | null {
  const before = text.slice(from, Math.min(to, from + longestReceiver)).replace(/[\s.?!:>-]+$/, "");
  return before === "" ? null : shortText(before);
}

/** What a macro is given is tokens: a name in front of parentheses is taken for a call. */
function callsInTokens(tree: Tree, kind: string): Call[] {
  return findKinds(tree, [kind]).flatMap((node) => {
    const children = node.children();
    return children.flatMap((child, at) => {
      const next = children[at + 1];
      const isCall =
        child.kind() === "identifier" && next?.kind() === kind && tree.text[next.range().start.index] === "(";
      return isCall ? [{ name: shortText(child.text()), line: lineOf(child), receiver: null }] : [];
    });
  });
}

/** More names than this are looked for one by one, since an expression of them all would be too large. */
const maximumAlternatives = 200;

/** References that are looked at in one file; only what a machine wrote has more. */
const maximumReferences = 3_000;

function referencesOf(tree: Tree, names: ReadonlySet<string>, table: SlotTable): Reference[] {
  const known = [...names].filter((name) => /^\S{1,200}$/.test(name) && tree.text.includes(name));
  if (known.length === 0) return [];
  const few = known.length <= maximumAlternatives;
  const any = `^(${known.map((name) => name.replace(/[.*+?^${}()|[\]\\#&~-]/g, "\\$&")).join("|")})$`;
  const nodes = findKinds(tree, tree.shape.identifiers, few ? any : undefined).filter((node) =>
    names.has(node.text()),
  );
  return nodes.slice(0, maximumReferences).map((node) => {
    const role = roleOf(placeOf(stepAt(node), table), tree.text);
    return { name: node.text(), line: lineOf(node), role };
  });
}

const roles: Record<Place["slot"], ReferenceRole | null> = {
  call: "call",
  method: "call",
  definition: "definition",
  import: "import",
  write: "write",
  key: "write",
  shorthand: "write",
  read: "read",
  type: "type",
  // What follows decides.
  parameter: null,
  keyword: null,
  path: null,
  specifier: null,
};

function roleOf({ slot, step }: Place, text: string): ReferenceRole {
  const role = roles[slot];
  if (role) return role;
  if (slot === "path") return isImported(step) ? "import" : "read";
  if (slot === "specifier") return step.around()?.node.field("body") ? "definition" : "type";
  if (isGiven(step.node, text)) return "write";
  return slot === "parameter" ? "definition" : "read";
}

/** Whether a `=` follows: behind the type that a parameter has, where it has one. */
function isGiven(node: SgNode, text: string): boolean {
  const { end } = node.range();
  return /^\??\s*(:[^=,()\n]*)?=(?![=>])/.test(text.slice(end.index, end.index + 200));
}

/** Levels of a path such as `a::b::c` or `a.b.c`. */
const longestPath = 12;

function isImported(step: Step): boolean {
  let around = step.around();
  for (let level = 0; around && level < longestPath; level++) {
    if (/^(import|use|using|package|namespace_use)_/.test(String(around.node.kind()))) return true;
    around = around.around();
  }
  return false;
}

/** Names of the object that a method belongs to, which nobody looks up. */
const ownNames = new Set(["self", "cls", "this", "super"]);

function readNames(tree: Tree, start: number, end: number, table: SlotTable): Set<string> {
  const read = new Set<string>();
  const defined = new Set<string>();
  for (const step of namesIn(tree, start, end)) {
    const place = placeOf(step, table);
    const role = roleOf(place, tree.text);
    const name = step.node.text();
    if (role === "read" || place.slot === "shorthand") read.add(name);
    else if (role === "definition" || (role === "write" && isVariable(place))) defined.add(name);
  }
  return new Set([...read].filter((name) => !defined.has(name) && !ownNames.has(name)));
}

const keys: readonly Slot[] = ["key", "keyword"];
const isVariable = ({ slot, isMember }: Place) => !isMember && !keys.includes(slot);

/** A node with its lines, asked for once: each question to the parser's tree costs as much as a page of arithmetic. */
interface LinedNode {
  node: SgNode;
  /** From 0. */
  first: number;
  last: number;
  children?: readonly LinedNode[];
}

function lined(node: SgNode): LinedNode {
  const { start, end } = node.range();
  return { node, first: start.line, last: end.line };
}

const linedRoots = new WeakMap<SgNode, LinedNode>();

function linedRoot(root: SgNode): LinedNode {
  const known = linedRoots.get(root) ?? lined(root);
  linedRoots.set(root, known);
  return known;
}

/** Names on lines from `start` to `end`; what lies outside of them is not entered. */
function namesIn({ root, shape }: Tree, start: number, end: number): Step[] {
  const names: Step[] = [];
  const open: { at: LinedNode; step: Step }[] = [
    { at: linedRoot(root), step: { node: root, around: () => null } },
  ];
  for (let next = open.pop(); next; next = open.pop()) {
    const { at, step } = next;
    if (shape.identifiers.includes(String(at.node.kind()))) names.push(step);
    at.children ??= at.node.children().map(lined);
    // In the order of the text, so that those in front of the lines and those behind them need not be looked at.
    for (let i = firstIndex(at.children, (child) => child.last >= start - 1); i < at.children.length; i++) {
      const child = at.children[i] as LinedNode;
      if (child.first >= end) break;
      open.push({ at: child, step: { node: child.node, around: () => step } });
    }
  }
  return names;
}
