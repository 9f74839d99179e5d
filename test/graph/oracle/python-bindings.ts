import type { Syntax } from "./lezer-tree.ts";

export interface PythonFunction {
  path: string;
  line: number;
  name: string;
  node: Syntax;
  /** Around it. */
  scope: Scope;
  inner: Scope;
  cls: PythonClass | null;
  returns: Syntax | null;
  decorators: readonly string[];
}

export interface PythonClass {
  path: string;
  line: number;
  name: string;
  /** Around it. */
  scope: Scope;
  inner: Scope;
  bases: readonly Syntax[];
  /** What methods assign to `self.name`. */
  attributes: Map<string, Binding[]>;
}

/** What a name was given. */
export type Binding =
  | { kind: "function"; value: PythonFunction }
  | { kind: "class"; value: PythonClass }
  | { kind: "import"; specifier: string }
  | { kind: "from"; specifier: string; name: string }
  | { kind: "value" | "typed" | "entered" | "instance"; value: Syntax; scope: Scope }
  | { kind: "self" | "cls"; value: PythonClass }
  | { kind: "unknown" };

export interface Scope {
  kind: "module" | "function" | "class" | "inner";
  path: string;
  parent: Scope | null;
  bindings: Map<string, Binding[]>;
  /** Modules that all names are imported from. */
  stars: string[];
  /** Names that belong to the module (`global`) or to a function around (`nonlocal`). */
  elsewhere: Map<string, Scope>;
  /** The method's class, where it is a method. */
  cls: PythonClass | null;
}

/** Something that is called, seen from where that is done. */
export interface PythonCall {
  callee: Syntax;
  scope: Scope;
}

/** All that the files of a repository bind and call. */
export interface PythonFile {
  path: string;
  scope: Scope;
  functions: PythonFunction[];
  classes: PythonClass[];
  calls: PythonCall[];
  /** Lines that the parser could not make sense of. */
  unread: readonly number[];
}
