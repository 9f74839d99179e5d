import { AppError } from "../../../core/errors.ts";
import { cutLine, splitLines } from "../../../core/text/cut.ts";
import {
  type CodeFile,
  type DefinitionSite,
  isProse,
  parseFile,
  type TextFile,
} from "../../../repo/code/code-file.ts";
import { folderOf, type Modules } from "../../../repo/code/imports.ts";
import { definers } from "../../../repo/code/likely-definition.ts";
import { closeness, mentionsIn } from "../../../repo/code/names.ts";
import type { Reference } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { reasonByName } from "../../../repo/diff/skipped-names.ts";
import type { TreeEntry, Workspace } from "../../../repo/git/workspace.ts";
import { modulesOf } from "../../../repo/parsed-files.ts";

/** Lines from `start` to `end`, 1-indexed and inclusive. */
export interface LineSpan {
  start: number;
  end: number;
}

/** Longer lines are data: only their beginning is shown. */
const MAX_LINE_BYTES = 400;

/** A line as `read_file_part` shows it, with a plus after the line number if the change added it. */
export function numbered(file: TextFile, line: number, isAdded = false): string {
  return `${line}${isAdded ? "+" : ""}|${cutLine(file.lines[line - 1] ?? "", MAX_LINE_BYTES)}`;
}

