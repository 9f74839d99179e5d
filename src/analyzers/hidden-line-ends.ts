import { flatMapWithPauses } from "../async.ts";
import { extensionOf } from "../code/languages.ts";
import { isTestFile } from "../code/test-file.ts";
import { type AddedLine, type AnalyzedFile, lineEnds } from "./analyzer.ts";
import { byLanguage, kindsOfText, prose, recorded, type TextKind, translated } from "./hidden-places.ts";

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
    ...{ characters: "\\r\\u2028\\u2029", comment: slashes, isData: false },
  },
  { extensions: "cs csx", characters: "\\r\\x85\\u2028\\u2029", comment: slashes, isData: false },
  {
    extensions: "java kt kts swift dart c h cc cpp cxx hh hpp hxx ipp m mm cu",
    ...{ characters: "\\r", comment: slashes, isData: false },
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
