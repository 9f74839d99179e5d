import type { ParseError } from "jsonc-parser";
import type * as Yaml from "yaml";
import { extensionOf } from "./languages.ts";

type DataFormat = "JSON" | "YAML" | "TOML";

/** The place of a parser's first error. `message` contains none of the file's text. */
export interface DataError {
  /** 1-indexed. */
  line: number;
  message: string;
}

/** The document tree of a longer text takes more memory than a review may have. */
const maximumYamlCharacters = 200_000;
/** No handwritten data is nested deeper, and parsers recurse. */
const maximumDepth = 500;

/** JSON files, by name, whose tools accept comments and trailing commas. */
const relaxed =
  /(?:^|\/)(?:[jt]sconfig[^/]*|\.?devcontainer|language-configuration|api-extractor[^/]*|typedoc|turbo|biome|deno|\.eslintrc|\.swcrc|\.babelrc|\.jshintrc|renovate|rush|version-policies|common-versions|oxlintrc|\.oxlintrc)\.?(?:json)?$|(?:^|\/)\.(?:vscode|devcontainer)\/|\.(?:jsonc|json5|code-workspace)$/i;
/** JSON files, by name, that a strict parser reads. */
const strict = /(?:^|\/)(?:package|package-lock|composer|manifest|vercel|lerna|bower)\.json$/;
/** Signs of a template that only becomes YAML or JSON after an engine has run. */
const templated = /\{\{|\{%|<%|^[ \t]*#[ \t]*(?:if|for)\b.*:[ \t]*$|\$\{\{?\s*#|__[A-Z_]+__/m;

/** Null for other files, including JSON5 and JSON lines, which have their own rules. */
export function dataFormatOf(path: string): DataFormat | null {
  const extension = extensionOf(path);
  if (["json", "jsonc", "webmanifest", "code-workspace"].includes(extension)) return "JSON";
  if (extension === "toml") return "TOML";
  return ["yml", "yaml"].includes(extension) ? "YAML" : null;
}

/** Null if the text parses, and for templates and very large or deep files. */
export async function firstError(format: DataFormat, path: string, text: string): Promise<DataError | null> {
  const reading = await readData(format, path, text);
  // An expression of a workflow is part of a value.
  const read = format === "YAML" ? text.replace(/\$\{\{(?!\s*#)/g, "") : text;
  return reading?.error && !templated.test(read) ? reading.error : null;
}

/** The first error of a text, even of a template; null for very large and very deep files. */
async function readData(
  format: DataFormat,
  path: string,
  text: string,
): Promise<{ error: DataError | null } | null> {
  if (isTooDeep(text) || (format === "YAML" && text.length > maximumYamlCharacters)) return null;
  if (format === "JSON") return { error: await jsonError(path, text) };
  return { error: await (format === "YAML" ? yamlError(text) : tomlError(text)) };
}

async function jsonError(path: string, text: string): Promise<DataError | null> {
  if (isPlainJson(text.replace(/^\uFEFF/, ""))) return null;
  const jsonc = await import("jsonc-parser");
  const hasComments = jsonc.stripComments(text) !== text;
  const lenient = !strict.test(path) && (relaxed.test(path) || hasComments);
  const errors: ParseError[] = [];
  jsonc.parse(text, errors, { disallowComments: !lenient, allowTrailingComma: lenient });
  const [first] = errors;
  if (!first) return null;
  const message = jsonMessages[jsonc.printParseErrorCode(first.error)] ?? "the syntax is wrong";
  return { line: text.slice(0, first.offset).split("\n").length, message };
}

const jsonMessages: Record<string, string> = {
  InvalidSymbol: "this word is not valid in JSON",
  InvalidNumberFormat: "a number is malformed",
  PropertyNameExpected: "a property name in double quotes is expected, as after a trailing comma",
  ValueExpected: "a value is expected, as after a trailing comma",
  ColonExpected: "a colon is missing after a property name",
  CommaExpected: "a comma is missing before this",
  CloseBraceExpected: "a closing brace is missing",
  CloseBracketExpected: "a closing bracket is missing",
  EndOfFileExpected: "there is text after the end of the document",
  InvalidCommentToken: "this file must not contain comments",
  UnexpectedEndOfComment: "a comment is not closed",
  UnexpectedEndOfString: "a string is not closed",
  UnexpectedEndOfNumber: "a number is not complete",
  InvalidUnicode: "a Unicode escape is malformed",
  InvalidEscapeCharacter: "an escape sequence is unknown",
  InvalidCharacter: "a string contains a control character",
};

async function yamlError(text: string): Promise<DataError | null> {
  const yaml = await import("yaml");
  const lineCounter = new yaml.LineCounter();
  // Otherwise the parser would compare every key with every other one of its mapping.
  const options = { lineCounter, prettyErrors: false, logLevel: "silent", uniqueKeys: false } as const;
  const parsed = yaml.parseAllDocuments(text, options);
  const documents = Array.isArray(parsed) ? parsed : [];
  const error = documents.flatMap((document) => document.errors)[0];
  const offset = error?.pos[0] ?? firstRepeatedKey(yaml, documents);
  if (offset === null) return null;
  const message = error ? yamlMessage(error.code) : "a key occurs twice in the same mapping";
  return { line: lineCounter.linePos(offset).line, message };
}

function firstRepeatedKey(yaml: typeof Yaml, documents: readonly Yaml.Document.Parsed[]): number | null {
  let first: number | null = null;
  const inMapping = (_: unknown, { items }: Yaml.YAMLMap) => {
    const seen = new Set<unknown>();
    for (const { key } of items) {
      if (!yaml.isScalar(key)) continue;
      if (seen.has(key.value)) first = Math.min(first ?? Number.POSITIVE_INFINITY, key.range?.[0] ?? 0);
      seen.add(key.value);
    }
  };
  for (const document of documents) yaml.visit(document, { Map: inMapping });
  return first;
}

const yamlMessages: Record<string, string> = {
  BAD_INDENT: "the indentation does not fit the lines around it",
  TAB_AS_INDENT: "a tab is used for indentation, which YAML forbids",
  MISSING_CHAR: "a closing quote, bracket or colon is missing",
  UNEXPECTED_TOKEN: "this does not fit the text before it",
  IMPOSSIBLE: "the structure is contradictory",
  MULTILINE_IMPLICIT_KEY: "a key spans several lines, as when a quote or bracket is not closed",
  BLOCK_AS_IMPLICIT_KEY: "a mapping starts inside a plain value, as when a value with a colon is not quoted",
  BAD_ALIAS: "an alias is malformed",
  BAD_SCALAR_START: "a plain value starts with a reserved character",
  BAD_DQ_ESCAPE: "an escape sequence is unknown",
};

const yamlMessage = (code: string) => yamlMessages[code] ?? "the syntax is wrong";

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === "[" || character === "{") depth++;
    else if (character === "]" || character === "}") depth = Math.max(0, depth - 1);
    if (depth > maximumDepth) return true;
  }
  return false;
}

/** Whether {@link faultInData} supports a path. */
export const isData = (path: string) => dataFormatOf(path) !== null;

/** Why a JSON, YAML or TOML file cannot be read as intended: its first error, a duplicate key, or that it cannot be checked; null if it can. */
export async function faultInData(path: string, text: string): Promise<string | null> {
  const format = dataFormatOf(path);
  const reading = format && (await readData(format, path, text));
  if (!reading) return "it is nested too deeply or too large";
  return reading.error?.message ?? (format === "JSON" ? repeatedKey(text) : null);
}

async function tomlError(text: string): Promise<DataError | null> {
  const toml = await import("smol-toml");
  try {
    toml.parse(text, { maxDepth: 100 });
    return null;
  } catch (error) {
    if (!(error instanceof toml.TomlError)) throw error;
    return { line: error.line, message: "the TOML parser stops" };
  }
}

/** JSON parsers silently use the last of two equal keys. */
async function repeatedKey(text: string): Promise<string | null> {
  const jsonc = await import("jsonc-parser");
  const objects: Set<string>[] = [];
  let found = false;
  jsonc.visit(text, {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectEnd: () => void objects.pop(),
    onObjectProperty: (name) => {
      found ||= objects.at(-1)?.has(name) ?? false;
      objects.at(-1)?.add(name);
    },
  });
  return found ? "a key occurs twice in the same object" : null;
}

/** Whether a text is JSON without comments and trailing commas. */
export function isPlainJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
