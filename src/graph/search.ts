import type { DatabaseSync } from "node:sqlite";
import { kindRank } from "../tools/file-kind.ts";
import type { EarlierFinding, GraphCommit, Nearest } from "./graph.ts";
import { type DefinitionAt, definitionOf, type Head, prefix, SEQ_BITS } from "./store.ts";
import { partsOf, queryWords, wordsOf } from "./words.ts";

/** How many definitions and sections hold what an expression asks for; counted up to `most`. */
type CountRows = (expression: string, most: number) => number;

/** Words that more definitions have are in the way: each row that is found is ranked, which takes time. */
const FREQUENT = 1_500;
/** Of the frequent ones so many are told apart, the rarest first. */
const MAX_FREQUENT = 4;

/**
 * The expression of FTS5 that finds what is to be ranked for some words. Where none is frequent it is all rows that hold any of them.
 * Of frequent words it asks for those rows that a ranking would put first: with one of the words in the name and the others anywhere;
 * where there are less than `wanted`, for ever more.
 */
export function expressionFor(words: readonly string[], count: CountRows, wanted: number): string {
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
  // A frequent word beside a rare one counts as well.
  return any([...rare, `(${any(rare)} AND ${any(frequent)})`, tier]);
}

const any = (parts: readonly string[]): string => `(${parts.join(" OR ")})`;
const all = (parts: readonly string[]): string => `(${parts.join(" AND ")})`;

/** What a ranking puts first, then less and less of it. */
function tiersOf(words: readonly string[]): string[] {
  const inName = `name : ${any(words)}`;
  if (words.length === 1) return [inName];
  const pairs = any(words.flatMap((one, at) => words.slice(at + 1).map((other) => all([one, other]))));
  return [`((${inName}) AND ${all(words)}) OR name : ${pairs}`, `(${inName}) AND ${pairs}`, pairs];
}

/** Rows that are looked at before those of other heads fall out. */
const MAX_ROWS = 200;
/** Rows that are enough to choose from. */
const ENOUGH_ROWS = 100;

/** Definitions and sections by their words, the best first: bm25, where a word of the name counts several of the text. */
function byWords(database: DatabaseSync, head: Head, words: readonly string[]): DefinitionAt[] {
  if (words.length === 0) return [];
  const scored = (["main", "temp"] as const).flatMap((schema) =>
    rowsOf(database, schema, words).flatMap((row) => {
      const fact = definitionOf(row);
      return head.pathsOf(fact.blob).map((path) => {
        const of = { ...fact, path };
        return { of, score: Number(row.rank) * matching(of, head, words) * worthOf(of) };
      });
    }),
  );
  return scored.sort((a, b) => a.score - b.score).map(({ of }) => of);
}

function rowsOf(database: DatabaseSync, schema: "main" | "temp", words: readonly string[]) {
  const table = `${prefix(schema)}words`;
  const holding = `FROM ${schema}.${table} WHERE ${table} MATCH ?
    AND EXISTS (SELECT 1 FROM temp.present WHERE blob = ${table}.rowid >> ${SEQ_BITS})`;
  const counting = database.prepare(`SELECT count(*) AS rows FROM (SELECT 1 ${holding} LIMIT ?)`);
  const count = (expression: string, most: number) => Number(counting.get(expression, most)?.rows ?? 0);
  const found = `SELECT rowid AS id, bm25(${table}, 8.0, 1.0) AS rank ${holding} ORDER BY rank LIMIT ${MAX_ROWS}`;
  return database
    .prepare(
      `SELECT definition.*, rank FROM (${found}) JOIN ${schema}.${prefix(schema)}definition AS definition
        ON blob = id >> ${SEQ_BITS} AND seq = id & ${2 ** SEQ_BITS - 1} ORDER BY rank`,
    )
    .all(expressionFor(words, count, ENOUGH_ROWS));
}

/** What is named like the question, or lies in a file that is, counts more. */
function matching({ name, path }: DefinitionAt, head: Head, words: readonly string[]): number {
  const [own, around] = [partsOf(name), head.pathParts(path)];
  return 1 + words.filter((word) => own.includes(word) || around.includes(word)).length / words.length;
}

