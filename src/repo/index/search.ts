import type { DatabaseSync } from "node:sqlite";
import type { Modules } from "../code/imports.ts";
import { compareRanks } from "../code/names.ts";
import { isTestFile } from "../code/test-file.ts";
import { reasonByName } from "../diff/skipped-names.ts";
import type { Callers } from "./callers.ts";
import type { GraphCommit, GraphFinding, VectorSearch } from "./graph.ts";
import {
  type DefinitionAt,
  definitionOf,
  type HeadFacts,
  type Schema,
  SEQ_BITS,
  tablePrefix,
} from "./store.ts";
import { partsOf, queryWords, wordsOf } from "./words.ts";

/** A result of a query before any step through the graph. */
export type Seed = SeedNode & { score: number };

type SeedNode =
  | { kind: "symbol"; of: DefinitionAt }
  | { kind: "file"; path: string }
  | { kind: "commit"; of: GraphCommit }
  | { kind: "finding"; of: GraphFinding };

/** What queries are answered from. */
export interface QuerySources {
  database: DatabaseSync;
  head: HeadFacts;
  modules: Modules;
  callers: Callers;
  commits: readonly GraphCommit[];
  findings: readonly GraphFinding[];
  nearest: VectorSearch | undefined;
}

/** The intent of a query, by its words. */
export interface Intent {
  callers: boolean;
  tests: boolean;
  history: boolean;
}

export const intentOf = (query: string): Intent => ({
  callers: /\b(?:call(?:s|er|ers|ed)?|uses?|used by|invoke[sd]?|who)\b/i.test(query),
  tests: /\b(?:tests?|tested|testing|specs?|covered|coverage)\b/i.test(query),
  history:
    /\b(?:decided?|decision|before|earlier|why|history|fixed|dismiss(?:ed)?|rejected|agreed|introduced|changed)\b/i.test(
      query,
    ),
});

const MAX_QUERY = 2_000;
const MAX_WORDS = 24;
const MAX_LISTED = 40;
/** Reciprocal rank fusion: a larger offset reduces the advantage of the first places of a list (Cormack et al., 2009). */
const RANK_OFFSET = 60;

/** Finds the k best matches for a query: by names, words and paths, and by meaning if there are vectors. */
export async function findSeeds(
  sources: QuerySources,
  query: string,
  k: number,
  signal: AbortSignal,
): Promise<Seed[]> {
  const { database, head, commits, findings } = sources;
  const { names, words } = queryWords(query.slice(0, MAX_QUERY));
  const asked = words.slice(0, MAX_WORDS);
  const history = intentOf(query).history ? 2 : 1;
  const plainNames = names.filter((name) => !looksLikeName(name) && asked.includes(name.toLowerCase()));
  const inFindings = byText(findings, asked, (one) => `${one.title} ${one.body} ${one.path}`);
  return fuse(
    [
      { weight: 5, found: byWholePath(head, query) },
      { weight: 4, found: byName(head, names.filter(looksLikeName)) },
      { weight: 1, found: byName(head, plainNames, MAX_PLAIN) },
      { weight: 1.5, found: byWords(database, head, asked).slice(0, MAX_LISTED).map(symbol) },
      { weight: 1, found: byPath(head, names, asked) },
      {
        weight: 0.8 * history,
        found: byText(commits, asked, ({ message }) => message).map((of) => ({ kind: "commit", of })),
      },
      { weight: history, found: inFindings.map((of) => ({ kind: "finding", of })) },
      { weight: 1.5, found: await byVectors(sources, query, k, signal) },
    ],
    k,
  );
}

const symbol = (of: DefinitionAt): SeedNode => ({ kind: "symbol", of });

function fuse(lists: readonly { weight: number; found: readonly SeedNode[] }[], k: number): Seed[] {
  const seeds = new Map<string, Seed>();
  for (const { weight, found } of lists)
    for (const [rank, node] of found.entries()) {
      const key = seedKey(node);
      const score = (seeds.get(key)?.score ?? 0) + weight / (RANK_OFFSET + rank);
      seeds.set(key, { ...(seeds.get(key) ?? node), score });
    }
  return [...seeds.values()].sort((a, b) => b.score - a.score).slice(0, k);
}

function seedKey(node: SeedNode): string {
  if (node.kind === "symbol") return `symbol ${node.of.path} ${node.of.seq}`;
  if (node.kind === "file") return `file ${node.path}`;
  return `${node.kind} ${node.kind === "commit" ? node.of.sha : node.of.id}`;
}

