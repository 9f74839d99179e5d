import { parse } from "jsonc-parser";
import { extensionOf, grammarOf } from "../code/languages.ts";
import { isWorthParsing, type ParsedTree, parseAnew } from "../code/parse.ts";
import type { Definition, Source } from "../code/source.ts";
import type { BlobFacts, DefinitionFact, ImportFact, ReferenceFact, WalkResult } from "./facts.ts";
import { goKinds, walkGo } from "./walk/go.ts";
import { javascriptKinds, walkJavascript } from "./walk/javascript.ts";
import { pythonKinds, walkPython } from "./walk/python.ts";
import { type Context, createContext, FactCollector, filterTree, type TreeNode } from "./walk/walk.ts";
import { wordsOf } from "./words.ts";

interface Walk {
  kinds: readonly string[];
  walk(tree: TreeNode, context: Context): void;
}

const javascript: Walk = { kinds: javascriptKinds, walk: walkJavascript };

/** Languages with a walk of their own, by the dialect of their grammar. */
const walks: Readonly<Record<string, Walk>> = {
  JavaScript: javascript,
  TypeScript: javascript,
  Tsx: javascript,
  python: { kinds: pythonKinds, walk: walkPython },
  go: { kinds: goKinds, walk: walkGo },
};

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

const noFacts = (text: string): BlobFacts => ({
  ...{ lines: text.split("\n").length, package: null, definitions: [], references: [], imports: [] },
});

/**
 * The facts of a text. They only depend on the text and the kind of its path. Null for binaries, generated or too large texts,
 * and kinds that are not read.
 */
export async function extractFacts(path: string, text: string): Promise<BlobFacts | null> {
  const kind = kindOf(path);
  if (kind === null || text.includes("\0") || !isWorthParsing(text)) return null;
  if (kind === "package.json" || kind === "go.mod")
    return { ...noFacts(text), package: packageNameOf(kind, text) };
  if (kind === "document") return { ...noFacts(text), definitions: documentFacts(text) };
  const parsed = await parseAnew(
    pathFor(kind, extensionOf(path)),
    text,
    (dialect) => walks[dialect]?.kinds ?? [],
  );
  if (!parsed) return null;
  const { source, tree } = parsed;
  return factsOf(text, source, (tree && walk(tree, text)) ?? callsAndImports(source, text));
}

function walk({ located, dialect }: ParsedTree, text: string): WalkResult | null {
  const own = walks[dialect];
  if (!own) return null;
  const facts = new FactCollector();
  own.walk(filterTree(located(), new Set(own.kinds), text), createContext(text, facts));
  return facts;
}

/** Only generated files have more. */
const MAX_REFERENCES = 5_000;
const MAX_DEFINITIONS = 3_000;

function factsOf(text: string, source: Source, walked: WalkResult): BlobFacts {
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

/** Adds the fields that only assignments declare, once each. */
function withFields(definitions: readonly Definition[], { fields }: WalkResult): Definition[] {
  const known = new Set(definitions.map(({ name, container }) => `${container}.${name}`));
  const added = fields.flatMap(({ name, container, line }): Definition[] => {
    if (known.has(`${container}.${name}`)) return [];
    known.add(`${container}.${name}`);
    const place = { start: line, end: line, docStart: line, signatureEnd: line };
    return [{ name, kind: "field", container, exported: false, ...place }];
  });
  return [...definitions, ...added].sort((a, b) => a.start - b.start || b.end - a.end);
}

/** Finds definitions of a file by line. */
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
      this.#outer.push(open.at(-1) ?? null);
      open.push(at);
      this.#innermost.fill(at, start, Math.min(end, lines) + 1);
    }
  }

  /** The number of the definition of a name with its signature on a line. */
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

/** Lines of a definition that are searchable. */
const TEXT_LINES = 60;
const withBody: readonly string[] = ["function", "method", "test", "macro"];

/** The words of the comment above, the signature, and the body of what can run. */
function textOf({ kind, docStart, start, end, signatureEnd }: Definition, lines: readonly string[]): string {
  const last = withBody.includes(kind) ? end : Math.max(signatureEnd, start);
  return wordsOf(lines.slice(docStart - 1, Math.min(last, docStart + TEXT_LINES)).join("\n"));
}

const ownObject = /^(?:this|self|Self|cls|@|super)$/;
const plainName = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/**
 * The references of a language without a walk of its own: its calls and imports. A plain name may be a definition of this file.
 * A receiver is known if it is the own object, or a name that looks like a type.
 */
function callsAndImports(source: Source, text: string): WalkResult {
  const lines = text === "" ? 0 : text.split("\n").length;
  const declared = new Map<string, number>();
  for (const { name, start, container } of source.definitions)
    if (container === null && !declared.has(name)) declared.set(name, start);
  const references = source
    .calls(1, lines)
    .map(({ name, line, receiver }): WalkResult["references"][number] => {
      if (receiver !== null) {
        const owner =
          source.enclosing(line).findLast(({ container }) => container !== null)?.container ?? null;
        return { name, line, role: "call", via: "member", hint: hintOf(receiver, owner), declared: null };
      }
      const own = declared.get(name) ?? null;
      return { name, line, role: "call", via: own === null ? "free" : "own", hint: null, declared: own };
    });
  return { references, imports: importsOf(source), types: [], supers: [], fields: [] };
}

function hintOf(receiver: string, owner: string | null): string {
  const bare = receiver.replace(/^new\s+/, "").replace(/\(.*\)$/s, "");
  if (ownObject.test(bare)) return owner === null ? "?" : `:${owner}`;
  const last = bare.split(/::|\.|->|\\/).at(-1) ?? "";
  return plainName.test(last) && /^\p{Lu}/u.test(last) ? `=${last}` : "?";
}

/** The last part of a specifier is usually the name that is used. */
function importsOf({ imports }: Source): ImportFact[] {
  return imports.map(({ specifier, line }) => {
    const last = specifier.split(/[/\\.]|::/).at(-1) ?? "";
    const local = plainName.test(last) ? last : "";
    return { specifier, imported: local === "" ? "" : "*", local, line, reexport: false };
  });
}

const documentExtensions: ReadonlySet<string> = new Set(["md", "mdx", "markdown", "rst", "adoc", "txt"]);

/** Whether a file is prose. Licences and package lists say nothing about the code. */
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

/** The name under which other packages import this one; null if the manifest has none. */
function packageNameOf(kind: "package.json" | "go.mod", text: string): string | null {
  if (kind === "go.mod") return /^module\s+"?([^\s"]{1,300})/m.exec(text)?.[1] ?? null;
  const name: unknown = (parse(text) as { name?: unknown } | undefined)?.name;
  return typeof name === "string" && name !== "" && name.length <= 300 ? name : null;
}
