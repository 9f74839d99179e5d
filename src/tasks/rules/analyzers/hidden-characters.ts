import { setImmediate as nextTick } from "node:timers/promises";
import { flatMapWithPauses } from "../../../core/async.ts";
import { withoutSecrets } from "../../../core/secrets/redact.ts";
import { escapeInvisible } from "../../../core/text/escape-invisible.ts";
import { fence } from "../../../core/text/fence.ts";
import { grammarOf, loadAstGrep, type SgNode } from "../../../repo/code/languages.ts";
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

/** Letters that look like a Latin one in every font (https://www.unicode.org/Public/security/latest/confusables.txt). */
const latinOf = new Map([
  // Cyrillic small letters, then capitals.
  ...paired(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04cf",
    "aeopcyxijshdqwl",
  ),
  ...paired(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u04c0",
    "ABEKMHOPCTYXIJSI",
  ),
  // Greek, and one Armenian letter.
  ...paired(
    "\u03bf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u0585",
    "oABEZHIKMNOPTYXo",
  ),
]);

function paired(letters: string, latin: string): [letter: string, latin: string][] {
  return [...letters].map((letter, at) => [letter, latin.charAt(at)]);
}

const word = /[\p{L}\p{N}\p{M}_$]+/gu;
const foreignWord = /(?<![\p{L}\p{N}_$])[\p{Script=Cyrillic}\p{Script=Greek}]{3}/u;
const bentAbbreviation = /^[A-Z\d]{2,}[^\w$]{1,3}$/;

interface MixedWord {
  /** Its index in the line. */
  at: number;
  word: string;
  looksLike: string;
}

/** Words of Latin letters and look-alikes alone. An abbreviation with an ending in a language of the line is none. */
function mixedWords(line: string): MixedWord[] {
  let isForeign: boolean | undefined;
  return [...line.matchAll(word)].flatMap(({ 0: found, index: at }) => {
    if (!/[A-Za-z]/.test(found)) return [];
    const others = found.match(/[^\w$]/gu) ?? [];
    if (others.length === 0 || !others.every((letter) => latinOf.has(letter))) return [];
    if (bentAbbreviation.test(found)) isForeign ??= foreignWord.test(line);
    if (bentAbbreviation.test(found) && isForeign) return [];
    const looksLike = found.replace(/[^\w$]/gu, (letter) => latinOf.get(letter) ?? letter);
    return [{ at, word: found, looksLike }];
  });
}

/** The ways in which a line can differ from how it looks. */
type HiddenKind = "bidirectional" | "terminal" | "invisible" | "look-alikes" | "line-ends";

/** The kind of text at an index of a program. "comment" is only a comment that ends with its line; "text" is between tags. */
type TextKind = "code" | "comment" | "block comment" | "string" | "text";

/** What decides which characters are ordinary in a line. */
interface LineContext {
  /** Text that is written for people: prose or, in strings of a program, translations. */
  isText: boolean;
  /** Tests hold odd characters as data. */
  isTest: boolean;
  /** Neither code nor configuration: carriage returns and separators of lines hide nothing there. */
  isData: boolean;
  kindAt?: (index: number) => TextKind;
}

/** `code` forms names; a `literal` is a string or a comment, or any part of what no parser reads; `data` is what a test is about. */
type Place = "code" | "literal" | "text" | "data";

function placeOf(index: number, { isText, isTest, kindAt }: LineContext): Place {
  const kind = kindAt?.(index) ?? "string";
  if (kind === "code") return "code";
  const isComment = kind === "comment" || kind === "block comment";
  if (isTest) return isComment ? "text" : "data";
  return (isText && !isComment) || kind === "text" ? "text" : "literal";
}

/** Characters without ink: ignorable, format and control characters, separators; and U+2800, which no property tells. */
const unseen = /[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u2800]--[\t\n\f]]/gv;

/** A text without characters that have no ink. */
export const withoutUnseen = (text: string): string => text.replace(unseen, "");

