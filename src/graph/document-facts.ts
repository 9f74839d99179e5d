import { extensionOf } from "../code/languages.ts";
import type { DefinitionFact } from "./facts.ts";
import { wordsOf } from "./words.ts";

const extensions: ReadonlySet<string> = new Set(["md", "mdx", "markdown", "rst", "adoc", "txt"]);

/** Whether a path is that of a text for people. Licences and lists of packages say nothing. */
export function isDocument(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return (
    extensions.has(extensionOf(path)) &&
    !/^(?:licen[cs]e|copying|notice|requirements.*|cmakelists)\b/.test(name)
  );
}

const MAX_SECTIONS = 500;
const MAX_SECTION_LINES = 80;
const MAX_TITLE = 120;

/** The sections of a document: from each heading to the next. What stands in front of the first is one as well. */
export function documentFacts(text: string): DefinitionFact[] {
  const lines = text.split("\n");
  const starts = headings(lines);
  if (starts[0]?.line !== 1) starts.unshift({ line: 1, title: titleOf(lines) });
  return starts.slice(0, MAX_SECTIONS).flatMap(({ line, title }, at): DefinitionFact[] => {
    const end = (starts[at + 1]?.line ?? lines.length + 1) - 1;
    const body = lines
      .slice(line - 1, Math.min(end, line - 1 + MAX_SECTION_LINES))
      .join("\n")
      .trim();
    if (title === "" || body === "") return [];
    const place = { start: line, end, docStart: line, signatureEnd: line };
    const none = { container: null, outer: null, type: null, supers: null, exported: true };
    return [
      { name: title, kind: "section", ...place, ...none, excerpt: firstWords(body), text: wordsOf(body) },
    ];
  });
}

interface Heading {
  line: number;
  title: string;
}

function headings(lines: readonly string[]): Heading[] {
  const found: Heading[] = [];
  let fence: string | null = null;
  for (const [at, line] of lines.entries()) {
    const mark = /^ {0,3}(```|~~~)/.exec(line)?.[1];
    if (mark) fence = fence === null ? mark : mark === fence ? null : fence;
    if (fence !== null || mark) continue;
    const title = /^(?:#{1,6}|={1,6})\s+(\S.{0,300})/.exec(line)?.[1] ?? underlined(lines, at);
    if (title !== null && title !== undefined) found.push({ line: at + 1, title: plain(title) });
  }
  return found;
}

/** Headings of reStructuredText and old Markdown: a line of signs below the title. */
function underlined(lines: readonly string[], at: number): string | null {
  const title = (lines[at] ?? "").trimEnd();
  const below = (lines[at + 1] ?? "").trimEnd();
  const isLine = /^([=~^"*+#-])\1{2,}$/.test(below) && below.length >= Math.min(title.length, 4);
  return isLine && /^[^\s|>#=*-].{0,200}$/.test(title) ? title : null;
}

const plain = (title: string) =>
  title
    .replace(/\s#+\s*$/, "")
    .replace(/[`*_]{1,2}/g, "")
    .slice(0, MAX_TITLE)
    .trim();

const titleOf = (lines: readonly string[]) => plain((lines.find((line) => line.trim() !== "") ?? "").trim());

const firstWords = (body: string) => body.slice(0, 400);
