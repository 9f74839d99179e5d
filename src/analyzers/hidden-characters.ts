import { setImmediate as nextTick } from "node:timers/promises";
import { flatMapWithPauses } from "../async.ts";
import { grammarOf } from "../code/languages.ts";
import { parseText } from "../code/parse.ts";
import { isTestFile } from "../code/test-file.ts";
import type { Severity } from "../finding.ts";
import { withoutSecrets } from "../secrets/redact.ts";
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
  withoutUnseen,
} from "./hidden-in-line.ts";
import { hiddenLineEnds } from "./hidden-line-ends.ts";
import { byLanguage, kindsOfProse, kindsOfText, prose, recorded, translated } from "./hidden-places.ts";

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
      ...{ line, text: part, start: (starts[line - 1] ?? 0) + index },
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
      ...{ path, line, startLine: null, severity, category: "security", title, body: text, suggestion: null },
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
