/** How many definitions and sections hold what an expression asks for; counted up to `most`. */
export type CountRows = (expression: string, most: number) => number;

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