export function joined(ranges: readonly LineSpan[], lastLine: number): LineSpan[] {
  const all: LineSpan[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) {
    const { start, end } = clamped(range, { start: 1, end: lastLine });
    if (start > end) continue;
    const last = all.at(-1);
    if (last && start <= last.end + 1) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}

/** The end is before the start if the ranges do not overlap. */
export const clamped = ({ start, end }: LineSpan, within: LineSpan): LineSpan => ({
  start: Math.max(start, within.start),
  end: Math.min(end, within.end),
});

export function rangesOf(lines: readonly number[]): LineSpan[] {
  const ranges: LineSpan[] = [];
  for (const line of lines) {
    const last = ranges.at(-1);
    if (last && last.end === line - 1) last.end = line;
    else ranges.push({ start: line, end: line });
  }
  return ranges;
}

export const linesIn = (ranges: readonly LineSpan[]): number[] =>
  ranges.flatMap(({ start, end }) =>
    Array.from({ length: Math.max(0, end - start + 1) }, (_, at) => start + at),
  );

export const rarity = (count: number): number => 1 / (1 + Math.log2(1 + count) / 4);

export function firstOfFiles<Item>(
  items: readonly Item[],
  pathOf: (item: Item) => string,
  most: number,
): Item[] {
  const counts = new Map<string, number>();
  return items.filter((item) => {
    const count = (counts.get(pathOf(item)) ?? 0) + 1;
    counts.set(pathOf(item), count);
    return count <= most;
  });
}

/** Larger files are data, or built to be slow. */
const MAX_BYTES = 1_000_000;
/** Maximum files read for one first message. A name in more files is too common. */
const MAX_FILES = 400;

/** Reads files of the repository that a model may see. */
export interface RepositoryFiles {
  /** Null if the file is missing, not regular, withheld, vendored, generated, binary, or too large. */
  read(path: string, ref: TextFile["ref"]): Promise<TextFile | null>;
  /** Whether the file at this path of the head may be shown, by its name. */
  isReadable(path: string): boolean;
  modules(): Promise<Modules>;
}

export function createRepositoryFiles(
  workspace: Workspace,
  isPrivate: (path: string) => boolean,
): RepositoryFiles {
  const files = new Map<string, Promise<TextFile | null>>();
  const isReadable = (path: string) => !isPrivate(path) && reasonByName(path) === null;

  async function load(path: string, ref: TextFile["ref"]): Promise<TextFile | null> {
    const entry: TreeEntry | undefined = (await workspace.tree(ref)).get(path);
    if (!entry?.mode.startsWith("100")) return null;
    const file = await workspace.readBlob(entry.oid).catch(() => null);
    if (file === null || file.binary || file.bytes > MAX_BYTES) return null;
    return { path, ref, lines: splitLines(file.text) };
  }

  return {
    isReadable,
    modules: () => modulesOf(workspace, isReadable),
    async read(path, ref) {
      if (!isReadable(path)) return null;
      const key = `${ref} ${path}`;
      const known = files.get(key);
      if (known || files.size >= MAX_FILES) return (await known) ?? null;
      const file = load(path, ref);
      files.set(key, file);
      return await file;
    },
  };
}

/** Files that are parsed in other threads while one is read. More would only take memory. */
const AHEAD = 3;

/** What `load` makes of the items, in their order; the next few are loaded meanwhile. */
export async function* loadAhead<Item, Loaded>(
  items: readonly Item[],
  load: (item: Item) => Promise<Loaded>,
): AsyncGenerator<Loaded> {
  const loading: Promise<Loaded>[] = [];
  for (let at = 0; at < items.length; at++) {
    for (const item of items.slice(at + loading.length, at + 1 + AHEAD)) {
      const loaded = load(item);
      // If the reader stops early, nobody awaits it.
      loaded.catch(() => {});
      loading.push(loaded);
    }
    yield await (loading.shift() as Promise<Loaded>);
  }
}

export interface Hit {
  path: string;
  line: number;
  text: string;
}

/** The lines of the repository that contain certain words. */
export interface WordHits {
  /** Lines in order of path and number; for a common word, only the lines that seem to define it. */
  of(word: string): readonly Hit[];
  /** Whether so many files have the word that it may mean anything. */
  isCommon(word: string): boolean;
  /** Whether `of` returns every line with the word. */
  isComplete(word: string): boolean;
}

interface SearchLimits {
  wants(path: string): boolean;
  signal: AbortSignal;
  /** Remaining milliseconds. */
  timeLeft(): number;
}

/** Maximum words of one search; of any further word, only the definitions are searched. */
export const MAX_WORDS = 400;
const MAX_WORD_LENGTH = 80;
const MAX_MATCHES = 6_000;
const MAX_LINES = 250;
const MAX_WORD_FILES = 25;
const MAX_COMMON = 60;
/** Maximum searches: after each one but the last, the words with too many matches are dropped. */
const ROUNDS = 4;

const identifier = /[\p{L}\p{N}_$]+/gu;
/** The same for texts without other characters, and several times as fast. */
const asciiIdentifier = /[\w$]+/g;
const isAscii = /^[\0-\x7f]*$/;
const quotes = ['"', "'", "`"] as const;

/** A word for {@link searchWords} that finds a string literal with exactly this text. */
export const inQuotes = (text: string): string => `"${text}"`;

/** The text between the quotes; null for a word that is searched as it is. */
const quotedText = (word: string) => /^"(.+)"$/.exec(word)?.[1] ?? null;

const escapeRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|#&~-]/g, "\\$&");

/** Plain alternatives, one for each kind of quote: a search for character classes takes several times as long. */
function patternOf(word: string): string {
  const text = quotedText(word);
  if (text === null) return escapeRegex(word);
  return quotes.map((quote) => quote + escapeRegex(text) + quote).join("|");
}

/** @param words the most important first: identifiers, strings without a line feed, or results of {@link inQuotes} */
export async function searchWords(
  workspace: Workspace,
  words: readonly string[],
  limits: SearchLimits,
): Promise<WordHits> {
  const usable = [...new Set(words)].filter(
    (word) => word.length <= MAX_WORD_LENGTH && /[\p{L}]/u.test(word) && !/[\n\r\0]/.test(word),
  );
  let left = usable.slice(0, MAX_WORDS);
  const common = new Set(usable.slice(MAX_WORDS));
  let hits = new Map<string, Hit[]>();
  let isWhole = false;
  const crowded = () => usable.filter((word) => common.has(word) && isIdentifier(word)).slice(0, MAX_COMMON);
  let lines: readonly Hit[] = [];
  for (let round = 0; round < ROUNDS && left.length > 0; round++) {
    // The lines that define a common word are found on the way: each search reads every file.
    const definitions = definitionOf(crowded());
    const pattern = wholeWords(left) + (definitions && `|${definitions}`);
    const found = await search(workspace, pattern, limits);
    lines = found?.hits ?? [];
    hits = byWord(lines, left);
    isWhole = found?.limited === false;
    const crowding = left.filter((word) => (hits.get(word)?.length ?? 0) > MAX_LINES);
    for (const word of crowding) common.add(word);
    left = left.filter((word) => !common.has(word));
    if (!found?.limited) break;
    // If no single word is common, they have too many matches together: the last ones are the least important.
    if (crowding.length === 0) left = left.slice(0, Math.floor(left.length / 2));
  }
  const known = new Set(left);
  const named = crowded();
  if (!isWhole) lines = (await search(workspace, definitionOf(named), limits))?.hits ?? [];
  const defining = definitionsIn(lines, named, limits.timeLeft);
  return {
    of: (word) => (known.has(word) ? hits.get(word) : defining.get(word)) ?? [],
    isCommon: (word) =>
      common.has(word) || new Set(hits.get(word)?.map(({ path }) => path)).size > MAX_WORD_FILES,
    isComplete: (word) => isWhole && known.has(word),
  };
}

function definitionsIn(
  lines: readonly Hit[],
  words: readonly string[],
  timeLeft: () => number,
): Map<string, Hit[]> {
  const all = byWord(lines, words);
  const found = new Set<Hit>();
  for (const [word, own] of all) {
    if (timeLeft() <= 0) break;
    for (const hit of own) if (definesName(hit.text, word)) found.add(hit);
  }
  return new Map([...all].map(([word, own]) => [word, own.filter((hit) => found.has(hit))]));
}

/**
 * A regular expression for lines with one of the words that is no part of a longer one, as with ripgrep's `--word-regexp`. Its classes are
 * of ASCII, like those of `defines`: Unicode's take seconds on each picture of a repository. Words are compared afterwards.
 */
const wholeWords = (words: readonly string[]) =>
  `(?-u:\\b{start-half})(?:${words.map(patternOf).join("|")})(?-u:\\b{end-half})`;

const isIdentifier = (word: string) => /^[\p{L}\p{N}_$]+$/u.test(word);

/** Keywords before a defined name, and the form of a type and a name at the start of a line in C. */
const defines =
  `(?:\\b(?:${definers})\\*?[ \\t]+(?:\\([^)]{0,80}\\)[ \\t]*)?` +
  "|\\b(?:public|private|protected|internal|static|final|async|override|virtual|inline)[ \\t][A-Za-z0-9_<>\\[\\], ?*&]{0,80}" +
  "|^[A-Za-z_][A-Za-z0-9_<>:*& ]{0,80}[ *&])";

function definitionOf(words: readonly string[]): string {
  return words.length === 0
    ? ""
    : `${defines.replaceAll("\\b", "(?-u:\\b)")}(?:${words.map(escapeRegex).join("|")})[ \\t]*[(<{=:]`;
}

/** Null if there is nothing to search, if the time is up or if the search fails. */
async function search(
  workspace: Workspace,
  pattern: string,
  { wants, signal, timeLeft }: SearchLimits,
): Promise<{ hits: Hit[]; limited: boolean } | null> {
  const milliseconds = timeLeft();
  if (milliseconds <= 0 || pattern === "") return null;
  const query = {
    pattern,
    contextLines: 0,
    maxResults: MAX_MATCHES,
    wants,
    fixedString: false,
    ignoreCase: false,
    wholeWord: false,
    invertMatch: false,
    mode: "content" as const,
    onlyPlaces: true,
  };
  const ended = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(milliseconds))]);
  try {
    const found = await workspace.search(query, ended);
    if (found.mode !== "content") return null;
    return {
      hits: found.matches.map(({ path, line, text }) => ({ path, line, text })),
      limited: found.limited,
    };
  } catch (error) {
    // The review goes on: the model can still use the tools.
    if (!signal.aborted && error instanceof AppError) return null;
    throw error;
  }
}

