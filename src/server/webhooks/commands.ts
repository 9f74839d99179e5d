import { cutBytes } from "../../core/text/cut.ts";
import { asks } from "../../pull/ledger/reply-words.ts";
import type { Command, ReviewTask } from "../queue/job.ts";

/** Limit for reading a comment; GitHub accepts 65,536 characters. */
const mostBytes = 20_000;

/**
 * The first line that a person wrote in a comment, behind blank lines and quotes, without leading white space. Null if there is none, or if it cannot be told apart from
 * what they did not write: code, an HTML comment, or a line directly below a quote, which is shown within it. Reads
 * the first 20,000 bytes. https://spec.commonmark.org/0.31.2/
 */
export function openingOf(body: string): { line: string; rest: string } | null {
  const lines = linesOf(body);
  const at = lines.findIndex((line) => !isBlank(line) && !isQuote(line));
  const [line = "", before = ""] = [lines[at], lines[at - 1]];
  if (at < 0 || isHidden(line) || isQuote(before) || lines.slice(0, at).some(leavesComment)) return null;
  return { line: line.replace(/^[ \t]+/, ""), rest: lines.slice(at + 1).join("\n") };
}

const linesOf = (body: string) => cutBytes(body, mostBytes).split(/\r\n|\r|\n/);
const isBlank = (line: string) => /^[ \t]*$/.test(line);
const isQuote = (line: string) => /^ {0,3}>/.test(line);
/** Code, fenced or indented, or an HTML comment. */
const isHidden = (line: string) => /^(?: {4}| {0,3}(?:\t|`{3}|~{3}|<!--))/.test(line);
/** Whether an HTML comment is not closed on its line. */
const leavesComment = (line: string) => line.lastIndexOf("<!--") > line.lastIndexOf("-->");

export type AskedFor = Command | { name: "review"; mode: ReviewTask["mode"] };

/** What may follow `review`. A dry run reads everything anyway. */
const reviewModes: ReadonlyMap<string, ReviewTask["mode"]> = new Map([
  ["", "new"],
  ["full", "full"],
  ["--dry-run", "dry_run"],
  ["full --dry-run", "dry_run"],
  ["--dry-run full", "dry_run"],
]);

const longestLine = 200;
/** In characters; a longer question is cut. A rule has to be much shorter: the job refuses a longer one instead of proposing a part. */
const longestText = 4_000;

/**
 * Reads a command from the first line that a person wrote in a comment: `/NAME`, or `@slug NAME` with the App's slug, and its arguments.
 * `@slug` before any other text that asks something is an `ask`. A line is not a command if any word of it is not understood. Only spaces and
 * tabs count as white space, and only `/` as a slash.
 */
export function parseCommand(body: string, appSlug: string | null): AskedFor | null {
  const opening = openingOf(body);
  if (!opening) return null;
  const { line, rest } = opening;
  if (line.startsWith("/")) return named(line.slice(1), rest);
  const words = behindMention(line, appSlug);
  if (words === null) return null;
  const command = /^[ \t]/.test(words) ? named(words.replace(/^[ \t]+/, ""), rest) : null;
  if (command) return command;
  const question = freeText(`${words.replace(/^[,:]/, "")}\n${rest}`);
  return asks(question) ? { name: "ask", question } : null;
}

/**
 * Whether a comment begins with a mention of another account, which its question is then for. If it is not known where the person's text
 * begins, each line may be its begin.
 */
export function speaksToAnother(body: string, appSlug: string | null): boolean {
  const opening = openingOf(body);
  const begins = opening ? [opening.line] : linesOf(body).map((line) => line.trimStart());
  return begins.some((line) => /^@[a-z\d]/i.test(line) && behindMention(line, appSlug) === null);
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
    case "review": {
      const mode = reviewModes.get(wordsOf(behind)?.join(" ") ?? "?");
      return mode === undefined ? null : { name, mode };
    }
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
  const given = /^(all)? ?(with tests?)?$/.exec(words?.join(" ") ?? "?");
  if (!given) return null;
  const [, all, withTests] = given;
  return { name: "fix", all: all !== undefined, ...(withTests !== undefined && { withTests: true }) };
}

/** Nothing, or numbers as the summary shows them: `3`, `#3`, `3, 5`. */
function resolveWith(words: readonly string[] | null): AskedFor | null {
  const given = words?.map((word) => /^#?([1-9]\d{0,5}),?$/.exec(word)?.[1]);
  if (given === undefined || given.includes(undefined)) return null;
  return { name: "resolve", ...(given.length > 0 && { numbers: given.map(Number) }) };
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
