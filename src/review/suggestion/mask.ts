import type { Lexis } from "./lexis.ts";

/** A line without what is no code. */
export interface MaskedLine {
  /** The code: comments are gone, strings are empty. */
  code: string;
  /** What the line begins inside of. */
  startsInside: "comment" | "string" | null;
  /** Quotes without a partner on the line. */
  oddQuotes: number;
  /** What is open at the line's end: the text that would close it. */
  open: string | null;
}

interface State {
  /** What closes the comment or string that is open. */
  closer: string | null;
  /** Words that end the texts whose marks stood on the line. */
  heredocs: string[];
  inHeredoc: string | null;
}

/** Tells code from comments and strings, line by line. Linear in the text. */
export function maskLines(lines: readonly string[], lexis: Lexis): MaskedLine[] {
  const state: State = { closer: null, heredocs: [], inHeredoc: null };
  const token = tokenPattern(lexis);
  return lines.map((line) => {
    if (state.inHeredoc !== null) return inHeredoc(line, state);
    const masked = maskLine(line, lexis, token, state);
    state.inHeredoc = state.heredocs.shift() ?? null;
    return { ...masked, open: state.closer ?? state.inHeredoc };
  });
}

function inHeredoc(line: string, state: State): MaskedLine {
  const word = state.inHeredoc ?? "";
  const text = line.trim();
  // PHP lets code follow on the line that ends the text.
  const ends = text === word || (text.startsWith(word) && /^[;,)\]]/.test(text.slice(word.length)));
  if (ends) state.inHeredoc = state.heredocs.shift() ?? null;
  return { code: "", startsInside: "string", oddQuotes: 0, open: state.inHeredoc };
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** The beginning of whatever is no code. */
function tokenPattern(lexis: Lexis): RegExp {
  const starts = [
    ...lexis.blockComments.map(([open]) => open),
    ...lexis.longStrings,
    ...lexis.lineComments,
    ...lexis.quotes,
    ...(lexis.characterQuotes ? ["'"] : []),
  ].map(escaped);
  if (lexis.heredoc) starts.push("<<");
  if (lexis.hashStrings) starts.unshift('\\br#+"');
  return new RegExp(starts.length === 0 ? "(?!)" : starts.join("|"), "g");
}

function maskLine(line: string, lexis: Lexis, token: RegExp, state: State): Omit<MaskedLine, "open"> {
  const startsInside = insideOf(state, lexis);
  // A quote without a partner has none further on either.
  const odd = new Set<string>();
  let code = "";
  let oddQuotes = 0;
  for (let at = 0; at < line.length; ) {
    if (state.closer !== null) {
      const close = closing(line, state.closer, at);
      if (close < 0) break;
      at = close + state.closer.length;
      state.closer = null;
      continue;
    }
    token.lastIndex = at;
    const found = token.exec(line);
    code += line.slice(at, found?.index);
    if (!found) break;
    const read = odd.has(found[0])
      ? { end: found.index + 1, code: found[0], isOdd: true }
      : readToken(line, found.index, found[0], lexis, state);
    code += read.code;
    at = read.end;
    if (!read.isOdd) continue;
    oddQuotes++;
    if (!lexis.characterQuotes || found[0] !== "'") odd.add(found[0]);
  }
  return { code, startsInside, oddQuotes };
}

function insideOf({ closer }: State, { blockComments }: Lexis): MaskedLine["startsInside"] {
  if (closer === null) return null;
  return blockComments.some(([, close]) => close === closer) ? "comment" : "string";
}

/** Where a comment or long string ends; a backslash before that mark makes it text of a string. */
function closing(line: string, closer: string, from: number): number {
  let at = line.indexOf(closer, from);
  while (/^["'`]/.test(closer) && at > from && line[at - 1] === "\\" && line[at - 2] !== "\\")
    at = line.indexOf(closer, at + 1);
  return at;
}

interface Token {
  end: number;
  code: string;
  isOdd?: boolean;
}

function readToken(line: string, at: number, start: string, lexis: Lexis, state: State): Token {
  if (lexis.lineComments.includes(start)) return readLineComment(line, at, start, lexis);
  const block = lexis.blockComments.find(([open]) => open === start);
  const hashes = /^r(#+)"$/.exec(start)?.[1];
  if (block || hashes !== undefined || lexis.longStrings.includes(start)) {
    state.closer = block?.[1] ?? (hashes === undefined ? start : `"${hashes}`);
    return { end: at + start.length, code: block ? " " : '""' };
  }
  if (start === "<<" && lexis.heredoc) {
    lexis.heredoc.lastIndex = at;
    const mark = lexis.heredoc.exec(line);
    if (mark) state.heredocs.push(mark[2] ?? "");
    return { end: at + (mark?.[0].length ?? 2), code: mark ? '""' : "<<" };
  }
  return readQuoted(line, at, start, lexis);
}

/** A `#` behind `$` comments nothing out, nor does one in a word of a shell. */
function readLineComment(line: string, at: number, start: string, lexis: Lexis): Token {
  const before = line.slice(Math.max(0, at - 1), at);
  const isPart = start === "#" && (lexis.rawQuotes ? /[\w${&[]/ : /[$&]/).test(before);
  return isPart ? { end: at + start.length, code: start } : { end: line.length, code: "" };
}

const character = /'(?:\\[^']{1,10}|\\'|[^'\\]{1,2})'/y;
const quoted: Record<string, RegExp> = { '"': /"(?:\\.|[^"\\])*"/y, "'": /'(?:\\.|[^'\\])*'/y };
const raw: Record<string, RegExp> = { '"': /"[^"]*"/y, "'": /'[^']*'/y };

function readQuoted(line: string, at: number, quote: string, lexis: Lexis): Token {
  const isCharacter = quote === "'" && lexis.characterQuotes;
  const pattern = isCharacter ? character : (lexis.rawQuotes?.includes(quote) ? raw : quoted)[quote];
  if (pattern) pattern.lastIndex = at;
  const length = pattern?.exec(line)?.[0].length;
  if (length !== undefined) return { end: at + length, code: '""' };
  // An apostrophe behind a name or number belongs to it; before one it is a lifetime, where there are any.
  const isApostrophe = isCharacter && (lexis.hashStrings || /[\w)\]]/.test(line[at - 1] ?? ""));
  return { end: at + 1, code: quote, isOdd: !isApostrophe };
}
