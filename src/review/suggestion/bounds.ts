import { hasGrammar } from "../../analyzers/syntax-faults.ts";
import { isWorthParsing } from "../../syntax/worth-parsing.ts";
import { isProse } from "./lexis.ts";
import type { SuggestionToCheck } from "./suggestion-to-check.ts";

/** Bounds of what is looked at; the file's are those of the analyzers. */
const mostFileCharacters = 300_000;
const mostAnchoredLines = 500;
const mostLines = 1_000;
const mostCharacters = 20_000;
/** Of a line that is replaced or proposed: patterns that look back along a line take long on more. */
const longestLine = 2_000;

/** Why there is too much to look at, or none of it. Null when there is not. */
export function outOfBounds({ path, lines, start, end, suggestion }: SuggestionToCheck): string | null {
  if (start < 1 || end < start || end > lines.length) return "the file has no such lines";
  const anchored = lines.slice(start - 1, Math.min(end, start + mostAnchoredLines));
  const proposed = suggestion.slice(0, mostCharacters + 1).split("\n");
  const areTooMany = end - start >= mostAnchoredLines || proposed.length > mostLines;
  const isTooLong = suggestion.length > mostCharacters || anchored.join("\n").length > mostCharacters;
  if (areTooMany || isTooLong) return "it is too long to check it";
  if (!isProse(path) && [...anchored, ...proposed].some((line) => line.length > longestLine))
    return "its lines are too long to check them";
  let characters = 0;
  for (const line of lines) {
    characters += line.length + 1;
    if (characters > mostFileCharacters) return "the file is too large to check it";
  }
  return isReadable(path, lines) ? null : "the file's lines are too long to check it";
}

/** Whether a grammar may read the file: what machines write takes long. */
export const isReadable = (path: string, lines: readonly string[]) =>
  !hasGrammar(path) || isWorthParsing(lines.join("\n"));
