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
import { closeness, compareRanks, constructors, typeHead } from "../../../repo/code/names.ts";
import { type Definition, definitionsAt } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type Changed, isGenerated, shareOf } from "./changed.ts";
import { clamped, joined, type LineSpan, type Lookup, rangesOf } from "./lookup.ts";
import { beginning, definitionPiece, type Piece, type ShownLines } from "./pieces.ts";

/*
 * Finds what a changed definition was written like: the sibling implementation, the other half, the code that it was copied from. Two
 * definitions are alike if they use the same rare words and have some in their names, if their types have a base in common, and if
 * others of the two files are alike as well.
 */

/** A definition with fewer lines says little; a longer one is not compared, and a longer type is not like another one as a whole. */
const LEAST_LINES = 2;
const MAX_RUN_LINES = 150;
const MAX_TYPE_LINES = 60;
/** Maximum lines and characters of them that are read. */
const MAX_READ = 80;
const MAX_CHARACTERS = 300;
/** A changed definition up to this length is compared as a whole, a longer one around its changed lines. */
const WHOLE_LINES = 40;
const AROUND = 6;
const MAX_CHANGED = 60;
const MAX_DEFINITIONS = 6_000;
/** A word in a larger share of the definitions says nothing. */
const COMMON_SHARE = 0.2;
const FEW = 12;
/** Weight of a word in a definition's name, relative to one in its body. */
const IN_NAME = 3;
/** A definition counts as if it had at least so many rare words: two getters are no twins. */
const LEAST_WORDS = 4;
const RELATED = 0.3;
/** Likeness of two members of one type with the same name but for words that many have. */
const NAME_ALONE = 0.75;
const OF_FILE = 0.4;

interface Candidate {
  site: DefinitionSite;
  words: ReadonlySet<string>;
  weight: number;
}

interface Alike {
  site: DefinitionSite;
  /** 0 to 1. */
  likeness: number;
  ranges: LineSpan[];
}

const ALIKE = 1.3;
const LEAST_LIKENESS = 0.15;
const LEAST_OF_FEW = 0.25;
const SHOWN = 6;
const SHOWN_OF_FEW = 2;
const OF_A_NAME = 2;
const MAX_BESIDE_LINES = 12;
const BESIDE = 2;
/** A type with so many members that are built like those of another one is shown whole, before its members. */
const LEAST_MEMBERS = 2;
const WHOLE = 1.05;
const REPEATED = 0.3;
const MAX_LINES = 40;
const PART_LINES = 32;
const MAX_HEAD_LINES = 3;
const MAX_DOC_LINES = 10;

/** The definitions that the riskiest changed ones are built like. */
export async function alikePieces(
  changed: readonly Changed[],
  lookup: Lookup,
  shown: ShownLines,
): Promise<Piece[]> {
  // What differs only in names and comments is like others as it was before.
  const riskiest = changed
    .filter(({ significant: { added, removed } }) => added.length + removed.length > 0)
    .toSorted((a, b) => b.risk - a.risk)
    .slice(0, MAX_CHANGED);
  const words = await wordsOfFiles(lookup.files(), shown);
  const found: [Changed, Alike[]][] = [];
  for (const one of riskiest) {
    found.push([one, words.alikeTo(one)]);
    await setImmediate();
  }
  const worth = worthOfFiles(found);
  // A small change has room for anything, so what is shown there must be alike for certain.
  const [least, most] = shareOf(changed) < 1 ? [LEAST_LIKENESS, SHOWN] : [LEAST_OF_FEW, SHOWN_OF_FEW];
  const named = new Map<string, number>();
  const pieces = found.flatMap(([one, all]) => {
    // If many types change a member of one name, each says less.
    const before = named.get(one.name) ?? 0;
    named.set(one.name, before + 1);
    return all
      .map(({ site, ranges, likeness }) => ({
        ...{ site, ranges },
        likeness: likeness * (1 - OF_FILE + OF_FILE * worth(one.path, site.file.path)),
      }))
      .filter(({ likeness }) => likeness >= least)
      .toSorted((a, b) => b.likeness - a.likeness)
      .filter(firstOfName())
      .slice(0, most)
      .map(({ site, likeness, ranges }, at) => {
        const score = (one.risk * ALIKE * likeness) / (1 + (at + before) * REPEATED);
        const why = `, built like ${fullName(one.site.definition)}`;
        const all = at === 0 ? [...ranges, ...besides(site)] : ranges;
        return {
          site,
          own: one.site,
          piece: definitionPiece("sibling", site, joined(all, site.file.lines.length), score, why),
        };
      });
  });
  return [...pieces.map(({ piece }) => piece), ...wholeTypes(pieces)];
}

