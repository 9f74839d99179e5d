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
  /** The number of the definition that it lies in. */
  outer: number | null;
  /** What a call of it, or its value, is: a type expression (`type-expression.ts`); null where nobody knows. */
  type: string | null;
  /** Types that it extends or implements, as this file names them, with commas. */
  supers: string | null;
  /** Its head and the comment above, as much as tells what it is. */
  excerpt: string;
  /** What words find it by, beside its name. */
  text: string;
}

/**
 * What a name is bound to, as far as its file tells:
 * - `own`: a definition of this file; `hint` is its number.
 * - `import`: what an import of this file calls so.
 * - `free`: nothing here: a global name, or one of the package.
 * - `member`: it belongs to an object; `hint` is the type expression of that object, `?` where nobody knows.
 */
export type Via = "own" | "import" | "free" | "member";

/** As a name is used; `super` where a class calls what sets up the one above it, under that one's name. */
export type FactRole = ReferenceRole | "super";

export interface ReferenceFact {
  name: string;
  line: number;
  role: FactRole;
  via: Via;
  hint: string | null;
  within: number | null;
}

export interface ImportFact {
  specifier: string;
  /** The name there: "*" for all of it, "default", "" where none is taken. */
  imported: string;
  /**
   * The name here. Of what is exported again also `export=` for a module that is one value (CommonJS), and `object.name` or
   * `object.*` for what an object of this file holds.
   */
  local: string;
  line: number;
  /** Whether it is exported again. */
  again: boolean;
}

/** All that is known of a blob by itself. */
export interface BlobFacts {
  lines: number;
  /** The package or module that a manifest names: `package.json`, `go.mod`. */
  package: string | null;
  definitions: readonly DefinitionFact[];
  references: readonly ReferenceFact[];
  imports: readonly ImportFact[];
}

/** What a language's walk of a tree finds; definitions are found by `syntax` and joined with it by name and line. */
export interface Walked {
  references: readonly (Omit<ReferenceFact, "within" | "hint"> & {
    hint: string | null;
    /** Of `own`: where the name is declared. */
    declared: number | null;
  })[];
  imports: readonly ImportFact[];
  /** Types of what is declared, by name and line. */
  types: readonly { name: string; line: number; type: string }[];
  supers: readonly { name: string; line: number; supers: readonly string[] }[];
  /** Fields that only assignments declare: `self.name = …`. */
  fields: readonly { name: string; container: string; line: number; type: string | null }[];
}
