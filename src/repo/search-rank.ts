import { definers, definesLikely, SURE, writesLikely } from "./code/likely-definition.ts";
import { compareRanks } from "./code/names.ts";
import type { Definition } from "./code/source.ts";
import { isExample, isTestFile } from "./code/test-file.ts";
import { reasonByName } from "./diff/skipped-names.ts";

/** The kind of a file for a reader of the code, the most wanted first. */
export const fileKinds = ["product", "test", "prose", "foreign"] as const;
export type RankedKind = (typeof fileKinds)[number];

/** By name only: tests and their data; documentation and examples; vendored, generated or locked files; and the rest. */
export function fileKindOf(path: string): RankedKind {
  if (reasonByName(path) !== null) return "foreign";
  if (isTestFile(path)) return "test";
  return isExample(path) ? "prose" : "product";
}

/** Smaller ranks come first. */
export const kindRank = (path: string): number => fileKinds.indexOf(fileKindOf(path));

/** What a matching line does with a searched name, the most wanted first: most assignments only pass a value on. */
const lineRoles = ["defines", "other", "writes", "imports"] as const;
export type LineRole = (typeof lineRoles)[number];

const MAX_NAMES = 8;
const keywords: ReadonlySet<string> = new Set([...definers.split("|"), "return", "import", "from", "new"]);
/** Parts of a regular expression that are not searched as they are: escapes, classes, the heads of groups. */
const notLiteral = /\\[pPxuU]\{[^}]*\}|\\[\p{L}]|\[\^?\]?[^\]]*\]|\(\?[^):]*[):]?/gu;

const word = /[\p{L}_$][\p{L}\p{N}_$]{2,}/gu;

export function namesIn(pattern: string, isLiteral: boolean): string[] {
  const text = isLiteral ? pattern : pattern.replace(notLiteral, " ");
  return [...new Set(text.match(word))].filter((word) => !keywords.has(word)).slice(0, MAX_NAMES);
}

/** What a line does with one of the names; `definitions` are those of its file, if they are known. */
export function roleOf(
  { line, text }: { line: number; text: string },
  names: readonly string[],
  definitions: readonly Definition[] | undefined,
): LineRole {
  const words: readonly string[] = text.match(word) ?? [];
  const named = names.filter((name) => words.includes(name));
  if (named.length === 0) return "other";
  const defines =
    definitions?.some(
      ({ name, kind, start, signatureEnd }) =>
        kind !== "test" && start <= line && line <= signatureEnd && named.includes(name),
    ) ?? named.some((name) => definesLikely(text, name) >= SURE);
  if (defines) return "defines";
  if (/^\s*(?:import|from|use|using|require|#\s*include)\s/.test(text)) return "imports";
  return named.some((name) => writesLikely(text, name)) ? "writes" : "other";
}

/** Matches, given in order, as they are worth showing: product files first, each kind in rounds with the next best match of every file. */
export function inRounds<Match extends { path: string; role: LineRole }>(matches: readonly Match[]): Match[] {
  const byFile = [...Map.groupBy(matches, ({ path }) => path)].map(([path, all]) => {
    const best = all.toSorted((a, b) => lineRoles.indexOf(a.role) - lineRoles.indexOf(b.role));
    return { best, rank: kindRank(path) * lineRoles.length + lineRoles.indexOf(best[0]?.role ?? "other") };
  });
  byFile.sort((a, b) => a.rank - b.rank);
  const inTurn = byFile.flatMap(({ best }) =>
    best.map((match, round) => ({ match, key: [kindRank(match.path), round] })),
  );
  return inTurn.sort((a, b) => compareRanks(a.key, b.key)).map(({ match }) => match);
}
