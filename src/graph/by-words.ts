import type { DatabaseSync } from "node:sqlite";
import { kindRank } from "../tools/file-kind.ts";
import { type DefinitionAt, definitionOf, type Head } from "./head.ts";
import { prefix, SEQ_BITS } from "./schema.ts";
import { partsOf } from "./words.ts";
import { expressionFor } from "./words-expression.ts";

/** Rows that are looked at before those of other heads fall out. */
const MAX_ROWS = 200;
/** Rows that are enough to choose from. */
const ENOUGH_ROWS = 100;

/** Definitions and sections by their words, the best first: bm25, where a word of the name counts several of the text. */
export function byWords(database: DatabaseSync, head: Head, words: readonly string[]): DefinitionAt[] {
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

export const fileWorth = (path: string): number => [1, 0.8, 1, 0.3][kindRank(path)] ?? 1;