function byWord(hits: readonly Hit[], words: readonly string[]): Map<string, Hit[]> {
  const all = new Map<string, Hit[]>(words.map((word) => [word, []]));
  const quoted = words.filter((word) => quotedText(word) !== null);
  const others = words.filter((word) => !isIdentifier(word) && quotedText(word) === null);
  const inQuotesOf = quotedWords(quoted);
  for (const hit of hits) {
    const { text } = hit;
    const add = (word: string) => {
      const own = all.get(word);
      // A line may contain the word several times.
      if (own !== undefined && own.at(-1) !== hit) own.push(hit);
    };
    for (const word of text.match(isAscii.test(text) ? asciiIdentifier : identifier) ?? []) add(word);
    for (const word of inQuotesOf(text)) add(word);
    for (const word of others) if (text.includes(word)) add(word);
  }
  return all;
}

function quotedWords(words: readonly string[]): (line: string) => string[] {
  if (words.length === 0) return () => [];
  const texts = words.map((word) => escapeRegex(quotedText(word) ?? ""));
  // Looks ahead, because one quote may end a text and begin another one.
  const any = new RegExp(`(?=(["'\`])(${texts.join("|")})\\1)`, "g");
  return (line) => [...line.matchAll(any)].map((match) => inQuotes(match[2] ?? ""));
}

