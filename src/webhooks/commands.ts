import { asks } from "../ledger/words.ts";
import type { Command } from "../queue/job.ts";
import { cutBytes } from "../text/cut.ts";

/** More of a comment is not looked at; GitHub takes 65,536 characters. */
const mostBytes = 20_000;

/** Where a person begins to write in a comment. */
interface Opening {
  /** The first line of theirs, without white space in front of it. */
  line: string;
  /** All that follows that line. */
  rest: string;
}

/**
 * The first line that a person wrote in a comment, of its Markdown: leading blank lines, quotes, code (fenced or indented) and
 * HTML comments are passed over. Null where there is none, or where it cannot be told from them: a line that goes on a quote
 * without `>` is shown within it, and what is not closed hides the rest. Looks at the first 20,000 bytes, in linear time.
 * https://spec.commonmark.org/0.31.2/
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
 * Each of these answers with the last line of the block that begins on a line: null when the rest of the comment belongs to
 * it or may do so, undefined when no such block begins there.
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
    // What is hidden by a comment that a quote leaves open, Markdown and the page it becomes do not agree on.
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

/** Text behind the comment, on its last line, is not read as Markdown: there it hides the rest. */
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

/** The first line from one on that passes; null where none does. */
function nextLine(lines: readonly string[], from: number, passes: (line: string) => boolean): number | null {
  for (let at = from; at < lines.length; at += 1) if (passes(lines[at] ?? "")) return at;
  return null;
}

const isBlank = (line: string) => /^[ \t]*$/.test(line);
const isQuote = (line: string) => /^ {0,3}>/.test(line);
const startsComment = (line: string) => /^ {0,3}<!--/.test(line);
/** The marks of a fence that begins on a line. */
const fenceOf = (line: string) => /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1];

/** A line without its HTML comments; null when one is not closed on it. */
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

/** Width of the white space that a line begins with; a tab goes on to the next multiple of four. */
function columnsBefore(line: string): number {
  let columns = 0;
  for (const sign of line) {
    if (sign === " ") columns += 1;
    else if (sign === "\t") columns += 4 - (columns % 4);
    else break;
  }
  return columns;
}

/** A review that a person asks for. */
export interface ReviewCommand {
  name: "review";
  /** Everything, not only what is new. */
  full: boolean;
  /** Show what would be posted, post nothing. */
  dryRun: boolean;
}

/** What a person can ask for in a comment. */
export type AskedFor = ReviewCommand | Command;

/** In characters; what is longer is no list of arguments. */
const longestLine = 200;
/** A longer question is cut, in characters. A rule may not be so long by far: the job refuses it, rather than to propose a part. */
const longestText = 4_000;

/**
 * Reads a command from the first line that a person wrote in a comment: `/NAME`, or `@slug NAME` with the App's slug, and its
 * arguments. `ask` and `remember` take the rest of the comment, the others ignore the lines that follow. `@slug` before
 * anything else that asks something is an `ask`. What is not understood to the last word is no command, nor is one behind
 * other text, in a quote, in code or in an HTML comment. Spaces and tabs alone count as white space, and `/` alone as a slash.
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

/** Whether a comment begins with a mention of somebody else: what it asks is asked of them. */
export function speaksToAnother(body: string, appSlug: string | null): boolean {
  const line = openingOf(body)?.line ?? "";
  return /^@[a-z\d]/i.test(line) && behindMention(line, appSlug) === null;
}

/** What stands behind `@slug`, or `@slug[bot]` as GitHub writes it; null when the line speaks to nobody we know. */
function behindMention(line: string, appSlug: string | null): string | null {
  if (!appSlug) return null;
  const mention = `@${appSlug.toLowerCase()}`;
  if (line.slice(0, mention.length).toLowerCase() !== mention) return null;
  const rest = line.slice(mention.length).replace(/^\[bot\]/i, "");
  return rest === "" || /^[ \t,:]/.test(rest) ? rest : null;
}

/** A command by its name, with what stands behind the name and on the following lines. */
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
    case "fix": {
      const words = wordsOf(behind);
      const isUnderstood = words?.length === 0 || (words?.length === 1 && words[0] === "all");
      return isUnderstood ? { name, all: words.length === 1 } : null;
    }
    case "review":
      return reviewWith(wordsOf(behind));
    case "resolve":
    case "pause":
    case "resume":
    case "help":
      return wordsOf(behind)?.length === 0 ? { name } : null;
    default:
      return null;
  }
}

function reviewWith(options: readonly string[] | null): ReviewCommand | null {
  if (options === null) return null;
  const wanted = new Set(options);
  const [full, dryRun] = [wanted.delete("full"), wanted.delete("--dry-run")];
  const understood = wanted.size === 0 && options.length === Number(full) + Number(dryRun);
  return understood ? { name: "review", full, dryRun } : null;
}

/** The words of a line; null for one that is too long to be arguments. */
function wordsOf(line: string): string[] | null {
  return line.length > longestLine ? null : line.split(/[ \t]+/).filter((word) => word !== "");
}

/** A text without what is too much of it; empty where it says nothing that a person would see. */
function freeText(text: string): string {
  // A character takes one or two units.
  const cut = [...text.trim().slice(0, 2 * longestText)].slice(0, longestText).join("").trimEnd();
  return /[\p{L}\p{N}]/u.test(cut.replace(/<!--[\s\S]*?(?:-->|$)/g, "")) ? cut : "";
}
