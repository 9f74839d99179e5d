import { distance } from "fastest-levenshtein";
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  parseDocument,
  type Scalar,
  visit,
} from "yaml";
import { z } from "zod";
import { errorLine } from "../core/errors.ts";
import { patternFault } from "../repo/diff/paths.ts";
import { type EffectiveConfig, NestedConfig, RepoConfig } from "./repo-config.ts";

/** A problem in a configuration file. */
export interface ConfigProblem {
  /** 1-indexed; null if it concerns the whole file. */
  line: number | null;
  /** Dotted: `review.drafts`, `paths.ignore[0]`; null if it concerns the whole file. */
  key: string | null;
  /** One line without a final stop: "is not known (did you mean drafts?)". */
  message: string;
}

export const wholeFile = (message: string): ConfigProblem => ({ line: null, key: null, message });

/** What a file says, without the defaults of the keys that it omits. */
export type Given = Readonly<Record<string, unknown>>;

/** The configuration of a valid file, or all problems of an invalid one, by line. */
export type ParsedConfig<Config> =
  | { ok: true; config: Config; given: Given }
  | { ok: false; problems: readonly ConfigProblem[] };

/** A configuration is a page of text; a larger file is a mistake or an attack. In bytes. */
const largestFile = 64 * 1024;
export const tooLarge = wholeFile(`is larger than ${largestFile / 1024} KB`);
const mostProblems = 20;

export interface ParseOptions {
  /** Refuses every pattern that can match no file. By default only those of private paths, because what they mean would be sent. */
  isStrict?: boolean;
}

/** Parses the text of `.github/hunkwise.yml` with `parseConfig`. */
export const parseRepoConfig = (text: string, options?: ParseOptions): ParsedConfig<RepoConfig> =>
  parseConfig(text, RepoConfig, options);

/** Parses the text of `.hunkwise.yml` in a folder with `parseConfig`. */
export const parseNestedConfig = (text: string, options?: ParseOptions): ParsedConfig<NestedConfig> =>
  parseConfig(text, NestedConfig, options);

/** A file with any problem gives no configuration: the wrong key may be the one that should keep a file private. Never throws. */
function parseConfig<Config>(
  text: string,
  schema: z.ZodType<Config>,
  { isStrict = false }: ParseOptions = {},
): ParsedConfig<Config> {
  const unreadable = whyUnreadable(text);
  if (unreadable) return invalid([unreadable]);
  try {
    const lines = new LineCounter();
    const file = { document: parseDocument(text, { ...yamlOptions, lineCounter: lines }), lines, text };
    const { value: _, ...parsed } = readDocument(file, schema, { checksLists: true });
    const doubts = patternDoubts(parsed.ok ? parsed.config : null)
      .filter(({ path }) => isStrict || path[1] === "private")
      .map(({ path, message }) => ({
        line: lineAt(path, file.document, file.lines),
        key: dotted(path),
        message,
      }));
    return doubts.length > 0 ? invalid(doubts) : parsed;
  } catch (error) {
    return invalid([beyondReading(error)]);
  }
}

const patternKeys =
  /^(?:paths\.(?:ignore|private|only)\.\d+|instructions\.\d+\.path|rules\..*\.(?:off|where)\.\d+|prove\.run\.\d+\.files)$/s;

/** The patterns that can match no file in a configuration, or in the part of one at `path`. */
function patternDoubts(
  value: unknown,
  path: PropertyKey[] = [],
): { path: PropertyKey[]; pattern: string; message: string }[] {
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([key, inner]) =>
      patternDoubts(inner, [...path, Array.isArray(value) ? Number(key) : key]),
    );
  const isPattern = typeof value === "string" && patternKeys.test(path.join("."));
  const fault = isPattern ? patternFault(value, path[1] === "private") : null;
  return fault === null ? [] : [{ path, pattern: String(value), message: `can match no file: it ${fault}` }];
}

/** Warnings for a review. Private paths with such a pattern were refused. */
export const patternWarnings = (config: EffectiveConfig): string[] =>
  patternDoubts({ ...config, paths: { ...config.paths, private: [] } })
    .slice(0, mostProblems)
    .map(({ path: [group], pattern, message }) => `The pattern ${pattern} of ${String(group)} ${message}.`);

