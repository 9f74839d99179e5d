import { fullName } from "../code/code-file.ts";
import { type Definition, definitionsAt } from "../code/source.ts";
import { cutLine } from "../text/cut.ts";
import type { SearchMatch } from "./search-input.ts";

/** Matching lines in minified files are cut: what is on them is rarely the point. */
const MAX_LINE_BYTES = 500;

/** A line of an answer. */
export interface ShownLine {
  text: string;
  /** How many matches it shows. */
  matches: number;
  /** Whether it says nothing without what follows. */
  isHeading?: true;
}

interface NumberedLine extends ShownLine {
  number: number;
}

/** Numbered lines of one file in order, a match winning over the same line as context of another. */
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

/** Lines that follow each other without a gap. */
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

/** The innermost definition of more than one line around a line, with its extent. */
function labelAt(line: number, definitions: readonly Definition[]): string {
  const around = definitionsAt(definitions, line).filter(({ start, end }) => end > start);
  const innermost = around.at(-1);
  return innermost ? `in ${fullName(innermost)} (${innermost.start}-${innermost.end})` : TOP_LEVEL;
}

function labelOf(block: readonly NumberedLine[], definitions: readonly Definition[]): string {
  const labels = block.flatMap(({ number, matches }) => (matches > 0 ? [labelAt(number, definitions)] : []));
  return [...new Set(labels)].join(", ");
}

/** A line that announces what follows. */
export const headed = (text: string): ShownLine => ({ text, matches: 0, isHeading: true });

/**
 * Matches of one file as grep shows them (`12:match`, `13-context`, `--` where lines are left out), below the definitions
 * that they lie in where these are known.
 */
export function numberedLines(
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
export function plainLines(matches: readonly SearchMatch[], hasContext: boolean): ShownLine[] {
  return matches.flatMap(({ match_context }, at) => {
    const lines = match_context.split("\n").map((line) => cutLine(line, MAX_LINE_BYTES));
    // Which of them matches is not told apart; the last one counts for it.
    const shown = lines.map((text, index) => ({ text, matches: index === lines.length - 1 ? 1 : 0 }));
    return hasContext && at > 0 ? [headed("--"), ...shown] : shown;
  });
}
