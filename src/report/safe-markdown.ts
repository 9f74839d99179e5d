import { stripMarkers } from "../core/ledger/marker.ts";
import { byteLength, cutAtLine } from "../core/text/cut.ts";
import { escapeInvisible, showHidden } from "../core/text/escape-invisible.ts";
import { fence, inlineCode } from "../core/text/fence.ts";
import { breaker, mayNameCommit, withoutCommands } from "../core/text/inert-text.ts";

/** Others' code, harmless in our comments: it contains no marker of ours, and no command for bots that also read code. */
function inertCode(code: string): string {
  return withoutCommands(stripMarkers(code));
}

/**
 * Backslash escapes that stay, because the escaped character has a meaning in Markdown. Any other escape only helps a text past a filter.
 */
const keptEscapes = new Set("\\`*_{}[]()<>|~!&+=");

const url = /(?:[a-z][a-z0-9+.-]{0,30}:\/\/|www\.)[^\s`<>|\\]*[^\s`<>|\\.,;:!?(){}'"*_~[\]]/iy;

/** GitHub reads text between two of them as mathematics, which can hide text and cover it. */
const dollars = /\$+(?:[\w.,]*\w)?/y;

const letters = /[a-z0-9]+/iy;

/** Its first and last part may each look like a commit's name; as a whole it reads better. */
const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![a-z0-9])/iy;

/** "block": a line of a separate text. "phrase": part of a line of ours, so its emphasis could reach beyond it. */
type Setting = "block" | "phrase";

/**
 * Neutralizes one line of prose without hidden characters (`showHidden`). Code spans that begin and end on it stay. Looks at each
 * character once: linear in the length of the line. Applying it again changes nothing.
 */
function neutralizeLine(line: string, setting: Setting): string {
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
  /** No letter or code was written yet: only indentation, and marks of quotes, lists and headings. */
  bare: boolean;
  setting: Setting;
  closers: (from: number, length: number) => number | undefined;
}

/** The output for the next characters of the text, and how many characters it covers. */
interface Piece {
  written: string;
  consumed: number;
}

function next(scan: Scan): Piece {
  const { text, at } = scan;
  const sign = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (sign === "`") return codeOrTicks(scan);
  if (sign === "~" && scan.bare) return tildes(scan);
  if (sign === "\\") return backslash(scan);
  if (sign === "$") return asCode(scan, matchAt(dollars, scan));
  const word = /[a-z0-9]/i.test(sign) ? matchAt(letters, scan) : "";
  if (word !== "") return wordOrReference(scan, word);
  return { written: plain(scan, sign, seenAt(text, at + sign.length)), consumed: sign.length };
}

/** Writes a word unchanged, except for the beginning of a URL and the name of a commit. */
function wordOrReference(scan: Scan, word: string): Piece {
  const startsHere = !/[a-z0-9]/i.test(scan.tail.at(-1) ?? "");
  const reference = startsHere
    ? matchAt(url, scan) || matchAt(uuid, scan) || (mayNameCommit(word) ? word : "")
    : "";
  return reference === "" ? { written: word, consumed: word.length } : asCode(scan, reference);
}

function matchAt(pattern: RegExp, { text, at }: Scan): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

/** The character that is left at this position in the output: escapes may be removed. */
function seenAt(text: string, at: number): string {
  const dropped = text[at] === "\\" && isNeedlessEscape(text[at + 1] ?? "");
  const sign = text.codePointAt(dropped ? at + 1 : at);
  return sign === undefined ? "" : String.fromCodePoint(sign);
}