export interface Mention {
  file: CodeFile;
  line: number;
  role: Reference["role"];
  receiver: string | null;
}

/** The occurrences of names that parsing has confirmed. */
export interface Lookup {
  /** In the order of the most valuable files, then of lines. */
  definitions(name: string): readonly DefinitionSite[];
  /** In the same order. Only of the names whose mentions were asked for. */
  mentions(name: string): readonly Mention[];
  /** Whether the name is in so many files that it may mean anything. */
  isCommon(name: string): boolean;
  /** The parsed files in the folder of a path, without tests. */
  near(path: string): readonly CodeFile[];
  /** All parsed files. */
  files(): readonly CodeFile[];
  file(path: string): CodeFile | undefined;
}

/** Maximum files parsed for one first message. */
const MAX_PARSED = 60;
/** Maximum further files that are parsed because they are known to be useful. */
const MAX_KNOWN = 8;
/** Maximum characters of these files together, which take about one second. */
const MAX_CHARACTERS = 1_500_000;
const TEST_WORTH = 0.4;
/** Value of a file with a line that seems to define a name, relative to the only file that has it. */
const DEFINING_WORTH = 0.8;
const MAX_TEXT = 300;
/** Files of the change are always parsed. */
const CHANGED_WORTH = 1_000;

export interface Wanted {
  /** The names of definitions, each with the value of finding it. */
  names: ReadonlyMap<string, number>;
  /** Those of them whose mentions are needed, in any file and in code that is no test. */
  mentioned: { anywhere: ReadonlySet<string>; inCode: ReadonlySet<string> };
  changedPaths: readonly string[];
  /** The value of reading further files, by path. */
  known: ReadonlyMap<string, number>;
}