/** Whether a word of a query is a name by its form: `runGit`, `run_git`, `Type.method`, `HTTP2`. */
const looksLikeName = (word: string) => /[_.:#$]|\p{Ll}\p{Lu}|\p{Lu}.*\p{Ll}.*\p{Lu}|\p{N}/u.test(word);
/** If more definitions have a plain word as their name, the query does not mean one of them. */
const MAX_PLAIN = 3;

/** Kinds of definitions, the most likely target of a query first. */
const kinds = ["class", "interface", "function", "method", "type", "constant", "macro", "module", "variable"];

/** Definitions that the query names, `Type.method` before others. */
function byName(head: HeadFacts, names: readonly string[], most = Number.POSITIVE_INFINITY): SeedNode[] {
  const found = names.flatMap((name) => {
    const [last = "", container] = name.split(/[.:#]+/).toReversed();
    const all = head.named(last);
    return (all.length > most ? [] : all).map((of) => {
      const isOf = container !== undefined && of.container === container;
      const kind = kinds.indexOf(of.kind);
      return { of, rank: [isOf ? 0 : 1, -fileWorth(of.path), kind < 0 ? 20 : kind, of.exported ? 0 : 1] };
    });
  });
  return found
    .filter(({ of }) => of.kind !== "section" && of.kind !== "test")
    .sort((a, b) => compareRanks(a.rank, b.rank))
    .slice(0, MAX_LISTED)
    .map(({ of }) => symbol(of));
}

/** Files that the query names: by the whole path, or by its end. */
function byWholePath(head: HeadFacts, query: string): SeedNode[] {
  const asked = (query.slice(0, MAX_QUERY).match(/[^\s"'`,;()?!]+\.\w{1,10}/g) ?? []).slice(0, MAX_WORDS);
  const found = asked.flatMap((one) =>
    head.files.has(one) ? [one] : [...head.files.keys()].filter((path) => path.endsWith(`/${one}`)),
  );
  return found.slice(0, MAX_LISTED).map((path) => ({ kind: "file", path }));
}

function byPath(head: HeadFacts, names: readonly string[], words: readonly string[]): SeedNode[] {
  const wanted = new Set([...words, ...names.flatMap(partsOf)]);
  const hits = new Map<string, number>();
  for (const word of wanted)
    for (const path of head.pathsNaming(word)) hits.set(path, (hits.get(path) ?? 0) + 1);
  const scored = [...hits].map(([path, count]) => {
    const last = partsOf(path.slice(path.lastIndexOf("/") + 1).replace(/\.[^.]*$/, ""));
    const inName = last.filter((part) => wanted.has(part)).length;
    const score = (count + 2 * inName) * (inName / Math.max(1, last.length) + 0.1) * fileWorth(path);
    return { path, score };
  });
  scored.sort((a, b) => b.score - a.score || a.path.length - b.path.length);
  return scored.slice(0, MAX_LISTED).map(({ path }) => ({ kind: "file", path }));
}

/** Commits or findings by their words; rarer words count more. */
function byText<Item>(
  items: readonly Item[],
  words: readonly string[],
  textOf: (item: Item) => string,
): Item[] {
  if (items.length === 0 || words.length === 0) return [];
  const texts = items.map((item) => ({ item, has: new Set(wordsOf(textOf(item)).split(" ")) }));
  const weights = words.map((word) => {
    const count = texts.filter(({ has }) => has.has(word)).length;
    return count === 0 ? 0 : Math.log(1 + items.length / count);
  });
  const scored = texts.map(({ item, has }) => ({
    item,
    score: words.reduce((sum, word, at) => sum + (has.has(word) ? (weights[at] ?? 0) : 0), 0),
  }));
  const most = weights.reduce((sum, one) => sum + one, 0);
  // One common word of a long query is no match.
  return scored
    .filter(({ score }) => score > most / 4)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_LISTED)
    .map(({ item }) => item);
}

async function byVectors(
  { nearest, head }: QuerySources,
  query: string,
  k: number,
  signal: AbortSignal,
): Promise<SeedNode[]> {
  if (!nearest) return [];
  const chunks = await nearest.nearest(query, Math.max(2 * k, 10), signal);
  return chunks.flatMap(({ oid, startLine, endLine }) =>
    head.pathsWith(oid).map((path): SeedNode => {
      const first = head
        .definitionsIn(path)
        .find(({ start, end }) => start <= endLine && end >= startLine && start >= startLine - 2);
      return first ? symbol(first) : { kind: "file", path };
    }),
  );
}

/** Best rows of each schema that are ranked further. */
const MAX_ROWS = 200;
/** Rows that are enough to choose from. */
const ENOUGH_ROWS = 100;

/** Definitions and sections by their words, the best first: bm25, with words of the name weighing more than words of the text. */
function byWords(database: DatabaseSync, head: HeadFacts, words: readonly string[]): DefinitionAt[] {
  if (words.length === 0) return [];
  const scored = (["main", "temp"] as const).flatMap((schema) =>
    matchingRows(database, schema, words).flatMap((row) =>
      head.pathsOf(Number(row.blob)).map((path) => {
        const of = definitionOf(row, path);
        return { of, score: Number(row.rank) * nameMatch(of, head, words) * worthOf(of) };
      }),
    ),
  );
  return scored.sort((a, b) => a.score - b.score).map(({ of }) => of);
}

function matchingRows(database: DatabaseSync, schema: Schema, words: readonly string[]) {
  const prefix = tablePrefix(schema);
  const table = `${prefix}words`;
  const matches = `FROM ${schema}.${table} WHERE ${table} MATCH ?
    AND EXISTS (SELECT 1 FROM temp.present WHERE blob = ${table}.rowid >> ${SEQ_BITS})`;
  const counting = database.prepare(`SELECT count(*) AS rows FROM (SELECT 1 ${matches} LIMIT ?)`);
  const count = (expression: string, most: number) => Number(counting.get(expression, most)?.rows ?? 0);
  const found = `SELECT rowid AS id, bm25(${table}, 8.0, 1.0) AS rank ${matches} ORDER BY rank LIMIT ${MAX_ROWS}`;
  return database
    .prepare(
      `SELECT definition.*, rank FROM (${found}) JOIN ${schema}.${prefix}definition AS definition
        ON blob = id >> ${SEQ_BITS} AND seq = id & ${2 ** SEQ_BITS - 1} ORDER BY rank`,
    )
    .all(expressionFor(words, count, ENOUGH_ROWS));
}

/** 1 to 2, by the share of the words that are in the name or the path. */
function nameMatch({ name, path }: DefinitionAt, head: HeadFacts, words: readonly string[]): number {
  const parts = [...partsOf(name), ...head.pathParts(path)];
  return 1 + words.filter((word) => parts.includes(word)).length / words.length;
}

const worthOf = ({ kind, path }: DefinitionAt) =>
  fileWorth(path) * (kind === "test" ? 0.6 : kind === "section" ? 1.2 : kind === "field" ? 0.7 : 1);

/** Vendored, generated and locked files are the last that a query means. */
const fileWorth = (path: string): number => (reasonByName(path) !== null ? 0.3 : isTestFile(path) ? 0.8 : 1);

/** Words in more rows than this are slow: every match is ranked. */
const FREQUENT = 1_500;
/** Frequent words that are used, the rarest first. */
const MAX_FREQUENT = 4;

/**
 * The FTS5 expression for some words: every row with any of them, but of frequent words only the rows that rank first, with one in the name and
 * the others anywhere. It becomes wider while fewer than `wanted` rows match. `count` counts matching rows up to `most`.
 */
export function expressionFor(
  words: readonly string[],
  count: (expression: string, most: number) => number,
  wanted: number,
): string {
  const quoted = [...new Set(words)].map((word) => `"${word.replaceAll('"', "")}"`);
  const counted = quoted
    .map((word) => ({ word, rows: count(word, FREQUENT + 1) }))
    .sort((a, b) => a.rows - b.rows);
  const rare = counted.filter(({ rows }) => rows <= FREQUENT).map(({ word }) => word);
  const frequent = counted.filter(({ rows }) => rows > FREQUENT).map(({ word }) => word);
  if (frequent.length === 0) return any(quoted);
  const few = frequent.slice(0, MAX_FREQUENT);
  const tier = tiersOf(few).find((one) => count(one, wanted) >= wanted) ?? any(few);
  if (rare.length === 0) return tier;
  // A frequent word next to a rare one counts as well.
  return any([...rare, `(${any(rare)} AND ${any(frequent)})`, tier]);
}

const any = (parts: readonly string[]): string => `(${parts.join(" OR ")})`;
const all = (parts: readonly string[]): string => `(${parts.join(" AND ")})`;

/** Expressions for some words, from the narrowest to the widest. */
function tiersOf(words: readonly string[]): string[] {
  const inName = `name : ${any(words)}`;
  if (words.length === 1) return [inName];
  const pairs = any(words.flatMap((one, at) => words.slice(at + 1).map((other) => all([one, other]))));
  return [`((${inName}) AND ${all(words)}) OR name : ${pairs}`, `(${inName}) AND ${pairs}`, pairs];
}
