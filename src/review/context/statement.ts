import type { Range } from "./text-file.ts";

/** What stands around a string literal, as far as the text tells. */
export interface Statement {
  range: Range;
  role: Role;
}

/** `registers`: a constant, a key of an object, the first argument of what does not just ask; `asks`: what does. */
export type Role = "registers" | "given" | "asks";

/** Lines in front of a literal that its statement may begin on, and lines that it may have. */
const MAX_BEFORE = 8;
const MAX_LINES = 16;
/** Longer lines are data. */
const MAX_CHARACTERS = 400;
/** Brackets around a literal, and characters in front of one, that are looked at. */
const MAX_OPENERS = 10;
const MAX_HEAD = 120;

/** The statement around a literal, with all lines of a call that goes over several, and what the literal is to it. */
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

/** Where the literal begins, at its quote. */
function placeOf(text: string, literal: string): number {
  const places = ['"', "'", "`"].map((quote) => text.indexOf(quote + literal + quote));
  return Math.min(MAX_CHARACTERS, ...places.filter((at) => at >= 0));
}

interface Opener {
  line: number;
  /** What stands in front of it on its line, and between it and the literal. */
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
      // What a block holds are other statements.
      if (closed === 0 && bracket === "{" && !isValue(before.slice(-MAX_HEAD))) break;
      if (openers.length >= MAX_OPENERS) break;
      if (closed === 0) openers.push({ line: number, before, between, bracket });
      closed = Math.max(0, closed - 1);
    }
    between = (bracket + between).slice(0, MAX_CHARACTERS);
  }
  return openers;
}

/** Backwards, with the text in front of each on its line. */
function* charactersBefore(lines: readonly string[], line: number, at: number) {
  for (let number = line; number >= Math.max(1, line - MAX_BEFORE); number--) {
    const code = blanked(lines[number - 1] ?? "").slice(0, number === line ? at : undefined);
    for (let index = code.length - 1; index >= 0; index--)
      yield { bracket: code[index] ?? "", number, before: code.slice(0, index) };
  }
}

const isOpener = (character: string) => character === "(" || character === "[" || character === "{";
const isCloser = (character: string) => character === ")" || character === "]" || character === "}";

/** Whether a brace behind this text opens a value rather than a block. */
const isValue = (before: string) =>
  /(?:[(,=:[?&|]|\breturn|[\w\])]\{?)\s*$/.test(before) && !isBlockHead(before);

const isBlockHead = (before: string) =>
  /\)\s*(?:->.*|:.*|const|override|throws .*)?$|=>\s*$|\b(?:else|try|do|finally|class|struct|interface|enum|namespace|func|function|fn|fun|def|object)\b[^(=]*$/.test(
    before,
  );

/** The last line of what begins on a line, as far as brackets tell; the literal's own where that is too far. */
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

/** The beginning of a line, with blanks where strings are. */
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
  if (asks.test(splitCase(callee))) return "asks";
  return isFirst ? "registers" : "given";
}

const notCalled = new Set(["if", "while", "for", "switch", "return", "match", "when"]);

/** `fooGetBar` asks as `get_foo` does. */
const splitCase = (name: string) => name.replace(/([a-z])([A-Z])/g, "$1_$2");
