import {
  type DefinitionSite,
  definitionAt,
  isDeclaration,
  isRun,
  isType,
  type ParsedFile,
  parseFile,
  type TextFile,
} from "../../../repo/code/code-file.ts";
import { isMember } from "../../../repo/code/names.ts";
import { type Call, type Definition, definitionsAt, type Source } from "../../../repo/code/source.ts";
import { isExample, isTestFile } from "../../../repo/code/test-file.ts";
import type { DiffLine, FileDiff } from "../../../repo/diff/file-diff.ts";
import { saysGenerated } from "../../../repo/diff/origin.ts";
import { type LineSpan, loadAhead, type RepositoryFiles, rangesOf } from "./lookup.ts";
import { type Block, blocksOf, isName, MAX_CHARACTERS, repeatedEdits } from "./repeated-edits.ts";

/** One side of a definition, with the facts that are needed of it. */
interface Half {
  place: DefinitionSite;
  lines: readonly number[];
  significant: readonly number[];
  calls: readonly Call[];
  literals: readonly string[];
  /** Values that the changed lines read; only of the head, like the next two. */
  changedNames: ReadonlySet<string>;
  setNames: readonly string[];
  sourceLiterals: readonly string[];
  /** Those of some names that the whole definition reads and does not define itself. */
  readsAmong(names: ReadonlySet<string>): ReadonlySet<string>;
}

const MAX_RANGES = 6;

/** @param lines its changed lines; none if only the other side has some */
function halfOf(
  { parsed, significant, isHead }: Side,
  definition: Definition | undefined,
  lines: readonly number[],
  isOfTests: boolean,
): Half | null {
  if (parsed === null || definition === undefined) return null;
  const { code, source } = parsed;
  const half: Half = {
    place: { file: code, definition },
    lines,
    significant: lines.filter((line) => significant.has(line)),
    calls: [],
    literals: [],
    setNames: [],
    sourceLiterals: [],
    changedNames: new Set(),
    readsAmong: () => new Set(),
  };
  // Nothing is looked up for tests beside other changes.
  if (isTestFile(code.path) && !isOfTests) return half;
  const all = rangesOf(lines);
  const ranges = all.length > MAX_RANGES ? [{ start: lines[0] ?? 0, end: lines.at(-1) ?? 0 }] : all;
  // The calls of a whole type are not due to the change.
  const called = isRun(definition) ? [definition] : ranges;
  half.calls = called.flatMap(({ start, end }) => source.calls(start, end));
  half.literals = ranges.flatMap(({ start, end }) => source.literals(start, end));
  half.readsAmong = (names) => source.readNames(definition.start, definition.end, names);
  if (!isHead) return half;
  half.changedNames = new Set(ranges.flatMap(({ start, end }) => [...source.readNames(start, end)]));
  half.setNames = setOn(lines, ranges, parsed);
  half.sourceLiterals = literalsBehind(half.changedNames, half.place, source);
  return half;
}

const word = /[\p{L}_$][\p{L}\p{N}_$]{2,60}/gu;

function setOn(
  lines: readonly number[],
  ranges: readonly LineSpan[],
  { code: { lines: texts }, source }: ParsedFile,
): string[] {
  const members = lines.flatMap((line) => {
    const text = beginningOf(texts, line);
    return [...new Set(text.match(word))]
      .filter((name) => isMember(text, name))
      .map((name) => ({ name, line }));
  });
  if (members.length === 0) return [];
  const names = new Set(members.map(({ name }) => name));
  const written = ranges
    .flatMap((range) => source.references(names, range))
    .filter(({ role }) => role === "write")
    .map(({ name, line }) => `${line} ${name}`);
  const isWritten = new Set(written);
  return [
    ...new Set(members.filter(({ name, line }) => isWritten.has(`${line} ${name}`)).map(({ name }) => name)),
  ];
}

