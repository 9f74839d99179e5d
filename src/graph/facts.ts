import type { Binding, DefinitionKind, Use } from "../code/source.ts";

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
  /** The name of its declared type, see `Definition.type`; of a field that a method assigns, also the class or function that it names. */
  type: string | null;
  /** Types that it extends, implements or embeds, by their names in this file, separated by commas. */
  supers: string | null;
  /** The beginning of its signature. */
  excerpt: string;
  /** The words that find it, besides its name. */
  text: string;
}

export interface ReferenceFact extends Use {
  /** The number of the definition around it. */
  within: number | null;
}

export interface ImportFact extends Binding {
  /** The number of the function around it, which alone knows the name. */
  within: number | null;
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
