import { setImmediate } from "node:timers/promises";
import {
  type CodeFile,
  type DefinitionSite,
  fullName,
  isDeclaration,
  isPrivate,
  isRun,
  isType,
} from "../../../repo/code/code-file.ts";
import { closeness, compareRanks, constructors, wordsOfName } from "../../../repo/code/names.ts";
import type { Definition } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type Changed, isGenerated, shareOf } from "./changed.ts";
import { joined, type LineSpan, type Lookup, linesIn, rangesOf } from "./lookup.ts";
import { beginning, definitionPiece, type Piece, type ShownLines } from "./pieces.ts";
import { baseTypes } from "./surroundings.ts";

/*
 * Finds what a changed definition was written like: the sibling implementation, the other half, the code that it was copied from. Two
 * definitions are alike if they use the same rare words, have some in their names, and if their types have a base in common.
 */

/** Lines of a definition that is compared, and of a type; how much of them is read, and how much of a long changed definition. */
const LEAST_LINES = 2;
const MAX_RUN_LINES = 150;
const MAX_TYPE_LINES = 60;
const MAX_READ = 80;
const MAX_CHARACTERS = 300;
const WHOLE_LINES = 40;
const AROUND = 6;
const MAX_CHANGED = 60;
const MAX_DEFINITIONS = 6_000;
/** A word in a larger share of the definitions says nothing. */
const COMMON_SHARE = 0.2;
const FEW = 12;
/** A definition counts as if it had at least so many rare words: two getters are no twins. */
const LEAST_WORDS = 4;
/** Weight of a word in a name, of a common base, and of a name of the same type with the same rare words. */
const IN_NAME = 3;
const RELATED = 0.3;
const NAME_ALONE = 0.75;

const ALIKE = 1.3;
/** A small change has room for anything, so what is shown there must be alike for certain. */
const [OF_LARGE, OF_SMALL] = [
  { least: 0.15, most: 6 },
  { least: 0.25, most: 2 },
];
/** Many implementations of one name say little more than two. */
const OF_A_NAME = 2;
const REPEATED = 0.3;
const MAX_LINES = 40;
/** Of a longer one: lines of the head, how many lines tell most, and lines around each. */
const HEAD_LINES = 8;
const TELLING = 6;
const NEAR = 2;
const MAX_DOC_LINES = 10;

interface Candidate {
  site: DefinitionSite;
  words: ReadonlySet<string>;
  weight: number;
}

/** The definitions that the riskiest changed ones are built like. */
export async function alikePieces(
  changed: readonly Changed[],
  lookup: Lookup,
  shown: ShownLines,
): Promise<Piece[]> {
  const known = await knownWords(lookup.files(), shown);
  const { least, most } = shareOf(changed) < 1 ? OF_LARGE : OF_SMALL;
  // What differs only in names and comments is like others as it was before.
  const riskiest = changed
    .filter(({ significant: { added, removed } }) => added.length + removed.length > 0)
    .toSorted((a, b) => b.risk - a.risk)
    .slice(0, MAX_CHANGED);
  const pieces: Piece[] = [];
  const named = new Map<string, number>();
  for (const one of riskiest) {
    // If many types change a member of one name, each says less.
    let rank = named.get(one.name) ?? 0;
    named.set(one.name, rank + 1);
    const best = alikeTo(one, known).filter(({ likeness }) => likeness >= least);
    for (const { site, likeness } of firstOfNames(best).slice(0, most)) {
      const score = (one.risk * ALIKE * likeness) / (1 + rank * REPEATED);
      const ranges = tellingLines(site, one, known);
      const why = `, built like ${fullName(one.site.definition)}`;
      pieces.push(definitionPiece("sibling", site, ranges, score, why));
      rank += 1;
    }
    await setImmediate();
  }
  return pieces;
}

