import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { count } from "../../core/text/count.ts";
import { cutLine } from "../../core/text/cut.ts";
import { fullName } from "../../repo/code/code-file.ts";
import { type Definition, definitionsAt } from "../../repo/code/source.ts";
import { shownBytes } from "../../repo/diff/file-diff.ts";
import type { LineMatch, SearchHits, SearchQuery } from "../../repo/git/workspace.ts";
import { parseEntry } from "../../repo/parsed-files.ts";
import {
  fileKindOf,
  fileKinds,
  inRounds,
  type LineRole,
  namesIn,
  type RankedKind,
  roleOf,
} from "../../repo/search-rank.ts";
import { fitting, LATIN1_NOTE, showPath, unreadNotes } from "../../repo/show.ts";
import { resolveFileOrFolder } from "./paths.ts";
import { wholeNumber } from "./read-arguments.ts";
import { defineTool, type Rendered, type ToolContext, ToolError } from "./tool.ts";

const DEFAULT_RESULTS = 50;
export const MAX_RESULTS = 1_000;
const MAX_CONTEXT = 20;
const DEFAULT_CONTEXT = 2;
const MAX_PATTERN = 2_000;
const MAX_GLOB = 500;
const MAX_TYPE = 50;

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
  ignore_case: z.boolean().default(false).describe("Ignore case."),
  whole_word: z.boolean().default(false).describe("Whole words only."),
  invert_match: z.boolean().default(false).describe("Lines that do not match."),
  output_mode: z.enum(["content", "files_with_matches", "count"]).default("content"),
  show_line_numbers: z.boolean().default(true).describe("Number the lines."),
});
export type SearchInput = z.infer<typeof SearchInput>;

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

/** A match, and what its line does with a searched name. */
interface FoundMatch extends LineMatch {
  role: LineRole;
}

/** What the model's text is made of: the whole search, of which the output holds the first results. */
interface SearchFacts {
  /** All matches that were found, by path and line; empty in other modes. */
  matches: readonly FoundMatch[];
  /** Number of matching lines of each file; 0 if only the file is known. */
  counts: ReadonlyMap<string, number>;
  isComplete: boolean;
  definitions: ReadonlyMap<string, readonly Definition[]>;
}

const factsByOutput = new WeakMap<SearchOutput, SearchFacts>();

function countsIn(hits: SearchHits, further: readonly LineMatch[]): Map<string, number> {
  if (hits.mode === "files_with_matches") return new Map(hits.paths.map((path) => [path, 0]));
  if (hits.mode === "count") return new Map(hits.counts.map(({ path, count }) => [path, count]));
  const counts = new Map<string, number>();
  for (const { path } of [...hits.matches, ...further]) counts.set(path, (counts.get(path) ?? 0) + 1);
  return counts;
}

/** Least results of every search: ripgrep lists them by path, and the model's text shows the best of them. */
const WIDE = 5_000;
const GOING_ON_MS = 3_000;

/** Matches in product files that a search may not have reached, because files of other kinds ended it; none after a time limit. */
async function beyond(
  hits: SearchHits,
  query: SearchQuery,
  { workspace }: ToolContext,
  signal: AbortSignal,
): Promise<LineMatch[]> {
  if (hits.mode !== "content" || !hits.limited || query.path !== undefined) return [];
  const reached = new Set(hits.matches.map(({ path }) => path));
  const wants = (path: string) =>
    !reached.has(path) && fileKindOf(path) === "product" && query.wants?.(path) !== false;
  const ended = AbortSignal.any([signal, AbortSignal.timeout(GOING_ON_MS)]);
  try {
    const further = await workspace.search({ ...query, wants, maxResults: MAX_RESULTS }, ended);
    return further.mode === "content" ? further.matches : [];
  } catch (error) {
    if (!signal.aborted && error instanceof AppError && error.code === "aborted") return [];
    throw error;
  }
}

const MAX_PARSED_FILES = 20;
const PARSING_MS = 1_000;

