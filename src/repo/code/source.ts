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
  /** A block that extends a type defined elsewhere: Rust's `impl`, Swift's `extension`. */
  | "extension"
  /** A test case whose name is a sentence: `it("…")`. */
  | "test";

/** A definition in a file. Lines are 1-indexed and inclusive. */
export interface Definition {
  name: string;
  kind: DefinitionKind;
  /** With decorators, attributes and modifiers. */
  start: number;
  end: number;
  /** The start of the comment directly above; equal to `start` if there is none. */
  docStart: number;
  /** The last line of its head, which precedes a body or a value. */
  signatureEnd: number;
  /** The class, or the receiver of a Go method, that it is a member of. */
  container: string | null;
  /** Whether other files can see it, as far as this file shows. */
  exported: boolean;
  /** The name of the declared type of a field, a variable or a constant, of a function's result, or of what a type is another name for. */
  type: string | null;
}

export interface Call {
  /** The callee's last name: `c` of `a.b.c()`. */
  name: string;
  line: number;
  /** The text before that name, cut if it is long: `a.b`. */
  receiver: string | null;
}

export type ReferenceRole = "call" | "definition" | "import" | "write" | "read" | "type";

export interface Reference {
  name: string;
  line: number;
  /** `write` assigns a value to a name: assignments, keyword arguments, keys, fields, parameters' defaults. */
  role: ReferenceRole;
  /** Of a call, the text before the name, as in {@link Call}. */
  receiver?: string | null;
}

/** A use of a name that may be defined elsewhere: no use of a local variable. */
export interface Use {
  name: string;
  line: number;
  role: "call" | "read" | "type";
  /** The text before the name of a member; null if it belongs to no object. */
  receiver: string | null;
  /** If the receiver begins with a local variable, the word that declares its type, empty if none does. Null for other receivers. */
  variable: string | null;
}

/** A name that a file takes from a module, or offers to other files. */
export interface Binding {
  /** Empty for the file itself. */
  specifier: string;
  /** The name in that module: "*" for the whole module, "default", "" if no name is taken. */
  imported: string;
  /** The name in this file; for what is offered also `export=` for a module that is one value (CommonJS), and `object.name` or `object.*`. */
  local: string;
  line: number;
  /** Whether it is only offered to others: the name means nothing in this file. */
  reexport: boolean;
}

export interface Import {
  /** As the file writes it, without quotes. */
  specifier: string;
  /** Names that may be modules of it, in Python. */
  names?: readonly string[];
  line: number;
}

/** The contents of a source file. Each answer is computed on first use. */
export interface Source {
  /** Whether a parser read it; otherwise the answers are guessed from the layout. */
  readonly isParsed: boolean;
  /** In order of their beginnings; a nested definition comes after the one around it. */
  readonly definitions: readonly Definition[];
  readonly imports: readonly Import[];
  /** The definitions around a line, outermost first; a comment above belongs to the definition after it. */
  enclosing(line: number): Definition[];
  calls(startLine: number, endLine: number): Call[];
  /** The places of these names in code, on some lines or all of them, without comments and strings; the first few thousand. */
  references(names: ReadonlySet<string>, lines?: { start: number; end: number }): Reference[];
  /** Names of values that the lines read and do not define, all of them or those among some. Calls are not included. */
  readNames(startLine: number, endLine: number, among?: ReadonlySet<string>): Set<string>;
  /** The text of string literals of 3 to 60 characters. */
  literals(startLine: number, endLine: number): string[];
  /** Uses of names that the functions around do not declare as variables. Without a parser, only calls. */
  uses(): Use[];
  /** The names that the file takes from modules, and those that it offers under another name or for another module. */
  bindings(): Binding[];
}

/** Computes a value once, on first use. */
export function once<T>(compute: () => T): () => T {
  let known: { value: T } | undefined;
  return () => {
    known ??= { value: compute() };
    return known.value;
  };
}

/** Computes the value of each key once, on first use. */
export function memo<Key, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key));
    return known.get(key) as Value;
  };
}

/** The items on lines from `start` to `end`, in order. */
export const within = <T extends { line: number }>(all: readonly T[], start: number, end: number): T[] =>
  all.filter(({ line }) => line >= start && line <= end).sort((a, b) => a.line - b.line);

/** The definitions around a line, outermost first, if they are in nesting order. */
export const definitionsAt = (definitions: readonly Definition[], line: number): Definition[] =>
  definitions.filter((one) => one.docStart <= line && line <= one.end);

/** Which of some definitions, in nesting order, are around the lines of a file and around each other. */
export class Nesting {
  readonly #innermost: (Definition | null)[];
  readonly #outer = new Map<Definition, Definition | null>();

  constructor(definitions: readonly Definition[], lines: number) {
    this.#innermost = new Array<Definition | null>(lines + 2).fill(null);
    for (const one of definitions) {
      let outer = this.at(one.start);
      while (outer && outer.end < one.end) outer = this.outer(outer);
      this.#outer.set(one, outer);
      this.#innermost.fill(one, one.start, Math.min(one.end, lines) + 1);
    }
  }

  at(line: number): Definition | null {
    return this.#innermost[line] ?? null;
  }

  outer(one: Definition): Definition | null {
    return this.#outer.get(one) ?? null;
  }
}

/** Texts that may occur in documentation, without duplicates: 3 to 60 characters with a letter. */
export function tellingLiterals(texts: readonly string[]): string[] {
  const trimmed = new Set(texts.map((text) => text.trim()));
  return [...trimmed].filter((text) => text.length >= 3 && text.length <= 60 && /\p{L}/u.test(text));
}

const maximumName = 120;

/** Code on one line, cut if it is too long for a name. */
export function shortText(text: string): string {
  const line = text
    .slice(0, maximumName * 2)
    .trim()
    .replace(/\s+/g, " ");
  return line.length > maximumName ? `${line.slice(0, maximumName)}…` : line;
}
