import { parse } from "jsonc-parser";
import { extensionOf, grammarOf } from "../syntax/grammars.ts";
import { type ParsedTree, parseText } from "../syntax/parse-source.ts";
import type { Definition, Source } from "../syntax/source.ts";
import { isWorthParsing } from "../syntax/worth-parsing.ts";
import type { BlobFacts, DefinitionFact, ImportFact, ReferenceFact, Walked } from "./facts.ts";
import { goKinds, walkGo } from "./walk/go.ts";
import { javascriptKinds, walkJavascript } from "./walk/javascript.ts";
import { pythonKinds, walkPython } from "./walk/python.ts";
import { createContext, type FirstContext, Notes, type Reduced, reduceTree } from "./walk/walk.ts";
import { wordsOf } from "./words.ts";

const extensions: ReadonlySet<string> = new Set(["md", "mdx", "markdown", "rst", "adoc", "txt"]);

/** Whether a path is that of a text for people. Licences and lists of packages say nothing. */
function isDocument(path: string): boolean {
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

/** The name under which other packages know this one; null where the manifest has none. */
function packageOf(kind: "package.json" | "go.mod", text: string): string | null {
  if (kind === "go.mod") return /^module\s+"?([^\s"]{1,300})/m.exec(text)?.[1] ?? null;
  const name: unknown = (parse(text) as { name?: unknown } | undefined)?.name;
  return typeof name === "string" && name !== "" && name.length <= 300 ? name : null;
}

const ownObject = /^(?:this|self|Self|cls|@|super)$/;
const plainName = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/**
 * What a file says where nobody knows the scopes of its language: calls and imports. A name that stands alone may be one of
 * this file's definitions; what belongs to an object is known where that is the own one, or a name that looks like a type.
 */
function walkedByCalls(source: Source, text: string): Walked {
  const lines = text === "" ? 0 : text.split("\n").length;
  const declared = new Map<string, number>();
  for (const { name, start, container } of source.definitions)
    if (container === null && !declared.has(name)) declared.set(name, start);
  const references = source.calls(1, lines).map(({ name, line, receiver }): Walked["references"][number] => {
    if (receiver !== null) {
      const owner = source.enclosing(line).findLast(({ container }) => container !== null)?.container ?? null;
      return { name, line, role: "call", via: "member", hint: hintOf(receiver, owner), declared: null };
    }
    const own = declared.get(name);
    return {
      name,
      line,
      role: "call",
      via: own === undefined ? "free" : "own",
      hint: null,
      declared: own ?? null,
    };
  });
  return { references, imports: importsOf(source), types: [], supers: [], fields: [] };
}

function hintOf(receiver: string, owner: string | null): string {
  const bare = receiver.replace(/^new\s+/, "").replace(/\(.*\)$/s, "");
  if (ownObject.test(bare)) return owner === null ? "?" : `:${owner}`;
  const last = bare.split(/::|\.|->|\\/).at(-1) ?? "";
  return plainName.test(last) && /^\p{Lu}/u.test(last) ? `=${last}` : "?";
}

/** The last part of what is imported is most often the name that is used. */
function importsOf({ imports }: Source): ImportFact[] {
  return imports.map(({ specifier, line }) => {
    const last = specifier.split(/[/\\.]|::/).at(-1) ?? "";
    const local = plainName.test(last) ? last : "";
    return { specifier, imported: local === "" ? "" : "*", local, line, again: false };
  });
}

interface Walk {
  kinds: readonly string[];
  walk(tree: Reduced, context: FirstContext): void;
}

const javascript: Walk = { kinds: javascriptKinds, walk: walkJavascript };

/** Languages whose scopes are known, by the dialect of their grammar. */
const walks: Readonly<Record<string, Walk>> = {
  JavaScript: javascript,
  TypeScript: javascript,
  Tsx: javascript,
  python: { kinds: pythonKinds, walk: walkPython },
  go: { kinds: goKinds, walk: walkGo },
};

/** What the facts of a file depend on beside its text: the kind that its name says it is. Null where nothing is read. */
export function kindOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "package.json" || name === "go.mod") return name;
  if (isDocument(path)) return "document";
  return grammarOf(path)?.dialect ?? layoutKinds.get(extensionOf(path)) ?? null;
}

/** Languages without a grammar here, of which definitions are guessed. */
const layoutKinds = new Map(
  ["swift", "scala", "lua", "sh", "bash", "pl", "ex", "exs", "dart"].map((one) => [one, one]),
);

/** A path by which the parser knows a text of this kind. */
const pathFor = (kind: string, extension: string) => `file.${layoutKinds.has(kind) ? kind : extension}`;

const nothing = (text: string): BlobFacts => ({
  ...{ lines: text.split("\n").length, package: null, definitions: [], references: [], imports: [] },
});

/**
 * All that a text tells by itself. It depends on the text and the kind of its name alone, so it holds wherever that text
 * stands. Null for what nobody wrote by hand, or what is too large.
 */