/** The definitions of the first of these files, as many as can be parsed quickly. */
async function definitionsOf(
  paths: Iterable<string>,
  { workspace }: ToolContext,
  signal: AbortSignal,
): Promise<Map<string, readonly Definition[]>> {
  const definitions = new Map<string, readonly Definition[]>();
  const tree = await workspace.tree("head");
  const deadline = performance.now() + PARSING_MS;
  for (const path of [...paths].slice(0, MAX_PARSED_FILES)) {
    const entry = tree.get(path);
    const parsed = entry && (await parseEntry(entry, workspace));
    if (parsed) definitions.set(path, parsed.definitions);
    if (signal.aborted || performance.now() > deadline) break;
  }
  return definitions;
}

async function gatherFacts(
  hits: SearchHits,
  further: readonly LineMatch[],
  input: SearchInput,
  context: ToolContext,
  signal: AbortSignal,
): Promise<SearchFacts> {
  const counts = countsIn(hits, further);
  const facts = { counts, isComplete: !hits.limited, definitions: new Map(), matches: [] };
  if (hits.mode !== "content") return facts;
  const names = input.invert_match ? [] : namesIn(input.pattern, input.fixed_string);
  const ranked = (definitions: SearchFacts["definitions"]) =>
    [...hits.matches, ...further].map((match) => ({
      ...match,
      role: roleOf(match, names, definitions.get(match.path)),
    }));
  const guessed = ranked(new Map());
  if (!input.show_line_numbers) return { ...facts, matches: guessed };
  const inOrder = input.path === undefined ? inRounds(guessed) : guessed;
  const paths = new Set(inOrder.map(({ path }) => path));
  const definitions = await definitionsOf(paths, context, signal);
  return { ...facts, definitions, matches: ranked(definitions) };
}

/** Matching lines in minified files are cut: their content is rarely useful. */
const MAX_LINE_BYTES = 500;

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

const marks: Record<LineRole, string> = { defines: " defines", writes: " writes", other: "", imports: "" };

function linesAround(
  match: LineMatch,
  input: SearchInput,
): { number: number; text: string; isMatch: boolean }[] {
  const { before, after } = contextOf(input);
  const lines = [
    ...match.before.filter(({ line }) => line >= match.line - before),
    match,
    ...match.after.filter(({ line }) => line <= match.line + after),
  ];
  return lines.map((one) => ({ number: one.line, text: one.text, isMatch: one === match }));
}

function linesOf(match: FoundMatch, input: SearchInput): NumberedLine[] {
  return linesAround(match, input).map(({ number, text, isMatch }) => {
    const cut = cutLine(text, MAX_LINE_BYTES);
    const mark = isMatch ? `${marks[match.role]}:` : "-";
    return {
      number,
      text: input.show_line_numbers ? `${number}${mark}${cut}` : cut,
      matches: isMatch ? 1 : 0,
    };
  });
}

/** Lines of one file in order; a match takes precedence over the same line as context. */
function mergedLines(matches: readonly FoundMatch[], input: SearchInput): NumberedLine[] {
  const lines = new Map<number, NumberedLine>();
  for (const line of matches.flatMap((match) => linesOf(match, input)))
    if (line.matches > 0 || !lines.has(line.number)) lines.set(line.number, line);
  return [...lines.values()].sort((left, right) => left.number - right.number);
}

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

const headed = (text: string): ShownLine => ({ text, matches: 0, isHeading: true });

/** Matches of one file in grep's format (`12:match`, `13-context`, `--` for omitted lines), below the definitions around them. */
function blockLines(
  matches: readonly FoundMatch[],
  input: SearchInput,
  definitions: readonly Definition[],
): ShownLine[] {
  const { before, after } = contextOf(input);
  let last = TOP_LEVEL;
  return blocksOf(mergedLines(matches, input)).flatMap((block, at) => {
    const label = labelOf(block, definitions);
    const isNew = label !== last;
    last = label;
    if (isNew) return [headed(`-- ${label}`), ...block];
    return before + after > 0 && at > 0 ? [headed("--"), ...block] : block;
  });
}

/** The size of an answer unless more results were requested: in a broad search, counts say more. */
const USUAL_BYTES = 8_000;
/** Maximum bytes for the names of files that are not shown. */
const REST_BYTES = 1_500;
/** Room for the headings of kinds, and for the sentences at the end. */
const SENTENCES_BYTES = 500;

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

interface Result {
  path: string;
  role: LineRole;
  match: FoundMatch | null;
}

