import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type Scalar,
} from "yaml";

export type Path = readonly (string | number)[];

/** A pair as it stands in the file, be it the second one of its key. */
export interface PlacedPair {
  pair: Pair;
  /** Ends with the pair's own key. */
  path: Path;
  /** Which document of the file it belongs to; only the first one counts as configuration. */
  document: number;
}

/** What a file consists of, as far as the parser recovered it. */
export interface YamlWalk {
  /** In the file's order. */
  pairs: PlacedPair[];
  /** What each alias stands for. Absent: for nothing, like `*.pem` without quotes. */
  targets: Map<Alias, Node>;
  strayAliases: { alias: Alias; path: Path }[];
  /** Keys that their map has already. The parser's own search for them takes the square of a map's size. */
  repeatedKeys: Scalar[];
}

/** Visits every node of a file, keys included; unlike `toJS` it loses no pair and follows no alias. */
export function walkYaml(documents: readonly Document[]): YamlWalk {
  const walk: YamlWalk = { pairs: [], targets: new Map(), strayAliases: [], repeatedKeys: [] };
  for (const [document, { contents }] of documents.entries()) {
    visit(contents, [], { walk, document, anchors: new Map() });
  }
  return walk;
}

/** Offset at which a node begins. */
export const startOf = (node: unknown): number => (isNode(node) && node.range ? node.range[0] : 0);

/** Whether a key is a list or a group of keys, which no configuration needs. */
export function isCollectionKey({ key }: Pair, { targets }: YamlWalk): boolean {
  return isCollection(isAlias(key) ? targets.get(key) : key);
}

interface Visit {
  walk: YamlWalk;
  document: number;
  anchors: Map<string, Node>;
}

function visit(node: unknown, path: Path, context: Visit): void {
  if (isPair(node)) visitPair(node, path, context);
  else if (isAlias(node)) visitAlias(node, path, context);
  else if (isNode(node)) {
    if ("anchor" in node && node.anchor) context.anchors.set(node.anchor, node);
    if (isMap(node)) {
      context.walk.repeatedKeys.push(...repeatedIn(node.items));
      for (const pair of node.items) visitPair(pair, path, context);
    }
    if (isSeq(node)) for (const [index, item] of node.items.entries()) visit(item, [...path, index], context);
  }
}

function repeatedIn(pairs: readonly Pair[]): Scalar[] {
  const known = new Set<unknown>();
  return pairs.flatMap(({ key }) => {
    if (!isScalar(key)) return [];
    const isRepeated = known.has(key.value);
    known.add(key.value);
    return isRepeated ? [key] : [];
  });
}

function visitAlias(alias: Alias, path: Path, { walk, anchors }: Visit): void {
  const target = anchors.get(alias.source);
  if (target) walk.targets.set(alias, target);
  else walk.strayAliases.push({ alias, path });
}

function visitPair(pair: Pair, parent: Path, context: Visit): void {
  const path = [...parent, nameOf(pair.key, context)];
  context.walk.pairs.push({ pair, path, document: context.document });
  visit(pair.key, path, context);
  visit(pair.value, path, context);
}

/** "?" for a key that is no text, as YAML marks such keys. */
function nameOf(key: unknown, { anchors }: Visit): string {
  const target = isAlias(key) ? anchors.get(key.source) : key;
  return isScalar(target) ? String(target.value) : "?";
}
