import { setImmediate as nextTick } from "node:timers/promises";
import { flatMapWithPauses } from "../../../core/async.ts";
import type { Severity } from "../../../core/finding.ts";
import { withoutSecrets } from "../../../core/secrets/redact.ts";
import { escapeInvisible } from "../../../core/text/escape-invisible.ts";
import { fence } from "../../../core/text/fence.ts";
import { extensionOf, grammarOf, loadAstGrep, type SgNode } from "../../../repo/code/languages.ts";
import { isNestedTooDeep, parseText } from "../../../repo/code/parse.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { extentOf, firstIndex } from "../../../repo/code/tree.ts";
import {
  type AddedLine,
  type AnalyzedFile,
  type Analyzer,
  addedLinesOf,
  type Diagnostic,
  lineEnds,
} from "./analyzer.ts";
import {
  askedIn,
  hiddenIn,
  type LineContext,
  type MixedWord,
  type TextKind,
  type HiddenKind as WithinLine,
  withoutUnseen,
} from "./hidden-in-line.ts";

const prose = /\.(?:md|mdx|markdown|rst|adoc|txt|html?|tex|org)$/i;
const translated = /\.(?:po|pot|xlf|xliff|arb|strings|resx|ftl|srt|vtt|csv|tsv)$/i;
/** Paths of texts in one language: `locales/fa.json`, `values-iw/strings.xml`. They are data, which forms no names. */
const byLanguage =
  /(?:^|\/)(?:_?locales?|i18n|l10n|lang|translations?)\/.*\.(?:json|ya?ml|properties|toml|xml|ini)$|\/values-[\w-]+\/[^/]*\.xml$/i;
/** Recordings of terminals, and snapshots of what a program wrote to one. */
const recorded = /\.(?:cast|ans|ansi|snap)$/i;

/** Each takes some queries of the tree, which last microseconds; a larger tree takes too much memory. */
const mostInTree = 10_000;
const mostCharacters = 600_000;

/**
 * Looks up kinds of text in the syntax tree; null if there is no tree, or there are too many indices.
 *
 * @param wanted the indices to be looked up, in order
 */
async function kindsOfText(
  { path, text }: Pick<AnalyzedFile, "path" | "text">,
  wanted: readonly number[],
): Promise<((index: number) => TextKind) | null> {
  const grammar = grammarOf(path);
  const isLarge = wanted.length > mostInTree || text.length > mostCharacters;
  if (!grammar || isLarge || isNestedTooDeep(text)) return null;
  const root = (await (await loadAstGrep()).parseAsync(grammar.dialect, text)).root();
  const known = new Map<number, TextKind>();
  const open: { node: SgNode; around: TextKind }[] = [{ node: root, around: "code" }];
  let count = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const { from, to } = extentOf(next.node);
    const end = firstIndex(wanted, (index) => index >= to);
    const here = kindOf(next.node, text, from) ?? next.around;
    let first = firstIndex(wanted, (index) => index >= from);
    for (const index of wanted.slice(first, end)) known.set(index, here);
    // Nodes within are popped later, and are more precise.
    for (let [at, behind] = [0, from]; first < end; at++) {
      if (++count % 100 === 0) await nextTick();
      const index = wanted[first] ?? to;
      at = childBehind(next.node, index, at, at + index - behind);
      const node = next.node.child(at);
      if (!node) break;
      behind = extentOf(node).to;
      open.push({ node, around: here });
      first = firstIndex(wanted, (other) => other >= behind);
    }
  }
  return (index) => known.get(index) ?? "code";
}

/** The number of the first child, from `low` to `high`, that ends behind an index. A list of all lasts a second for a long array. */
function childBehind(node: SgNode, index: number, low: number, high: number): number {
  if (low >= high) return low;
  const middle = (low + high) >> 1;
  const child = node.child(middle);
  return !child || extentOf(child).to > index
    ? childBehind(node, index, low, middle)
    : childBehind(node, index, middle + 1, high);
}