export async function extractFacts(path: string, text: string): Promise<BlobFacts | null> {
  const kind = kindOf(path);
  if (kind === null || text.includes("\0") || !isWorthParsing(text)) return null;
  if (kind === "package.json" || kind === "go.mod")
    return { ...nothing(text), package: packageOf(kind, text) };
  if (kind === "document") return { ...nothing(text), definitions: documentFacts(text) };
  const parsed = await parseText(
    pathFor(kind, extensionOf(path)),
    text,
    (dialect) => walks[dialect]?.kinds ?? [],
  );
  if (!parsed) return null;
  const { source, tree } = parsed;
  return factsOf(text, source, (tree && walk(tree, text)) ?? walkedByCalls(source, text));
}

function walk({ located, dialect }: ParsedTree, text: string): Walked | null {
  const own = walks[dialect];
  if (!own) return null;
  const notes = new Notes();
  own.walk(reduceTree(located(), new Set(own.kinds), text), createContext(text, notes));
  return notes;
}

/** References of one file; only what a machine wrote has more. */
const MAX_REFERENCES = 5_000;
const MAX_DEFINITIONS = 3_000;

function factsOf(text: string, source: Source, walked: Walked): BlobFacts {
  const lines = text.split("\n");
  const plain = withFields(source.definitions.slice(0, MAX_DEFINITIONS), walked);
  const index = new DefinitionIndex(plain, lines.length);
  const types = new Map(walked.types.map(({ name, line, type }) => [index.numberOf(name, line), type]));
  const supers = new Map(
    walked.supers.map((one) => [index.numberOf(one.name, one.line), one.supers.join(",")]),
  );
  const fieldTypes = new Map(walked.fields.map((one) => [`${one.container}.${one.name}`, one.type]));
  const references = walked.references.slice(0, MAX_REFERENCES).flatMap((one): ReferenceFact[] => {
    const { name, line, role, via, declared } = one;
    const own = via === "own" && declared !== null ? index.numberOf(name, declared) : null;
    if (via === "own" && own === null) return [];
    return [
      { name, line, role, via, hint: own === null ? one.hint : String(own), within: index.around(line) },
    ];
  });
  const definitions = plain.map((one, at): DefinitionFact => {
    const type = types.get(at) ?? fieldTypes.get(`${one.container}.${one.name}`) ?? null;
    return {
      ...one,
      outer: index.outerOf(at),
      type,
      supers: supers.get(at) ?? null,
      excerpt: excerptOf(one, lines),
      text: textOf(one, lines),
    };
  });
  return { lines: lines.length, package: null, definitions, references, imports: walked.imports };
}

/** With the fields that assignments alone declare, once each. */
function withFields(definitions: readonly Definition[], { fields }: Walked): Definition[] {
  const known = new Set(definitions.map(({ name, container }) => `${container}.${name}`));
  const added = fields.flatMap(({ name, container, line }): Definition[] => {
    if (known.has(`${container}.${name}`)) return [];
    known.add(`${container}.${name}`);
    const place = { start: line, end: line, docStart: line, signatureEnd: line };
    return [{ name, kind: "field", container, exported: false, ...place }];
  });
  return [...definitions, ...added].sort((a, b) => a.start - b.start || b.end - a.end);
}

/** Definitions of a file by line. */
class DefinitionIndex {
  readonly #definitions: readonly Definition[];
  /** The number of the innermost definition on each line; -1 for none. */
  readonly #innermost: Int32Array;
  readonly #byName = new Map<string, number[]>();
  readonly #outer: (number | null)[] = [];

  constructor(definitions: readonly Definition[], lines: number) {
    this.#definitions = definitions;
    this.#innermost = new Int32Array(lines + 2).fill(-1);
    const open: number[] = [];
    for (const [at, { name, start, end }] of definitions.entries()) {
      this.#byName.set(name, [...(this.#byName.get(name) ?? []), at]);
      while (open.length > 0 && (definitions[open.at(-1) as number] as Definition).end < end) open.pop();
      while (open.length > 0 && (definitions[open.at(-1) as number] as Definition).end < start) open.pop();
      this.#outer.push(open.at(-1) ?? null);
      open.push(at);
      this.#innermost.fill(at, start, Math.min(end, lines) + 1);
    }
  }

  /** The definition of a name whose head is on a line. */
  numberOf(name: string, line: number): number | null {
    const found = this.#byName.get(name)?.filter((at) => {
      const one = this.#definitions[at] as Definition;
      return one.start <= line && line <= one.signatureEnd;
    });
    return found?.at(-1) ?? null;
  }

  around(line: number): number | null {
    const at = this.#innermost[line] ?? -1;
    return at < 0 ? null : at;
  }

  outerOf(at: number): number | null {
    return this.#outer[at] ?? null;
  }
}

const EXCERPT_LINES = 6;
const EXCERPT_CHARACTERS = 400;

function excerptOf({ start, signatureEnd }: Definition, lines: readonly string[]): string {
  const head = lines.slice(start - 1, Math.min(signatureEnd, start + EXCERPT_LINES - 1));
  return head.join("\n").slice(0, EXCERPT_CHARACTERS);
}

/** Lines of a definition whose words it can be found by. */
const TEXT_LINES = 60;
const runs: readonly string[] = ["function", "method", "test", "macro"];

/** Comment above, head, and of what runs also what stands in it. */
function textOf({ kind, docStart, start, end, signatureEnd }: Definition, lines: readonly string[]): string {
  const last = runs.includes(kind) ? end : Math.max(signatureEnd, start);
  return wordsOf(lines.slice(docStart - 1, Math.min(last, docStart + TEXT_LINES)).join("\n"));
}
