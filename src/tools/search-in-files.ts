import { AppError } from "../errors.ts";
import type { LineMatch, SearchHits, SearchQuery } from "../git/workspace.ts";
import { renderSearch } from "./render-search.ts";
import { resolveFileOrFolder } from "./resolve-path.ts";
import { MAX_RESULTS, SearchInput, type SearchMatch, type SearchOutput } from "./search-input.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

function queryOf(input: SearchInput, path: string | undefined): SearchQuery {
  return {
    pattern: input.pattern,
    filePattern: input.file_pattern,
    path: path === "" ? undefined : path,
    fileType: input.file_type,
    contextLines: input.context_lines,
    maxResults: input.max_results,
    fixedString: input.fixed_string,
    ignoreCase: input.ignore_case,
    wholeWord: input.whole_word,
    invertMatch: input.invert_match,
    mode: input.output_mode,
  };
}

function toMatch(match: LineMatch, withNumbers: boolean): SearchMatch {
  const line = (number: number, text: string, mark: string) =>
    withNumbers ? `${number}${mark}${text}` : text;
  const context = [
    ...match.before.map((one) => line(one.line, one.text, "-")),
    line(match.line, match.text, ":"),
    ...match.after.map((one) => line(one.line, one.text, "-")),
  ];
  return {
    file_path: match.path,
    line_number: match.line,
    line_content: match.text,
    match_context: context.join("\n"),
  };
}

/** The results of files that may be seen; how many others there were is not told either. */
function visible(hits: SearchHits, input: SearchInput, context: ToolContext): SearchOutput {
  const open = (path: string) => !context.isPrivate(path);
  if (hits.mode === "files_with_matches") return hits.paths.filter(open);
  if (hits.mode === "count") {
    const counts = hits.counts.filter(({ path }) => open(path));
    return counts.map(({ path, count }) => ({ file_path: path, count }));
  }
  const matches = hits.matches.filter(({ path }) => open(path));
  return matches.map((match) => toMatch(match, input.show_line_numbers));
}

async function search(query: SearchQuery, context: ToolContext, signal: AbortSignal): Promise<SearchHits> {
  try {
    return await context.workspace.search(query, signal);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "usage") throw error;
    throw new ToolError(`${error.message.trim()}\nTo search for the text as it is, set fixed_string.`);
  }
}

/** Searches until as many visible results as asked for were found: those of private files take no place. */
async function searchVisible(
  input: SearchInput,
  query: SearchQuery,
  context: ToolContext,
  signal: AbortSignal,
) {
  for (let maxResults = input.max_results; ; maxResults *= 4) {
    const hits = await search({ ...query, maxResults }, context, signal);
    const found = visible(hits, input, context);
    if (!hits.limited || found.length >= input.max_results) {
      return {
        found: found.slice(0, input.max_results),
        limited: hits.limited || found.length > input.max_results,
        program: hits.program,
      };
    }
  }
}

async function execute(input: SearchInput, context: ToolContext, signal: AbortSignal) {
  const path = input.path === undefined ? undefined : await resolveFileOrFolder(input.path, context);
  const { found, limited, program } = await searchVisible(input, queryOf(input, path), context, signal);
  const output = found as SearchOutput;
  const { command, returnCode: return_code, stderr } = program;
  const debug = { command, return_code, stderr };
  if (!limited) return { output, debug };
  const note = `Stopped at ${input.max_results} results; there may be more. Narrow the search down or raise max_results (up to ${MAX_RESULTS}).`;
  return { output, note, truncated: true, debug };
}

export const searchInFiles = defineTool<SearchInput, SearchOutput>({
  name: "search_in_files",
  title: "Search in files",
  description: `Searches all tracked files at head, hidden ones too: who calls this, who defines it, who sets this key. Up to ${MAX_RESULTS} results, ordered by path and line.`,
  returns:
    '`SearchMatch[]`: `file_path`, `line_number`, `line_content`, `match_context` (`12:match`, `13-context`); with `output_mode` `"files_with_matches"` a list of paths, with `"count"` a list of `{file_path, count}`. No match is an empty list.',
  example: { pattern: "parseRange\\(", file_type: "ts", context_lines: 2 },
  kind: "read",
  input: SearchInput,
  execute,
  render: renderSearch,
});
