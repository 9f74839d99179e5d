import { z } from "zod";
import { fullName } from "../code/code-file.ts";
import { type Definition, definitionsAt } from "../code/source.ts";
import { shownBytes } from "../diff/file-diff.ts";
import { AppError } from "../errors.ts";
import type { LineMatch, SearchHits, SearchQuery } from "../git/workspace.ts";
import { cutLine } from "../text/cut.ts";
import { LATIN1_NOTE } from "./file-lines.ts";
import { wholeNumber } from "./limits.ts";
import { parseEntry } from "./parsed-files.ts";
import { resolveFileOrFolder } from "./paths.ts";
import { fileKindOf, fileKinds, kindRank, type RankedKind } from "./search-rank.ts";
import { count, fitting, showPath } from "./show.ts";
import { defineTool, type Rendered, type ToolContext, ToolError } from "./tool.ts";

/** The default maximum number of results. */
const DEFAULT_RESULTS = 50;
export const MAX_RESULTS = 1_000;
const MAX_CONTEXT = 20;
const DEFAULT_CONTEXT = 2;
const MAX_PATTERN = 2_000;
const MAX_GLOB = 500;
const MAX_TYPE = 50;

/** Arguments of `search_in_files`. */
export const SearchInput = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(MAX_PATTERN)
    .describe("ripgrep's regex (no look-around, no back-references)."),
  file_pattern: z.string().max(MAX_GLOB).optional().describe("gitignore-style glob: '*.ts', 'src/**'."),
  path: z.string().optional().describe("File, or folder to search below."),
  file_type: z.string().max(MAX_TYPE).optional().describe("ripgrep's type: py, ts, go ..."),
  context_lines: wholeNumber(0, MAX_CONTEXT)
    .default(DEFAULT_CONTEXT)
    .describe(`Lines around a match, up to ${MAX_CONTEXT}.`),
  before_context: wholeNumber(0, MAX_CONTEXT).optional().describe("Lines before; default context_lines."),
  after_context: wholeNumber(0, MAX_CONTEXT).optional().describe("Lines after."),
  max_results: wholeNumber(1, MAX_RESULTS)
    .default(DEFAULT_RESULTS)
    .describe(`Matching lines (files in other modes), up to ${MAX_RESULTS}.`),
  fixed_string: z.boolean().default(false).describe("Pattern is literal."),
  ignore_case: z.boolean().default(false).describe("Case does not count."),
  whole_word: z.boolean().default(false).describe("Whole words only."),
  invert_match: z.boolean().default(false).describe("Lines that do not match."),
  output_mode: z.enum(["content", "files_with_matches", "count"]).default("content"),
  show_line_numbers: z.boolean().default(true).describe("Number the lines."),
});
export type SearchInput = z.infer<typeof SearchInput>;

/** Lines shown before and after each match. */
function contextOf(input: SearchInput): { before: number; after: number } {
  const { context_lines: around, before_context: before = around, after_context: after = around } = input;
  return { before, after };
}

export interface SearchMatch {
  file_path: string;
  line_number: number;
  line_content: string;
  /** The match with its surrounding lines; with numbers `12:match` and `13-context`. */
  match_context: string;
}
export type FileCount = { file_path: string; count: number };
type SearchOutput = SearchMatch[] | string[] | FileCount[];

/** Facts for the model's text besides the matches. */
interface SearchFacts {
  /** Number of matching lines of each file, including files that are not in the output. */
  counts: ReadonlyMap<string, number>;
  /** False if there are more files, or more matches in them. */
  isComplete: boolean;
  /** The definitions of some of the files. */
  definitions: ReadonlyMap<string, readonly Definition[]>;
}

const factsByOutput = new WeakMap<SearchOutput, SearchFacts>();

/** Stores facts next to an output, whose shape is fixed by the contract. */
function keepFacts(output: SearchOutput, facts: SearchFacts): void {
  factsByOutput.set(output, facts);
}
const factsOf = (output: SearchOutput): SearchFacts | undefined => factsByOutput.get(output);

