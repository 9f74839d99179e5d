import { fullName, isProse, type TextFile } from "../../../repo/code/code-file.ts";
import { closeness, isCommonName, nearestFirst } from "../../../repo/code/names.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type Changed, isWithin } from "./changed.ts";
import {
  firstOfFiles,
  inQuotes,
  type LineSpan,
  type RepositoryFiles,
  rarity,
  type WordHits,
} from "./lookup.ts";
import { type Piece, placePiece, type ShownLines } from "./pieces.ts";

interface Statement {
  range: LineSpan;
  role: Role;
}

/** `registers`: a constant, a key of an object, or the first argument of a call; `asks`: an argument of a query. */
type Role = "registers" | "given" | "asks";

/** Maximum lines before a literal on which its statement may begin, and maximum lines of a statement. */
const MAX_BEFORE = 8;
const MAX_LINES = 16;
/** Longer lines are data. */
const MAX_CHARACTERS = 400;
/** Maximum brackets around a literal, and maximum characters before one, that are checked. */
const MAX_OPENERS = 10;
const MAX_HEAD = 120;

export function statementAround(lines: readonly string[], line: number, literal: string): Statement {
  const text = lines[line - 1] ?? "";
  const at = placeOf(text, literal);
  const openers = openersBefore(lines, line, at);
  const start = openers.at(-1)?.line ?? line;
  return {
    range: { start, end: endOf(lines, start, line) },
    role: roleOf(text, at, literal, openers[0] ?? null),
  };
}

function placeOf(text: string, literal: string): number {
  const places = ['"', "'", "`"].map((quote) => text.indexOf(quote + literal + quote));
  return Math.min(MAX_CHARACTERS, ...places.filter((at) => at >= 0));
}

interface Opener {
  line: number;
  /** The text before it on its line, and the text between it and the literal. */
  before: string;
  between: string;
  bracket: string;
}

/** Brackets that are open at a place and belong to its statement, the innermost first. */
function openersBefore(lines: readonly string[], line: number, at: number): Opener[] {
  const openers: Opener[] = [];
  let closed = 0;
  let between = "";
  for (const { bracket, number, before } of charactersBefore(lines, line, at)) {
    if (isCloser(bracket)) closed += 1;
    else if (isOpener(bracket)) {
      // A block contains other statements.
      if (closed === 0 && bracket === "{" && !isValue(before.slice(-MAX_HEAD))) break;
      if (openers.length >= MAX_OPENERS) break;
      if (closed === 0) openers.push({ line: number, before, between, bracket });
      closed = Math.max(0, closed - 1);
    }
    between = (bracket + between).slice(0, MAX_CHARACTERS);
  }
  return openers;
}

function* charactersBefore(lines: readonly string[], line: number, at: number) {
  for (let number = line; number >= Math.max(1, line - MAX_BEFORE); number--) {
    const code = blanked(lines[number - 1] ?? "").slice(0, number === line ? at : undefined);
    for (let index = code.length - 1; index >= 0; index--)
      yield { bracket: code[index] ?? "", number, before: code.slice(0, index) };
  }
}

const isOpener = (character: string) => character === "(" || character === "[" || character === "{";
const isCloser = (character: string) => character === ")" || character === "]" || character === "}";

/** Whether a brace after this text opens a value and not a block. */
const isValue = (before: string) =>
  /(?:[(,=:[?&|]|\breturn|[\w\])]\{?)\s*$/.test(before) && !isBlockHead(before);

const isBlockHead = (before: string) =>
  /\)\s*(?:->.*|:.*|const|override|throws .*)?$|=>\s*$|\b(?:else|try|do|finally|class|struct|interface|enum|namespace|func|function|fn|fun|def|object)\b[^(=]*$/.test(
    before,
  );

/** The last line of the statement that begins on a line, by its brackets; the literal's own line if that is too far. */
function endOf(lines: readonly string[], start: number, line: number): number {
  let open = 0;
  for (let number = start; number < start + MAX_LINES && number <= lines.length; number++) {
    for (const character of blanked(lines[number - 1] ?? "")) {
      if (isOpener(character)) open += 1;
      else if (isCloser(character)) open -= 1;
    }
    if (number >= line && open <= 0) return number;
  }
  return line;
}

/** The beginning of a line, with strings replaced by blanks. */
const blanked = (text: string): string =>
  text.slice(0, MAX_CHARACTERS).replace(/"[^"]*"|'[^']*'|`[^`]*`/g, (string) => " ".repeat(string.length));

const asks =
  /(?:^|[^\p{L}])(?:get|has|is|find|fetch|read|look_?up|contains|includes|equals|delete|remove|pop|starts_?with|ends_?with|index_?of|str\w*cmp)[\p{L}\p{N}_]*$/iu;
const constant =
  /^\s*(?:#\s*define\s+\w+\s|(?:(?:export|public|private|protected|internal|static|final|const|readonly|val|let|var)\s+)*(?:[\w<>[\]*.]+\s+)?[A-Z][\w.]*(?:\s*:\s*[\w<>[\]. ]+)?\s*=(?!=))/;

function roleOf(text: string, at: number, literal: string, opener: Opener | null): Role {
  const before = text.slice(0, at);
  const behind = text.slice(at + literal.length + 2, at + literal.length + 12);
  if (/\bcase\s*$|[=!]==?\s*$|\?\s*$/.test(before) || /^\s*(?:[=!]==?|in\b)/.test(behind)) return "asks";
  if (/^\s*(?::(?!:)|=>)/.test(behind)) return "registers";
  if (opener === null) return constant.test(before) ? "registers" : "given";
  const isFirst = opener.between.trim() === "";
  if (opener.bracket === "[" && isFirst && /^\s*\]/.test(behind))
    return /^\s*\]\s*=(?!=)/.test(behind) ? "registers" : "asks";
  if (opener.bracket !== "(") return "given";
  const callee = /([\p{L}\p{N}_$]+)\s*$/u.exec(opener.before)?.[1] ?? "";
  if (callee === "" || notCalled.has(callee)) return "given";
  if (asks.test(callee.replace(/([a-z])([A-Z])/g, "$1_$2"))) return "asks";
  return isFirst ? "registers" : "given";
}

