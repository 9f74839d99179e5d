import { createHash } from "node:crypto";
import { escapeInvisible } from "./escape-invisible.ts";

function longestRun(text: string, character: string): number {
  let longest = 0;
  let run = 0;
  for (const one of text) {
    run = one === character ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}

/** `text` as a Markdown code block whose fence is longer than any run of backticks inside. */
export function fence(text: string, info = ""): string {
  const marks = "`".repeat(Math.max(3, longestRun(text, "`") + 1));
  return `${marks}${info}\n${text}${text.endsWith("\n") || text === "" ? "" : "\n"}${marks}`;
}

/** `text` as Markdown inline code, even if it contains backticks; line feeds become spaces. */
export function inlineCode(text: string): string {
  const line = text.replaceAll("\n", " ");
  const marks = "`".repeat(longestRun(line, "`") + 1);
  const space = line === "" || /^[` ]|[` ]$/.test(line) ? " " : "";
  return `${marks}${space}${line}${space}${marks}`;
}

/**
 * Wraps text that a pull request can influence, for a prompt. The closing mark is a digest of the text, which no author can write in advance,
 * and which is the same each time for the cache. Invisible characters are escaped here.
 * @param source what the text is, in our words: "description", "file src/a.ts"
 */
export function wrapUntrusted(source: string, text: string): string {
  const shown = escapeInvisible(text);
  const mark = unusedMark(shown);
  const label = escapeInvisible(source).replace(/["<>\n]/g, "'");
  return `<untrusted id="${mark}" source="${label}">\n${shown}\n</untrusted id="${mark}">`;
}

const wrapped = /<untrusted id="(\w+)" source="([^"]*)">\n([\s\S]*?)\n<\/untrusted id="\1">/g;

/** Where texts that `wrapUntrusted` wrapped for one of these sources stand in a prompt. `end` is exclusive. */
export const untrustedRanges = (prompt: string, isOf: (source: string) => boolean) =>
  [...prompt.matchAll(wrapped)]
    .filter(([, , source = ""]) => isOf(source))
    .map(({ 0: found, index }) => ({ start: index, end: index + found.length }));

/**
 * The beginning of a digest that does not occur in `text`. Against twelve digits an author must try some 10^14 texts; each four more cost
 * 65,536 times as much.
 */
export function unusedMark(text: string, digest = sha256(text)): string {
  let length = 12;
  while (length < digest.length && text.includes(digest.slice(0, length))) length += 4;
  return digest.slice(0, length);
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** A text as one word of a shell, whatever it holds. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