/** The short members directly before and after one: the other half often stands beside it. */
function besides({ file, definition }: DefinitionSite): LineSpan[] {
  return file.definitions
    .filter(
      (one) =>
        isRun(one) &&
        one.container === definition.container &&
        one.end - one.docStart < MAX_BESIDE_LINES &&
        (Math.abs(one.docStart - definition.end) <= BESIDE ||
          Math.abs(definition.docStart - one.end) <= BESIDE),
    )
    .map(({ docStart, end }) => ({ start: docStart, end }));
}

interface Built {
  site: DefinitionSite;
  own: DefinitionSite;
  piece: Piece;
}

/** The types of which several members are built like those of a changed type, as a whole. */
function wholeTypes(pieces: readonly Built[]): Piece[] {
  const byType = Map.groupBy(pieces, ({ site, own }) =>
    site.definition.container === null || own.definition.container === null
      ? null
      : [own.definition.container, own.file.path, site.definition.container, site.file.path].join(" "),
  );
  byType.delete(null);
  return [...byType.values()].flatMap((members) => {
    const [first] = members;
    const sites = new Set(members.map(({ site }) => site.definition));
    if (!first || sites.size < LEAST_MEMBERS) return [];
    const { file, definition } = first.site;
    const type = definitionsAt(file.definitions, definition.start).findLast(isType);
    if (!type || type.end - type.start >= MAX_TYPE_LINES) return [];
    const site = { file, definition: type };
    const score = WHOLE * Math.max(...members.map(({ piece }) => piece.score));
    const why = `, built like ${first.own.definition.container}`;
    return [definitionPiece("sibling", site, beginning(site, MAX_TYPE_LINES, MAX_DOC_LINES), score, why)];
  });
}

/** Many implementations of one name say little more than two. */
function firstOfName(): (one: Alike) => boolean {
  const counts = new Map<string, number>();
  return ({ site: { definition } }) => {
    const count = (counts.get(definition.name) ?? 0) + 1;
    counts.set(definition.name, count);
    return count <= OF_A_NAME;
  };
}

/** How much of a changed file another file is like, relative to the file that is most like it; 1 within a file. */
function worthOfFiles(
  found: readonly [Changed, readonly Alike[]][],
): (path: string, other: string) => number {
  const sums = new Map<string, Map<string, number>>();
  for (const [{ path }, all] of found) {
    const own = sums.get(path) ?? new Map<string, number>();
    sums.set(path, own);
    const best = new Map<string, number>();
    for (const { site, likeness } of all)
      best.set(site.file.path, Math.max(likeness, best.get(site.file.path) ?? 0));
    for (const [other, likeness] of best) own.set(other, likeness + (own.get(other) ?? 0));
  }
  return (path, other) => {
    const own = sums.get(path);
    if (path === other || own === undefined) return 1;
    const most = Math.max(...[...own].map(([at, sum]) => (at === path ? 0 : sum)));
    return (own.get(other) ?? 0) / Math.max(most, 0.01);
  };
}

