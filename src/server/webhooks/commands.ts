import { cutBytes } from "../../core/text/cut.ts";
import { asks } from "../../pull/ledger/reply-words.ts";
import type { Command } from "../queue/job.ts";

/** Limit for reading a comment; GitHub accepts 65,536 characters. */
const mostBytes = 20_000;

/** The point in a comment at which the person's own text begins. */
interface Opening {
  /** The person's first line, without leading white space. */
  line: string;
  /** Everything after that line. */
  rest: string;
}

/**
 * The first line of a comment's Markdown that a person wrote: skips leading blank lines, quotes, code (fenced or indented) and HTML
 * comments. Null if there is none, or if it cannot be told apart from those: a line that continues a quote without `>` is shown within the
 * quote, and an unclosed block hides the rest. Reads the first 20,000 bytes, in linear time. https://spec.commonmark.org/0.31.2/
 */
export function openingOf(body: string): Opening | null {
  const lines = cutBytes(body, mostBytes).split(/\r\n|\r|\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const end = endOfHidden(lines, at);
    if (end === null) return null;
    if (end === undefined) {
      const line = (lines[at] ?? "").replace(/^[ \t]+/, "");
      return { line, rest: lines.slice(at + 1).join("\n") };
    }
    at = end;
  }
  return null;
}

/*
 * Each of these functions returns the last line of the block that begins on a line: null if the rest of the comment belongs to it or may do
 * so, undefined if no such block begins there.
 */
type End = number | null | undefined;

function endOfHidden(lines: readonly string[], at: number): End {
  const line = lines[at] ?? "";
  if (isBlank(line) || columnsBefore(line) >= 4) return at;
  if (isQuote(line)) return endOfQuote(lines, at);
  if (fenceOf(line) !== undefined) return endOfFence(lines, at);
  return startsComment(line) ? endOfComment(lines, at) : undefined;
}

function endOfQuote(lines: readonly string[], at: number): End {
  let end = at;
  for (; isQuote(lines[end] ?? ""); end += 1) {
    // If a quote leaves a comment open, Markdown and the resulting page disagree on what the comment hides.
    if (withoutComments(lines[end] ?? "") === null) return null;
  }
  const next = lines[end] ?? "";
  return isBlank(next) || fenceOf(next) !== undefined || startsComment(next) ? end - 1 : null;
}