/** One document of a file, and its value as far as it could be read. */
export type ParsedDocument<Config> = ParsedConfig<Config> & { value: unknown };

/** Parses each document of a file on its own; empty ones are left out. Never throws. */
export function parseDocuments<Config>(text: string, schema: z.ZodType<Config>): ParsedDocument<Config>[] {
  const unreadable = whyUnreadable(text);
  if (unreadable) return [{ ...invalid([unreadable]), value: undefined }];
  try {
    const lines = new LineCounter();
    const documents: readonly Document[] = [
      ...parseAllDocuments(text, { ...yamlOptions, lineCounter: lines }),
    ];
    const isEmpty = ({ contents, errors }: Document) =>
      errors.length === 0 && (contents === null || (isScalar(contents) && contents.value === null));
    const filled = documents.filter((document) => !isEmpty(document));
    return filled.map((document) => {
      try {
        return readDocument({ document, lines, text }, schema, { checksLists: false });
      } catch (error) {
        return { ...invalid([beyondReading(error)]), value: undefined };
      }
    });
  } catch (error) {
    return [{ ...invalid([beyondReading(error)]), value: undefined }];
  }
}

function invalid(found: readonly ConfigProblem[]) {
  const distinct = new Map(found.map((one) => [JSON.stringify(one), one]));
  const first = [...distinct.values()].slice(0, mostProblems);
  return { ok: false, problems: first.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)) } as const;
}

function whyUnreadable(text: string): ConfigProblem | null {
  if (Buffer.byteLength(text) > largestFile) return tooLarge;
  // Bytes that are not UTF-8 are read as U+FFFD.
  return /[\0\ufffd]/.test(text) ? wholeFile("is not UTF-8 text") : null;
}

/** Nesting beyond the stack, or more aliases than the parser resolves. */
const beyondReading = (error: unknown) => wholeFile(`cannot be read (${oneLine(errorLine(error))})`);

interface ReadOptions {
  /** Whether entries of lists are patterns and names, which are on one line. */
  checksLists: boolean;
}

function readDocument<Config>(
  file: YamlFile,
  schema: z.ZodType<Config>,
  options: ReadOptions,
): ParsedDocument<Config> {
  // A document with such faults is not converted to a value: for nested keys that takes minutes.
  const faults = faultsOf(file, options);
  if (faults.length > 0) return { ...invalid(faults), value: undefined };
  const value: unknown = file.document.toJS() ?? {};
  const { success, data, error } = schema.safeParse(value);
  if (success) return { ok: true, config: data, given: value as Given, value };
  const problems = error.issues.slice(0, mostProblems).flatMap((one) => describe(one, file, value, schema));
  return { ...invalid(problems), value };
}

interface YamlFile {
  document: Document;
  lines: LineCounter;
  text: string;
}

/** The parser's own search for repeated keys is quadratic in a map's size. */
const yamlOptions = { prettyErrors: false, uniqueKeys: false, stringKeys: true, logLevel: "error" } as const;

const oneLine = (message: string) => message.replaceAll(/\s+/g, " ").slice(0, 200);

/** Replacements for parser messages that speak of its own interface. */
const plainWords: Record<string, string> = {
  MULTIPLE_DOCS: "a second document begins here, but a file may contain only one",
  NON_STRING_KEY: "a key must be text, not a list or a group",
  RESOURCE_EXHAUSTION: "is nested too deeply",
};