/** Characters that end a line, and with it a comment, for the compilers of some languages, and not for viewers. */
const lineEnd = /[\r\x85\u2028\u2029]/;

const emoji =
  "(?:\\u{1F3F4}[\\u{E0030}-\\u{E0039}\\u{E0061}-\\u{E007A}]{3,6}\\u{E007F}|(?=\\p{Emoji})\\p{RGI_Emoji}|\\p{Extended_Pictographic}(?:\\p{Emoji_Modifier}|[\\uFE0E\\uFE0F])?)";
/** Letters without capitals, and of Adlam, and their marks: they need joiners, or have no spaces. Not those of Chinese, Japanese and Korean. */
const joined =
  "[[\\p{Lo}\\p{M}\\p{sc=Adlm}]--[\\p{DI}\\p{Ideographic}\\p{scx=Latn}\\p{sc=Zinh}\\p{sc=Hang}\\p{sc=Hira}\\p{sc=Kana}]]";
const formatted = "[[\\p{Lo}\\p{N}]--\\p{ASCII}]";
const format = "[[\\p{Cf}--\\p{DI}]--[\\uFFF9-\\uFFFB]]";
const jamo = "[[\\u1100-\\u11ff\\ua960-\\ua97f\\ud7b0-\\ud7ff]--\\p{DI}]";

/** Text in which such characters are needed. */
const needed = new RegExp(
  [
    `${emoji}(?:\\u200D${emoji})*`,
    // A selector chooses a form of a symbol, a Chinese character or a Mongolian letter.
    "(?<=[[\\p{S}\\p{P}]--\\p{ASCII}])[\\uFE00-\\uFE0F]|(?<=\\p{Ideographic})\\p{VS}|(?<=\\p{sc=Mong})[\\u180B-\\u180F]",
    `(?<=${joined})[\\u200B-\\u200D]|[\\u200B-\\u200D](?=${joined})`,
    // It keeps the order of points.
    "(?<=\\p{sc=Hebr})\\u034F",
    // It keeps a name from being a mention.
    "(?<=[@#])\\u200B",
    // Old Hangul syllables without a first consonant or a vowel.
    `(?<=${jamo})[\\u115F\\u1160]|[\\u115F\\u1160](?=${jamo})`,
    // Format characters with ink beside what they format, such as the Arabic sign of a year.
    `(?<=${formatted})${format}|${format}(?=${formatted})`,
    "(?<!\\u2800)\\u2800*[\\u2801-\\u28FF][\\u2800-\\u28FF]*",
  ].join("|"),
  "gv",
);

/** Ordinary in text: ignorable letters and marks, joiners, breaks, directions, signs of formulas, wrongly decoded C1. */
const ordinaryInText =
  /[[[\p{L}\p{M}]--\p{VS}]\p{Join_Control}\p{Bidi_Control}\p{Zl}\p{Zp}\x80-\x9f\xad\u200b\u2060-\u2064\u2800\ufeff]/v;
/** This many may encode a text. */
const run = /\p{DI}{8}/v;

/**
 * ESC and the C1 controls that begin a sequence, with which a terminal erases, moves or disguises what it has shown (ECMA-48). Wrongly decoded
 * text has these controls behind others, except CSI, which needs no end.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const terminal = /[\x1b\x9b]|(?<![\x80-\xff\u20ac])[\x90\x98\x9d-\x9f]|\x9d(?=\d{1,4};)/y;
const bidirectional = /\p{Bidi_Control}/u;
const splitWord = /[\w$]\p{Bidi_Control}+[\w$]/u;
const tag = /[\u{e0000}-\u{e007f}]/u;

/** Letters of scripts that are written from right to left. */
const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

const stretch =
  /[\u202a\u202b\u202d\u202e]([^\u202a-\u202e\u2066-\u2069]*)\u202c?|[\u2066-\u2068]([^\u202a-\u202e\u2066-\u2069]*)\u2069?/g;