/** Product code first, then tests, then foreign files; by path within each. */
const inReadingOrder = (paths: Iterable<string>): string[] =>
  [...paths].sort((left, right) => kindRank(left) - kindRank(right));

function countsIn(hits: SearchHits): Map<string, number> {
  if (hits.mode === "files_with_matches") return new Map(hits.paths.map((path) => [path, 0]));
  if (hits.mode === "count") return new Map(hits.counts.map(({ path, count }) => [path, count]));
  const counts = new Map<string, number>();
  for (const { path } of hits.matches) counts.set(path, (counts.get(path) ?? 0) + 1);
  return counts;
}

const MAX_COUNTED_FILES = 2_000;
const COUNTING_MS = 3_000;

/** The total counts of a search that was stopped; null if counting takes too long. */
async function countAll(
  query: SearchQuery,
  context: ToolContext,
  signal: AbortSignal,
): Promise<{ counts: Map<string, number>; isComplete: boolean } | null> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(COUNTING_MS)]);
  const counting = { ...query, mode: "count" as const, contextLines: 0, maxResults: MAX_COUNTED_FILES };
  try {
    const hits = await context.workspace.search(counting, ended);
    return { counts: countsIn(hits), isComplete: !hits.limited };
  } catch (error) {
    if (!signal.aborted && error instanceof AppError && error.code === "aborted") return null;
    throw error;
  }
}

const MAX_PARSED_FILES = 20;
const PARSING_MS = 1_000;

/** The definitions of the first files of an answer, as many as can be parsed quickly. */
async function definitionsOf(
  paths: Iterable<string>,
  { workspace }: ToolContext,
  signal: AbortSignal,
): Promise<Map<string, readonly Definition[]>> {
  const definitions = new Map<string, readonly Definition[]>();
  const tree = await workspace.tree("head");
  const deadline = performance.now() + PARSING_MS;
  for (const path of inReadingOrder(paths).slice(0, MAX_PARSED_FILES)) {
    const entry = tree.get(path);
    const parsed = entry && (await parseEntry(entry, workspace));
    if (parsed) definitions.set(path, parsed.definitions);
    if (signal.aborted || performance.now() > deadline) break;
  }
  return definitions;
}

/**
 * Collects the facts of an answer.
 *
 * @param mayCount whether a stopped search may run again to count
 */
async function gatherFacts(
  hits: SearchHits,
  query: SearchQuery,
  { mayCount, mayParse }: { mayCount: boolean; mayParse: boolean },
  context: ToolContext,
  signal: AbortSignal,
): Promise<SearchFacts> {
  const found = { counts: countsIn(hits), isComplete: !hits.limited };
  const isContent = hits.mode === "content";
  const all = hits.limited && isContent && mayCount ? await countAll(query, context, signal) : null;
  const definitions =
    isContent && mayParse ? await definitionsOf(found.counts.keys(), context, signal) : new Map();
  return { ...(all ?? found), definitions };
}

/** Matching lines in minified files are cut: their content is rarely useful. */
const MAX_LINE_BYTES = 500;

/** A line of an answer. */
interface ShownLine {
  text: string;
  /** Number of matches that it shows. */
  matches: number;
  /** Whether it is useless without the lines after it. */
  isHeading?: true;
}

interface NumberedLine extends ShownLine {
  number: number;
}

/** Numbered lines of one file in order; a match takes precedence over the same line as context. */
function mergedLines(matches: readonly SearchMatch[]): NumberedLine[] {
  const lines = new Map<number, NumberedLine>();
  for (const { line_number, match_context } of matches) {
    for (const line of match_context.split("\n")) {
      const number = Number.parseInt(line, 10);
      const isMatch = number === line_number;
      if (!isMatch && lines.has(number)) continue;
      lines.set(number, { number, text: cutLine(line, MAX_LINE_BYTES), matches: isMatch ? 1 : 0 });
    }
  }
  return [...lines.values()].sort((left, right) => left.number - right.number);
}

