import { AppError } from "../errors.ts";
import type { LineMatch, SearchHits, SearchQuery } from "../git/workspace.ts";
import { LATIN1_NOTE } from "./encoding-note.ts";
import { renderSearch } from "./render-search.ts";
import { resolveFileOrFolder } from "./resolve-path.ts";
import { gatherFacts, keepFacts } from "./search-facts.ts";
import {
  contextOf,
  DEFAULT_RESULTS,
  MAX_RESULTS,
  SearchInput,
  type SearchMatch,
  type SearchOutput,
} from "./search-input.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

function queryOf(input: SearchInput, path: string | undefined, context: ToolContext): SearchQuery {
  const { before, after } = contextOf(input);
  return {
    pattern: input.pattern,
    filePattern: input.file_pattern,
    path: path === "" ? undefined : path,
    fileType: input.file_type,
    contextLines: Math.max(before, after),
    maxResults: input.max_results,
    // Those in private files take no place, and how many there are is not told.
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
    '`SearchMatch[]`: `file_path`, `line_number`, `line_content`, `match_context` (`12:match`, `13-context`); with `output_mode` `"files_with_matches"` a list of paths, with `"count"` a list of `{file_path, count}`. Ordered by path, then line; the text for the model shows product code before tests, names the definition around a match, and counts what is not shown. No match is an empty list.',
  example: { pattern: "parseRange\\(", file_type: "ts", context_lines: 2 },
  kind: "read",
  input: SearchInput,
  execute,
  render: renderSearch,
});