/** The beginning; of a long definition, its head and the lines that share the rarest words with the changed ones, removed or added. */
function tellingLines(site: DefinitionSite, one: Changed, { weightOf }: Known): LineSpan[] {
  const { start, end, signatureEnd } = site.definition;
  if (end - start < MAX_LINES) return beginning(site, MAX_LINES, MAX_DOC_LINES);
  const { before, removed, after, spots } = one;
  const words = new Set([
    ...(before === null ? [] : wordsOn(before.file, rangesOf(removed))),
    ...(after === null ? [] : wordsOn(after.file, rangesOf(spots))),
  ]);
  const worth = (line: number) =>
    [...wordsOn(site.file, [{ start: line, end: line }])]
      .filter((word) => words.has(word))
      .reduce((sum, word) => sum + weightOf(word), 0);
  const head = { start, end: Math.min(signatureEnd, start + HEAD_LINES) };
  const telling = linesIn([{ start, end }])
    .map((line) => ({ line, worth: worth(line) }))
    .filter((rated) => rated.worth > 0)
    .toSorted((a, b) => b.worth - a.worth)
    .slice(0, TELLING)
    .map(({ line }) => ({ start: Math.max(start, line - NEAR), end: Math.min(end, line + NEAR) }));
  return joined([head, ...telling], end);
}

const firstOfNames = (all: readonly Alike[]) =>
  [...Map.groupBy(all, ({ site }) => site.definition.name).values()]
    .flatMap((same) => same.slice(0, OF_A_NAME))
    .toSorted((a, b) => b.likeness - a.likeness);

interface Known {
  places: ReadonlyMap<string, readonly Candidate[]>;
  weightOf(word: string): number;
  least: number;
}

async function knownWords(files: readonly CodeFile[], shown: ShownLines): Promise<Known> {
  const all: Candidate[] = [];
  const places = new Map<string, Candidate[]>();
  for (const file of files) {
    // Many large files take longer than a process may be busy.
    await setImmediate();
    if (isTestFile(file.path) || isGenerated(file) || all.length > MAX_DEFINITIONS) continue;
    for (const site of comparable(file, shown)) {
      const one = { site, words: wordsIn(site, [wholeOf(site.definition)]), weight: 0 };
      all.push(one);
      for (const word of one.words)
        places
          .set(word, places.get(word) ?? [])
          .get(word)
          ?.push(one);
    }
  }
  const most = Math.max(FEW, all.length * COMMON_SHARE);
  const weightOf = (word: string) => {
    const count = places.get(word)?.length ?? 0;
    const rarity = count > most ? 0 : Math.log(1 + all.length / Math.max(1, count));
    return word.startsWith(NAME_MARK) ? IN_NAME * rarity : rarity;
  };
  for (const one of all) for (const word of one.words) one.weight += weightOf(word);
  return { places, weightOf, least: LEAST_WORDS * Math.log(1 + all.length / 2) };
}

/** Functions without those inside of them, and short types, without what the change itself adds. */
function comparable(file: CodeFile, shown: ShownLines): DefinitionSite[] {
  let last = 0;
  const found = file.definitions.filter((definition) => {
    const { start, end, docStart } = definition;
    if (end - docStart < LEAST_LINES) return false;
    if (isType(definition)) return end - start < MAX_TYPE_LINES;
    if (!isRun(definition) || end - start >= MAX_RUN_LINES || start <= last) return false;
    last = end;
    return docStart < start || !isDeclaration({ file, definition });
  });
  const isSeen = (one: Definition) => linesIn(shown.missing(file, [one])).length * 2 < one.end - one.start;
  return found.filter((one) => !isSeen(one)).map((definition) => ({ file, definition }));
}

/** What is copied is often copied with its comment. */
const wholeOf = ({ docStart, start, end }: Definition): LineSpan => ({
  start: Math.max(docStart, start - MAX_DOC_LINES),
  end,
});

const NAME_MARK = "#";