async function candidatesIn(files: readonly CodeFile[], shown: ShownLines): Promise<Candidate[]> {
  const all: Candidate[] = [];
  for (const file of files) {
    if (isTestFile(file.path) || isGenerated(file) || all.length > MAX_DEFINITIONS) continue;
    for (const definition of comparable(file)) {
      // What the change itself adds is seen anyway.
      const unseen = shown
        .missing(file, [definition])
        .reduce((sum, { start, end }) => sum + end - start + 1, 0);
      if (unseen * 2 < definition.end - definition.start) continue;
      const site = { file, definition };
      all.push({ site, words: wordsIn(site, [wholeOf(definition)]), weight: 0 });
    }
    // Many large files take longer than a process may be busy.
    await setImmediate();
  }
  return all;
}

async function wordsOfFiles(
  files: readonly CodeFile[],
  shown: ShownLines,
): Promise<{ alikeTo(one: Changed): Alike[] }> {
  const all = await candidatesIn(files, shown);
  const places = new Map<string, Candidate[]>();
  for (const one of all)
    for (const word of one.words) {
      const known = places.get(word);
      if (known) known.push(one);
      else places.set(word, [one]);
    }
  const most = Math.max(FEW, all.length * COMMON_SHARE);
  const weightOf = (word: string) => {
    const count = places.get(word)?.length ?? 0;
    const rarity = count > most ? 0 : Math.log(1 + all.length / Math.max(1, count));
    return word.startsWith(NAME_MARK) ? IN_NAME * rarity : rarity;
  };
  for (const one of all) for (const word of one.words) one.weight += weightOf(word);
  const least = LEAST_WORDS * Math.log(1 + all.length / 2);
  return { alikeTo: (one) => alikeTo(one, { places, weightOf, least }) };
}

/** Functions without those inside of them, and short types. */
function comparable(file: CodeFile): Definition[] {
  let last = 0;
  return file.definitions.filter((definition) => {
    const { start, end, docStart } = definition;
    if (end - docStart < LEAST_LINES) return false;
    if (isType(definition)) return end - start < MAX_TYPE_LINES;
    if (!isRun(definition) || end - start >= MAX_RUN_LINES || start <= last) return false;
    last = end;
    return docStart < start || !isDeclaration({ file, definition });
  });
}

/** What is copied is often copied with its comment. */
const wholeOf = ({ docStart, start, end }: Definition): LineSpan => ({
  start: Math.max(docStart, start - MAX_DOC_LINES),
  end,
});

const NAME_MARK = "#";

/** The words on the lines, alone and with the next one, and those of the definition's name with a mark. */
function wordsIn({ file, definition: { name } }: DefinitionSite, ranges: readonly LineSpan[]): Set<string> {
  const words = new Set(constructors.has(name) ? [] : wordsOfName(name).map((part) => NAME_MARK + part));
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

/** `createRow`, `create_row`, `CreateRow` as words. */
export const wordsOfName = (name: string): string[] =>
  name
    .slice(0, MAX_CHARACTERS)
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== "");

interface Known {
  places: ReadonlyMap<string, readonly Candidate[]>;
  weightOf(word: string): number;
  least: number;
}

const KEPT = 30;