const notCalled = new Set(["if", "while", "for", "switch", "return", "match", "when"]);

/** Weight of the code that registers a key, relative to the body of a callee. */
const KEY = 0.8;
const MAX_KEYS = 15;
/** A key in more places of the code is an ordinary word. */
const MAX_PLACES = 20;
/** A plain word that is compared in at most this many places may be a key. */
const MAX_PLAIN = 5;
const SHOWN = 3;
const SHOWN_IN_FILE = 2;
const REPEATED = 0.2;

const worthOf: Readonly<Record<Role, number>> = { registers: 1, given: 0.55, asks: 0.45 };

/** Names of options, settings, events, headers, columns and variables: words without spaces. */
const isKey = (literal: string): boolean =>
  /^[\w$@-][\w$@.:-]{1,58}\w$/.test(literal) && /\p{L}{2}/u.test(literal) && !isCommonName(literal);

const keysOf = ({ literals, sourceLiterals }: Changed): string[] =>
  [...new Set([...literals, ...sourceLiterals])].filter(isKey).slice(0, MAX_KEYS);

/** The literals on changed lines that look like keys, and those assigned to the variables they read, as search words. */
export const keyWords = (one: Changed): string[] => keysOf(one).map(inQuotes);

/** The other statements with a key that changed lines depend on, for the first change that has it; those that seem to define it come first. */
export async function keyPieces(
  changed: readonly Changed[],
  hits: WordHits,
  files: RepositoryFiles,
  shown: ShownLines,
): Promise<Piece[]> {
  const seen = new Set<string>();
  const pieces: Piece[] = [];
  for (const one of changed) {
    for (const key of keysOf(one)) {
      if (seen.has(key)) continue;
      seen.add(key);
      for (const piece of await statementPieces(one, key, hits, files, shown)) pieces.push(piece);
    }
  }
  return pieces;
}

interface Use extends Statement {
  file: TextFile;
  line: number;
}

async function statementPieces(
  one: Changed,
  key: string,
  hits: WordHits,
  files: RepositoryFiles,
  shown: ShownLines,
): Promise<Piece[]> {
  const found = hits
    .of(inQuotes(key))
    .filter((hit) => !isProse(hit.path) && !isTestFile(hit.path) && !isWithin(one, hit));
  if (found.length > MAX_PLACES) return [];
  const uses: Use[] = [];
  for (const hit of found) {
    if (shown.has({ path: hit.path, ref: "head" }, hit.line)) continue;
    const file = await files.read(hit.path, "head");
    if (file === null) continue;
    uses.push({ file, line: hit.line, ...statementAround(file.lines, hit.line, key) });
  }
  const isDistinctive = !/^(?:\p{L}\p{Ll}*|\p{Lu}+)$/u.test(key) || found.length <= MAX_PLAIN;
  const known = uses.filter(({ role }) => isDistinctive || role === "registers");
  const near = nearestFirst(one.path, known, ({ line }) => line);
  const sorted = near.toSorted((a, b) => worthOf[b.role] - worthOf[a.role]);
  return ranked(one, key, sorted, found.length);
}

/** After the first few, a place is only named. */
function ranked(one: Changed, key: string, uses: readonly Use[], count: number): Piece[] {
  const shown = firstOfFiles(uses, ({ file }) => file.path, SHOWN_IN_FILE).slice(0, SHOWN);
  return uses.map((use) => {
    const at = shown.indexOf(use);
    const worth = KEY * worthOf[use.role] * rarity(count) * closeness(one.path, use.file.path);
    return placePiece("key", use, [use.range], {
      subject: `"${key}"`,
      title: `has "${key}", as in ${fullName(one.site.definition)}`,
      score: at < 0 ? 0 : (one.risk * worth) / (1 + at * REPEATED),
    });
  });
}