const override = /^[\u202d\u202e]/;
const closed = /[\u202c\u2069]$/;
const codeSign = /["'`;{}()<>=*/#\\]/;

/** The indices of a line about which {@link hiddenIn} asks, in order. */
function askedIn(line: string): number[] {
  const characters = [...line.matchAll(unseen)].flatMap(({ 0: character, index }) =>
    index > 0 && lineEnd.test(character) ? [index - 1, index] : [index],
  );
  return [...characters, ...mixedWords(line).map(({ at }) => at)].sort((a, b) => a - b);
}

interface Hidden {
  kind: HiddenKind;
  at: number;
  word?: MixedWord;
}

/**
 * The hidden features of a line, the first of each kind. Linear in its length.
 *
 * @param start the line's index in the file
 */
export function hiddenIn(line: string, context: LineContext, start = 0): Hidden[] {
  const placeAt = (at: number) => placeOf(start + at, context);
  const found = new Map<HiddenKind, Hidden>();
  const reorders = reordered(line, placeAt);
  if (reorders >= 0) found.set("bidirectional", { kind: "bidirectional", at: reorders });
  const kindOf = kindsIn(line, context, start, reorders >= 0);
  for (const { 0: character, index: at } of line.matchAll(unseen)) {
    const kind = kindOf(character, at);
    if (kind && !found.has(kind)) found.set(kind, { kind, at });
  }
  const word = mixedWords(line).find(({ at }) => ["code", "literal"].includes(placeAt(at)));
  return [...found.values(), ...(word ? [{ kind: "look-alikes" as const, at: word.at, word }] : [])];
}

/** Whether a character that ends a line for some programs ends code or a comment at this index. */
const endsCode = (index: number, { isData, kindAt }: LineContext): boolean =>
  !isData &&
  (kindAt === undefined ||
    kindAt(index) === "code" ||
    [index - 1, index].some((at) => kindAt(at) === "comment"));

/** Returns what a character without ink is at its index; null if it is ordinary there. */
function kindsIn(line: string, context: LineContext, start: number, isReordered: boolean) {
  const others = line.replace(needed, (text) => " ".repeat(text.length));
  const long = others.search(run);
  const isRightToLeft = rightToLeft.test(line) && !splitWord.test(line);
  const isOrdinary = (character: string, at: number, place: Place) => {
    if (place === "code" || at === long || (lineEnd.test(character) && endsCode(start + at, context)))
      return false;
    if (others[at] === " " || (isRightToLeft && bidirectional.test(character))) return true;
    return place === "data" ? !tag.test(character) : place === "text" && ordinaryInText.test(character);
  };
  return (character: string, at: number): "terminal" | "invisible" | "line-ends" | null => {
    const isExpected = context.isTest || context.isData;
    if (character === "\r") return isExpected && !endsCode(start + at, context) ? null : "line-ends";
    const place = placeOf(start + at, context);
    terminal.lastIndex = at;
    if (terminal.test(line)) return place === "data" ? null : "terminal";
    // The finding about another order names it.
    if (isReordered && bidirectional.test(character)) return null;
    return isOrdinary(character, at, place) ? null : "invisible";
  };
}

/**
 * The index of control characters that suspiciously change the display order of a line; -1 if there are none. In text, a stretch is ordinary
 * if it ends within the text; an override also needs a right-to-left language on the line. In a literal, a stretch is ordinary if it ends, has
 * no code and no override, and either consists of words of such a language or is surrounded by them.
 */
function reordered(line: string, placeAt: (at: number) => Place): number {
  // "x" for strings and comments with words of a right-to-left language outside of the stretches.
  const around = line
    .replace(stretch, (whole) => " ".repeat(whole.length))
    .replace(/[^"'`]+/g, (part) => (rightToLeft.test(part) ? "x" : " ").repeat(part.length));
  for (const { 0: whole, 1: embedded, 2: isolated, index } of line.matchAll(stretch)) {
    const inner = embedded ?? isolated ?? "";
    const place = placeAt(index);
    const isText = place === "text";
    const isForeign = rightToLeft.test(inner) && !/\p{Script=Latin}/u.test(inner);
    const isOfWords = isText || (!codeSign.test(inner) && (isForeign || around[index] === "x"));
    const ends = closed.test(whole) || (isText && placeAt(index + whole.length) === "text");
    const mayOverride = isText && rightToLeft.test(line);
    if (place === "code" || !isOfWords || !ends || (override.test(whole) && !mayOverride)) return index;
  }
  return -1;
}

const prose = /\.(?:md|mdx|markdown|rst|adoc|txt|html?|tex|org)$/i;
const translated = /\.(?:po|pot|xlf|xliff|arb|strings|resx|ftl|srt|vtt|csv|tsv)$/i;
/** Paths of texts in one language: `locales/fa.json`, `values-iw/strings.xml`. They are data, which forms no names. */
const byLanguage =
  /(?:^|\/)(?:_?locales?|i18n|l10n|lang|translations?)\/.*\.(?:json|ya?ml|properties|toml|xml|ini)$|\/values-[\w-]+\/[^/]*\.xml$/i;
/** Recordings of terminals, and snapshots of what a program wrote to one. */
const recorded = /\.(?:cast|ans|ansi|snap)$/i;

/** Data of programs that may have carriage returns. */
const data = /\.(?:json|jsonl|geojson|xml|svg|plist|ics|vcf|eml|rtf|pdf|e?ps|log|diff|patch|dat|lock)$/i;

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

const wordings: Record<HiddenKind, Pick<Diagnostic, "severity" | "title" | "body">> = {
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
    body: "Programs and language models read them, and people do not: two different names or values look the same, an invisible letter can be a name, a separator of lines can end a comment, and zero-width characters, variation selectors and tag characters can hide any text. Remove them, or write them as escapes if a program needs them.",
  },
  "look-alikes": {
    severity: "medium",
    title: "A word mixes Latin letters with look-alikes of another script",
    body: "The letters listed below look like Latin letters but are not, so this is a different name from the one that it seems to be. Retype the word in Latin letters.",
  },
  "line-ends": {
    severity: "high",
    title: "A hidden character ends a line of code or a comment",
    body: "Some programs end the line at the carriage return shown below, and others do not: what follows a comment may run as code, and a terminal shows only what follows the character. Use a line feed, or remove it.",
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
export const hiddenCharactersAnalyzer: Analyzer = {
  name: "hidden-characters",
  async analyze(file) {
    const pieces = await piecesOf(file, addedLinesOf(file));
    const asked: number[] = [];
    for (const { text, start } of pieces) {
      asked.push(...askedIn(text).map((at) => start + at));
      await nextTick();
    }
    const context = await contextOf(file, asked);
    const found: FoundLine[] = [];
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

/** A long line is read in pieces, which each end before a character of ASCII. */
const piece = /.{1,8000}(?=[ -~]|$)|.{1,8000}/gsv;

/** The lines that are not plain, without a byte order mark and without the carriage returns at both ends, which hide nothing. */
async function piecesOf({ text: whole }: AnalyzedFile, lines: readonly AddedLine[]) {
  const starts = [0, ...lineEnds(whole).map((end) => end + 1)];
  return await flatMapWithPauses(lines, ({ line, text }) => {
    if (!/[^\t\f -~]/.test(text)) return [];
    const rest = text.replace(/(?<!\r)\r+$/, "").replace(/^\r+/, (run) => " ".repeat(run.length));
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
  const isData = [prose, translated, recorded, data].some((kind) => kind.test(path));
  const kindAt =
    (await kindsOfText(file, wanted)) ??
    (grammarOf(path) ? () => "code" as const : prose.test(path) ? kindsOfProse(text) : null);
  if (kindAt) {
    const isText = programByLanguage.test(path) && (await parseText(path, text))?.tree?.isSound() === true;
    return { isText, isTest, isData, kindAt };
  }
  const isText = translated.test(path) || byLanguage.test(path);
  return { isText, isTest: isTest || recorded.test(path), isData };
}

interface FoundLine extends Hidden {
  line: number;
  text: string;
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
