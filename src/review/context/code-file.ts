import { parseSource } from "../../code/parse.ts";
import { type Definition, definitionsAt, type Import, type Source } from "../../code/source.ts";
import type { TextFile } from "./text-file.ts";

/** A file and what it defines. */
export interface CodeFile extends TextFile {
  definitions: readonly Definition[];
  imports: readonly Import[];
}

/** A definition in its file. */
export interface Place {
  file: CodeFile;
  definition: Definition;
}

/** A file and its syntax tree, which takes too much memory to be kept for long. */
export interface ParsedFile {
  code: CodeFile;
  source: Source;
}

/** Null for text that is no code, and for code that is too large or that a machine wrote. */
export async function parseFile(file: TextFile | null): Promise<ParsedFile | null> {
  if (file === null || isProse(file.path)) return null;
  const source = await parseSource(file.path, file.lines.join("\n"));
  if (source === null) return null;
  return { code: { ...file, definitions: source.definitions, imports: source.imports }, source };
}

const prose =
  /\.(?:md|mdx|markdown|rst|adoc|txt|csv|tsv|json|jsonl|ya?ml|toml|ini|lock|svg|xml|html?|css|scss|less)$/i;

/** Whether a file holds text or data, in which nothing is called. */
export const isProse = (path: string): boolean => prose.test(path);

const runKinds: ReadonlySet<string> = new Set(["function", "method", "macro"]);
const typeKinds: ReadonlySet<string> = new Set(["class", "interface", "type", "extension"]);

/** Whether it has a body that runs. */
export const isRun = ({ kind }: Definition): boolean => runKinds.has(kind);
export const isType = ({ kind }: Definition): boolean => typeKinds.has(kind);

/** Whether it only says that there is such a function: a prototype, an overload, a method of an interface. */
export function isDeclaration({ file, definition }: Place): boolean {
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

/** Functions up to this length are read whole rather than a closure in them. */
export const READABLE = 150;

/**
 * The definition that a line is read with: the outermost function of readable length around it, or else the innermost
 * function, test, constant, field or type.
 */
export function definitionAt({ definitions }: CodeFile, line: number): Definition | null {
  const around = definitionsAt(definitions, line);
  const runs = around.filter(isRun);
  const readable = runs.find(({ start, end }) => end - start < READABLE);
  return readable ?? runs.at(-1) ?? around.filter(({ kind }) => kind !== "module").at(-1) ?? null;
}
