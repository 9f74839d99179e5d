import type { ProofTest } from "../finding.ts";
import { fence, inlineCode } from "../text/fence.ts";
import { markerIn } from "./marker.ts";

/*
 * The folds of a comment on a finding, and how they are found again. Text of others is within a longer fence, or cannot begin a line with an
 * angle bracket: a line outside of all fences that begins a fold is ours.
 */

export const checkedPart = "How this was checked";
export const testPart = "The test";
/** A test for the finding that passes, so it shows nothing. */
export const passingTestPart = "A test that was written for this finding passes";

/** What a test shows, as the beginning of a line above the text of a finding. */
export const markTitles = {
  regression: "Regression shown by a test.",
  reproduced: "Reproduced by a test.",
} as const;
export const markStart = (kind: keyof typeof markTitles): string => `🧪 **${markTitles[kind]}** `;

/** The line that begins a fold. */
export const foldLine = (title: string): string => `<details><summary>${title}</summary>`;

const fenceStart = /^(`{3,})[^`]*$/;

function fenceEndOf(line: string): RegExp | null {
  const marks = fenceStart.exec(line)?.[1];
  return marks === undefined ? null : new RegExp(`^\`{${marks.length},}[ \\t]*$`);
}

/** The replacement in the last block of a comment that GitHub offers to commit; null if there is none. One inside of another block is only text. */
export function suggestionIn(text: string): string | null {
  let found: string | null = null;
  let end: RegExp | null = null;
  let block: string[] | null = null;
  for (const line of text.split(/\r?\n/)) {
    if (end === null) {
      end = fenceEndOf(line);
      block = end !== null && /^`+suggestion$/.test(line) ? [] : null;
    } else if (end.test(line)) {
      found = block?.join("\n") ?? found;
      end = null;
    } else block?.push(line);
  }
  return found;
}

/** Index of the first line outside of code that begins a fold with one of these titles; -1 if there is none. */
function foldAt(lines: readonly string[], titles: readonly string[]): number {
  const wanted = new Set(titles.map(foldLine));
  let end: RegExp | null = null;
  return lines.findIndex((line) => {
    if (end !== null) {
      if (end.test(line)) end = null;
      return false;
    }
    end = fenceEndOf(line);
    return wanted.has(line.trimEnd());
  });
}

/** The text of our comment without what a test shows, and above its first fold that is not about the code. */
export function ownWords(text: string): string {
  const above = aboveFolds(text).split("\n");
  const starts = [markStart("regression"), markStart("reproduced")];
  const mark = above.findIndex((line) => starts.some((start) => line.startsWith(start)));
  // With the empty line below it.
  return (mark < 0 ? above : above.toSpliced(mark, 2)).join("\n");
}

function aboveFolds(text: string): string {
  const lines = text.split("\n");
  const at = foldAt(
    lines.map((line) => line.replace(/\r$/, "")),
    [checkedPart, testPart, passingTestPart],
  );
  return at < 0 ? text : lines.slice(0, at).join("\n");
}

/** A test as a comment shows it. */
export interface ShownTest extends ProofTest {
  command: string;
}

const pathEnd = ", a new file:";
const openPathEnd = ", a new file without a line feed at its end:";
const ranWith = "It was run with ";

/**
 * A test and its command, for a fold. Nothing is made harmless: use it only for text that may be committed as it is, and if `testIn` reads the
 * same.
 * @param language of the block of code
 */
export function testBlock({ path, text, command }: ShownTest, language: string): string {
  const end = text.endsWith("\n") ? pathEnd : openPathEnd;
  return `${inlineCode(path)}${end}\n\n${fence(text, language)}\n\n${ranWith}${inlineCode(command)}.`;
}

/** The test in the fold of our text, exactly as shown; null if there is none that is written as this version writes it. */
export function testIn(body: string): ShownTest | null {
  const lines = body.split(/\r?\n/);
  const fold = foldAt(lines, [testPart]);
  const [empty, name = "", gap, opening = "", ...rest] = fold < 0 ? [] : lines.slice(fold + 1);
  const isOpen = name.endsWith(openPathEnd);
  const path = codeIn(name, "", isOpen ? openPathEnd : pathEnd);
  const end = fenceEndOf(opening);
  const length = end === null ? -1 : rest.findIndex((line) => end.test(line));
  const command = codeIn(rest[length + 2] ?? "", ranWith, ".");
  if (empty !== "" || gap !== "" || path === null || length < 0 || command === null) return null;
  if (rest[length + 1] !== "") return null;
  return { path, text: `${rest.slice(0, length).join("\n")}${isOpen ? "" : "\n"}`, command };
}

/** The text of the inline code that is all of a line between our words; null if the line is another one. */
function codeIn(line: string, before: string, after: string): string | null {
  if (!line.startsWith(before) || !line.endsWith(after)) return null;
  const code = line.slice(before.length, line.length - after.length);
  const marks = /^`+/.exec(code)?.[0].length ?? 0;
  const inner = code.slice(marks, -marks || undefined);
  const text = /^ .* $/s.test(inner) ? inner.slice(1, -1) : inner;
  return text !== "" && inlineCode(text) === code ? text : null;
}

/** The test that our comment on a finding shows, which is the one to commit; null if it shows none. */
export function proofIn(commentBody: string): ShownTest | null {
  return markerIn(commentBody, "finding") ? testIn(commentBody) : null;
}