/** Whether a file is vendored, generated or locked, or minified: all of its matches are on lines that are cut. */
function foreignIn({ matches, counts }: SearchFacts): (path: string) => boolean {
  const readable = new Set(matches.flatMap(({ path, text }) => (text.length < MINIFIED ? [path] : [])));
  const minified = new Set(matches.flatMap(({ path }) => (readable.has(path) ? [] : [path])));
  const isForeign = (path: string) => minified.has(path) || fileKindOf(path) === "foreign";
  return [...counts.keys()].every(isForeign) ? () => false : isForeign;
}

const MINIFIED = 2_000;

/** Results by worth, each file's best first. With `path` they keep their order. */
function resultsOf(facts: SearchFacts, input: SearchInput, isShown: (path: string) => boolean): Result[] {
  const all: Result[] =
    input.output_mode === "content"
      ? facts.matches.map((match) => ({ path: match.path, role: match.role, match }))
      : [...facts.counts.keys()].map((path) => ({ path, role: "other", match: null }));
  const shown = all.filter(({ path }) => isShown(path));
  return input.path === undefined ? inRounds(shown) : shown;
}

/**
 * The results that fit into `room` bytes with their headings; at least one. With surroundings, half of the room goes to the best line of every
 * file alone: otherwise the surroundings of a few hide the others.
 */
function fittingResults(
  results: readonly Result[],
  room: number,
  input: SearchInput,
  facts: SearchFacts,
): Result[] {
  const taken = new Map<Result, Result>();
  const shown = new Set<string>();
  let left = room;
  const take = (of: Result, { path, match }: Result, reserved: number) => {
    const around = match === null ? [] : linesOf(match, input).map(({ number, text }) => [`${number}`, text]);
    const known = match && facts.definitions.get(path);
    const label = known ? [[`in`, `-- ${labelAt(match.line, known)}`]] : [];
    const lines = [["", showPath(path)], ...label, ...around].filter(([key]) => !shown.has(`${key} ${path}`));
    const bytes = lines.reduce((sum, [, text = ""]) => sum + shownBytes(text) + 4, 0);
    if (left - bytes < reserved && taken.size > 0) return false;
    left -= bytes;
    for (const [key] of lines) shown.add(`${key} ${path}`);
    taken.set(of, { ...of, match });
    return true;
  };
  const { before, after } = contextOf(input);
  const files = new Map(results.toReversed().map((one) => [one.path, one]));
  const firsts =
    before + after > 0 && input.path === undefined
      ? results.filter((one) => files.get(one.path) === one)
      : [];
  firsts.every((one) =>
    take(one, { ...one, match: one.match && { ...one.match, before: [], after: [] } }, room / 2),
  );
  results.every((one) => take(one, one, 0));
  return results.flatMap((one) => taken.get(one) ?? []);
}

function fileLines(
  path: string,
  results: readonly Result[],
  input: SearchInput,
  facts: SearchFacts,
): ShownLine[] {
  const { output_mode: mode } = input;
  if (mode === "files_with_matches") return [{ text: showPath(path), matches: 0 }];
  const matches = facts.counts.get(path) ?? 0;
  if (mode === "count") return [{ text: `${showPath(path)}: ${matches}`, matches }];
  const found = results.flatMap(({ match }) => match ?? []).sort((a, b) => a.line - b.line);
  return [headed(showPath(path)), ...blockLines(found, input, facts.definitions.get(path) ?? [])];
}

/** Results by file; without `path`, the files are ordered by kind, and kinds other than product code get a heading. */
function inGroups(results: readonly Result[], input: SearchInput, facts: SearchFacts): PlacedLine[] {
  const files = Map.groupBy(results, ({ path }) => path);
  const linesIn = (paths: Iterable<string>) =>
    [...paths].flatMap((path) =>
      fileLines(path, files.get(path) ?? [], input, facts).map((line) => ({ ...line, path })),
    );
  if (input.path !== undefined) return linesIn(files.keys());
  const groups = Map.groupBy(files.keys(), fileKindOf);
  return fileKinds.flatMap((kind) => {
    const paths = groups.get(kind) ?? [];
    const heading = paths.length > 0 ? headings[kind] : null;
    return [...(heading === null ? [] : [{ ...headed(heading), path: null }]), ...linesIn(paths)];
  });
}