/** Whether CommonMark would remove the backslash before this character, as we do too. */
function isNeedlessEscape(sign: string): boolean {
  return /^[!-/:-@[-`{-~]$/.test(sign) && !keptEscapes.has(sign);
}

function plain(scan: Scan, sign: string, after: string): string {
  if (sign === "<" || sign === "[") return `\\${sign}`;
  if (sign === "&") return /[#a-z]/i.test(after) ? "\\&" : sign;
  if (scan.setting === "phrase" && /[*_~|\]]/.test(sign)) return `\\${sign}`;
  if (sign === "@" && !/^[ \t\u200b]?$/.test(after)) return sign + breaker;
  if (sign === "#" && /\d/.test(after)) return sign + breaker;
  return afterContext(scan, sign, after);
}

/** Characters with a meaning only after certain others: `GH-1`, `www.`, `://`, and a command at a line's start. */
function afterContext({ tail, bare }: Scan, sign: string, after: string): string {
  if (sign === "-" && /gh$/i.test(tail) && /\d/.test(after)) return sign + breaker;
  if (sign === "." && /www$/i.test(tail)) return breaker + sign;
  const before = sign === "/" && tail.endsWith(":/") ? breaker : "";
  const behind = /[/.!]/.test(sign) && bare && /[a-z]/i.test(after) ? breaker : "";
  return `${before}${sign}${behind}`;
}

function backslash({ text, at, bare, setting }: Scan): Piece {
  const after = text[at + 1];
  if (after === undefined) return { written: setting === "phrase" ? "\\\\" : "\\", consumed: 1 };
  if (keptEscapes.has(after)) {
    const isCommand = after === "!" && bare && /[a-z]/i.test(seenAt(text, at + 2));
    return { written: `\\${after}${isCommand ? breaker : ""}`, consumed: 2 };
  }
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

/** A block of code within a quote has no fence that we wrote, so its language could be any. */
function tildes({ text, at, setting }: Scan): Piece {
  let end = at;
  while (text[end] === "~") end++;
  const length = end - at;
  const isFence = length >= 3 || setting === "phrase";
  return { written: (isFence ? "\\~" : "~").repeat(length), consumed: length };
}

/** A reference as inline code: readable, easy to copy, and not a link. */
function asCode({ text, at, tail }: Scan, found: string): Piece {
  // Two adjacent runs of backticks would be one longer run, and a run after a backslash would not count.
  const before = /[`\\]$/.test(tail) ? " " : "";
  const after = text[at + found.length] === "`" ? " " : "";
  return { written: `${before}\`${inertCode(found)}\`${after}`, consumed: found.length };
}

/** Finds the run of exactly `length` backticks that ends a code span begun before `from`. Call it with increasing `from`. */
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

/** GitHub cuts a table into cells before it reads code spans. So the line of dashes that would make a table is escaped. */
function breakTableRule(line: string): string {
  if (!/^[\s>*+\-|:.)\d]*$/.test(line) || !/[|:]/.test(line)) return line;
  const last = line.lastIndexOf("-");
  return last < 0 ? line : `${line.slice(0, last)}\\${line.slice(last)}`;
}

/** Languages that a block of code may have. GitHub makes a diagram, a map, a formula or a button of some others, and may add more. */
const shownLanguages: ReadonlySet<string> = new Set(
  [
    "ada asm astro awk bash bat batch c c# c++ clj clojure cmake coffee console cpp cs csharp css csv cuda cxx d dart diff",
    "docker dockerfile dotenv elixir elm env erb erlang ex exs f# fish fortran fs fsharp gitignore glsl go golang gql gradle",
    "graphql groovy h haml handlebars haskell hbs hcl hpp hs html http ini java javascript jinja jl js json json5 jsonc jsonl",
    "jsx julia kotlin kt kts latex less lisp log lua make makefile markdown matlab md mdx nginx nim nix objc objective-c ocaml",
    "pascal patch perl php pl plaintext plsql powershell prisma prolog properties proto protobuf ps1 pug py py3 python python3",
    "r racket razor rb regex rs rst ruby rust sass scala scheme scss sh shell solidity sql svelte svg swift tcl terraform tex",
    "text tf toml ts tsx twig txt typescript vb vbnet verilog vhdl vim vue wasm wat xml yaml yml zig zsh",
  ].flatMap((line) => line.split(" ")),
);

/** The language of a file for the colors of a block of code, by the end of its name; empty if it is none of those that are shown. */
export function languageOf(path: string): string {
  const end = /\.([a-z0-9]{1,12})$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  const language = end.replace(/^[cm](?=[jt]s$)/, "");
  return shownLanguages.has(language) ? language : "";
}

/**
 * Text by a model, which a pull request may have manipulated, made safe to post under our name. It notifies nobody, refers to no issue and
 * no commit, loads and links nothing, hides nothing, and contains no HTML, no mathematics and no command for another bot. Lists, emphasis,
 * headings and code stay.
 *
 * There is only one reading of what is code: a fenced block starts in the first column and its fence is longer than any inside; a code span
 * begins and ends on one line; a backtick outside of both is escaped.
 */
export function untrustedBlock(text: string, maxBytes: number): string {
  const clean = normalize(text).trim();
  for (let budget = maxBytes; budget > 0; ) {
    const { text: head, omittedLines } = cutBetween(clean, budget);
    const note = omittedLines === 0 ? "" : `\n\n… (${omittedLines} more lines)`;
    const written = `${neutralize(head)}${note}`;
    const size = byteLength(written);
    if (size <= maxBytes) return written;
    budget = Math.floor((budget * maxBytes * 0.95) / size);
  }
  return "";
}

/** The same for a phrase within a line of ours, such as a title: one line, no formatting except code spans. */
export function untrustedLine(text: string, maxBytes = 400): string {
  const flat = normalize(text).replace(/\s+/g, " ").trim();
  const { text: head, omittedLines } = cutBetween(flat, maxBytes);
  return neutralizeLine(omittedLines === 0 ? head : `${head}…`, "phrase");
}

/** Cuts a text without hidden characters. A joiner whose emoji was cut off would be one. */
function cutBetween(text: string, maxBytes: number): ReturnType<typeof cutAtLine> {
  const cut = cutAtLine(text, maxBytes);
  return cut.omittedLines === 0 ? cut : { ...cut, text: cut.text.replace(/\p{Cf}+$/u, "") };
}

/** A path, a name or another piece of data as inline code. */
export function untrustedCode(text: string): string {
  return inlineCode(inertCode(escapeInvisible(text)));
}

/** Others' text as a block of code. */
export function untrustedFence(text: string, info = ""): string {
  return fence(inertCode(escapeInvisible(text.toWellFormed())), info);
}

/**
 * Why a suggestion may not be posted, as a clause; empty if it may. A click commits exactly what is shown, so it is never rewritten.
 *
 * @param quote the code that it replaces
 */
export function whyNotPosted(suggestion: string, quote: string): string {
  if (stripMarkers(suggestion) !== suggestion) return "it contains the marker of Hunkwise's comments";
  if (withoutCommands(suggestion) !== suggestion)
    return "it contains text that another bot may treat as a command";
  return holdsHidden(suggestion, quote) ? "it contains invisible characters" : "";
}

/** Invisible or direction-changing characters that the code does not have already, except those of emoji and line ends. */
function holdsHidden(suggestion: string, quote: string): boolean {
  const added = [...new Set(suggestion)].filter(
    (sign) => !"\r\u200d\ufe0f".includes(sign) && !quote.includes(sign),
  );
  return added.some((sign) => escapeInvisible(sign) !== sign);
}

interface OpenFence {
  character: string;
  length: number;
  /** White space before it. The mark of a list item counts as spaces. */
  indent: string;
  info: string;
  lines: string[];
}

/** The fence may follow the mark of a list item. */
const fenceStart = /^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})(.*)$/s;
const fenceEnd = /^([ \t]*)(`{3,}|~{3,})[ \t]*$/;

function neutralize(text: string): string {
  const out: string[] = [];
  let open: OpenFence | undefined;
  let indent = "";
  for (const line of text.split("\n")) {
    if (open === undefined) {
      open = opening(line);
      if (open !== undefined) continue;
      indent = sharedIndent(line, indent);
      out.push(neutralizeLine(dedent(line, indent), "block"));
    } else if (closes(line, open)) {
      out.push(written(open));
      ({ indent } = open);
      open = undefined;
    } else {
      open.lines.push(dedent(line, open.indent));
    }
  }
  if (open !== undefined) out.push(written(open));
  return out.join("\n");
}

/** How far a line after a block of code moves left, as the block did: text with the indentation of the list around it would be code. */
function sharedIndent(line: string, indent: string): string {
  if (line.trim() === "" || line.startsWith(indent)) return indent;
  return /^ */.exec(line)?.[0].slice(0, indent.length) ?? "";
}

function opening(line: string): OpenFence | undefined {
  const [, before = "", marks, info = ""] = fenceStart.exec(line) ?? [];
  const character = marks?.[0];
  if (marks === undefined || character === undefined) return undefined;
  if (character === "`" && info.includes("`")) return undefined;
  const language = /^\s*([A-Za-z0-9+#._-]{1,30})(?=\s|$)/.exec(info)?.[1] ?? "";
  return {
    character,
    length: marks.length,
    indent: before.replace(/\S/g, " "),
    info: shownLanguages.has(language.toLowerCase()) ? language : "",
    lines: [],
  };
}

function closes(line: string, open: OpenFence): boolean {
  const [, indent = "", marks = ""] = fenceEnd.exec(line) ?? [];
  const isLongEnough = marks.startsWith(open.character) && marks.length >= open.length;
  return isLongEnough && indent.length <= open.indent.length + 3;
}

function dedent(line: string, indent: string): string {
  if (line.startsWith(indent)) return line.slice(indent.length);
  let at = 0;
  while (at < indent.length && line[at] === " ") at++;
  return line.slice(at);
}

function written({ lines, info }: OpenFence): string {
  // A block without lines differs from one with a single empty line, and fence() takes a text.
  return fence(inertCode(lines.map((line) => `${line}\n`).join("")), info);
}

/** One kind of line end, no lone surrogates, and no invisible characters. */
function normalize(text: string): string {
  return showHidden(text.toWellFormed().replace(/\r\n?/g, "\n"));
}