/** Groups of consecutive lines. */
function blocksOf(lines: readonly NumberedLine[]): NumberedLine[][] {
  const blocks: NumberedLine[][] = [];
  for (const line of lines) {
    const block = blocks.at(-1);
    if (block && block.at(-1)?.number === line.number - 1) block.push(line);
    else blocks.push([line]);
  }
  return blocks;
}

const TOP_LEVEL = "at top level";

/** The innermost definition around a line that has more than one line, with its extent. */
function labelAt(line: number, definitions: readonly Definition[]): string {
  const around = definitionsAt(definitions, line).filter(({ start, end }) => end > start);
  const innermost = around.at(-1);
  return innermost ? `in ${fullName(innermost)} (${innermost.start}-${innermost.end})` : TOP_LEVEL;
}

function labelOf(block: readonly NumberedLine[], definitions: readonly Definition[]): string {
  const labels = block.flatMap(({ number, matches }) => (matches > 0 ? [labelAt(number, definitions)] : []));
  return [...new Set(labels)].join(", ");
}

/** A heading for the lines after it. */
const headed = (text: string): ShownLine => ({ text, matches: 0, isHeading: true });

/**
 * Matches of one file in grep's format (`12:match`, `13-context`, `--` for omitted lines), below the definitions around them if these are
 * known.
 */
function numberedLines(
  matches: readonly SearchMatch[],
  hasContext: boolean,
  definitions: readonly Definition[],
): ShownLine[] {
  let last = TOP_LEVEL;
  return blocksOf(mergedLines(matches)).flatMap((block, at) => {
    const label = labelOf(block, definitions);
    const isNew = label !== last;
    last = label;
    if (isNew) return [headed(`-- ${label}`), ...block];
    return hasContext && at > 0 ? [headed("--"), ...block] : block;
  });
}

/** Matches of one file without numbers. */
function plainLines(matches: readonly SearchMatch[], hasContext: boolean): ShownLine[] {
  return matches.flatMap(({ match_context }, at) => {
    const lines = match_context.split("\n").map((line) => cutLine(line, MAX_LINE_BYTES));
    // It is unknown which line matches; the last one counts.
    const shown = lines.map((text, index) => ({ text, matches: index === lines.length - 1 ? 1 : 0 }));
    return hasContext && at > 0 ? [headed("--"), ...shown] : shown;
  });
}

/** The size of an answer unless more results were requested: in a broad search, counts say more. */
const USUAL_BYTES = 8_000;
/** Maximum bytes for the names of files that are not shown. */
const REST_BYTES = 1_500;

const headings: Record<RankedKind, string | null> = {
  product: null,
  test: "Tests:",
  prose: "Documentation and examples:",
  foreign: "Vendored, generated and lock files:",
};

/** A line with its file; headings of groups have none. */
interface PlacedLine extends ShownLine {
  path: string | null;
}

function entriesOf(
  output: SearchOutput,
  input: SearchInput,
  facts: SearchFacts | undefined,
): Map<string, ShownLine[]> {
  if (input.output_mode === "files_with_matches")
    return new Map((output as string[]).map((path) => [path, [{ text: showPath(path), matches: 0 }]]));
  if (input.output_mode === "count") {
    const counts = output as FileCount[];
    return new Map(
      counts.map(({ file_path, count: matches }) => [
        file_path,
        [{ text: `${showPath(file_path)}: ${matches}`, matches }],
      ]),
    );
  }
  const { before, after } = contextOf(input);
  const hasContext = before + after > 0;
  const byFile = Map.groupBy(output as SearchMatch[], (match) => match.file_path);
  const linesOf = (path: string, matches: readonly SearchMatch[]) =>
    input.show_line_numbers
      ? numberedLines(matches, hasContext, facts?.definitions.get(path) ?? [])
      : plainLines(matches, hasContext);
  return new Map(
    [...byFile].map(([path, matches]) => [path, [headed(showPath(path)), ...linesOf(path, matches)]]),
  );
}