const worthOf = ({ kind, path }: DefinitionAt) =>
  fileWorth(path) * (kind === "test" ? 0.6 : kind === "section" ? 1.2 : kind === "field" ? 0.7 : 1);

const fileWorth = (path: string): number => [1, 0.8, 1, 0.3][kindRank(path)] ?? 1;

/** What a question is about, before any step through the graph. */
export type Seed = { score: number } & (
  | { kind: "symbol"; of: DefinitionAt }
  | { kind: "file"; path: string }
  | { kind: "commit"; of: GraphCommit }
  | { kind: "finding"; of: EarlierFinding }
);

type Found = Seed extends infer One ? (One extends Seed ? Omit<One, "score"> : never) : never;

/** What is searched. */
interface Searched {
  database: DatabaseSync;
  head: Head;
  commits: readonly GraphCommit[];
  findings: readonly EarlierFinding[];
  nearest: Nearest | undefined;
}

/** What a question wants to know, by its words. */
export interface Intent {
  callers: boolean;
  tests: boolean;
  history: boolean;
}

const intents = {
  callers: /\b(?:call(?:s|er|ers|ed)?|uses?|used by|invoke[sd]?|who)\b/i,
  tests: /\b(?:tests?|tested|testing|specs?|covered|coverage)\b/i,
  history:
    /\b(?:decided?|decision|before|earlier|why|history|fixed|dismiss(?:ed)?|rejected|agreed|introduced|changed)\b/i,
};

export const intentOf = (query: string): Intent => ({
  callers: intents.callers.test(query),
  tests: intents.tests.test(query),
  history: intents.history.test(query),
});

/** Longest question that is looked at. */
const MAX_QUERY = 2_000;
const MAX_WORDS = 24;
/** Of each list. */
const MAX_LISTED = 40;
/** Reciprocal rank fusion: how much the first place of a list is worth more than the next ones (Cormack et al., 2009). */
const RANK_OFFSET = 60;

interface List {
  weight: number;
  found: readonly Found[];
}

/** Finds what a question is about: by names, words, paths, and by meaning where there is somebody who knows it. */
export async function findSeeds(
  searched: Searched,
  query: string,
  k: number,
  signal: AbortSignal,
): Promise<Seed[]> {
  const { names, words } = queryWords(query.slice(0, MAX_QUERY));
  const asked = words.slice(0, MAX_WORDS);
  const history = intentOf(query).history ? 2 : 1;
  const lists: List[] = [
    { weight: 5, found: byWholePath(searched, query) },
    { weight: 4, found: byName(searched, names.filter(isTelling)) },
    {
      weight: 1,
      found: byName(
        searched,
        names.filter((name) => !isTelling(name) && asked.includes(name.toLowerCase())),
        MAX_PLAIN,
      ),
    },
    {
      weight: 1.5,
      found: byWords(searched.database, searched.head, asked)
        .slice(0, MAX_LISTED)
        .map((of) => ({ kind: "symbol", of })),
    },
    { weight: 1, found: byPath(searched, names, asked) },
    {
      weight: 0.8 * history,
      found: byText(searched.commits, asked, ({ message }) => message).map((of) => ({ kind: "commit", of })),
    },
    {
      weight: history,
      found: byText(searched.findings, asked, (one) => `${one.title} ${one.body} ${one.path}`).map((of) => ({
        kind: "finding",
        of,
      })),
    },
    { weight: 1.5, found: await byMeaning(searched, query, k, signal) },
  ];
  return fuse(lists, k);
}

function fuse(lists: readonly List[], k: number): Seed[] {
  const scores = new Map<string, { found: Found; score: number }>();
  for (const { weight, found } of lists)
    for (const [rank, one] of found.entries()) {
      const key = keyOf(one);
      const known = scores.get(key) ?? { found: one, score: 0 };
      known.score += weight / (RANK_OFFSET + rank);
      scores.set(key, known);
    }
  const best = [...scores.values()].sort((a, b) => b.score - a.score).slice(0, k);
  return best.map(({ found, score }) => ({ ...found, score }) as Seed);
}

