import type { Modules } from "./imports.ts";
import { parseOnce, parseSource } from "./parse.ts";
import { type Definition, definitionsAt, type Source } from "./source.ts";

/** A file at a revision, line by line. */
export interface TextFile {
  path: string;
  ref: "head" | "merge_base";
  lines: readonly string[];
}

/** A file, its definitions, and the paths that it imports. */
export interface CodeFile extends TextFile {
  definitions: readonly Definition[];
  imports: ReadonlySet<string>;
}

export interface DefinitionSite {
  file: CodeFile;
  definition: Definition;
}

/** A file and its syntax tree, which takes too much memory to be kept for long. */
export interface ParsedFile {
  code: CodeFile;
  source: Source;
}

/** Null for text that is not code, or too large or generated. `isNeededAgain`: the tree is kept for the next use of the same text. */
export async function parseFile(
  file: TextFile | null,
  modules: Modules,
  isNeededAgain = false,
): Promise<ParsedFile | null> {
  if (file === null || isProse(file.path)) return null;
  const parse = isNeededAgain ? parseSource : parseOnce;
  const source = await parse(file.path, file.lines.join("\n"));
  if (source === null) return null;
  const imports = modules.imported(file.path, source.imports);
  return { code: { ...file, definitions: source.definitions, imports }, source };
}

const prose =
  /\.(?:md|mdx|markdown|rst|adoc|txt|csv|tsv|json|jsonl|ya?ml|toml|ini|lock|svg|xml|html?|css|scss|less)$/i;

const proseName = /(?:^|\/)(?:change(?:s|log)|news|history|authors|readme|licen[cs]e|copying|notice)$/i;

/** Whether a file contains text or data, without calls. */
export const isProse = (path: string): boolean => prose.test(path) || proseName.test(path);

const runKinds: ReadonlySet<string> = new Set(["function", "method", "macro"]);
const typeKinds: ReadonlySet<string> = new Set(["class", "interface", "type", "extension"]);

export const isRun = ({ kind }: Definition): boolean => runKinds.has(kind);
export const isType = ({ kind }: { kind: string }): boolean => typeKinds.has(kind);

/** Whether it only declares a function: a prototype, an overload, a method of an interface. */
export function isDeclaration({ file, definition }: DefinitionSite): boolean {
  const { start, end } = definition;
  if (!isRun(definition) || end - start > MAX_DECLARATION_LINES) return false;
  if (/\.(?:d\.[cm]?ts|pyi)$/.test(file.path)) return true;
  if (definitionsAt(file.definitions, start).some(({ kind }) => kind === "interface")) return true;
  const text = file.lines
    .slice(start - 1, end)
    .join("\n")
    .trimEnd();
  return /;(?:\s*\/\/.*)?$/.test(text) && !/[{=]/.test(text);
}

const MAX_DECLARATION_LINES = 12;

/** Whether no other file can name it: a private member, a static function of C, as its head says. */
export function isPrivate({ file, definition }: DefinitionSite): boolean {
  if (definition.name.startsWith("#")) return true;
  const head = file.lines
    .slice(definition.start - 1, definition.signatureEnd)
    .join(" ")
    .slice(0, MAX_HEAD);
  const before = head.slice(0, Math.max(0, head.indexOf(definition.name)));
  return /\bprivate\b/.test(before) || (/\.c$/.test(file.path) && /^\s*static\b/.test(before));
}

const MAX_HEAD = 400;

/** Functions up to this length are read whole; otherwise a closure in them is. */
const READABLE = 150;

/** The definition that a line is read with: the outermost function of readable length, or else the innermost definition that is no module. */
export function definitionAt({ definitions }: CodeFile, line: number): Definition | null {
  const around = definitionsAt(definitions, line);
  const runs = around.filter(isRun);
  const readable = runs.find(({ start, end }) => end - start < READABLE);
  return readable ?? runs.at(-1) ?? around.filter(({ kind }) => kind !== "module").at(-1) ?? null;
}

/** The function or test around a line: the innermost test, or else as {@link definitionAt}. */
export function functionAround(file: CodeFile, line: number): Definition | null {
  const test = definitionsAt(file.definitions, line).findLast(({ kind }) => kind === "test");
  const around = test ?? definitionAt(file, line);
  return around && (isRun(around) || around.kind === "test") ? around : null;
}

const MAX_SHOWN_NAME = 60;

/** A name on one line. A test's name is a sentence, and its author may make it long. */
function shownName(name: string): string {
  const line = name.slice(0, MAX_SHOWN_NAME * 4).replace(/\s+/g, " ");
  return line.length > MAX_SHOWN_NAME ? `${line.slice(0, MAX_SHOWN_NAME)}…` : line;
}

/** `Parser.next`, `next`. */
export function fullName({ name, container }: Pick<Definition, "name" | "container">): string {
  return container === null ? shownName(name) : `${shownName(container)}.${shownName(name)}`;
}

/** A requested definition. */
export interface WantedName {
  word: string;
  /** The type that it is a member of; null if none was given. */
  container: string | null;
  isName(name: string): boolean;
}

/** Parses `next`, `next()`, `Parser.next`, `Parser#next`, `parser::next`, `(*Parser).next`. Null if it contains no name. */
export function readWantedName(given: string): WantedName | null {
  const bare = given
    .trim()
    .replace(/^`+|`+$/g, "")
    .replace(/\([^()]*\)$/, "");
  const parts = bare.split(/::|->|[.#/\\]/).map((part) => part.replace(/^[(*&\s]+|[)\s]+$/g, ""));
  const named = parts.filter((part) => part !== "");
  const word = named.at(-1);
  if (word === undefined || /[\n\r\0]/.test(word)) return null;
  return {
    word,
    container: named.at(-2) ?? null,
    isName: (name) => name === word || name === bare || name === `#${word}`,
  };
}

/** Whether a definition is a member of the requested type; of a path of names, the last one counts. */
export function isMemberOf({ container }: Definition, wanted: string): boolean {
  return container !== null && container.split(/::|\./).at(-1) === wanted;
}
