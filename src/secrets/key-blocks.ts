import type { Range } from "./ranges.ts";

/** How a key in PEM or of PuTTY begins. */
const beginning = /-----BEGIN (?:[A-Z\d]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,4}(?!\d)/g;
/** What stands between the lines of a key wherever it is quoted: line ends, also escaped ones, marks of quotes, diffs and strings. */
const between = /(?:\\[nrt]|[\s>|"'`,;.\\*+[\]()]|-(?!----)|\d{1,7} +│)*/y;
const ending = /-{5,6}END [A-Z\d ]{0,40}-----/y;
/** As PGP and encrypted keys have them before their body. */
const headerLine = /[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,200}/y;
const lineOfKey = /[A-Za-z\d/][\w+/]{15,}={0,2}|[A-Za-z\d/][\w+/]{0,15}={1,2}/y;
const shortLine = /[A-Za-z\d/][A-Za-z\d/+]{0,15}(?=[\s\\nr"'`,>|*.+]{1,20}-{5,6}END )/y;

const mostHeaders = 6;
/** Less than this was written to show where a key goes. */
const fewestCharacters = 40;

/** Where private keys stand, from their first line to their last, or to where their characters end. Linear in the text's length. */
export function privateKeysIn(text: string): Range[] {
  if (!text.includes("PRIVATE KEY") && !text.includes("Private-Lines")) return [];
  const found: Range[] = [];
  for (const match of text.matchAll(beginning)) {
    const body = bodyAt(text, match.index + match[0].length);
    if (body.characters >= fewestCharacters) found.push({ start: match.index, end: body.end });
  }
  return found;
}

/** How many characters of a key follow, and where they and its last line end. */
function bodyAt(text: string, start: number): { end: number; characters: number } {
  const length = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0].length ?? 0;
  };
  let end = start;
  let characters = 0;
  let headers = 0;
  for (let at = start; ; ) {
    at += length(between, at);
    const last = length(ending, at);
    if (last > 0) return { end: at + last, characters };
    const line = length(lineOfKey, at) || length(shortLine, at);
    const header = line === 0 && characters === 0 && headers++ < mostHeaders ? length(headerLine, at) : 0;
    if (line + header === 0) return { end, characters };
    at += line + header;
    if (line > 0) end = at;
    characters += line;
  }
}