/** Parses the files with hits, the most promising first: rare names, near the change. Stops at the time limit. */
export async function lookUp(
  { names, mentioned, changedPaths, known }: Wanted,
  hits: WordHits,
  files: RepositoryFiles,
  timeLeft: () => number,
): Promise<Lookup> {
  const sites: DefinitionSite[] = [];
  const found: (Mention & { name: string })[] = [];
  const inTests = new Set([...mentioned.anywhere].filter((name) => names.has(name)));
  const inCode = new Set([...mentioned.anywhere, ...mentioned.inCode].filter((name) => names.has(name)));
  const seen = new Map<string, CodeFile>();
  const modules = await files.modules();
  let room = MAX_CHARACTERS;
  const byNames = inOrder(names, changedPaths, hits).slice(0, MAX_PARSED);
  const parse = async (path: string) => {
    const text = await files.read(path, "head");
    return { path, text, parsed: await parseFile(text, modules) };
  };
  for await (const { path, text, parsed } of loadAhead([...byNames, ...bestOf(known, byNames)], parse)) {
    if (timeLeft() <= 0 || room <= 0) break;
    room -= text?.lines.reduce((sum, line) => sum + line.length + 1, 0) ?? 0;
    if (parsed === null) continue;
    const { code: file } = parsed;
    seen.set(path, file);
    for (const definition of file.definitions)
      if (names.has(definition.name)) sites.push({ file, definition });
    for (const mention of mentionsIn(parsed, isTestFile(path) ? inTests : inCode)) found.push(mention);
  }
  const definitions = Map.groupBy(sites, ({ definition }) => definition.name);
  const mentions = Map.groupBy(found, ({ name }) => name);
  return {
    definitions: (name) => definitions.get(name) ?? [],
    mentions: (name) => mentions.get(name) ?? [],
    isCommon: (name) => hits.isCommon(name),
    near: (path) =>
      [...seen.values()].filter(
        (file) => folderOf(file.path) === folderOf(path) && (file.path === path || !isTestFile(file.path)),
      ),
    files: () => [...seen.values()],
    file: (path) => seen.get(path),
  };
}

/** Additional files, which displace none of those that the names lead to. */
function bestOf(known: ReadonlyMap<string, number>, others: readonly string[]): string[] {
  const more = [...known].filter(([path]) => !others.includes(path) && !isTestFile(path));
  more.sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return more.slice(0, MAX_KNOWN).map(([path]) => path);
}

/** Whether a line seems to define a name. To compile an expression for each name takes longer than all the rest. */
function definesName(line: string, name: string): boolean {
  const text = line.slice(0, MAX_TEXT);
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    sign.lastIndex = at + name.length;
    if (sign.test(text) && defining.test(text.slice(0, at))) return true;
  }
  return false;
}

const defining = new RegExp(`${defines}$`);
const sign = /\s*[(<{=:]/y;

function inOrder(
  names: ReadonlyMap<string, number>,
  changedPaths: readonly string[],
  hits: WordHits,
): string[] {
  const worth = new Map<string, number>(changedPaths.map((path) => [path, CHANGED_WORTH]));
  for (const [name, weight] of names) {
    const found = hits.of(name);
    const paths = new Set(found.map(({ path }) => path));
    const definers = found.filter(({ text }) => definesName(text, name)).map(({ path }) => path);
    const defined = new Set(definers);
    for (const path of paths) {
      if (isProse(path)) continue;
      const value = defined.has(path) ? DEFINING_WORTH / defined.size : 1 / paths.size;
      worth.set(path, (worth.get(path) ?? 0) + weight * value);
    }
  }
  const near = nearnessTo(changedPaths);
  const all = [...worth].map(([path, value]) => {
    const place = isTestFile(path) ? TEST_WORTH : 1;
    return { path, worth: value * place * near(path) };
  });
  all.sort((a, b) => b.worth - a.worth || (a.path < b.path ? -1 : 1));
  return all.map(({ path }) => path);
}

/** The closeness of a path to the nearest one of some, which is the same for all other files of a folder. */
function nearnessTo(paths: readonly string[]): (path: string) => number {
  const own = new Set(paths);
  // One file of each folder is as close as the others.
  const folders = [...new Map(paths.map((path) => [folderOf(path), path])).values()];
  const known = new Map<string, number>();
  return (path) => {
    if (own.has(path)) return 1;
    const folder = folderOf(path);
    const nearness = known.get(folder) ?? Math.max(...folders.map((one) => closeness(one, path)));
    known.set(folder, nearness);
    return nearness;
  };
}
