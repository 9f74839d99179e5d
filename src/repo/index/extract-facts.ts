import { isRun } from "../code/code-file.ts";
import { basesOf, unlistedFields } from "../code/declared-types.ts";
import { packageOf } from "../code/imports.ts";
import { extensionOf, grammarOf } from "../code/languages.ts";
import { isWorthParsing, parseOnce } from "../code/parse.ts";
import { type Definition, Nesting, type Source } from "../code/source.ts";
import type { BlobFacts, DefinitionFact } from "./store.ts";
import { wordsOf } from "./words.ts";

/** The kind of a file by its name. Its facts depend on the kind and the text. Null if it is not read. */
export function kindOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "package.json" || name === "go.mod") return name;
  if (isDocument(path)) return "document";
  return grammarOf(path)?.dialect ?? layoutKinds.get(extensionOf(path)) ?? null;
}

/** Languages without a grammar, by extension. Their definitions are guessed from the layout. */
const layoutKinds = new Map(
  ["swift", "scala", "lua", "sh", "bash", "pl", "ex", "exs", "dart"].map((one) => [one, one]),
);

/** A path that the parser takes for this kind. */
const pathFor = (kind: string, extension: string) => `file.${layoutKinds.has(kind) ? kind : extension}`;

const noFacts: BlobFacts = { package: null, definitions: [], references: [], imports: [] };

/** The facts of a text, by the text and the kind of its path alone. Null for binaries, generated or too large texts, and other kinds. */
export async function extractFacts(path: string, text: string): Promise<BlobFacts | null> {
  const kind = kindOf(path);
  if (kind === null || text.includes("\0") || !isWorthParsing(text)) return null;
  if (kind === "package.json" || kind === "go.mod") return { ...noFacts, package: packageOf(kind, text) };
  if (kind === "document") return { ...noFacts, definitions: documentFacts(text) };
  const named = pathFor(kind, extensionOf(path));
  const source = await parseOnce(named, text);
  return source && factsOf(named, text, source);
}

/** Only generated files have more. */
const MAX_REFERENCES = 10_000;
const MAX_DEFINITIONS = 3_000;

function factsOf(path: string, text: string, source: Source): BlobFacts {
  const lines = text.split("\n");
  const plain = withFields(source.definitions.slice(0, MAX_DEFINITIONS), lines);
  const nesting = new Nesting(plain, lines.length);
  const functions = new Nesting(plain.filter(isFunction), lines.length);
  const numbers = new Map(plain.map((one, at) => [one, at]));
  const numberOf = (one: Definition | null) => (one && numbers.get(one)) ?? null;
  return {
    package: null,
    definitions: plain.map((one) => ({
      ...one,
      outer: numberOf(nesting.outer(one)),
      supers: basesOf(one, { path, lines }).join(",") || null,
      excerpt: excerptOf(one, lines),
      text: textOf(one, lines),
    })),
    references: source
      .uses()
      .slice(0, MAX_REFERENCES)
      .map((use) => ({ ...use, within: numberOf(nesting.at(use.line)) })),
    imports: source.bindings().map((one) => ({ ...one, within: numberOf(functions.at(one.line)) })),
  };
}

function withFields(definitions: readonly Definition[], lines: readonly string[]): Definition[] {
  const added = unlistedFields(definitions, lines).map(({ line, ...field }): Definition => {
    const place = { start: line, end: line, docStart: line, signatureEnd: line };
    return { ...field, kind: "field", exported: false, ...place };
  });
  return [...definitions, ...added].sort((a, b) => a.start - b.start || b.end - a.end);
}

const isFunction = (one: Definition) => isRun(one) || one.kind === "test";

const EXCERPT_LINES = 6;
const EXCERPT_CHARACTERS = 400;

function excerptOf({ start, signatureEnd }: Definition, lines: readonly string[]): string {
  const head = lines.slice(start - 1, Math.min(signatureEnd, start + EXCERPT_LINES - 1));
  return head.join("\n").slice(0, EXCERPT_CHARACTERS);
}

const TEXT_LINES = 60;
const withBody: readonly string[] = ["function", "method", "test", "macro"];

/** The words of the comment above, the signature, and the body of what can run. */
function textOf({ kind, docStart, start, end, signatureEnd }: Definition, lines: readonly string[]): string {
  const last = withBody.includes(kind) ? end : Math.max(signatureEnd, start);
  return wordsOf(lines.slice(docStart - 1, Math.min(last, docStart + TEXT_LINES)).join("\n"));
}

const documentExtensions: ReadonlySet<string> = new Set(["md", "mdx", "markdown", "rst", "adoc", "txt"]);

/** Whether a file is prose. Licenses and package lists say nothing about the code. */
function isDocument(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return (
    documentExtensions.has(extensionOf(path)) &&
    !/^(?:licen[cs]e|copying|notice|requirements.*|cmakelists)\b/.test(name)
  );
}

const MAX_SECTIONS = 500;
const MAX_SECTION_LINES = 80;
const MAX_TITLE = 120;

/** The sections of a document, from each heading to the next. Text before the first heading is a section as well. */
function documentFacts(text: string): DefinitionFact[] {
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
      {
        name: title,
        kind: "section",
        ...place,
        ...none,
        excerpt: body.slice(0, EXCERPT_CHARACTERS),
        text: wordsOf(body),
      },
    ];
  });
}

function headings(lines: readonly string[]): { line: number; title: string }[] {
  const found: { line: number; title: string }[] = [];
  let fence: string | null = null;
  for (const [at, line] of lines.entries()) {
    const mark = /^ {0,3}(```|~~~)/.exec(line)?.[1];
    if (mark) fence = fence === null ? mark : mark === fence ? null : fence;
    if (fence !== null || mark) continue;
    const title = /^(?:#{1,6}|={1,6})\s+(\S.{0,300})/.exec(line)?.[1] ?? underlined(lines, at);
    if (title !== null && title !== undefined) found.push({ line: at + 1, title: plainTitle(title) });
  }
  return found;
}

/** Headings of reStructuredText and old Markdown: the title with a line of signs below. */
function underlined(lines: readonly string[], at: number): string | null {
  const title = (lines[at] ?? "").trimEnd();
  const below = (lines[at + 1] ?? "").trimEnd();
  const isLine = /^([=~^"*+#-])\1{2,}$/.test(below) && below.length >= Math.min(title.length, 4);
  return isLine && /^[^\s|>#=*-].{0,200}$/.test(title) ? title : null;
}

const plainTitle = (title: string) =>
  title
    .replace(/\s#+\s*$/, "")
    .replace(/[`*_]{1,2}/g, "")
    .slice(0, MAX_TITLE)
    .trim();

const titleOf = (lines: readonly string[]) =>
  plainTitle((lines.find((line) => line.trim() !== "") ?? "").trim());
