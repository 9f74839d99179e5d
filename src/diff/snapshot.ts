/*
 * Snapshots of Jest and Vitest. They are JavaScript that a test runner executes, but an ordinary one only assigns strings.
 */

const SPACE = /\s+/y;
// A carriage return, U+2028 and U+2029 also end a comment: what follows one of them on the same visible line would run.
const COMMENT = /\/\/[^\n\r\u2028\u2029]*(?:\r?\n|$)/y;

/**
 * Whether a `.snap` file is nothing but comment lines, white space, and statements "exports[`name`] = `value`;" whose templates hold no
 * substitution: then to run it can only assign strings, or fail. The contents of comments and strings are not judged. Never throws;
 * takes linear time.
 */
export function isPlainSnapshot(text: string): boolean {
  let at = 0;
  while (at < text.length) {
    const next = endOf(SPACE, text, at) ?? endOf(COMMENT, text, at) ?? endOfStatement(text, at);
    if (next === null) return false;
    at = next;
  }
  return true;
}

function endOf(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

function endOfStatement(text: string, at: number): number | null {
  const name = endOfTemplate(text, endOfWord("exports[", text, at));
  const value = endOfTemplate(text, endOfWord("] = ", text, name));
  return endOfWord(";", text, value);
}

const endOfWord = (word: string, text: string, at: number | null): number | null =>
  at !== null && text.startsWith(word, at) ? at + word.length : null;

/** The end of the template literal that starts at `start`; null if none does, it does not end, or it holds a substitution. */
function endOfTemplate(text: string, start: number | null): number | null {
  if (start === null || text[start] !== "`") return null;
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at];
    if (char === "`") return at + 1;
    if (char === "$" && text[at + 1] === "{") return null;
    // It escapes the next character, whatever that is.
    if (char === "\\") at++;
  }
  return null;
}
