import type { DefinitionKind, ReferenceRole } from "../code/source.ts";

/** A definition of a blob, or a section of a document. Lines are 1-indexed and inclusive. */
export interface DefinitionFact {
  name: string;
  kind: DefinitionKind | "section";
  container: string | null;
  start: number;
  end: number;
  signatureEnd: number;
  docStart: number;
  exported: boolean;
  /** The number of the definition around it. */
  outer: number | null;
  /** What its value is, or what a call of it returns: a type expression (`type-expression.ts`); null if unknown. */
  type: string | null;
  /** Types that it extends or implements, by their names in this file, separated by commas. */
  supers: string | null;
  /** The beginning of its signature. */
  excerpt: string;
  /** The words that find it, besides its name. */
  text: string;
}

/**
 * What a name is bound to, as far as its file shows:
 * - `own`: a definition of this file; `hint` is its number.
 * - `import`: a name that this file imports.
 * - `free`: nothing in this file: a global name, or one of the package.
 * - `member`: it belongs to an object; `hint` is the type expression of that object, `?` if unknown.
 */
export type Via = "own" | "import" | "free" | "member";

/** How a name is used. `super` is a class that calls the constructor of its base class, under the name of the base class. */
export type FactRole = ReferenceRole | "super";

export interface ReferenceFact {
  name: string;
  line: number;
  role: FactRole;
  via: Via;
  hint: string | null;
  /** The number of the definition around it. */
  within: number | null;
}

export interface ImportFact {
  specifier: string;
  /** The name in that module: "*" for the whole module, "default", "" if no name is taken. */
  imported: string;
  /**
   * The name in this file. For re-exports also `export=` for a module that is one value (CommonJS), and `object.name` or
   * `object.*` for members of an object of this file.
   */
  local: string;
  line: number;
  reexport: boolean;
}

/** All facts about a blob without other files. */
export interface BlobFacts {
  lines: number;
  /** The package or module that a manifest names: `package.json`, `go.mod`. */
  package: string | null;
  definitions: readonly DefinitionFact[];
  references: readonly ReferenceFact[];
  imports: readonly ImportFact[];
}

/** What a language's walk of a tree finds. It is joined with the definitions of `syntax` by name and line. */
export interface WalkResult {
  references: readonly (Omit<ReferenceFact, "within"> & {
    /** For `own`: the line of the declaration. */
    declared: number | null;
  })[];
  imports: readonly ImportFact[];
  /** Types of declarations, by name and line. */
  types: readonly { name: string; line: number; type: string }[];
  supers: readonly { name: string; line: number; supers: readonly string[] }[];
  /** Fields that only assignments declare: `self.name = …`. */
  fields: readonly { name: string; container: string; line: number; type: string | null }[];
}