/** Maximum lines of a definition that are searched for the values of its variables. */
const MAX_SEARCHED = 400;

/** An assignment to a variable, optionally after words such as `const` or a type. */
const given =
  /^\s*(?:[\p{L}\p{N}_$<>[\].*&?]{1,60}\s+){0,3}([\p{L}_$][\p{L}\p{N}_$]*)(?:,\s*\w+)?\s*(?::[^=]{0,60})?:?=(?![=>~])/u;

/** Literals on lines that assign one of the names: `paths = config.get("search-paths")`. */
function literalsBehind(
  names: ReadonlySet<string>,
  { file, definition }: DefinitionSite,
  source: Source,
): string[] {
  if (names.size === 0 || !isRun(definition)) return [];
  const last = Math.min(definition.end, definition.start + MAX_SEARCHED);
  const found: string[] = [];
  for (let line = definition.start; line <= last; line++) {
    const text = beginningOf(file.lines, line);
    if (!/["'`]/.test(text)) continue;
    const name = given.exec(text)?.[1];
    if (name !== undefined && names.has(name)) found.push(...source.literals(line, line));
  }
  return found;
}

const beginningOf = (texts: readonly string[], line: number) => (texts[line - 1] ?? "").slice(0, 500);

/** A name that is replaced only once may be another function; one that is replaced everywhere was renamed. */
const LEAST_BLOCKS = 2;

/** Lines that differ in more than comments, renames and edits that many places repeat. A renamed name no longer occurs around the change. */
export function significantLines(diffs: readonly FileDiff[]): Set<DiffLine> {
  const blocks = diffs.flatMap(({ hunks }) => hunks.flatMap(({ lines }) => blocksOf(lines)));
  const renamed = renamedNames(blocks, diffs);
  const isRepeated = repeatedEdits(diffs);
  const significant = blocks.filter((block) => !isSlight(block, renamed) && !isRepeated(block));
  return new Set(significant.flatMap(({ removed, added }) => [...removed, ...added]));
}

function isSlight(block: Block, renamed: ReadonlyMap<string, string>): boolean {
  const pairs = replacedIn(block);
  return pairs?.every(([from, to]) => renamed.get(from) === to) ?? false;
}

function replacedIn({ removed, added }: Block): [string, string][] | null {
  if ([...removed, ...added].some(({ text }) => text.length > MAX_CHARACTERS)) return null;
  const [before, after] = [
    removed.flatMap(({ text }) => tokensOf(text)),
    added.flatMap(({ text }) => tokensOf(text)),
  ];
  if (before.length !== after.length) return null;
  const pairs: [string, string][] = [];
  for (const [at, from] of before.entries()) {
    const to = after[at] ?? "";
    if (from === to) continue;
    if (!isName(from) || !isName(to)) return null;
    pairs.push([from, to]);
  }
  return pairs;
}

function renamedNames(blocks: readonly Block[], diffs: readonly FileDiff[]): Map<string, string> {
  const places = new Map<string, { from: string; to: string; blocks: number }>();
  for (const block of blocks) {
    const pairs = new Map((replacedIn(block) ?? []).map(([from, to]) => [`${from} ${to}`, { from, to }]));
    for (const [key, pair] of pairs) places.set(key, { ...pair, blocks: (places.get(key)?.blocks ?? 0) + 1 });
  }
  if (places.size === 0) return new Map();
  const [olds, news] = [namesOn(diffs, "removed"), namesOn(diffs, "added")];
  const found = [...places.values()].filter(
    (pair) => pair.blocks >= LEAST_BLOCKS && !news.has(pair.from) && !olds.has(pair.to),
  );
  // Two names that replace one, or one that replaces two, are not a rename.
  const [byOld, byNew] = [Map.groupBy(found, ({ from }) => from), Map.groupBy(found, ({ to }) => to)];
  const unique = found.filter(({ from, to }) => byOld.get(from)?.length === 1 && byNew.get(to)?.length === 1);
  return new Map(unique.map(({ from, to }) => [from, to]));
}

function namesOn(diffs: readonly FileDiff[], kind: "removed" | "added"): Set<string> {
  const lines = diffs.flatMap(({ hunks }) => hunks.flatMap((hunk) => hunk.lines));
  return new Set(
    lines
      .filter((line) => line.kind === kind || line.kind === "context")
      .flatMap(({ text }) => tokensOf(text.slice(0, MAX_CHARACTERS)).filter(isName)),
  );
}

const token = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|[\p{L}_$][\p{L}\p{N}_$]*|\d[\w.]*|\S/gu;
/** A line that is a comment; in C, `#` also begins directives. */
const comment =
  /^\s*(?:\/\/|\/\*(?!.*\*\/\s*\S)|\*(?:\s|\/\s*$|$)|#\s(?!\s*(?:include|define|if|ifdef|ifndef|else|elif|endif|undef|pragma|error)\b))/;
const trailing = /^([^"'`]*?)\s\/\/\s.*$/;

function tokensOf(text: string): string[] {
  if (comment.test(text)) return [];
  const indent = /^\s*/.exec(text)?.[0] ?? "";
  const tokens = text.replace(trailing, "$1").match(token) ?? [];
  // The indentation shows which block a line belongs to.
  return tokens.length > 0 ? [indent, ...tokens] : [];
}

/** A function, method, type, constant or field that the change touches, with facts about its code. */
export interface Changed {
  path: string;
  name: string;
  /** Null if the change deleted it. */
  after: DefinitionSite | null;
  before: DefinitionSite | null;
  /** The one at head, or else the one at the merge base. */
  site: DefinitionSite;
  /** Its changed lines: added ones at head, removed ones at the merge base. */
  added: readonly number[];
  removed: readonly number[];
  /** Lines at head where something changed: added lines, and the lines after removed ones. */
  spots: readonly number[];
  /** The lines of these three lists that differ in more than names and comments. */
  significant: { added: readonly number[]; removed: readonly number[]; spots: readonly number[] };
  /** Its calls at head, and old calls of names that it no longer calls. */
  calls: readonly Call[];
  droppedCalls: readonly Call[];
  /** Values that added lines read and the old code did not. */
  newNames: readonly string[];
  touchedNames: readonly string[];
  /** Names on added lines that look like those of types or constants, and that the old code did not have. */
  newTypes: readonly string[];
  /** Members and keys that added lines assign. */
  setNames: readonly string[];
  /** String literals on changed lines of either side. */
  literals: readonly string[];
  /** String literals on lines at head that assign a variable which changed lines read. */
  sourceLiterals: readonly string[];
  /** The possible damage of a fault in it, by its place and the size of its change; about 0.2 to 1.1. */
  risk: number;
}

/** Maximum definitions in one file; more of them are a rewrite, which context does not help with. */
const MAX_DEFINITIONS = 60;

/** @param isOfTests whether facts are needed of tests too */
export async function changedDefinitions(
  diffs: readonly FileDiff[],
  files: RepositoryFiles,
  isOfTests: boolean,
  timeLeft: () => number,
): Promise<Changed[]> {
  const all: Changed[] = [];
  const significant = significantLines(diffs);
  const modules = await files.modules();
  const load = async (diff: FileDiff) => {
    const [head, base] = [
      await files.read(diff.path, "head"),
      await files.read(diff.oldPath ?? diff.path, "merge_base"),
    ];
    // The names of a change are looked up in its own files as well.
    return { diff, head: await parseFile(head, modules, true), base: await parseFile(base, modules) };
  };
  for await (const { diff, head, base } of loadAhead(diffs, load)) {
    if (timeLeft() <= 0) break;
    const lines = diff.hunks.flatMap((hunk) => hunk.lines);
    const isSignificant = (line: DiffLine) => significant.has(line);
    const own = lines.filter(isSignificant);
    const spots = { all: spotsOf(lines, () => true), significant: spotsOf(lines, isSignificant) };
    const found = changedIn(
      diff.path,
      spots,
      isOfTests,
      { isHead: true, parsed: head, lines: addedIn(lines), significant: new Set(addedIn(own)) },
      { isHead: false, parsed: base, lines: removedIn(lines), significant: new Set(removedIn(own)) },
    );
    for (const one of found) all.push(one);
  }
  return all;
}

const addedIn = (lines: readonly DiffLine[]) =>
  lines.flatMap((line) => (line.kind === "added" ? [line.newLine] : []));
const removedIn = (lines: readonly DiffLine[]) =>
  lines.flatMap((line) => (line.kind === "removed" ? [line.oldLine] : []));

/** The changed lines of a file at head, or at the merge base. */
interface Side {
  isHead: boolean;
  parsed: ParsedFile | null;
  lines: readonly number[];
  significant: ReadonlySet<number>;
}

interface Spots {
  all: readonly number[];
  significant: readonly number[];
}

function spotsOf(lines: readonly DiffLine[], isWanted: (line: DiffLine) => boolean): number[] {
  return lines.flatMap((line, at) => {
    if (line.kind === "added") return isWanted(line) ? [line.newLine] : [];
    const before = lines[at - 1];
    return line.kind === "context" && before?.kind === "removed" && isWanted(before) ? [line.newLine] : [];
  });
}

function changedIn(path: string, spots: Spots, isOfTests: boolean, head: Side, base: Side): Changed[] {
  const [news, olds] = [keyed(head), keyed(base)];
  const [added, removed] = [linesByKey(head, news), linesByKey(base, olds)];
  const all = [...new Set([...added.keys(), ...removed.keys()])].flatMap((key) => {
    const after = halfOf(head, news.get(key), added.get(key) ?? [], isOfTests);
    const before = halfOf(base, olds.get(key), removed.get(key) ?? [], isOfTests);
    return changedOf(path, spots, after, before);
  });
  return all.sort((a, b) => b.risk - a.risk).slice(0, MAX_DEFINITIONS);
}

/** The definitions of one side by a key of kind, type, name and order, which matches the two sides of a definition. */
function keyed({ parsed }: Side): Map<string, Definition> {
  const counts = new Map<string, number>();
  const code = parsed?.code;
  return new Map(
    code?.definitions.map((definition) => {
      const { kind, name, container } = definition;
      const declares = isDeclaration({ file: code, definition });
      const key = [kind, container ?? "", name, declares].join(" ");
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return [`${key} ${count}`, definition];
    }),
  );
}

function linesByKey({ parsed, lines }: Side, byKey: ReadonlyMap<string, Definition>): Map<string, number[]> {
  if (parsed === null || lines.length === 0) return new Map();
  const keys = new Map([...byKey].map(([key, definition]) => [definition, key]));
  // Blank lines and brackets between members would mark their whole type as changed.
  const filled = lines.filter((line) => /[\p{L}\p{N}]/u.test(parsed.code.lines[line - 1] ?? ""));
  const byDefinition = Map.groupBy(filled, (line) => definitionAt(parsed.code, line));
  return new Map(
    [...byDefinition].flatMap(([definition, own]) => {
      const key = definition && keys.get(definition);
      return key ? [[key, own]] : [];
    }),
  );
}

function changedOf(path: string, spots: Spots, after: Half | null, before: Half | null): Changed[] {
  const site = (after ?? before)?.place;
  if (site === undefined) return [];
  const body = after && bodyOf(after.place);
  const called = new Set(after?.calls.map(({ name }) => name));
  const changedNames = after?.changedNames ?? new Set<string>();
  const [reads, read] = [after, before].map((half) => half?.readsAmong(changedNames));
  const isNew = (name: string) => reads?.has(name) && !read?.has(name);
  const isInside = (line: number) => body !== null && line >= body.start && line <= body.end;
  const one = {
    path,
    name: site.definition.name,
    after: after?.place ?? null,
    before: before?.place ?? null,
    site,
    added: after?.lines ?? [],
    removed: before?.lines ?? [],
    spots: spots.all.filter(isInside),
    significant: {
      added: after?.significant ?? [],
      removed: before?.significant ?? [],
      spots: spots.significant.filter(isInside),
    },
    calls: after?.calls ?? [],
    droppedCalls: (before?.calls ?? []).filter(({ name }) => !called.has(name)),
    setNames: after?.setNames ?? [],
    newNames: [...changedNames].filter(isNew),
    touchedNames: [...changedNames].filter((name) => !isNew(name)),
    newTypes: newTypesOf(after, before),
    sourceLiterals: after?.sourceLiterals ?? [],
    literals: [...new Set([...(after?.literals ?? []), ...(before?.literals ?? [])])],
  };
  return [{ ...one, risk: riskOf(one) }];
}

const MAX_ADDED = 400;

function newTypesOf(after: Half | null, before: Half | null): string[] {
  if (after === null || isTestFile(after.place.file.path)) return [];
  const { file } = after.place;
  const wordsIn = (lines: readonly string[]) =>
    lines.flatMap(
      (text) =>
        text
          .slice(0, 500)
          .replace(/\/\/.*|"[^"]*"|'[^']*'/g, " ")
          .match(/\b[A-Z]\w{2,60}/g) ?? [],
    );
  const added = wordsIn(after.lines.slice(0, MAX_ADDED).map((line) => file.lines[line - 1] ?? ""));
  const old = before?.place;
  const known = new Set(
    old ? wordsIn(old.file.lines.slice(old.definition.start - 1, old.definition.end)) : [],
  );
  return [...new Set(added)]
    .filter((name) => !known.has(name) && name !== after.place.definition.name)
    .slice(0, MAX_TYPES);
}

const MAX_TYPES = 20;

/** With more changed definitions, what may be useful about each has less weight: what certainly decides takes the room. */
const FEW_CHANGED = 8;

export const shareOf = (changed: readonly Changed[]): number => Math.min(1, FEW_CHANGED / changed.length);

const TEST_RISK = 0.3;
const EXAMPLE_RISK = 0.3;
const MANY_LINES = 20;
/** Only names, comments, or what many other places change in the same way. */
const SLIGHT_RISK = 0.5;

/** Whether the file's header says that a program wrote it, such as mocks. */
export const isGenerated = ({ lines }: TextFile): boolean =>
  saysGenerated(lines.slice(0, MAX_HEADER).join("\n"));

const MAX_HEADER = 20;

function riskOf({ path, site, after, added, removed, significant }: Omit<Changed, "risk">): number {
  const place = isTestFile(path) || isGenerated(site.file) ? TEST_RISK : isExample(path) ? EXAMPLE_RISK : 1;
  const size = Math.min(1, (added.length + removed.length) / MANY_LINES);
  // Deleted code may still be used.
  const isSlight = significant.added.length + significant.removed.length + significant.spots.length === 0;
  return place * (0.6 + 0.4 * size) * (after === null ? 1.1 : 1) * (isSlight ? SLIGHT_RISK : 1);
}

export const isWithin = ({ path, after }: Changed, at: { path: string; line: number }): boolean =>
  after !== null && at.path === path && at.line >= after.definition.start && at.line <= after.definition.end;

/** The lines that are read with a definition; for a field, those of its whole type. */
export function bodyOf({ file, definition }: DefinitionSite): LineSpan {
  if (definition.kind !== "field") return { start: definition.start, end: definition.end };
  const around = definitionsAt(file.definitions, definition.start).filter(isType).at(-1) ?? definition;
  return { start: around.start, end: around.end };
}