/** Faults of the YAML: errors, and text that would be read differently than intended. */
function faultsOf({ document, lines, text }: YamlFile, { checksLists }: ReadOptions): ConfigProblem[] {
  const exhausted = document.errors.find(({ code }) => code === "RESOURCE_EXHAUSTION");
  if (exhausted) return [wholeFile(plainWords[exhausted.code] ?? exhausted.message)];
  const faults = [...document.errors, ...document.warnings].map(
    ({ code, message, pos: [start] }): ConfigProblem => ({
      line: lines.linePos(start).line,
      key: null,
      message: plainWords[code] ?? oneLine(message),
    }),
  );
  if (faults.length > 0) return faults;
  const anchors = new Set<string>();
  const add = (node: Node, path: readonly unknown[], message: string) => {
    if (faults.length >= mostProblems) return;
    faults.push({ line: lineOf(node, lines), key: dotted(pathTo(path, node)) || null, message });
  };
  visit(document, {
    Node(_, node, path) {
      if (isAlias(node)) {
        const name = node.source;
        if (!anchors.has(name)) add(node, path, `*${name} is an alias without an anchor; put it in quotes`);
        return;
      }
      if (node.anchor) anchors.add(node.anchor);
      if (isMap(node)) for (const key of repeatedKeys(node.items)) add(key, [...path, node], "occurs twice");
      if (checksLists && isScalar(node) && isSeq(path.at(-1))) {
        const message = whySeveral(node, text, isBelowPaths(path));
        if (message !== null) add(node, path, message);
      }
    },
  });
  return faults;
}

function repeatedKeys(pairs: readonly { key: unknown }[]): Scalar[] {
  const known = new Set<unknown>();
  return pairs.flatMap(({ key }) => {
    if (!isScalar(key)) return [];
    const isRepeated = known.has(key.value);
    known.add(key.value);
    return isRepeated ? [key] : [];
  });
}

/** Whether an ancestor of a node is `paths`. */
const isBelowPaths = ([, , pair]: readonly unknown[]): boolean =>
  isPair(pair) && isScalar(pair.key) && pair.key.value === "paths";

/** Why one entry of a list seems to be several: without a dash, a comma or a quote YAML folds patterns into one, which matches nothing. */
function whySeveral({ range, type, source = "" }: Scalar, text: string, isPattern: boolean): string | null {
  if (range && text.slice(range[0], range[1]).trimEnd().includes("\n")) return "must be text on one line";
  return isPattern && type === "PLAIN" && /^-|,(\s|$)/.test(source)
    ? "looks like part of a list; put it in quotes, or write one pattern for each entry"
    : null;
}

function pathTo(above: readonly unknown[], node: unknown): PropertyKey[] {
  return [...above, node].flatMap((one, at, all): PropertyKey[] => {
    const parent = all[at - 1];
    if (isSeq(parent)) return [parent.items.indexOf(one)];
    if (isPair(one)) return [String(isScalar(one.key) ? one.key.value : "?")];
    return isMap(parent) && isScalar(one) ? [String(one.value)] : [];
  });
}

/** A path in the notation of problems: `instructions[0].text`. */
function dotted(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}

const lineOf = (node: unknown, lines: LineCounter): number | null =>
  isNode(node) && node.range ? lines.linePos(node.range[0]).line : null;

function describe(
  issue: z.core.$ZodIssue,
  { document, lines, text }: YamlFile,
  value: unknown,
  schema: z.ZodType,
): ConfigProblem[] {
  const inner = issuesOfForm(issue);
  if (inner.length > 0)
    return inner.flatMap((one) =>
      describe({ ...one, path: [...issue.path, ...one.path] }, { document, lines, text }, value, schema),
    );
  const unknown = issue.code === "unrecognized_keys" ? issue.keys.slice(0, mostProblems) : [];
  const paths = unknown.length > 0 ? unknown.map((key) => [...issue.path, key]) : [issue.path];
  return paths.map((path) => ({
    line: lineAt(path, document, lines),
    key: dotted(path) || null,
    message: unknown.length > 0 ? unknownKey(path, schema) : wrongValue(issue, path, value),
  }));
}

/** For a value that may have several forms: the issues of the form with most of its keys. Empty if it has none of the forms. */
function issuesOfForm(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [];
  const isOther = (one: z.core.$ZodIssue) => one.path.length === 0 && one.code !== "unrecognized_keys";
  const unknownIn = (form: readonly z.core.$ZodIssue[]) =>
    form.reduce((sum, one) => sum + (one.code === "unrecognized_keys" ? one.keys.length : 0), 0);
  const forms = issue.errors.filter((form) => !form.some(isOther));
  return forms.toSorted((a, b) => unknownIn(a) - unknownIn(b))[0] ?? [];
}