/** Files by kind, product code first; the other kinds under a heading. */
function inGroups(entries: ReadonlyMap<string, readonly ShownLine[]>): PlacedLine[] {
  const groups = Map.groupBy(entries, ([path]) => fileKindOf(path));
  return fileKinds.flatMap((kind) => {
    const files = groups.get(kind) ?? [];
    const heading = files.length > 0 ? headings[kind] : null;
    return [
      ...(heading === null ? [] : [{ ...headed(heading), path: null }]),
      ...files.flatMap(([path, lines]) => lines.map((line) => ({ ...line, path }))),
    ];
  });
}

function totalOf(output: SearchOutput, { output_mode }: SearchInput, facts: SearchFacts | undefined): string {
  if (!facts) return count(output.length, "result");
  const files = count(facts.counts.size, "file");
  const matches = [...facts.counts.values()].reduce((sum, one) => sum + one, 0);
  const least = facts.isComplete ? "" : "at least ";
  if (output_mode === "files_with_matches") return `${least}${files}`;
  return `${least}${matches === 1 ? "1 match" : `${count(matches, "match").replace(/s$/, "es")}`} in ${files}`;
}

/** Matches by file, with their total number; the rest is listed by file and number. */
function renderSearch(output: SearchOutput, input: SearchInput, maxBytes: number): Rendered {
  if (output.length === 0) return { text: `No match for '${input.pattern}'${whereOf(input)}.` };
  const facts = factsOf(output);
  const total = totalOf(output, input, facts);
  const lines = inGroups(entriesOf(output, input, facts));
  const texts = lines.map(({ text }) => text);
  const isUsual = input.max_results <= DEFAULT_RESULTS && input.output_mode === "content";
  const room = Math.min(maxBytes, isUsual ? USUAL_BYTES : maxBytes) - REST_BYTES - shownBytes(total);
  const fits = fitting(texts, room + (isUsual ? REST_BYTES : 0)) === lines.length;
  const shown = fits ? lines.length : withoutHeadings(lines, fitting(texts, room));
  const rest = restOf(lines.slice(0, shown), lines.length - shown, facts);
  const text = [total, ...texts.slice(0, shown), ...rest].join("\n");
  return fits ? { text } : { text, truncated: true };
}

/** The number of first lines to show so that the last one is not a heading. */
function withoutHeadings(lines: readonly ShownLine[], end: number): number {
  let last = end;
  while (last > 0 && lines[last - 1]?.isHeading) last -= 1;
  return last;
}

function restOf(shown: readonly PlacedLine[], missing: number, facts: SearchFacts | undefined): string[] {
  const left = new Map(facts?.counts);
  for (const { path, matches } of shown) {
    if (path !== null) left.set(path, (left.get(path) ?? 0) - matches);
  }
  const files = inReadingOrder([...left].filter(([, number]) => number > 0).map(([path]) => path));
  if (files.length === 0)
    return missing === 0
      ? []
      : [`(${count(missing, "line")} of results did not fit; narrow the search down)`];
  const entries = files.map((path) => `${showPath(path)}: ${left.get(path)}`);
  const listed = entries.slice(0, fitting(entries, REST_BYTES - 200));
  const more = entries.length - listed.length;
  return [
    "Matches that are not shown:",
    ...listed,
    ...(more > 0 ? [`... and in ${count(more, "further file")}`] : []),
    "(narrow the search down, or raise max_results for a longer answer)",
  ];
}

/** The limits of the search, because they may be the reason for an empty result. */
function whereOf(input: SearchInput): string {
  const limits = [
    ...(input.path === undefined ? [] : [`below '${input.path}'`]),
    ...(input.file_pattern === undefined ? [] : [`in files like '${input.file_pattern}'`]),
    ...(input.file_type === undefined ? [] : [`in files of type ${input.file_type}`]),
  ];
  return limits.length === 0 ? "" : ` ${limits.join(", ")}`;
}