function alikeTo(one: Changed, { places, weightOf, least }: Known): Alike[] {
  const { after } = one;
  if (after === null || !(isRun(after.definition) || isType(after.definition))) return [];
  const words = profileOf(one, after);
  const shared = new Map<Candidate, { all: number; name: number }>();
  let [own, ownName] = [0, 0];
  for (const word of words) {
    const weight = weightOf(word);
    if (weight === 0) continue;
    const inName = word.startsWith(NAME_MARK) ? weight : 0;
    own += weight;
    ownName += inName;
    for (const candidate of places.get(word) ?? []) {
      const sum = shared.get(candidate) ?? { all: 0, name: 0 };
      shared.set(candidate, { all: sum.all + weight, name: sum.name + inName });
    }
  }
  const bases = new Set(headOf(after));
  return [...shared]
    .filter(([{ site }]) => !overlaps(site, after) && !isOthers(site, after, bases))
    .map(([{ site, weight }, sum]) => {
      const body = sum.all / Math.sqrt(Math.max(own, least) * Math.max(weight, least));
      const isNear = site.file.path === one.path && site.definition.container === after.definition.container;
      const name = isNear && ownName > 0 ? (NAME_ALONE * sum.name) / ownName : 0;
      const isRelated = headOf(site).some((base) => bases.has(base));
      const related = isRelated
        ? site.definition.name === after.definition.name
          ? RELATED
          : RELATED / 2
        : 0;
      const near = 0.5 + 0.5 * closeness(one.path, site.file.path);
      return { site, likeness: (Math.max(body, name) * (1 - RELATED) + related) * near };
    })
    .toSorted((a, b) => compareRanks(rankOf(a), rankOf(b)))
    .slice(0, KEPT)
    .map((alike) => ({ ...alike, ranges: alikeRanges(alike.site, words, weightOf) }));
}

/** A definition from its beginning; of a long one, its head and the part that is most alike. */
function alikeRanges(
  site: DefinitionSite,
  words: ReadonlySet<string>,
  weightOf: Known["weightOf"],
): LineSpan[] {
  const { start, end, signatureEnd } = site.definition;
  if (end - start < MAX_LINES) return beginning(site, MAX_LINES, MAX_DOC_LINES);
  const lines = Array.from({ length: end - start + 1 }, (_, at) => {
    const shared = [...wordsIn(site, [{ start: start + at, end: start + at }])].filter((word) =>
      words.has(word),
    );
    return shared.reduce((sum, word) => sum + weightOf(word), 0);
  });
  let [sum, most, best] = [0, 0, 0];
  for (const [at, weight] of lines.entries()) {
    sum += weight - (lines[at - PART_LINES] ?? 0);
    if (sum > most) [most, best] = [sum, at];
  }
  const head = { start, end: Math.min(signatureEnd, start + MAX_HEAD_LINES - 1) };
  return joined(
    [head, { start: start + best - PART_LINES + 1, end: start + best }].map((one) =>
      clamped(one, { start, end }),
    ),
    end,
  );
}

/** The words of a changed definition, or of what surrounds its changed lines, and those that the change removed from it. */
function profileOf({ spots, before, removed }: Changed, after: DefinitionSite): Set<string> {
  const { start, end } = after.definition;
  const near = spots.map((line) => ({
    start: Math.max(start, line - AROUND),
    end: Math.min(end, line + AROUND),
  }));
  const now = wordsIn(after, end - start < WHOLE_LINES ? [wholeOf(after.definition)] : near);
  const old = before === null ? [] : wordsIn(before, rangesOf(removed));
  return new Set([...now, ...old]);
}

const rankOf = ({ site, likeness }: Omit<Alike, "ranges">) => [-likeness, site.definition.start];

/** A private member of an unrelated type in another file: its name means nothing here. */
const isOthers = (site: DefinitionSite, { file }: DefinitionSite, bases: ReadonlySet<string>) =>
  site.definition.container !== null &&
  site.file.path !== file.path &&
  isPrivate(site) &&
  !headOf(site).some((base) => bases.has(base));

const overlaps = ({ file, definition }: DefinitionSite, other: DefinitionSite) =>
  file.path === other.file.path &&
  definition.start <= other.definition.end &&
  other.definition.start <= definition.end;

/** The type of a member with what it extends; of a type, what it extends. */
function headOf({ file, definition }: DefinitionSite): string[] {
  const type = isType(definition) ? definition.name : definition.container;
  if (type === null) return [];
  const names = typeHead(file, type, definition.start).filter((word) => /^[A-Z]/.test(word));
  return isType(definition) ? names.filter((name) => name !== type) : names;
}
