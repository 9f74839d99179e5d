import { byteLength, cutAtLine } from "../text/cut.ts";
import { escapeInvisible, showHidden } from "../text/escape-invisible.ts";
import { fence, inlineCode } from "../text/fence.ts";
import { inertCode } from "./inert-code.ts";
import { neutraliseLine } from "./render-untrusted-line.ts";
import { shownLanguages } from "./shown-languages.ts";

/**
 * Text that a model wrote, and that a pull request may have talked it into, made fit to be posted under our name. It
 * notifies nobody, refers to no issue and no commit, loads and links nothing, hides nothing, holds no HTML, no mathematics and no
 * command of another bot. Lists, emphasis, headings and code stay; of code, only what forges a marker or commands a bot is changed.
 *
 * It is not asked what GitHub takes for code: the text is written anew so that there is one answer. A fenced block starts
 * in the first column and its fence is longer than any inside; a code span begins and ends on one line; a backtick that
 * takes part in neither is escaped.
 */
export function untrustedBlock(text: string, maxBytes: number): string {
  const clean = normalise(text).trim();
  for (let budget = maxBytes; budget > 0; ) {
    const { text: head, omittedLines } = cutAtLine(clean, budget);
    const note = omittedLines === 0 ? "" : `\n\n… (${omittedLines} more lines)`;
    const written = `${neutralise(head)}${note}`;
    const size = byteLength(written);
    if (size <= maxBytes) return written;
    budget = Math.floor((budget * maxBytes * 0.95) / size);
  }
  return "";
}

/** The same for a phrase within a line of ours, such as a title: one line, no formatting but code spans. */
export function untrustedLine(text: string, maxBytes = 400): string {
  const flat = normalise(text).replace(/\s+/g, " ").trim();
  const { text: head, omittedLines } = cutAtLine(flat, maxBytes);
  return neutraliseLine(omittedLines === 0 ? head : `${head}…`, "phrase");
}

/** A path, a name or another piece of data as inline code. */
export function untrustedCode(text: string): string {
  return inlineCode(inertCode(escapeInvisible(text)));
}

/** Text of others as a block of code. */
export function untrustedFence(text: string, info = ""): string {
  return fence(inertCode(escapeInvisible(text.toWellFormed())), info);
}

interface OpenFence {
  character: string;
  length: number;
  /** White space before it, or as much of it as the mark of a list item takes. */
  indent: string;
  info: string;
  lines: string[];
}

/** A list item may begin with one. */
const fenceStart = /^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})(.*)$/s;
const fenceEnd = /^([ \t]*)(`{3,}|~{3,})[ \t]*$/;

function neutralise(text: string): string {
  const out: string[] = [];
  let open: OpenFence | undefined;
  let indent = "";
  for (const line of text.split("\n")) {
    if (open === undefined) {
      open = opening(line);
      if (open !== undefined) continue;
      indent = sharedIndent(line, indent);
      out.push(neutraliseLine(dedent(line, indent), "block"));
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

/**
 * By how much a line behind a block of code moves to the left, as the block did: the list that both stood in has ended there, and what
 * is indented as in a list would be code. A line further left than the others ends it for those that follow.
 */
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
  // A block without lines and one with a single empty line differ, and fence() takes a text.
  return fence(inertCode(lines.map((line) => `${line}\n`).join("")), info);
}

/** One kind of line end, no lone surrogates, and nothing that does not show. */
function normalise(text: string): string {
  return showHidden(text.toWellFormed().replace(/\r\n?/g, "\n"));
}
