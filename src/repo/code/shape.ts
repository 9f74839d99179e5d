import type { SgNode } from "@ast-grep/napi";
import { type DefinitionKind, memo, shortText } from "./source.ts";

/** A definition that a node contains. */
export interface FoundDefinition {
  kind: DefinitionKind;
  name: string;
  /** The head ends before it. */
  body?: SgNode | null;
  /** Only if the position in the file does not show it. */
  container?: string;
}

/** Reads the definitions of a node of one kind. `isLocal`: the nearest definition around it is a function, so its declarations are local. */
export type Finder = (node: SgNode, isLocal: boolean) => readonly FoundDefinition[];

/**
 * The role of a name in the node around it. Besides the roles of references: `through` and `member` pass the question to the next node
 * around (`member` if the name belongs to an object), and `method` is a call with its receiver before the name. `parameter` is a
 * definition, or a write if a default follows; `key` a write that creates no variable; `keyword` the same if a `=` follows, else a read;
 * `shorthand` a key that is also read as a variable; `path` is the start of a name that may be imported; `specifier` a definition if a body
 * follows, else a type.
 */
export type Slot =
  | "call"
  | "definition"
  | "import"
  | "write"
  | "read"
  | "type"
  | "through"
  | "member"
  | "method"
  | "parameter"
  | "key"
  | "keyword"
  | "shorthand"
  | "path"
  | "specifier";

interface Visibility {
  name: string;
  /** The text from the definition's beginning to its name. */
  head: string;
  /** Whether it is in an interface or a trait. */
  inInterface: boolean;
  inClass: boolean;
  /** Names in the file's export list. */
  listed: ReadonlySet<string>;
}

/** A language as tables of the node kinds of its grammars. Kinds that a dialect does not have are ignored for it. */
export interface Shape {
  /** Nodes that define the name in their field `name`, with blanks between. Their head ends before the field `body`. */
  named: Readonly<Partial<Record<DefinitionKind, string>>>;
  /** All other nodes that define names. */
  definitions: Readonly<Record<string, Finder>>;
  /** For each kind, a regular expression that the text of a node must match. */
  heads?: Readonly<Record<string, string>>;
  /** Nodes around a definition that belong to it, with their lines. */
  wrappers?: readonly string[];
  /** Nodes around a definition that begin with it and may contain others. */
  groups?: readonly string[];
  /** Nodes before a definition that belong to it. */
  attributes?: readonly string[];
  /** The beginning of a line that is a comment; default: two slashes. */
  lineComment?: RegExp;
  isExported(definition: Visibility): boolean;
  exportList?(text: string): Set<string>;
  identifiers: readonly string[];
  /**
   * For each role, the positions of names that have it, with blanks between: `parent.field`, `parent.#0` (first named child), `parent.#last`,
   * `parent>kind`, or `parent.*` for all others.
   */
  slots: Readonly<Partial<Record<Slot, string>>>;
  /** The kind of a macro's arguments. */
  tokenTree?: string;
  /** Whether an assignment declares a variable of the function around. */
  assignmentDeclares?: true;
  /** The kind of the word that, if it is called, calls the constructor of the base class. */
  baseCall?: string;
}

export const textOf = (node: SgNode | null | undefined): string => (node ? shortText(node.text()) : "");

/** A finder for nodes with a field `name` and a body in the first existing one of the fields. */
export function named(
  kind: DefinitionKind,
  ...bodies: string[]
): (node: SgNode) => readonly FoundDefinition[] {
  return (node) => {
    const name = textOf(node.field("name"));
    return name ? [{ kind, name, body: firstField(node, bodies.length > 0 ? bodies : ["body"]) }] : [];
  };
}

/** The finders of a language, by the kind of the node that defines. */
export const findersOf = memo((shape: Shape): ReadonlyMap<string, Finder> => {
  const plain = Object.entries(shape.named).flatMap(([kind, nodes]) =>
    nodes.split(" ").map((node) => [node, named(kind as DefinitionKind)] as const),
  );
  return new Map([...plain, ...Object.entries(shape.definitions)]);
});

export function firstField(node: SgNode, fields: readonly string[]): SgNode | null {
  for (const field of fields) {
    const found = node.field(field);
    if (found) return found;
  }
  return null;
}

export function firstOfKind(node: SgNode, kinds: readonly string[]): SgNode | null {
  return node.children().find((child) => kinds.includes(String(child.kind()))) ?? null;
}

export const isUpperCase = (name: string): boolean => /^[A-Z][A-Z0-9_]*$/.test(name);

/** A string literal without its quotes; null for other nodes and for concatenated strings. */
export function stringText(node: SgNode | null | undefined): string | null {
  const match = /^[a-zA-Z]{0,2}(["'`]{1,3})([^"'`\n]{1,500})\1$/.exec(node ? node.text().slice(0, 510) : "");
  return match?.[2] ?? null;
}

/** Goes up through nodes of `passing` kinds. Whether the node around them is one of `wanted`. */
export function isInside(node: SgNode, passing: readonly string[], wanted: readonly string[]): boolean {
  for (let around = node.parent(); around; around = around.parent()) {
    const kind = String(around.kind());
    if (wanted.includes(kind)) return true;
    if (!passing.includes(kind)) return false;
  }
  return false;
}