function queryOf(input: SearchInput, path: string | undefined, context: ToolContext): SearchQuery {
  const { before, after } = contextOf(input);
  return {
    pattern: input.pattern,
    filePattern: input.file_pattern,
    path: path === "" ? undefined : path,
    fileType: input.file_type,
    contextLines: Math.max(before, after),
    maxResults: input.max_results,
    // Matches in private files take no room and are not counted.
    wants: (file) => !context.isPrivate(file),
    fixedString: input.fixed_string,
    ignoreCase: input.ignore_case,
    wholeWord: input.whole_word,
    invertMatch: input.invert_match,
    mode: input.output_mode,
  };
}

function toMatch(match: LineMatch, input: SearchInput): SearchMatch {
  const withNumbers = input.show_line_numbers;
  const { before, after } = contextOf(input);
  const line = (number: number, text: string, mark: string) =>
    withNumbers ? `${number}${mark}${text}` : text;
  const context = [
    ...match.before
      .filter((one) => one.line >= match.line - before)
      .map((one) => line(one.line, one.text, "-")),
    line(match.line, match.text, ":"),
    ...match.after
      .filter((one) => one.line <= match.line + after)
      .map((one) => line(one.line, one.text, "-")),
  ];
  return {
    file_path: match.path,
    line_number: match.line,
    line_content: match.text,
    match_context: context.join("\n"),
  };
}

function outputOf(hits: SearchHits, input: SearchInput): SearchOutput {
  if (hits.mode === "files_with_matches") return hits.paths;
  if (hits.mode === "count") return hits.counts.map(({ path, count }) => ({ file_path: path, count }));
  return hits.matches.map((match) => toMatch(match, input));
}

async function search(query: SearchQuery, context: ToolContext, signal: AbortSignal): Promise<SearchHits> {
  try {
    return await context.workspace.search(query, signal);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "usage") throw error;
    throw new ToolError(`${error.message.trim()}\nTo search for the text as it is, set fixed_string.`);
  }
}

async function execute(input: SearchInput, context: ToolContext, signal: AbortSignal) {
  const path = input.path === undefined ? undefined : await resolveFileOrFolder(input.path, context);
  const query = queryOf(input, path, context);
  const hits = await search(query, context, signal);
  const output = outputOf(hits, input);
  const asked = { mayCount: input.max_results <= DEFAULT_RESULTS, mayParse: input.show_line_numbers };
  keepFacts(output, await gatherFacts(hits, query, asked, context, signal));
  const { command, returnCode: return_code, stderr } = hits.program;
  const notes = notesOf(hits, input);
  return {
    ...{ output, debug: { command, return_code, stderr }, truncated: hits.limited },
    ...(notes.length === 0 ? {} : { note: notes.join(" ") }),
  };
}

function notesOf(hits: SearchHits, { max_results: most }: SearchInput): string[] {
  const stopped = `Stopped at ${most} results; there may be more. Narrow the search down or raise max_results (up to ${MAX_RESULTS}).`;
  const hasLatin1 = hits.mode === "content" && hits.matches.some((match) => match.hasLatin1);
  return [...(hits.limited ? [stopped] : []), ...(hasLatin1 ? [LATIN1_NOTE] : [])];
}

export const searchInFiles = defineTool<SearchInput, SearchOutput>({
  name: "search_in_files",
  title: "Search in files",
  description:
    "Searches all tracked files at head, hidden ones too, and names the definition around each match.",
  returns:
    '`SearchMatch[]`: `file_path`, `line_number`, `line_content`, `match_context` (`12:match`, `13-context`); with `output_mode` `"files_with_matches"`, a list of paths; with `"count"`, a list of `{file_path, count}`. Ordered by path, then by line; the text for the model shows product code before tests, names the definition around a match, and counts what is not shown. Without a match, the list is empty.',
  example: { pattern: "parseRange\\(", file_type: "ts", context_lines: 2 },
  kind: "read",
  input: SearchInput,
  execute,
  render: renderSearch,
});