/** The words on the lines, and those of the definition's name with a mark. */
function wordsIn({ file, definition: { name } }: DefinitionSite, ranges: readonly LineSpan[]): Set<string> {
  const named = constructors.has(name) ? [] : wordsOfName(name).map((part) => NAME_MARK + part);
  return new Set([...named, ...wordsOn(file, ranges)]);
}

/** The words on the lines, alone and with the next one. */
function wordsOn(file: CodeFile, ranges: readonly LineSpan[]): Set<string> {
  const words = new Set<string>();
  for (const { start, end } of ranges)
    for (const line of file.lines.slice(start - 1, Math.min(end, start - 1 + MAX_READ))) {
      let last = "";
      for (const word of line.slice(0, MAX_CHARACTERS).match(/[\p{L}_$][\p{L}\p{N}_$]+/gu) ?? []) {
        words.add(word);
        if (last !== "") words.add(`${last} ${word}`);
        last = word;
      }
    }
  return words;
}

interface Alike {
  site: DefinitionSite;
  /** 0 to 1. */
  likeness: number;
}

const KEPT = 30;

function alikeTo(one: Changed, { places, weightOf, least }: Known): Alike[] {
  const { after } = one;
  if (after === null || !(isRun(after.definition) || isType(after.definition))) return [];
  const shared = new Map<Candidate, { all: number; name: number }>();
  const own = { all: 0, name: 0 };
  for (const word of profileOf(one, after)) {
    const all = weightOf(word);
    if (all === 0) continue;
    const name = word.startsWith(NAME_MARK) ? all : 0;
    own.all += all;
    own.name += name;
    for (const candidate of places.get(word) ?? []) {
      const sum = shared.get(candidate) ?? { all: 0, name: 0 };
      shared.set(candidate, { all: sum.all + all, name: sum.name + name });
    }
  }
  const bases = new Set(headOf(after));
  const rated = [...shared].flatMap(([{ site, weight }, sum]): Alike[] => {
    const { file, definition } = site;
    const isSameFile = file.path === one.path;
    if (isSameFile && definition.start <= after.definition.end && after.definition.start <= definition.end)
      return [];
    const isRelated = headOf(site).some((base) => bases.has(base));
    // A private member of an unrelated type means nothing here.
    if (!isSameFile && !isRelated && definition.container !== null && isPrivate(site)) return [];
    const body = sum.all / Math.sqrt(Math.max(own.all, least) * Math.max(weight, least));
    const isBeside = isSameFile && definition.container === after.definition.container;
    const name = isBeside && own.name > 0 ? (NAME_ALONE * sum.name) / own.name : 0;
    const related = isRelated ? (definition.name === one.name ? RELATED : RELATED / 2) : 0;
    const near = 0.5 + 0.5 * closeness(one.path, file.path);
    return [{ site, likeness: (Math.max(body, name) * (1 - RELATED) + related) * near }];
  });
  const rankOf = ({ site, likeness }: Alike) => [-likeness, site.definition.start];
  return rated.toSorted((a, b) => compareRanks(rankOf(a), rankOf(b))).slice(0, KEPT);
}

/** The words of a changed definition, or of what surrounds its changed lines, and those that the change removed from it. */
function profileOf({ spots, before, removed }: Changed, after: DefinitionSite): Set<string> {
  const { start, end } = after.definition;
  const near = spots.map((line) => ({
    start: Math.max(start, line - AROUND),
    end: Math.min(end, line + AROUND),
  }));
  const now = wordsIn(after, end - start < WHOLE_LINES ? [wholeOf(after.definition)] : near);
  return new Set([...now, ...(before === null ? [] : wordsIn(before, rangesOf(removed)))]);
}

/** The type of a member with what it extends; of a type, what it extends. */
function headOf({ file, definition }: DefinitionSite): string[] {
  const type = isType(definition) ? definition.name : definition.container;
  if (type === null) return [];
  const bases = baseTypes(file, type, definition.start);
  return isType(definition) ? bases : [type, ...bases];
}
