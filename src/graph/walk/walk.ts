import { indexLines, type Located } from "../../code/tree.ts";
import type { FactRole, ImportFact, WalkResult } from "../facts.ts";

/** A node of one of the selected kinds. Its children are the nearest such nodes within it. */
export interface TreeNode {
  kind: string;
  /** The first index in the text, and the one after the last. */
  from: number;
  to: number;
  /** 1-indexed. */
  line: number;
  lastLine: number;
  children: TreeNode[];
}

/** The tree of the nodes of some kinds only. */
export function filterTree(located: readonly Located[], kinds: ReadonlySet<string>, text: string): TreeNode {
  const { lineAt } = indexLines(text);
  const nodes = located.flatMap(({ kind, from, to }): TreeNode[] =>
    kinds.has(kind) ? [{ kind, from, to, line: lineAt(from), lastLine: lineAt(to), children: [] }] : [],
  );
  // The sort is stable, so of two nodes with the same range the outer one stays first: the search finds it before its children.
  nodes.sort((a, b) => a.from - b.from || b.to - a.to);
  const top: TreeNode = {
    ...{ kind: "", from: 0, to: Number.POSITIVE_INFINITY, line: 1, lastLine: 1, children: [] },
  };
  const open = [top];
  for (const node of nodes) {
    while ((open.at(-1) as TreeNode).to < node.to || (open.at(-1) as TreeNode).to <= node.from) open.pop();
    (open.at(-1) as TreeNode).children.push(node);
    open.push(node);
  }
  return top;
}

export const childOf = (node: TreeNode, ...kinds: string[]): TreeNode | undefined =>
  node.children.find(({ kind }) => kinds.includes(kind));

/** What a name means within a scope. */
interface Binding {
  line: number;
  /** A type expression; null if unknown. */
  type: string | null;
  /** Whether it is a definition (a function, a class), not a variable. */
  defines: boolean;
  /** For an import within a function: its name among the imports of the file. */
  imported?: string;
  /** Types of its fields, or of its elements' fields, if its type has no name. */
  shape?: Shape;
}

export type Shape = ReadonlyMap<string, string>;

/** The names of a part of a file. The outermost scope has what the file defines and imports. */
export interface Scope {
  names: Map<string, Binding>;
  outer: Scope | null;
}

/** How a name is used. */
export type UseRole = Extract<FactRole, "call" | "read" | "type" | "super">;

type Import = Omit<ImportFact, "reexport">;

type Mutable = { [Key in keyof WalkResult]: WalkResult[Key][number][] };

/** Collects what a walk of a file finds. */
export class FactCollector implements WalkResult {
  readonly references: Mutable["references"] = [];
  readonly imports: ImportFact[] = [];
  readonly types: Mutable["types"] = [];
  readonly supers: Mutable["supers"] = [];
  readonly fields: Mutable["fields"] = [];
  readonly top: Scope = { names: new Map(), outer: null };
  readonly #imported = new Set<string>();
  readonly #fields = new Map<string, Mutable["fields"][number]>();

  import(fact: Import): void {
    this.imports.push({ ...fact, reexport: false });
    if (fact.local !== "") this.#imported.add(fact.local);
  }

  reexport(fact: Import): void {
    this.imports.push({ ...fact, reexport: true });
  }

  /** An import within a function is only valid there. If the file has the name already, it gets another one. */
  importIn(scope: Scope, fact: Import): void {
    const { local } = fact;
    if (scope.outer === null || local === "" || local === "*") {
      this.import(fact);
      return;
    }
    const isFree = !this.top.names.has(local) && !this.#imported.has(local);
    const imported = isFree ? local : `$${local}_${this.imports.length}`;
    this.import({ ...fact, local: imported });
    scope.names.set(local, { line: fact.line, type: `=${imported}`, defines: false, imported });
  }

  type(name: string, line: number, type: string | null): void {
    if (type !== null && type !== "?" && type.length <= MAX_TYPE) this.types.push({ name, line, type });
  }

  /** A field that an assignment declares. The first known type counts. */
  field(field: Mutable["fields"][number]): void {
    const type = field.type === "?" ? null : field.type;
    const key = `${field.container}.${field.name}`;
    const known = this.#fields.get(key);
    if (known) known.type ??= type;
    else {
      const added = { ...field, type };
      this.#fields.set(key, added);
      this.fields.push(added);
    }
  }

  /** A module that is used without a name, as in `require("a").b`. It gets a name that no file can have. */
  module(specifier: string, line: number): string {
    const local = `$module_${this.imports.length}`;
    this.import({ specifier, imported: "*", local, line });
    return `=${local}`;
  }

