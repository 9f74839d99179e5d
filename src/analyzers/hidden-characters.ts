import { isTestFile } from "../code/test-file.ts";
import type { Severity } from "../finding.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";
import { fence } from "../text/fence.ts";
import { type AnalyzedFile, type Analyzer, addedLinesOf, type Diagnostic } from "./analyzer.ts";
import { hiddenIn, type LineContext, mixedWord, type HiddenKind as WithinLine } from "./hidden-in-line.ts";
import { hiddenLineEnds } from "./hidden-line-ends.ts";

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
  "tag-characters": {
    severity: "high",
    title: "The line contains text in invisible tag characters",
    body: "Tag characters are invisible, but programs and language models read them. Only the flags of a few regions need them. Remove them.",
  },
  "variation-selectors": {
    severity: "high",
    title: "The line contains invisible variation selectors without effect",
    body: "A variation selector changes the look of the character before it. If it cannot do that, it is invisible, and several in a row can hide any data. Remove them.",
  },
  "blank-letters": {
    severity: "high",
    title: "The line contains an invisible letter",
    body: "A Hangul filler is an invisible letter. It can be the name of a variable, a parameter or a key that no one sees. Remove it, or write it as an escape.",
  },
  "zero-width": {
    severity: "medium",
    title: "The line contains zero-width characters that nothing needs",
    body: "They are invisible, so two different names, keys or addresses look the same, and many of them in a row can hide data. Remove them, or write them as escapes if a program needs them.",
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
/** Paths of texts in one language: `locales/fa.json`, `i18n/ar-EG.ts`, `values-iw/strings.xml`. */
const byLanguage =
  /(?:^|\/)(?:_?locales?|i18n|l10n|lang|translations?)\/(?:.*\.(?:json|ya?ml|properties|toml|xml|ini)|(?:.*\/)?[a-z]{2,3}(?:[-_][a-z]{2,4})*\.\w{1,4})$|\/values-[\w-]+\/[^/]*\.xml$/i;

/** Maximum characters shown of a line, and how many of them before the hidden ones. */
const SHOWN = 160;
const SHOWN_BEFORE = 40;
/** Maximum further lines that are named. */
const MORE = 10;

/**
 * Finds characters that a reader of a diff cannot see: text that is shown in another order, characters without ink, letters that look like
 * others, line ends that no viewer shows. One finding for each kind and file. Emoji, right-to-left languages, joiners of Indic and Arabic
 * scripts and variants of Chinese characters are ordinary.
 */
export function createHiddenCharactersAnalyzer(): Analyzer {
  return {
    name: "hidden-characters",
    async analyze(file) {
      const context = contextOf(file.path);
      const byKind = new Map<HiddenKind, FoundLine[]>();
      const add = (kind: HiddenKind, found: FoundLine) => {
        const known = byKind.get(kind);
        if (known) known.push(found);
        else byKind.set(kind, [found]);
      };
      const lines = addedLinesOf(file);
      for (const { line, text: whole } of lines) {
        // A byte order mark.
        const text = line === 1 ? whole.replace(/^\ufeff/, "") : whole;
        for (const { kind, at } of hiddenIn(text, context)) add(kind, { line, text, at });
      }
      const texts = new Map(lines.map(({ line, text }) => [line, text]));
      for (const { ends, line, at } of await hiddenLineEnds(file, lines))
        add(ends === "comment" ? "comment-ends" : "line-ends", { line, text: texts.get(line) ?? "", at });
      return [...byKind].flatMap(([kind, lines]) => toDiagnostic(file, kind, lines));
    },
  };
}

function contextOf(path: string): LineContext {
  const isText = [prose, translated, byLanguage].some((kind) => kind.test(path));
  return { isText, isTest: isTestFile(path) };
}

interface FoundLine {
  line: number;
  text: string;
  at: number;
}

function toDiagnostic(file: AnalyzedFile, kind: HiddenKind, [first, ...others]: FoundLine[]): Diagnostic[] {
  if (!first) return [];
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

function spelledWord({ text }: FoundLine): string {
  const found = mixedWord(text);
  const spelled = found?.word.replace(/[^\w$]/gu, spell).slice(0, SHOWN);
  return `${spelled} looks like ${found?.looksLike.slice(0, SHOWN)}`;
}

const spell = (letter: string) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