const matchCount = (number: number) =>
  number === 1 ? "1 match" : `${count(number, "match").replace(/s$/, "es")}`;

/** `8 matches in 5 files`. */
function totalOf(counts: ReadonlyMap<string, number>, { output_mode }: SearchInput): string {
  const files = count(counts.size, "file");
  const matches = [...counts.values()].reduce((sum, one) => sum + one, 0);
  return output_mode === "files_with_matches" ? files : `${matchCount(matches)} in ${files}`;
}

/** The best matches by file, with their total number; the rest is counted by file. */
function renderSearch(output: SearchOutput, input: SearchInput, maxBytes: number): Rendered {
  const facts = factsByOutput.get(output);
  if (!facts || output.length === 0) return { text: `No match for '${input.pattern}'${whereOf(input)}.` };
  const isForeign = foreignNamed(input) ? () => false : foreignIn(facts);
  const foreign = new Map([...facts.counts].filter(([path]) => isForeign(path)));
  const total = `${facts.isComplete ? "" : "at least "}${totalOf(facts.counts, input)}`;
  const uncounted = foreign.size === 0 ? [] : [`${headings.foreign} ${totalOf(foreign, input)}`];

  const results = resultsOf(facts, input, (path) => !foreign.has(path));
  const wanted = results.slice(0, input.max_results);
  const isUsual = input.max_results <= DEFAULT_RESULTS && input.output_mode === "content";
  const room = Math.min(maxBytes, isUsual ? USUAL_BYTES : maxBytes) - SENTENCES_BYTES;
  const all = fittingResults(wanted, room, input, facts);
  const chosen =
    all.length === results.length ? all : fittingResults(wanted, room - REST_BYTES, input, facts);
  const lines = inGroups(chosen, input, facts);
  const texts = lines.map(({ text }) => text);
  const shown = withoutHeadings(lines, fitting(texts, maxBytes - SENTENCES_BYTES - REST_BYTES));

  const isWhole = chosen.length === wanted.length && shown === lines.length;
  const limit = !isWhole ? "size" : wanted.length < results.length ? "results" : "search";
  const known = new Set(chosen);
  const left = Map.groupBy(
    results.filter((one) => !known.has(one)),
    ({ path }) => path,
  );
  const isWanted = (path: string) => !foreign.has(path);
  const rest = restOf(lines.slice(0, shown), facts, input, isWanted, (path) => left.get(path) ?? [], limit);
  const text = [total, ...texts.slice(0, shown), ...uncounted, ...rest].join("\n");
  return rest.length === 0 ? { text } : { text, truncated: true };
}

/** Whether `path` names a vendored, generated or locked file, or a folder of them. */
const foreignNamed = ({ path }: SearchInput): boolean =>
  path !== undefined && (fileKindOf(path) === "foreign" || fileKindOf(`${path}/any`) === "foreign");

function withoutHeadings(lines: readonly ShownLine[], end: number): number {
  let last = end;
  while (last > 0 && lines[last - 1]?.isHeading) last -= 1;
  return last;
}

/** Maximum lines of a file that are named if they are not shown. */
const MAX_NUMBERS = 8;

const limits = {
  results: `(max_results is the limit: raise it, up to ${MAX_RESULTS}, or set path or file_pattern)`,
  search: `(the search ended after ${WIDE} results: set path or file_pattern to see others)`,
  size: "(the size of an answer is the limit: set path or file_pattern to see the rest)",
} as const;