/** The kinds of text of prose: what is in the scripts of a page counts as strings. */
function kindsOfProse(text: string): (index: number) => TextKind {
  const tags = [...text.matchAll(/(?<!`)<script\b|<\/script\b/gi)];
  const before = (index: number) => tags[firstIndex(tags, (tag) => tag.index > index) - 1]?.[0] ?? "</";
  return (index) => (before(index).startsWith("</") ? "text" : "string");
}

/** Includes the body of a macro, which the grammars of C do not parse. */
const literal =
  /string|heredoc|nowdoc|regex|(?:char(?:acter)?|rune)_literal|template_literal|symbol$|^(?:character|uninterpreted|preproc_arg)$/;
/** Code within a string, also if its parser does not understand it. */
const inserted =
  /^(?:template_substitution|(?:string_)?interpolation|interpolated_identifier|\w*variable_name|ERROR)$|(?<!string)_expression$/;

/** Undefined for a node of the same kind of text as the one around it. */
function kindOf(node: SgNode, text: string, from: number): TextKind | undefined {
  const kind = String(node.kind());
  if (inserted.test(kind)) return "code";
  if (/comment|^hash_bang/.test(kind)) return text.startsWith("/*", from) ? "block comment" : "comment";
  if (/^(?:jsx_text|text)/.test(kind)) return "text";
  return literal.test(kind) ? "string" : undefined;
}

/** The characters that end a line in a language, besides a line feed. */
interface LineTerminators {
  /** The characters, for a regular expression class. */
  characters: string;
  /** The start of a comment that ends with its line. */
  comment: RegExp;
  /** Whether a text may contain these characters outside of comments and strings: then only the end of a comment is suspicious. */
  isData: boolean;
}

const slashes = /\/\//y;
const hash = /#/y;

/**
 * Only languages whose definition or compiler says so; all of them treat a line feed, with or without a carriage return before it, as one
 * line end. In Go, Rust, Ruby and shells nothing else but a line feed ends a line.
 *
 * - ECMAScript, and TypeScript's scanner: ECMA-262, 12.3 "Line Terminators". Since ES2019 strings may hold U+2028 and U+2029.
 * - C#: ECMA-334, 6.3.2 "Line terminators".
 * - Java: JLS 3.4. Kotlin: language specification 1.2.1, `NL`. Swift: reference, "Lexical structure", `line-break`. Dart:
 *   specification, `NEWLINE`.
 * - Python: language reference 2.1.2 "Physical lines".
 * - PHP: `NEWLINE` of Zend's scanner.
 * - C, C++: left to the implementation. Clang: `isVerticalWhitespace`, which ends its line comments.
 * - YAML: 1.2, 5.4 "Line Break Characters", has the carriage return; 1.1 and the libraries that follow libyaml have the others too.
 */
const languages: readonly (LineTerminators & { extensions: string })[] = [
  {
    extensions: "js jsx mjs cjs ts mts cts tsx vue svelte",
    characters: "\\r\\u2028\\u2029",
    comment: slashes,
    isData: false,
  },
  { extensions: "cs csx", characters: "\\r\\x85\\u2028\\u2029", comment: slashes, isData: false },
  {
    extensions: "java kt kts swift dart c h cc cpp cxx hh hpp hxx ipp m mm cu",
    characters: "\\r",
    comment: slashes,
    isData: false,
  },
  { extensions: "py pyi", characters: "\\r", comment: hash, isData: false },
  // `#[` begins an attribute.
  { extensions: "php", characters: "\\r", comment: /\/\/|#(?!\[)/y, isData: false },
  { extensions: "yml yaml", characters: "\\r\\x85\\u2028\\u2029", comment: /(?<!\S)#/y, isData: true },
];

/** In other languages, only a line feed ends a line. */
const others: LineTerminators = { characters: "", comment: /(?!)/y, isData: false };

function lineTerminatorsOf(path: string): LineTerminators {
  const extension = extensionOf(path);
  return languages.find(({ extensions }) => extensions.split(" ").includes(extension)) ?? others;
}

/** Data of programs that may have carriage returns. */
const data = /\.(?:json|jsonl|geojson|xml|svg|plist|ics|vcf|eml|rtf|pdf|e?ps|log|diff|patch|dat|lock)$/i;

/** Whether a file is code, in which no editor writes a lone carriage return. A terminal shows only what follows one. */
const isOfCode = (path: string) =>
  !isTestFile(path) && ![prose, translated, byLanguage, recorded, data].some((kind) => kind.test(path));

/** A character that ends a line for a compiler, but not for a reader. */
interface HiddenLineEnd {
  /** What it ends: a comment, so the rest of the line is code that runs, or a line of code. */
  ends: "comment" | "code";
  line: number;
  /** Its index in the line. */
  at: number;
}

/** A line end with the blanks after it. */
interface LineEnd extends Omit<HiddenLineEnd, "ends"> {
  text: string;
  /** Index in the line of the text after it. */
  next: number;
  /** Index in the file's text. */
  place: number;
}

/**
 * Finds where a comment or code ends in the middle of one of these lines, at most once per line. Strings and comments of several lines may
 * contain these characters, except a carriage return in code. Other texts without line feeds come from an old Macintosh.
 */
export async function hiddenLineEnds(
  file: Pick<AnalyzedFile, "path" | "text">,
  lines: readonly AddedLine[],
): Promise<HiddenLineEnd[]> {
  const terminators = lineTerminatorsOf(file.path);
  const isCode = isOfCode(file.path);
  const candidates = await lineEndsIn(file.text, lines, terminators.characters, isCode);
  const places = candidates.flatMap(({ place }) => [place - 1, place]);
  const placeAt = places.length > 0 && terminators !== others ? await kindsOfText(file, places) : null;
  const found = new Map<number, HiddenLineEnd>();
  const comments = new Map<number, number>();
  for (const one of candidates) {
    if (found.has(one.line)) continue;
    const comment = comments.get(one.line) ?? (placeAt ? -1 : commentIn(one.text, terminators.comment));
    comments.set(one.line, comment);
    const told = placeAt ? endedAt(one, placeAt, terminators) : endedInLine(one, comment, terminators);
    const ends = told ?? (isCode && one.text[one.at] === "\r" ? "code" : undefined);
    if (ends !== undefined) found.set(one.line, { ends, line: one.line, at: one.at });
  }
  return [...found.values()];
}

/** No line feed except at its end, and several lines. */
const isOldMac = (text: string) => !/\n./s.test(text) && text.split("\r", 4).length > 3;

/** Line ends between two things in a line, in order. Linear in the length of the lines. */
async function lineEndsIn(text: string, lines: readonly AddedLine[], known: string, isCode: boolean) {
  const characters = isCode ? `\\r${known}` : isOldMac(text) ? known.replace("\\r", "") : known;
  if (characters === "") return [];
  const pattern = new RegExp(`[${characters}][\\s\\x85]*`, "g");
  const ends = lineEnds(text);
  return await flatMapWithPauses(lines, ({ line, text: row }) => {
    const start = line === 1 ? 0 : (ends[line - 2] ?? 0) + 1;
    const first = row.search(/[^\s\x85]/);
    const found: LineEnd[] = [];
    for (const { 0: run, index: at } of row.matchAll(pattern)) {
      const next = at + run.length;
      if (at <= first || first < 0 || (next === row.length && !/\r[^\r]/.test(run))) continue;
      found.push({ line, text: row, at, next, place: start + at });
      // One finding for a line is enough.
      if (isCode && run.startsWith("\r")) break;
    }
    return found;
  });
}

function endedAt(
  { text, next, place }: LineEnd,
  placeAt: (index: number) => TextKind,
  { comment, isData }: LineTerminators,
): HiddenLineEnd["ends"] | undefined {
  const kind = placeAt(place);
  if (kind !== "code" && kind !== "comment") return undefined;
  const isComment = kind === "comment" || placeAt(place - 1) === "comment";
  if (!isComment) return isData ? undefined : "code";
  return beginsAt(comment, text, next) ? undefined : "comment";
}

/** Without a syntax tree: only the end of a comment can be detected, from the line itself. */
function endedInLine(
  { text, at, next }: LineEnd,
  start: number,
  { comment }: LineTerminators,
): "comment" | undefined {
  return start >= 0 && start < at && !beginsAt(comment, text, next) ? "comment" : undefined;
}

function beginsAt(pattern: RegExp, text: string, index: number): boolean {
  pattern.lastIndex = index;
  return pattern.test(text);
}

/** The index of the first comment of a line that ends with it; -1 if there is none. */
function commentIn(line: string, comment: RegExp): number {
  for (let at = 0; at < line.length; at++) {
    if (beginsAt(comment, line, at)) return at;
    const sign = line.charAt(at);
    if (!"\"'`".includes(sign)) continue;
    for (at += 1; at < line.length && line.charAt(at) !== sign; at++) if (line.charAt(at) === "\\") at += 1;
  }
  return -1;
}

type HiddenKind = WithinLine | "comment-ends" | "line-ends";

interface Wording {
  severity: Severity;
  title: string;
  /** The effect, and what to do instead. */
  body: string;
}

const wordings: Record<HiddenKind, Wording> = {
  bidirectional: {
    severity: "high",
    title: "Bidirectional controls show this line in a different order from the one in which it runs",
    body: "The line contains characters that reverse the order of the text around them, so code can look like a comment, and a comment like code (CVE-2021-42574). Remove them, or write them as escapes if a program needs them.",
  },
  terminal: {
    severity: "high",
    title: "The line contains a sequence that a terminal obeys",
    body: "A terminal that shows this file, its diff or a log of it obeys the sequence: it can erase lines, show other text in their place, or set its title. Write the character as an escape, such as `\\x1b`.",
  },
  invisible: {
    severity: "high",
    title: "The line contains characters that no one can see",
    body: "Programs and language models read them, and people do not: two different names or values look the same, an invisible letter can be a name, and zero-width characters, variation selectors and tag characters can hide any text. Remove them, or write them as escapes if a program needs them.",
  },
  "look-alikes": {
    severity: "medium",
    title: "A word mixes Latin letters with look-alikes of another script",
    body: "The letters listed below look like Latin letters but are not, so this is a different name from the one that it seems to be. Retype the word in Latin letters.",
  },
  "comment-ends": {
    severity: "high",
    title: "A hidden line end lets code follow a comment",
    body: "The character shown below ends the comment, but viewers show the code after it as a part of the comment. That code runs. Put it on its own line, or remove it.",
  },
  "line-ends": {
    severity: "medium",
    title: "A hidden character ends a line of code",
    body: "Some programs end the line at the character shown below, and others do not: a statement may end there, for example after `return`, and a terminal shows only what follows a carriage return. Use a line feed.",
  },
};

/** Paths of programs whose strings are such texts: `i18n/ar-EG.ts`. */
const programByLanguage =
  /(?:^|\/)(?:_?locales?|i18n|l10n|lang|translations?)\/(?:.*\/)?[a-z]{2,3}(?:[-_][a-z]{2,4})*\.\w{1,4}$/i;

/** Maximum characters shown of a line, how many of them before the hidden ones, and those of a secret on either side. */
const SHOWN = 160;
const SHOWN_BEFORE = 40;
const SECRET = 8_000;
/** Maximum findings of a kind in a file, and maximum further lines that the last one names. */
const MOST = 10;

/**
 * Finds characters that a reader of a diff cannot see: text that is shown in another order, characters without ink, letters that look like
 * others, line ends that no viewer shows, sequences that a terminal obeys. One finding for each kind and line. In code, each such character
 * counts; in strings, comments and text, those that nothing there needs.
 */
export function createHiddenCharactersAnalyzer(): Analyzer {
  return {
    name: "hidden-characters",
    async analyze(file) {
      const lines = addedLinesOf(file);
      const ends = new Map((await hiddenLineEnds(file, lines)).map((one) => [one.line, one]));
      const found: FoundLine[] = lines.flatMap(({ line, text }) => {
        const end = ends.get(line);
        return end
          ? [{ kind: end.ends === "comment" ? "comment-ends" : "line-ends", line, text, at: end.at }]
          : [];
      });
      const pieces = await piecesOf(file, lines, (line) => ends.has(line));
      const asked: number[] = [];
      for (const { text, start } of pieces) {
        asked.push(...askedIn(text).map((at) => start + at));
        await nextTick();
      }
      const context = await contextOf(file, asked);
      for (const { line, text, start } of asked.length > 0 ? pieces : []) {
        found.push(...hiddenIn(text, context, start).map((one) => ({ line, text, ...one })));
        await nextTick();
      }
      return [...Map.groupBy(found, ({ kind }) => kind).values()].flatMap((same) => {
        const lines = Map.groupBy(same, ({ line }) => line).values();
        return toDiagnostics(
          file,
          [...lines].flatMap(([first]) => first ?? []),
        );
      });
    },
  };
}

/** A long line is read in pieces, which each end before a character of ASCII. */
const piece = /.{1,8000}(?=[ -~]|$)|.{1,8000}/gsv;

/** The lines that are not plain, without a byte order mark, and without line ends where these are already reported. */
async function piecesOf(
  { text: whole }: AnalyzedFile,
  lines: readonly AddedLine[],
  isEnded: (line: number) => boolean,
) {
  const starts = [0, ...lineEnds(whole).map((end) => end + 1)];
  return await flatMapWithPauses(lines, ({ line, text }) => {
    if (!/[^\t\f -~]/.test(text)) return [];
    const rest = isEnded(line) ? text.replace(/[\x85\u2028\u2029]/g, " ") : text;
    const read = line === 1 ? rest.replace(/^\ufeff/, " ") : rest;
    return Array.from(read.matchAll(piece), ({ 0: part, index }) => ({
      line,
      text: part,
      start: (starts[line - 1] ?? 0) + index,
    }));
  });
}

/**
 * What is ordinary in a file. A program that its parser does not read to the end is no translation, because a part of it may only look
 * like a string. All of one without a tree counts as code.
 */
async function contextOf(file: AnalyzedFile, wanted: readonly number[]): Promise<LineContext> {
  const { path, text } = file;
  const isTest = isTestFile(path);
  const kindAt =
    (await kindsOfText(file, wanted)) ??
    (grammarOf(path) ? () => "code" as const : prose.test(path) ? kindsOfProse(text) : null);
  if (kindAt) {
    const isText = programByLanguage.test(path) && (await parseText(path, text))?.tree?.isSound() === true;
    return { isText, isTest, kindAt };
  }
  return { isText: translated.test(path) || byLanguage.test(path), isTest: isTest || recorded.test(path) };
}

interface FoundLine {
  kind: HiddenKind;
  line: number;
  text: string;
  at: number;
  /** Its word that looks like another one. */
  word?: MixedWord | undefined;
}

/** One finding for each line, because people dismiss one line at a time. The last finding also names all further lines. */
function toDiagnostics({ path }: AnalyzedFile, found: readonly FoundLine[]): Diagnostic[] {
  return found.slice(0, MOST).map((one, at) => {
    const { kind, line } = one;
    const { severity, title, body } = wordings[kind];
    const others = at === MOST - 1 ? found.slice(MOST) : [];
    const more = others.length === 0 ? "" : `\n\nThe same applies to ${named(others)}.`;
    const text = `${body}\n\n${fence(shown(one), "text")}${more}`;
    return {
      path,
      line,
      severity,
      category: "security",
      title,
      body: text,
      source: `hidden-characters/${kind}`,
      extent: { start: line, end: others.at(-1)?.line ?? line },
    };
  });
}

function named(lines: readonly FoundLine[]): string {
  const numbers = lines.slice(0, MOST).map(({ line }) => line);
  const rest = lines.length - numbers.length;
  return `line${lines.length > 1 ? "s" : ""} ${numbers.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** The line around the hidden characters, with everything invisible escaped; beside a secret, also one that they split, only the escapes. */
function shown(found: FoundLine): string {
  const { kind, text, at, word } = found;
  const around = text.slice(Math.max(0, at - SECRET), at + SECRET);
  const read = [around, withoutUnseen(around), word?.looksLike ?? ""];
  const start = Math.max(0, at - SHOWN_BEFORE);
  const part = escapeInvisible(text.slice(start, start + SHOWN).toWellFormed()).trim();
  const whole = kind === "look-alikes" ? spelledWord(found) : part;
  const isPublic = read.every((one) => withoutSecrets(one) === one);
  return isPublic ? whole : (whole.match(/\\u\{[\dA-F]+\}|\u240D/g) ?? []).join(" ");
}

function spelledWord({ word }: FoundLine): string {
  const spelled = word?.word.replace(/[^\w$]/gu, spell).slice(0, SHOWN);
  return `${spelled} looks like ${word?.looksLike.slice(0, SHOWN)}`;
}

const spell = (letter: string) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
