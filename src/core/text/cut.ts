import { stripVTControlCharacters } from "node:util";

const encoder = new TextEncoder();

export function byteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** The longest beginning of `text` that fits into `maxBytes` of UTF-8; never ends inside a character. */
export function cutBytes(text: string, maxBytes: number): string {
  // Every UTF-16 unit takes at least one byte, so text after `maxBytes` units cannot fit.
  if (text.length <= maxBytes && byteLength(text) <= maxBytes) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.max(0, maxBytes)));
  return text.slice(0, read);
}

/** At most `length` characters of `text`, followed by the number of omitted characters. */
export function cutCharacters(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length).toWellFormed()}… [${text.length - length} more characters]`;
}

/** Prose of at most `length` characters: a longer text ends after a whole sentence, or after a word if its sentences are long, with "…". */
export function cutSentence(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = text.slice(0, length - 2).toWellFormed();
  const sentence = Math.max(...[". ", ".\n", "! ", "? "].map((end) => head.lastIndexOf(end))) + 1;
  const word = Math.max(head.lastIndexOf(" "), head.lastIndexOf("\n"));
  const end = [sentence, word].find((at) => at > length / 2) ?? head.length;
  return `${head.slice(0, end)}${end === sentence ? " " : ""}…`;
}

/**
 * Whole lines of `text` up to `maxBytes` of UTF-8, and the number of lines that are missing or incomplete. A line is only cut if it is the
 * first and too long by itself.
 */
export function cutAtLine(text: string, maxBytes: number): { text: string; omittedLines: number } {
  const head = cutBytes(text, maxBytes);
  if (head.length === text.length) return { text, omittedLines: 0 };
  // The cut may be exactly at the end of a line: then that line is whole.
  const end = text[head.length] === "\n" ? head.length : head.lastIndexOf("\n");
  const kept = end < 0 ? head : head.slice(0, end);
  return { text: kept, omittedLines: splitLines(text.slice(end < 0 ? 0 : end + 1)).length };
}

/** Cuts a line to `maxBytes`: a longer one ends in a note that says how much of it is missing. */
export function cutLine(line: string, maxBytes: number): string {
  const head = cutBytes(line, maxBytes);
  if (head.length === line.length) return line;
  return `${head}… [${line.length - head.length} more characters of this line]`;
}

/** A line feed ends a line and does not begin one: "a" with a line feed is one line, and an empty text none. */
export function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Maximum bytes of a line that is shown whole. */
const MAX_LINE = 2_000;

/**
 * The first and last lines of a program's output within `maxBytes`, without colors: its end shows what failed, its beginning what was run.
 * @param sizeOf bytes that a line takes when it is shown
 */
export function headAndTail(
  output: string,
  maxBytes: number,
  sizeOf: (line: string) => number,
): { text: string; truncated: boolean } {
  const lines = stripVTControlCharacters(output)
    .replace(/\n+$/, "")
    .split("\n")
    .map((line) => cutLine(line.replace(/\r$/, ""), Math.min(MAX_LINE, maxBytes / 4)));
  const total = lines.reduce((sum, line) => sum + sizeOf(line) + 1, 0);
  if (total <= maxBytes) return { text: lines.join("\n"), truncated: false };
  const half = (maxBytes - 100) / 2;
  const head = fitting(lines, half, sizeOf);
  const tail = fitting(lines.toReversed(), half, sizeOf);
  const gap = `[... ${lines.length - head - tail} lines left out here ...]`;
  const text = [...lines.slice(0, head), gap, ...lines.slice(lines.length - tail)].join("\n");
  return { text, truncated: true };
}

function fitting(lines: readonly string[], maxBytes: number, sizeOf: (line: string) => number): number {
  let bytes = 0;
  const past = lines.findIndex((line) => {
    bytes += sizeOf(line) + 1;
    return bytes > maxBytes;
  });
  return past < 0 ? lines.length : past;
}