  /** The use of a member. */
  member(name: string, line: number, role: UseRole, object: string): void {
    const hint = object.length <= MAX_TYPE ? object : "?";
    this.references.push({ name, line, role, via: "member", hint, declared: null });
  }

  /** The use of a plain name. Local variables are left out. */
  name(name: string, line: number, role: UseRole, scope: Scope): void {
    const found = lookUp(name, scope);
    if (found && found.scope.outer !== null) {
      this.#local(name, line, role, found.binding);
      return;
    }
    const via = this.#imported.has(name) ? "import" : found ? "own" : "free";
    this.references.push({ name, line, role, via, hint: null, declared: found?.binding.line ?? null });
  }

  /** A local name may be an import or a function. A call of a variable that holds a method calls that method. */
  #local(name: string, line: number, role: UseRole, binding: Binding): void {
    const { defines, type, line: declared, imported } = binding;
    if (imported !== undefined) {
      this.references.push({ name: imported, line, role, via: "import", hint: null, declared: null });
      return;
    }
    if (defines) {
      this.references.push({ name, line, role, via: "own", hint: null, declared });
      return;
    }
    const held = /^(.+)\.([\p{L}_$][\p{L}\p{N}_$]*)$/u.exec(type ?? "");
    if (role === "call" && held?.[1] && held[2]) this.member(held[2], line, role, held[1]);
  }

  /** The type expression of a name. */
  typeOf(name: string, scope: Scope): string {
    const found = lookUp(name, scope);
    if (!found || found.scope.outer === null) return `=${name}`;
    const { type, defines } = found.binding;
    // A class within a function is found by its name if the name is unique in the file.
    return type ?? (defines && !this.top.names.has(name) && !this.#imported.has(name) ? `=${name}` : "?");
  }
}

/** Longer type expressions cannot be followed. */
const MAX_TYPE = 160;

export function lookUp(name: string, from: Scope): { binding: Binding; scope: Scope } | null {
  for (let scope: Scope | null = from; scope; scope = scope.outer) {
    const binding = scope.names.get(name);
    if (binding) return { binding, scope };
  }
  return null;
}

export const innerScope = (outer: Scope): Scope => ({ names: new Map(), outer });

export function declare(
  scope: Scope,
  name: string,
  line: number,
  type: string | null,
  defines = false,
  shape?: Shape | null,
): void {
  // The first declaration counts: most second ones assign another value of the same type.
  const known = scope.names.get(name);
  if (!known) scope.names.set(name, { line, type, defines, ...(shape ? { shape } : {}) });
  else if (known.type === null) known.type = type;
}

/** The state of a walk. */
export interface Context {
  source: string;
  facts: FactCollector;
  text(node: TreeNode): string;
  /** The class around the code. */
  owner: string | null;
  /** Python: the name of a method's own object. */
  self?: string;
  /** Python: whether the code is in a class but in none of its methods. */
  isClassBody?: boolean;
  /** Types that the function around returns, as far as they were seen. */
  returns?: string[];
  /** The base class of the class around, and the scope in which its name is looked up. */
  parent?: { node: TreeNode; scope: Scope };
}

export function createContext(source: string, facts: FactCollector): Context {
  return { source, facts, text: (node) => source.slice(node.from, node.to), owner: null };
}

/** Whether a value is the whole right side of a node, apart from brackets and `await`. */
export function isWhole(node: TreeNode, value: TreeNode, { source }: Context): boolean {
  const before = source.slice(Math.max(node.from, value.from - 40), value.from);
  const behind = source.slice(value.to, Math.min(node.to, value.to + 40));
  return /(?:=>?|:=|return|^)\s*(?:await\s+|\(\s*)*$/.test(before) && /^[\s)!;,]*$/.test(behind);
}

/** The children of a node except some. */
export const without = (node: TreeNode, ...left: (TreeNode | undefined)[]): TreeNode[] =>
  node.children.filter((one) => !left.includes(one));

/** A list of kinds of nodes, written with spaces. */
export const kinds = (list: string): string[] => list.split(/\s+/).filter(Boolean);

export const childrenAfter = (node: TreeNode, child: TreeNode): TreeNode[] =>
  node.children.filter(({ from }) => from >= child.to);

/** The type of a member's object that is not a selected node: a literal, or something unknown. */
export const literalType = ({ from }: TreeNode, { source }: Context): string =>
  /^(?:[rbfuRBFU]{0,2}["'`]|[[{\d])/.test(source.slice(from, from + 3)) ? ":builtin" : "?";