function lineAt(path: readonly PropertyKey[], document: Document, lines: LineCounter): number | null {
  for (let depth = path.length; depth > 0; depth--) {
    const parent = depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    const name = path[depth - 1];
    const key = isMap(parent)
      ? parent.items.find((pair) => String(pair.key) === String(name))?.key
      : undefined;
    const line = lineOf(key ?? document.getIn(path.slice(0, depth), true), lines);
    if (line !== null) return line;
  }
  return null;
}

function wrongValue(issue: z.core.$ZodIssue, path: readonly PropertyKey[], whole: unknown): string {
  const value = path.reduce<unknown>((inner, part) => (inner as Record<PropertyKey, unknown>)?.[part], whole);
  if (path.length === 0) return "must consist of `key: value` lines";
  if (value === undefined) return "is missing";
  const wanted = wantedBy(issue);
  if (wanted === undefined) return issue.message;
  // A message may reach a model, and paths may be private.
  return path[0] === "paths" ? `must be ${wanted}` : `must be ${wanted}, not ${shown(value)}`;
}

function wantedBy(issue: z.core.$ZodIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return typeNames[issue.expected] ?? issue.expected;
    case "invalid_value":
      return oneOf(issue.values);
    case "invalid_union":
      return oneOf(
        issue.errors.flat().flatMap((inner) => (inner.code === "invalid_value" ? inner.values : [])),
      );
    case "too_big":
      return `${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${unit(issue.origin)}`;
    case "too_small":
      return `${issue.inclusive ? "at least" : "more than"} ${issue.minimum}${unit(issue.origin)}`;
    default:
      return undefined;
  }
}

const typeNames: Record<string, string> = {
  boolean: "true or false",
  array: "a list",
  object: "a group of keys",
  record: "a group of keys",
  string: "text",
  number: "a number",
  int: "a whole number",
};
const unit = (origin: string) => (origin === "string" ? " characters" : "");
const oneOf = (values: readonly unknown[]) => (values.length > 0 ? `one of ${values.join(", ")}` : undefined);

/** The value, short and on one line, because it is shown on GitHub. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** A longer key is not a typing error. */
const longestKey = 40;

function unknownKey(path: readonly PropertyKey[], schema: z.ZodType): string {
  const known = keysAt(path.slice(0, -1), schema);
  const key = String(path.at(-1));
  const nearest = known
    .map((candidate) => ({ candidate, edits: distance(key.slice(0, longestKey).toLowerCase(), candidate) }))
    .toSorted((a, b) => a.edits - b.edits)[0];
  if (nearest && nearest.edits <= Math.max(key.length > 3 ? 2 : 1, Math.floor(key.length / 3)))
    return `is not a known key (did you mean ${nearest.candidate}?)`;
  return known.length > 0 ? `is not a known key (known keys: ${known.join(", ")})` : "is not a known key";
}

/** Cached, because creating one takes longer than checking a file. */
const jsonSchemas = new WeakMap<z.ZodType, JsonSchema>();

function keysAt(path: readonly PropertyKey[], type: z.ZodType): string[] {
  const schema: JsonSchema = jsonSchemas.get(type) ?? (z.toJSONSchema(type, { io: "input" }) as JsonSchema);
  jsonSchemas.set(type, schema);
  const formsOf = ({ $ref, ...one }: JsonSchema): JsonSchema[] =>
    $ref === undefined
      ? (one.anyOf?.flatMap(formsOf) ?? [one])
      : formsOf(schema.$defs?.[$ref.replace("#/$defs/", "")] ?? {});
  let forms: JsonSchema[] = [schema];
  for (const part of path) {
    forms = forms.flatMap(({ properties, additionalProperties, items }) => {
      const inner = typeof part === "number" ? items : (properties?.[String(part)] ?? additionalProperties);
      return typeof inner === "object" ? formsOf(inner) : [];
    });
  }
  return [...new Set(forms.flatMap(({ properties }) => Object.keys(properties ?? {})))];
}

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
}
