import { breaker, mayNameCommit } from "../text/inert-text.ts";
import { inertCode } from "./inert-code.ts";

/** Backslash escapes that stay: what they hide has a meaning in Markdown. Any other only helps a text past a filter. */
const keptEscapes = new Set("\\`*_{}[]()<>|~!&+=");

const url = /(?:[a-z][a-z0-9+.-]{0,30}:\/\/|www\.)[^\s`<>|\\]*[^\s`<>|\\.,;:!?(){}'"*_~[\]]/iy;

/** GitHub takes what stands between two of them for mathematics, which can hide text and cover it. */
const dollars = /\$+(?:[\w.,]*\w)?/y;

const letters = /[a-z0-9]+/iy;

/** Its first and last part may each be the name of a commit; it reads better as a whole. */
const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![a-z0-9])/iy;

/** "block": a line of a text of its own. "phrase": a piece of a line of ours, so that emphasis could reach beyond it. */
export type Setting = "block" | "phrase";

/**
 * Neutralises one line of prose in which nothing is hidden (`showHidden`); code spans that begin and end on it stay. Each
 * character is looked at once: linear in the length of the line. Applying it again changes nothing.
 */
export function neutraliseLine(line: string, setting: Setting): string {
  const scan: Scan = { text: line, at: 0, tail: "", bare: true, setting, closers: codeClosers(line) };
  const out: string[] = [];
  while (scan.at < line.length) {
    const { written, consumed } = next(scan);
    out.push(written);
    scan.at += consumed;
    scan.tail = (scan.tail + written.slice(-3)).slice(-3);
    scan.bare &&= !/[\p{L}`]/u.test(written);
  }
  return breakTableRule(out.join(""));
}

interface Scan {
  text: string;
  at: number;
  /** The last three characters written. */
  tail: string;
  /** Neither a letter nor code was written yet: indentation, and marks of quotes, lists and headings at most. */
  bare: boolean;
  setting: Setting;
  closers: (from: number, length: number) => number | undefined;
}

/** What is written for the next characters of the text, and how many they are. */
interface Piece {
  written: string;
  consumed: number;
}

function next(scan: Scan): Piece {
  const { text, at } = scan;
  const sign = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (sign === "`") return codeOrTicks(scan);
  if (sign === "\\") return backslash(scan);
  if (sign === "$") return asCode(scan, matchAt(dollars, scan));
  const word = /[a-z0-9]/i.test(sign) ? matchAt(letters, scan) : "";
  if (word !== "") return wordOrReference(scan, word);
  return { written: plain(scan, sign, seenAt(text, at + sign.length)), consumed: sign.length };
}

/** A word is the same to all, but for what begins an address and for what is the name of a commit. */
function wordOrReference(scan: Scan, word: string): Piece {
  const startsHere = !/[a-z0-9]/i.test(scan.tail.at(-1) ?? "");
  const reference = startsHere ? matchAt(url, scan) || matchAt(uuid, scan) || commitIn(word) : "";
  return reference === "" ? { written: word, consumed: word.length } : asCode(scan, reference);
}

/** Empty where there is none. */
function matchAt(pattern: RegExp, { text, at }: Scan): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

/** A word that may be the name of a commit: empty where it is none. */
function commitIn(word: string): string {
  return mayNameCommit(word) ? word : "";
}

/** The character that will stand there when the text is written: escapes may go. */
function seenAt(text: string, at: number): string {
  const dropped = text[at] === "\\" && isNeedlessEscape(text[at + 1] ?? "");
  const sign = text.codePointAt(dropped ? at + 1 : at);
  return sign === undefined ? "" : String.fromCodePoint(sign);
}

/** Behind a backslash that CommonMark would take away, and we do too. */
function isNeedlessEscape(sign: string): boolean {
  return /^[!-/:-@[-`{-~]$/.test(sign) && !keptEscapes.has(sign);
}

/** What is written for a character that begins nothing longer. */
function plain(scan: Scan, sign: string, after: string): string {
  if (sign === "<" || sign === "[") return `\\${sign}`;
  if (sign === "&") return /[#a-z]/i.test(after) ? "\\&" : sign;
  if (scan.setting === "phrase" && /[*_~|\]]/.test(sign)) return `\\${sign}`;
  if (sign === "@" && !/^[ \t\u200b]?$/.test(after)) return sign + breaker;
  if (sign === "#" && /\d/.test(after)) return sign + breaker;
  return afterContext(scan, sign, after);
}

/** Characters that mean something only behind certain others: `GH-1`, `www.`, `://`, and a command at a line's start. */
function afterContext({ tail, bare }: Scan, sign: string, after: string): string {
  if (sign === "-" && /gh$/i.test(tail) && /\d/.test(after)) return sign + breaker;
  if (sign === "." && /www$/i.test(tail)) return breaker + sign;
  const before = sign === "/" && tail.endsWith(":/") ? breaker : "";
  const behind = /[/.!]/.test(sign) && bare && /[a-z]/i.test(after) ? breaker : "";
  return `${before}${sign}${behind}`;
}

function backslash({ text, at, setting }: Scan): Piece {
  const after = text[at + 1];
  if (after === undefined) return { written: setting === "phrase" ? "\\\\" : "\\", consumed: 1 };
  if (keptEscapes.has(after)) return { written: `\\${after}`, consumed: 2 };
  return { written: isNeedlessEscape(after) ? "" : "\\", consumed: 1 };
}

function codeOrTicks({ text, at, closers }: Scan): Piece {
  let end = at;
  while (text[end] === "`") end++;
  const length = end - at;
  const closer = closers(end, length);
  if (closer === undefined) return { written: "\\`".repeat(length), consumed: length };
  const code = text.slice(at, closer + length);
  return { written: inertCode(code), consumed: code.length };
}

/** A reference as inline code: readable, copied with ease, and leading nowhere. */
function asCode({ text, at, tail }: Scan, found: string): Piece {
  // Two runs of backticks that touch would be one longer run, and one behind a backslash none.
  const before = /[`\\]$/.test(tail) ? " " : "";
  const after = text[at + found.length] === "`" ? " " : "";
  return { written: `${before}\`${inertCode(found)}\`${after}`, consumed: found.length };
}

/** Finds the run of exactly `length` backticks that ends a code span begun before `from`. Asked with growing `from`. */
function codeClosers(text: string): Scan["closers"] {
  if (!text.includes("`")) return () => undefined;
  const byLength = new Map<number, number[]>();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const known = byLength.get(run.length);
    if (known) known.push(index);
    else byLength.set(run.length, [index]);
  }
  const passed = new Map<number, number>();
  return (from, length) => {
    const starts = byLength.get(length) ?? [];
    let next = passed.get(length) ?? 0;
    while (next < starts.length && (starts[next] ?? 0) < from) next++;
    passed.set(length, next);
    return starts[next];
  };
}

/**
 * A table is cut into cells before anything else is read, through the middle of code spans. So there are none: the line
 * of dashes that makes a table of its neighbours is escaped.
 */
function breakTableRule(line: string): string {
  if (!/^[\s>*+\-|:.)\d]*$/.test(line) || !/[|:]/.test(line)) return line;
  const last = line.lastIndexOf("-");
  return last < 0 ? line : `${line.slice(0, last)}\\${line.slice(last)}`;
}