function keyOf(found: Found): string {
  if (found.kind === "symbol") return `symbol ${found.of.path} ${found.of.seq}`;
  if (found.kind === "file") return `file ${found.path}`;
  return `${found.kind} ${found.kind === "commit" ? found.of.sha : found.of.id}`;
}

/** Whether a word of a question is a name by the look of it: `runGit`, `run_git`, `Type.method`, `HTTP2`. */
const isTelling = (name: string) => /[_.:#$]|\p{Ll}\p{Lu}|\p{Lu}.*\p{Ll}.*\p{Lu}|\p{N}/u.test(name);
/** A plain word that more definitions have is no name that somebody asks for. */
const MAX_PLAIN = 3;

/** Kinds of definitions, the likeliest to be asked for first. */
const kinds = ["class", "interface", "function", "method", "type", "constant", "macro", "module", "variable"];

/** Definitions whose name stands in the question, `Type.method` before others. */
function byName({ head }: Searched, names: readonly string[], most = Number.POSITIVE_INFINITY): Found[] {
  const found = names.flatMap((name) => {
    const [last = "", container] = name.split(/[.:#]+/).toReversed();
    const all = head.named(last);
    return (all.length > most ? [] : all).map((of) => {
      const isOf = container !== undefined && of.container === container;
      const kind = kinds.indexOf(of.kind);
      return { of, rank: [isOf ? 0 : 1, kindRank(of.path), kind < 0 ? 20 : kind, of.exported ? 0 : 1] };
    });
  });
  const sorted = found
    .filter(({ of }) => of.kind !== "section" && of.kind !== "test")
    .sort((a, b) => compare(a.rank, b.rank));
  return sorted.slice(0, MAX_LISTED).map(({ of }) => ({ kind: "symbol", of }));
}

function compare(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((value, index) => value !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

/** Files that the question names: by the whole path, or by how it ends. */
function byWholePath({ head }: Searched, query: string): Found[] {
  const asked = (query.slice(0, MAX_QUERY).match(/[^\s"'`,;()?!]+\.\w{1,10}/g) ?? []).slice(0, MAX_WORDS);
  const found = asked.flatMap((one) =>
    head.files.has(one) ? [one] : [...head.files.keys()].filter((path) => path.endsWith(`/${one}`)),
  );
  return found.slice(0, MAX_LISTED).map((path) => ({ kind: "file", path }));
}

/** Files whose path has words of the question. */
function byPath({ head }: Searched, names: readonly string[], words: readonly string[]): Found[] {
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

/** Texts by their words, the rarer ones counting more. */
function byText<One>(all: readonly One[], words: readonly string[], textOf: (one: One) => string): One[] {
  if (all.length === 0 || words.length === 0) return [];
  const texts = all.map((one) => ({ one, has: new Set(wordsOf(textOf(one)).split(" ")) }));
  const weights = words.map((word) => {
    const count = texts.filter(({ has }) => has.has(word)).length;
    return count === 0 ? 0 : Math.log(1 + all.length / count);
  });
  const scored = texts.map(({ one, has }) => ({
    one,
    score: words.reduce((sum, word, at) => sum + (has.has(word) ? (weights[at] ?? 0) : 0), 0),
  }));
  const most = weights.reduce((sum, one) => sum + one, 0);
  // One common word of a long question is no match.
  return scored
    .filter(({ score }) => score > most / 4)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_LISTED)
    .map(({ one }) => one);
}

async function byMeaning(
  { nearest, head }: Searched,
  query: string,
  k: number,
  signal: AbortSignal,
): Promise<Found[]> {
  if (!nearest) return [];
  const chunks = await nearest.nearest(query, Math.max(2 * k, 10), signal);
  return chunks.flatMap(({ oid, startLine, endLine }) =>
    head.pathsWith(oid).map((path): Found => {
      const inside = head
        .definitionsIn(path)
        .filter(({ start, end }) => start <= endLine && end >= startLine && start >= startLine - 2);
      const [of] = inside;
      return of ? { kind: "symbol", of } : { kind: "file", path };
    }),
  );
}