function endOfFence(lines: readonly string[], at: number): End {
  const fence = fenceOf(lines[at] ?? "") ?? "";
  return nextLine(lines, at + 1, (line) => {
    const marks = columnsBefore(line) < 4 ? /^ *(`+|~+)[ \t]*$/.exec(line)?.[1] : undefined;
    return marks?.startsWith(fence) ?? false;
  });
}

/** Text after the comment, on its last line, is not read as Markdown, so it hides the rest. */
function endOfComment(lines: readonly string[], at: number): End {
  const line = lines[at] ?? "";
  // `<!-->` is a whole comment.
  const start = line.indexOf("<!--") + 2;
  const isShort = line.includes("-->", start);
  const end = isShort ? at : nextLine(lines, at + 1, (one) => one.includes("-->"));
  if (end === null) return null;
  const last = lines[end] ?? "";
  const behind = last.slice(last.indexOf("-->", isShort ? start : 0) + 3);
  return withoutComments(behind)?.trim() === "" ? end : null;
}

/** The first line from `from` on that passes; null if none does. */
function nextLine(lines: readonly string[], from: number, passes: (line: string) => boolean): number | null {
  for (let at = from; at < lines.length; at += 1) if (passes(lines[at] ?? "")) return at;
  return null;
}

const isBlank = (line: string) => /^[ \t]*$/.test(line);
const isQuote = (line: string) => /^ {0,3}>/.test(line);
const startsComment = (line: string) => /^ {0,3}<!--/.test(line);
/** The marks of a fence that begins on a line. */
const fenceOf = (line: string) => /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1];

/** A line without its HTML comments; null if one is not closed on it. */
function withoutComments(line: string): string | null {
  let shown = "";
  let from = 0;
  for (let start = line.indexOf("<!--"); start >= 0; start = line.indexOf("<!--", from)) {
    const end = line.indexOf("-->", start + 2);
    if (end < 0) return null;
    shown += line.slice(from, start);
    from = end + 3;
  }
  return shown + line.slice(from);
}

/** Width of the white space at the start of a line; a tab advances to the next multiple of four. */
function columnsBefore(line: string): number {
  let columns = 0;
  for (const sign of line) {
    if (sign === " ") columns += 1;
    else if (sign === "\t") columns += 4 - (columns % 4);
    else break;
  }
  return columns;
}

/** A request for a review. */
export interface ReviewCommand {
  name: "review";
  /** Reviews everything, not only what is new. */
  full: boolean;
  /** Shows what would be posted, and posts nothing. */
  dryRun: boolean;
}

/** A request that a person can make in a comment. */
export type AskedFor = ReviewCommand | Command;

/** In characters; a longer line is not a list of arguments. */
const longestLine = 200;
/** In characters; a longer question is cut. A rule has to be much shorter: the job refuses a longer one instead of proposing a part. */
const longestText = 4_000;

/**
 * Reads a command from the first line that a person wrote in a comment: `/NAME`, or `@slug NAME` with the App's slug, and its arguments.
 * `ask` and `remember` take the rest of the comment, the others ignore the lines that follow. `@slug` before any other text that asks
 * something is an `ask`. A line is not a command if any word of it is not understood, or if it comes after other text, in a quote, in code
 * or in an HTML comment. Only spaces and tabs count as white space, and only `/` as a slash.
 */
export function parseCommand(body: string, appSlug: string | null): AskedFor | null {
  const opening = openingOf(body);
  if (!opening) return null;
  const { line, rest } = opening;
  if (line.startsWith("/")) return named(line.slice(1), rest);
  const said = behindMention(line, appSlug);
  if (said === null) return null;
  const command = /^[ \t]/.test(said) ? named(said.replace(/^[ \t]+/, ""), rest) : null;
  if (command) return command;
  const question = freeText(`${said.replace(/^[,:]/, "")}\n${rest}`);
  return asks(question) ? { name: "ask", question } : null;
}

/** Whether a comment begins with a mention of another account, which its question is then for. */
export function speaksToAnother(body: string, appSlug: string | null): boolean {
  const line = openingOf(body)?.line ?? "";
  return /^@[a-z\d]/i.test(line) && behindMention(line, appSlug) === null;
}

/** The text after `@slug`, or `@slug[bot]` as GitHub writes it; null if the line does not begin with a mention of the App. */
function behindMention(line: string, appSlug: string | null): string | null {
  if (!appSlug) return null;
  const mention = `@${appSlug.toLowerCase()}`;
  if (line.slice(0, mention.length).toLowerCase() !== mention) return null;
  const rest = line.slice(mention.length).replace(/^\[bot\]/i, "");
  return rest === "" || /^[ \t,:]/.test(rest) ? rest : null;
}

/** A command by its name, with the text after the name and on the following lines. */
function named(request: string, rest: string): AskedFor | null {
  const [written = ""] = /^[^ \t]*/.exec(request) ?? [];
  const behind = request.slice(written.length);
  const name = written.toLowerCase();
  switch (name) {
    case "ask": {
      const question = freeText(`${behind}\n${rest}`);
      return question === "" ? null : { name, question };
    }
    case "remember": {
      const rule = freeText(`${behind}\n${rest}`);
      return rule === "" ? null : { name, rule };
    }
    case "fix":
      return fixWith(wordsOf(behind));
    case "review":
      return reviewWith(wordsOf(behind));
    case "resolve":
      return resolveWith(wordsOf(behind));
    case "describe":
    case "pause":
    case "resume":
    case "prove":
    case "help":
      return wordsOf(behind)?.length === 0 ? { name } : null;
    default:
      return null;
  }
}

/** `all`, `with test` or `with tests`, or both. */
function fixWith(words: readonly string[] | null): AskedFor | null {
  const said = /^(all)? ?(with tests?)?$/.exec(words?.join(" ") ?? "?");
  if (!said) return null;
  const [, all, withTests] = said;
  return { name: "fix", all: all !== undefined, ...(withTests !== undefined && { withTests: true }) };
}

/** Nothing, or numbers as the summary shows them: `3`, `#3`, `3, 5`. */
function resolveWith(words: readonly string[] | null): AskedFor | null {
  const given = words?.map((word) => /^#?([1-9]\d{0,5}),?$/.exec(word)?.[1]);
  if (given === undefined || given.includes(undefined)) return null;
  return { name: "resolve", ...(given.length > 0 && { numbers: given.map(Number) }) };
}

function reviewWith(options: readonly string[] | null): ReviewCommand | null {
  if (options === null) return null;
  const wanted = new Set(options);
  const [full, dryRun] = [wanted.delete("full"), wanted.delete("--dry-run")];
  const understood = wanted.size === 0 && options.length === Number(full) + Number(dryRun);
  return understood ? { name: "review", full, dryRun } : null;
}

/** The words of a line; null if the line is too long for arguments. */
function wordsOf(line: string): string[] | null {
  return line.length > longestLine ? null : line.split(/[ \t]+/).filter((word) => word !== "");
}

/** A text cut to the limit; empty if it has no visible letters or digits. */
function freeText(text: string): string {
  // A character takes one or two units.
  const cut = [...text.trim().slice(0, 2 * longestText)].slice(0, longestText).join("").trimEnd();
  return /[\p{L}\p{N}]/u.test(cut.replace(/<!--[\s\S]*?(?:-->|$)/g, "")) ? cut : "";
}