/** The files with matches that are not shown, and why; empty if there are none. */
function restOf(
  shown: readonly PlacedLine[],
  { counts, isComplete }: SearchFacts,
  input: SearchInput,
  isWanted: (path: string) => boolean,
  resultsLeft: (path: string) => readonly Result[],
  limit: keyof typeof limits,
): string[] {
  const left = new Map(counts);
  const seen = new Set(shown.map(({ path }) => path));
  for (const { path, matches } of shown) if (path !== null) left.set(path, (left.get(path) ?? 0) - matches);
  const isFiles = input.output_mode === "files_with_matches";
  const missing = [...left].filter(
    ([path, number]) => isWanted(path) && (isFiles ? !seen.has(path) : number > 0),
  );
  if (missing.length === 0) return isComplete ? [] : [limits[limit]];
  // A search of all files counts tests, and files that only assign, in one line each.
  const countedAs = (path: string) => {
    if (isFiles || input.path !== undefined) return null;
    if (fileKindOf(path) !== "product") return "Tests, documentation and examples";
    const roles = resultsLeft(path).map(({ role }) => role);
    return roles.length > 0 && roles.every((role) => role === "writes") ? "Assignments" : null;
  };
  const groups = Map.groupBy(missing, ([path]) => countedAs(path));
  const counted = [...groups].flatMap(([what, all]) =>
    what === null ? [] : [`${what}: ${totalOf(new Map(all), input)}`],
  );
  const files = (groups.get(null) ?? []).map(([path]) => path);
  const entries = files.map((path) => {
    if (isFiles) return showPath(path);
    const numbers = resultsLeft(path).flatMap(({ match }) => match?.line ?? []);
    const where =
      numbers.length > 0 && numbers.length <= MAX_NUMBERS
        ? ` (${numbers.toSorted((a, b) => a - b).join(", ")})`
        : "";
    return `${showPath(path)}: ${left.get(path)}${where}`;
  });
  const listed = entries.slice(0, fitting(entries, REST_BYTES - 200));
  const more = entries.length - listed.length;
  return [
    isFiles ? "Files that are not shown:" : "Matches that are not shown:",
    ...listed,
    ...(more > 0 ? [`... and in ${count(more, "further file")}`] : []),
    ...counted,
    limits[limit],
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
    maxResults: Math.max(input.max_results, WIDE),
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
  const context = linesAround(match, input).map(({ number, text, isMatch }) =>
    input.show_line_numbers ? `${number}${isMatch ? ":" : "-"}${text}` : text,
  );
  return {
    file_path: match.path,
    line_number: match.line,
    line_content: match.text,
    match_context: context.join("\n"),
  };
}

/** The first results in the order of the contract: by path, then line. */
function outputOf(hits: SearchHits, input: SearchInput): SearchOutput {
  const { max_results: most } = input;
  if (hits.mode === "files_with_matches") return hits.paths.slice(0, most);
  if (hits.mode === "count")
    return hits.counts.slice(0, most).map(({ path, count }) => ({ file_path: path, count }));
  return hits.matches.slice(0, most).map((match) => toMatch(match, input));
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
  const further = input.max_results > DEFAULT_RESULTS ? [] : await beyond(hits, query, context, signal);
  factsByOutput.set(output, await gatherFacts(hits, further, input, context, signal));
  const { command, returnCode: return_code, stderr } = hits.program;
  const isLatin1 =
    hits.mode === "content" && hits.matches.slice(0, output.length).some((one) => one.hasLatin1);
  const notes = [...(isLatin1 ? [LATIN1_NOTE] : []), ...unreadNotes(hits.unread ?? [])];
  return {
    output,
    debug: { command, return_code, stderr },
    truncated: hits.limited || hits.unread !== undefined || sizeOf(hits) > output.length,
    ...(notes.length > 0 ? { note: notes.join(" ") } : {}),
  };
}

function sizeOf(hits: SearchHits): number {
  if (hits.mode === "content") return hits.matches.length;
  return hits.mode === "count" ? hits.counts.length : hits.paths.length;
}

export const searchInFiles = defineTool<SearchInput, SearchOutput>({
  name: "search_in_files",
  title: "Search in files",
  description:
    "Searches all tracked files at head, hidden ones too, and names the definition around each match.",
  returns:
    '`SearchMatch[]`: `file_path`, `line_number`, `line_content`, `match_context` (`12:match`, `13-context`); with `output_mode` `"files_with_matches"`, a list of paths; with `"count"`, a list of `{file_path, count}`. Ordered by path, then by line; the text for the model shows the best match of every file first (product code before tests, lines that define a searched name before others, assignments and imports last), names the definition around a match, and counts what is not shown. With `path`, it keeps the order. Without a match, the list is empty.',
  example: { pattern: "parseRange\\(", file_type: "ts", context_lines: 2 },
  kind: "read",
  input: SearchInput,
  execute,
  render: renderSearch,
});
