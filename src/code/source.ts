export type DefinitionKind =
  | "function"
  | "method"
  | "class"
  | "interface"
  /** A type alias or an enumeration. */
  | "type"
  | "constant"
  | "variable"
  /** A field, a property or a member without a body of its own. */
  | "field"
  | "macro"
  /** A namespace, a package object or a Ruby module. */
  | "module"
  /** A block that adds to a type which stands elsewhere: Rust's `impl`, Swift's `extension`. */
  | "extension"
  /** A case of a test suite that has a sentence for a name: `it("…")`. */
  | "test";

/** What a file defines. Lines are 1-indexed and inclusive. */
export interface Definition {
  name: string;
  kind: DefinitionKind;
  /** With decorators, attributes and modifiers. */
  start: number;
  end: number;
  /** Where the comment directly above begins; equal to `start` where there is none. */
  docStart: number;
  /** The last line of its head: what stands in front of a body or a value. */
  signatureEnd: number;
  /** The class, or the receiver of a Go method, that it is a member of. */
  container: string | null;
  /** Whether other files can see it, as far as this file tells. */
  exported: boolean;
}

export interface Call {
  /** The callee's last name: `c` of `a.b.c()`. */
  name: string;
  line: number;
  /** What stands in front of that name, cut where it is long: `a.b`. */
  receiver: string | null;
}

export type ReferenceRole = "call" | "definition" | "import" | "write" | "read" | "type";

export interface Reference {
  name: string;
  line: number;
  /** `write` is what gives a value to a name: assignments, keyword arguments, keys, fields, parameters' defaults. */
  role: ReferenceRole;
}

export interface Import {
  /** As the file writes it, without quotes. */
  specifier: string;
  /** Names that may be modules of it, in Python. */
  names?: readonly string[];
  line: number;
}

/** What a source file consists of. Every answer is computed when it is first asked for. */
export interface Source {
  /** Whether a parser read it; the answers are guessed from the layout otherwise. */
  readonly isParsed: boolean;
  /** In the order of their beginnings; what lies inside of another one comes after it. */
  readonly definitions: readonly Definition[];
  readonly imports: readonly Import[];
  /** The definitions that a line lies in, outermost first; a comment above belongs to what it describes. */
  enclosing(line: number): Definition[];
  calls(startLine: number, endLine: number): Call[];
  /** Where these names stand in code, never in comments and strings; the first few thousand places. */
  references(names: ReadonlySet<string>): Reference[];
  /** Names of values that the lines rely on: read there and not defined there. Calls are not among them. */
  readNames(startLine: number, endLine: number): Set<string>;
  /** The text of string literals of 3 to 60 characters. */
  literals(startLine: number, endLine: number): string[];
}

/** Computes what is asked for once. */
export function once<T>(compute: () => T): () => T {
  let known: { value: T } | undefined;
  return () => {
    known ??= { value: compute() };
    return known.value;
  };
}

/** What lies on lines from `start` to `end`, in order. */
export const within = <T extends { line: number }>(all: readonly T[], start: number, end: number): T[] =>
  all.filter(({ line }) => line >= start && line <= end).sort((a, b) => a.line - b.line);

/** The definitions that a line lies in, outermost first, where they come in the order of their nesting. */
export const definitionsAt = (definitions: readonly Definition[], line: number): Definition[] =>
  definitions.filter((one) => one.docStart <= line && line <= one.end);

/** Texts that something could be documented by, each once: 3 to 60 characters with a letter. */
export function tellingLiterals(texts: readonly string[]): string[] {
  const trimmed = new Set(texts.map((text) => text.trim()));
  return [...trimmed].filter((text) => text.length >= 3 && text.length <= 60 && /\p{L}/u.test(text));
}

/** Longest piece of text that is taken for a name. */
const maximumName = 120;

/** A piece of code on one line, cut where it is too long for a name. */
export function shortText(text: string): string {
  const line = text
    .slice(0, maximumName * 2)
    .trim()
    .replace(/\s+/g, " ");
  return line.length > maximumName ? `${line.slice(0, maximumName)}…` : line;
}
