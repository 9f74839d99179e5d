import { cutBytes } from "../text/cut.ts";

/** More of a comment is not looked at; GitHub takes 65,536 characters. */
const mostBytes = 20_000;

/** Where a person begins to write in a comment. */
export interface Opening {
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
