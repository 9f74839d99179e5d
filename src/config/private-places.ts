import { distance } from "fastest-levenshtein";
import { type Document, isAlias, isNode, isScalar, isSeq, type Pair } from "yaml";
import { readPatterns } from "./private-patterns.ts";
import { type Path, type PlacedPair, startOf, type YamlWalk } from "./walk-yaml.ts";

/** Somewhere in a file that names private paths, whether the schema would find it there or not. */
export interface PrivatePlace {
  path: Path;
  /** Offset of the key. */
  start: number;
  /** Offset behind the value. */
  end: number;
  /** Never an exception (`!a`): out of place it could only show more. */
  patterns: string[];
  /** Whether the value is a list of texts of one line each. */
  wellShaped: boolean;
  /** Whether this is the one that the schema reads. */
  regular: boolean;
}

/** Every pair whose key speaks of private paths, at any depth, also the second one of a key. */
export function findPrivatePlaces({ pairs, targets }: YamlWalk, text: string): PrivatePlace[] {
  const named = pairs.filter(
    // What stands within such a value belongs to it already.
    ({ path }) => isPrivateName(path.at(-1)) && !path.slice(0, -1).some(isPrivateName),
  );
  const regular = named.find(isRegular);
  return named.map((placed) => ({
    path: placed.path,
    ...extentOf(placed.pair),
    ...readPatterns(placed.pair.value, targets, text),
    regular: placed === regular,
  }));
}

/** Misspelt and embellished ones too: none of them is a key of anything else. */
export function isPrivateName(name: PropertyKey | undefined): boolean {
  if (typeof name !== "string") return false;
  const last = name.toLowerCase().split(".").at(-1)?.trim() ?? "";
  return last.includes("private") || (last.length < 10 && distance(last, "private") <= 2);
}

function isRegular({ path, document }: PlacedPair): boolean {
  return document === 0 && path.length === 2 && path[0] === "paths" && path[1] === "private";
}

/**
 * Offsets of what seems to have been meant as private paths, though YAML reads something else: `private:secrets/`, where a
 * space lacks, is one word, and a list behind a stray `?` or `:` belongs to no key. Looked for only where neither belongs:
 * a pattern or an instruction may say "private".
 */
export function findMisread(documents: readonly Document[], { pairs }: YamlWalk): number[] {
  const keys = pairs
    .filter(({ pair: { key } }) => !isText(key) || /private\s*[:=]/i.test(textOf(key)))
    .map(({ pair }) => extentOf(pair).start);
  const texts = pairs
    .filter(({ path }) => /^paths?$/i.test(String(path[0])) && path.length <= 2 && !path.some(isPrivateName))
    .flatMap(({ pair: { value }, path }) => [value, ...(path.length === 1 ? itemsOf(value) : [])]);
  const tops = documents.flatMap(({ contents }) => [contents, ...itemsOf(contents)]);
  const mentions = [...texts, ...tops]
    .filter((node) => isScalar(node) && /private/i.test(String(node.value)))
    .map(startOf);
  return [...keys, ...mentions].toSorted((a, b) => a - b);
}

/** Numbers and aliases are readable as keys too; a list, a group and nothing are not. */
const isText = (key: unknown) => isAlias(key) || (isScalar(key) && key.value !== null);
const textOf = (key: unknown) => (isScalar(key) ? String(key.value) : "");
const itemsOf = (node: unknown): unknown[] => (isSeq(node) ? node.items : []);
const endOf = (node: unknown) => (isNode(node) && node.range ? node.range[1] : 0);

function extentOf({ key, value }: Pair): { start: number; end: number } {
  const start = startOf(isNode(key) ? key : value);
  return { start, end: Math.max(start, endOf(key), endOf(value)) };
}
