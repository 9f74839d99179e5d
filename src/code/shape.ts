import type { SgNode } from "@ast-grep/napi";
import { type DefinitionKind, shortText } from "./source.ts";

/** What a node defines. */
export interface Found {
  kind: DefinitionKind;
  name: string;
  /** What its head ends in front of. */
  body?: SgNode | null;
  /** Only where the place in the file does not tell it. */
  container?: string;
}

/**
 * Reads what a node of one kind defines; nothing where it defines nothing that is worth a name.
 *
 * @param isLocal whether a function is the nearest definition around it: what it declares is its own then, and what is around the
 *   node need not be asked for, which costs more than all else
 */
export type Finder = (node: SgNode, isLocal: boolean) => readonly Found[];

/**
 * What a name is to the node around it. Beside the roles of references: `through` and `member` hand the question on to the
 * next node around (`member` where the name belongs to an object), `method` is a call whose receiver stands in front.
 * `parameter` is a definition, or a write where a default follows; `key` a write that makes no variable; `keyword` one
 * where a `=` follows and read otherwise; `shorthand` a key that is read as a variable as well;
 * `path` is the front of a name that may be imported; `specifier` a definition where a body follows and a type otherwise.
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

/** What is known of a definition when it is asked whether other files see it. */
interface Visibility {
  name: string;
  /** The text from the definition's beginning to its name. */
  head: string;
  /** Whether it lies in an interface or a trait. */
  inInterface: boolean;
  inClass: boolean;
  /** Names that the file exports by a list. */
  listed: ReadonlySet<string>;
}

/** A language as tables of the node kinds of its grammars. Kinds that a dialect does not have are left out for it. */
export interface Shape {
  definitions: Readonly<Record<string, Finder>>;
  /** Expressions that the text of a node of that kind has to match to be looked at. */
  heads?: Readonly<Record<string, string>>;
  /** Nodes around a definition that belong to it, with their lines. */
  wrappers: readonly string[];
  /** Nodes around a definition that begin with it and may hold others. */
  groups: readonly string[];
  /** Nodes in front of a definition that belong to it. */
  attributes: readonly string[];
  /** The beginning of a line that is a comment. */
  lineComment: RegExp;
  isExported(definition: Visibility): boolean;
  /** Names that the file exports by a list. */
  exportList?(text: string): Set<string>;
  identifiers: readonly string[];
  /**
   * What a name is by where it stands: `parent.field`, `parent.#0` (first named child), `parent.#last`, `parent>kind`
   * (a child of that kind) or `parent.*`.
   */
  slots: Readonly<Record<string, Slot>>;
  /** The kind of what a macro is given. */
  tokenTree?: string;
}

export const textOf = (node: SgNode | null | undefined): string => (node ? shortText(node.text()) : "");

/** A finder for nodes with a field `name`, and a body in the first of the fields that there is. */
export function named(kind: DefinitionKind, ...bodies: string[]): (node: SgNode) => readonly Found[] {
  return (node) => {
    const name = textOf(node.field("name"));
    return name ? [{ kind, name, body: firstField(node, bodies.length > 0 ? bodies : ["body"]) }] : [];
  };
}

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

/** A string literal without its quotes; null for other nodes and for strings that are put together. */
export function stringText(node: SgNode | null | undefined): string | null {
  const match = /^[a-zA-Z]{0,2}(["'`]{1,3})([^"'`\n]{1,500})\1$/.exec(node ? node.text().slice(0, 510) : "");
  return match?.[2] ?? null;
}

/** Climbs through nodes of `passing` kinds and tells whether what is around them is one of `wanted`. */
export function standsIn(node: SgNode, passing: readonly string[], wanted: readonly string[]): boolean {
  for (let around = node.parent(); around; around = around.parent()) {
    const kind = String(around.kind());
    if (wanted.includes(kind)) return true;
    if (!passing.includes(kind)) return false;
  }
  return false;
}
