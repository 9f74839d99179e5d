import type { Located } from "../../syntax/find-nodes.ts";
import { indexLines } from "../../syntax/line-index.ts";
import type { FactRole, ImportFact, Walked } from "../facts.ts";

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

/** What a name stands for within a scope. */
interface Binding {
  line: number;
  /** A type expression; null where nobody knows. */
  type: string | null;
  /** Whether the file defines it there (a function, a class), or only gives a value to a variable. */
  defines: boolean;
  /** Of what is imported within a function: as what the file's imports know it. */
  imported?: string;
  /** Types of its fields, or of those of its elements, where its type has no name. */
  shape?: Shape;
}

export type Shape = ReadonlyMap<string, string>;

/** Names that hold in a part of a file. The outermost scope holds what the file defines and imports. */
export interface Scope {
  names: Map<string, Binding>;
  outer: Scope | null;
}

/** How a name is used. */
export type UseRole = Extract<FactRole, "call" | "read" | "type" | "super">;

type Found = { [Key in keyof Walked]: Walked[Key][number][] };

/** Keeps what a walk of a file finds. */
export class Notes implements Walked {
  readonly references: Found["references"] = [];
  readonly imports: ImportFact[] = [];
  readonly types: Found["types"] = [];
  readonly supers: Found["supers"] = [];
  readonly fields: Found["fields"] = [];
  readonly top: Scope = { names: new Map(), outer: null };
  readonly #imported = new Set<string>();
  readonly #fields = new Map<string, Found["fields"][number]>();

  import(fact: ImportFact): void {
    this.imports.push(fact);
    if (fact.local !== "" && !fact.again) this.#imported.add(fact.local);
  }

  /** What is imported within a function holds there alone: another name of the file may be called so. */
  importIn(scope: Scope, fact: ImportFact): void {
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
    if (type !== null && type !== "?" && type.length <= maximumType) this.types.push({ name, line, type });
  }

  /** A field that an assignment declares; of several the first whose type is known. */
  field(field: Found["fields"][number]): void {
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

  /** A module that is used where it is loaded: it gets a name that no file gives. */
  module(specifier: string, line: number): string {
    const local = `$module_${this.imports.length}`;
    this.import({ specifier, imported: "*", local, line, again: false });
    return `=${local}`;
  }

  isImported(name: string): boolean {
    return this.#imported.has(name);
  }

  /** A name that belongs to an object. */
  member(name: string, line: number, role: UseRole, object: string): void {
    const hint = object.length <= maximumType ? object : "?";
    this.references.push({ name, line, role, via: "member", hint, declared: null });
  }

  /** A name that stands alone. What is a local variable is nobody's business. */
  name(name: string, line: number, role: UseRole, scope: Scope): void {
    const found = lookUp(name, scope);
    if (found && found.scope.outer !== null) {
      this.#local(name, line, role, found.binding);
      return;
    }
    const via = this.#imported.has(name) ? "import" : found ? "own" : "free";
    this.references.push({ name, line, role, via, hint: null, declared: found?.binding.line ?? null });
  }

  /** A function within a function is a definition; a variable that holds a method calls that method. */
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

  /** What a name is: a value of this file, or what is known of a local variable. */
  typeOf(name: string, scope: Scope): string {
    const found = lookUp(name, scope);
    if (!found || found.scope.outer === null) return `=${name}`;
    const { type, defines } = found.binding;
    // A class within a function is found by its name where the file has no other one of that name.
    return type ?? (defines && !this.top.names.has(name) && !this.#imported.has(name) ? `=${name}` : "?");
  }
}

/** Longer type expressions say nothing that anybody could follow. */
const maximumType = 160;

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
  // What is declared twice is what it was first: most often a variable that is given another value of the same type.
  const known = scope.names.get(name);
  if (!known) scope.names.set(name, { line, type, defines, ...(shape ? { shape } : {}) });
  else if (known.type === null) known.type = type;
}

/** What a walk carries with it. */
export interface Context {
  source: string;
  notes: Notes;
  text(node: Reduced): string;
  /** The class that the code is a part of. */
  owner: string | null;
  /** Python: what a method calls its own object, and whether the code stands in a class but in none of its methods. */
  self?: string;
  isClassBody?: boolean;
  /** What the function around answers, as far as it was seen. */
  answers?: string[];
  /** What the class around extends, and where that name is looked up. */
  parent?: { node: Reduced; scope: Scope };
  /** Goes on with the nodes below, whichever file of the language knows them. */
  walkAll(nodes: readonly Reduced[], scope: Scope, context: Context): void;
}

/** What is known before a language's walk begins. */
export type FirstContext = Omit<Context, "walkAll">;

export function createContext(source: string, notes: Notes): FirstContext {
  return { source, notes, text: (node) => source.slice(node.from, node.to), owner: null };
}

/** Whether a value is all that is given: nothing but brackets and `await` stands around it. */
export function isWhole(node: Reduced, value: Reduced, { source }: Context): boolean {
  const before = source.slice(Math.max(node.from, value.from - 40), value.from);
  const behind = source.slice(value.to, Math.min(node.to, value.to + 40));
  return /(?:=>?|:=|return|^)\s*(?:await\s+|\(\s*)*$/.test(before) && /^[\s)!;,]*$/.test(behind);
}

export const childrenAfter = (node: Reduced, child: Reduced): Reduced[] =>
  node.children.filter(({ from }) => from >= child.to);

/** What a member belongs to where no name stands in front of it: a string, a number or a list written there is nobody's own. */
export const literalType = ({ from }: Reduced, { source }: Context): string =>
  /^(?:[rbfuRBFU]{0,2}["'`]|[[{\d])/.test(source.slice(from, from + 3)) ? ":builtin" : "?";
