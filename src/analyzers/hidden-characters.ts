import { setImmediate as nextTick } from "node:timers/promises";
import { flatMapWithPauses } from "../async.ts";
import { grammarOf } from "../code/languages.ts";
import { parseText } from "../code/parse.ts";
import { isTestFile } from "../code/test-file.ts";
import type { Severity } from "../finding.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";
import { fence } from "../text/fence.ts";
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
  type HiddenKind as WithinLine,
} from "./hidden-in-line.ts";
import { hiddenLineEnds } from "./hidden-line-ends.ts";
import { kindsOfText } from "./hidden-places.ts";

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
    body: "The character shown below ends a line for the compiler, but viewers show a single line. A statement may end there, for example after `return`. Use a line feed.",
  },
};

const prose = /\.(?:md|mdx|markdown|rst|adoc|txt|html?|tex|org)$/i;
const translated = /\.(?:po|pot|xlf|xliff|arb|strings|resx|ftl|srt|vtt|csv|tsv)$/i;
/** Paths of texts in one language: `locales/fa.json`, `values-iw/strings.xml`. They are data, which forms no names. */
const byLanguage =
  /(?:^|\/)(?:_?locales?|i18n|l10n|lang|translations?)\/.*\.(?:json|ya?ml|properties|toml|xml|ini)$|\/values-[\w-]+\/[^/]*\.xml$/i;
/** Paths of programs whose strings are such texts: `i18n/ar-EG.ts`. */
const programByLanguage =
  /(?:^|\/)(?:_?locales?|i18n|l10n|lang|translations?)\/(?:.*\/)?[a-z]{2,3}(?:[-_][a-z]{2,4})*\.\w{1,4}$/i;
/** Recordings of terminals, and snapshots of what a program wrote to one. */
const recorded = /\.(?:cast|ans|ansi|snap)$/i;

/** Maximum characters shown of a line, and how many of them before the hidden ones. */
const SHOWN = 160;
const SHOWN_BEFORE = 40;
/** Maximum further lines that are named. */
const MORE = 10;

/**
 * Finds characters that a reader of a diff cannot see: text that is shown in another order, characters without ink, letters that look like
 * others, line ends that no viewer shows, sequences that a terminal obeys. One finding for each kind and file. In code, each such character
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
      return [...Map.groupBy(found, ({ kind }) => kind).values()].flatMap((same) => toDiagnostic(file, same));
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
      ...{ line, text: part, start: (starts[line - 1] ?? 0) + index },
    }));
  });
}

/**
 * What is ordinary in a file. A program that its parser does not read to the end is no translation, because a part of it may only look
 * like a string.
 */
async function contextOf(file: AnalyzedFile, wanted: readonly number[]): Promise<LineContext> {
  const { path, text } = file;
  const kindAt = await kindsOfText(file, wanted);
  const isTest = isTestFile(path);
  if (kindAt) {
    const isText = programByLanguage.test(path) && (await parseText(path, text))?.tree?.isSound() === true;
    return { isText, isTest, kindAt };
  }
  const isText = [prose, translated, byLanguage].some((kind) => kind.test(path));
  return { isText, isTest: recorded.test(path) || (isTest && grammarOf(path) === null) };
}

interface FoundLine {
  kind: HiddenKind;
  line: number;
  text: string;
  at: number;
  /** Its word that looks like another one. */
  word?: MixedWord | undefined;
}

function toDiagnostic(file: AnalyzedFile, [first, ...others]: FoundLine[]): Diagnostic[] {
  if (!first) return [];
  const { kind } = first;
  const { severity, title, body } = wordings[kind];
  const more = others.length === 0 ? "" : `\n\nThe same applies to ${named(others)}.`;
  return [
    {
      path: file.path,
      line: first.line,
      startLine: null,
      severity,
      category: "security",
      title,
      body: `${body}\n\n${fence(kind === "look-alikes" ? spelledWord(first) : shown(first), "text")}${more}`,
      suggestion: null,
      source: `hidden-characters/${kind}`,
    },
  ];
}

function named(lines: readonly FoundLine[]): string {
  const numbers = lines.slice(0, MORE).map(({ line }) => line);
  const rest = lines.length - numbers.length;
  return `line${lines.length > 1 ? "s" : ""} ${numbers.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** The line around the hidden characters, with everything invisible escaped. */
function shown({ text, at }: FoundLine): string {
  const start = Math.max(0, at - SHOWN_BEFORE);
  const part = text.slice(start, start + SHOWN).toWellFormed();
  return escapeInvisible(part).trim();
}

function spelledWord({ word }: FoundLine): string {
  const spelled = word?.word.replace(/[^\w$]/gu, spell).slice(0, SHOWN);
  return `${spelled} looks like ${word?.looksLike.slice(0, SHOWN)}`;
}

const spell = (letter: string) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
