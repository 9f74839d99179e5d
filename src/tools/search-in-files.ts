import { AppError } from "../errors.ts";
import type { LineMatch, SearchHits, SearchQuery } from "../git/workspace.ts";
import { renderSearch } from "./render-search.ts";
import { resolveFileOrFolder } from "./resolve-path.ts";
import { MAX_RESULTS, SearchInput, type SearchMatch, type SearchOutput } from "./search-input.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

function queryOf(input: SearchInput, path: string | undefined, context: ToolContext): SearchQuery {
  return {
    pattern: input.pattern,
    filePattern: input.file_pattern,
    path: path === "" ? undefined : path,
    fileType: input.file_type,
    contextLines: input.context_lines,
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

function outputOf(hits: SearchHits, withNumbers: boolean): SearchOutput {
  if (hits.mode === "files_with_matches") return hits.paths;
  if (hits.mode === "count") return hits.counts.map(({ path, count }) => ({ file_path: path, count }));
  return hits.matches.map((match) => toMatch(match, withNumbers));
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
  const hits = await search(queryOf(input, path, context), context, signal);
  const output = outputOf(hits, input.show_line_numbers);
  const { command, returnCode: return_code, stderr } = hits.program;
  const debug = { command, return_code, stderr };
  if (!hits.limited) return { output, debug };
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
