import { cutLine } from "../text/cut.ts";
import type { FileCount, SearchInput, SearchMatch, SearchOutput } from "./search-input.ts";
import { count, fitting, showPath } from "./show.ts";
import type { Rendered } from "./tool.ts";

/** Matching lines in minified files are cut: what is on them is rarely the point. */
const MAX_LINE_BYTES = 500;

/** Numbered lines of one file in order, a match winning over the same line as context of another. */
function mergedLines(matches: readonly SearchMatch[]): [number, string][] {
  const lines = new Map<number, string>();
  for (const { line_number, match_context } of matches) {
    for (const line of match_context.split("\n")) {
      const number = Number.parseInt(line, 10);
      if (number === line_number || !lines.has(number)) lines.set(number, cutLine(line, MAX_LINE_BYTES));
    }
  }
  return [...lines].sort(([left], [right]) => left - right);
}

function numberedEntry(matches: readonly SearchMatch[], contextLines: number): string[] {
  const text: string[] = [];
  let previous: number | undefined;
  for (const [number, line] of mergedLines(matches)) {
    if (previous !== undefined && number > previous + 1 && contextLines > 0) text.push("--");
    text.push(line);
    previous = number;
  }
  return text;
}

function plainEntry(matches: readonly SearchMatch[], contextLines: number): string[] {
  const texts = matches.map(({ match_context }) =>
    match_context
      .split("\n")
      .map((line) => cutLine(line, MAX_LINE_BYTES))
      .join("\n"),
  );
  return contextLines > 0 ? texts.flatMap((text, index) => (index === 0 ? [text] : ["--", text])) : texts;
}

function entriesOf(output: SearchOutput, input: SearchInput): string[] {
  if (input.output_mode === "files_with_matches") return (output as string[]).map(showPath);
  if (input.output_mode === "count") {
    return (output as FileCount[]).map((one) => `${showPath(one.file_path)}: ${one.count}`);
  }
  const byFile = Map.groupBy(output as SearchMatch[], (match) => match.file_path);
  const linesOf = input.show_line_numbers ? numberedEntry : plainEntry;
  return [...byFile].flatMap(([path, matches]) => [showPath(path), ...linesOf(matches, input.context_lines)]);
}

/** Matches by file as grep shows them: `12:match`, `13-context`, `--` where lines are left out. */
export function renderSearch(output: SearchOutput, input: SearchInput, maxBytes: number): Rendered {
  if (output.length === 0) return { text: `No match for '${input.pattern}'${whereOf(input)}.` };
  const lines = entriesOf(output, input).flatMap((entry) => entry.split("\n"));
  const shown = fitting(lines, maxBytes - 128);
  if (shown === lines.length) return { text: lines.join("\n") };
  const rest = `(${count(lines.length - shown, "line")} of results did not fit; narrow the search down)`;
  return { text: [...lines.slice(0, shown), rest].join("\n"), truncated: true };
}

/** What the search was limited to, since the limit may be the reason why nothing was found. */
function whereOf(input: SearchInput): string {
  const limits = [
    ...(input.path === undefined ? [] : [`below '${input.path}'`]),
    ...(input.file_pattern === undefined ? [] : [`in files like '${input.file_pattern}'`]),
    ...(input.file_type === undefined ? [] : [`in files of type ${input.file_type}`]),
  ];
  return limits.length === 0 ? "" : ` ${limits.join(", ")}`;
}
