import { distance } from "fastest-levenshtein";
import { indentOf, isBlank } from "./indentation.ts";

/** Lines at the ends of a suggestion that also stand directly before or after the lines it replaces. */
export interface Overlap {
  /** Lines of the suggestion, blank ones behind them included. */
  count: number;
  /** The same without blank lines. */
  lines: number;
  /** Whether they say something: a lone bracket, `end` or `return` may well stand twice. */
  isTelling: boolean;
  /** Indentation of the first of them in the file, and in the suggestion. */
  inFile: string;
  inSuggestion: string;
}

/** Longer overlaps are no slip. */
const mostLines = 40;

/** Code of a line that often stands twice in a row. */
const common =
  /^(?:[\W_]*|(?:\W*)(?:else|end|fi|done|esac|begin|do|then|try|finally|pass|return|break|continue|default|endif)\b\W*|(?:return|=> )(?: (?:null|None|nil|true|false|True|False|0|1|err))?;?)$/;

export const isTelling = (line: string) => !common.test(line.trim());

/**
 * The longest beginning of `suggestion` that ends what stands before it, both without blank lines. To compare with what
 * stands after it, pass both in reverse.
 */
export function overlap(suggestion: readonly string[], before: readonly string[]): Overlap | null {
  const near = before
    .slice(-2 * mostLines)
    .filter((line) => !isBlank(line))
    .slice(-mostLines);
  const own = suggestion.flatMap((line, at) => (isBlank(line) ? [] : [{ line, at }]));
  const longest = (same: (own: string, line: string) => boolean) => {
    let length = Math.min(near.length, own.length);
    while (length > 0 && !near.slice(-length).every((line, at) => same(own[at]?.line ?? "", line))) length--;
    return length;
  };
  // Lines that also stand where they stand in the file are more likely meant than those that only read alike.
  const exact = longest((one, other) => one.trimEnd() === other.trimEnd());
  const length = exact > 0 ? exact : longest((one, other) => one.trim() === other.trim());
  if (length === 0) return null;
  const lines = near.slice(-length);
  return {
    count: own[length]?.at ?? suggestion.length,
    lines: length,
    isTelling: lines.some(isTelling),
    inFile: indentOf(lines[0] ?? ""),
    inSuggestion: indentOf(own[0]?.line ?? ""),
  };
}

const definition =
  /^(?:(?:export|default|public|private|protected|static|final|abstract|async|pub(?:\(\w+\))?|override|virtual|inline|const|unsafe|open|internal|local|@\w+)\s+)*(?:function\b|def\s|class\s|interface\s|struct\s|enum\s|trait\s|impl\b|module\s|namespace\s|type\s+\w+\s*=|func\s|fn\s|fun\s|sub\s|[\w<>[\],.?]+\s+\w+\s*\([^;]*\)\s*(?:throws\s[\w, ]+)?\{$|\w+\s*\([^;]*\)\s*(?::\s*[^;]+)?\{$)/;
const statement =
  /^(?:if|for|while|switch|catch|with|until|unless|return|else|elif|foreach|match|using|lock)\b/;

/** Whether a line begins the definition of something, which a file has once. */
export function defines(line: string): boolean {
  const text = line.trim();
  return text.length < 500 && !statement.test(text) && definition.test(text);
}

/** Whether a line may be a later version of another one. */
export function isLike(line: string, other: string): boolean {
  if (line === other) return true;
  const length = Math.max(line.length, other.length);
  return length < 300 && isTelling(line) && distance(line, other) <= length * 0.4;
}

export const filled = (lines: readonly string[]) => lines.filter((line) => !isBlank(line));

/** The lines that say something, without white space around. */
export const texts = (lines: readonly string[]) => filled(lines).map((line) => line.trim());
