import { type Finding, holdsSecret, type Side } from "../core/finding.ts";

/** The lines of a file on one side of the change; null if they are not available. LEFT also takes the path at head. */
export type SourceLines = (path: string, side: Side) => readonly string[] | null;

/** A line of a code frame; null means omitted lines. */
export type FrameLine = { number: number; text: string; anchored: boolean } | null;

const FRAME_CONTEXT = 3;
/** An anchor with more lines than this shows only its first and last lines. */
const LONGEST_ANCHOR = 16;

export const anchorOf = ({ start_line, line }: Pick<Finding, "line" | "start_line">) => ({
  first: start_line ?? line,
  last: line,
});

/** "7", or "7-9" */
export const lineRange = (first: number, last: number): string =>
  first === last ? `${first}` : `${first}-${last}`;

/** "line 7", or "lines 7 to 9" */
export const linesWords = (first: number, last: number): string =>
  first === last ? `line ${first}` : `lines ${first} to ${last}`;

/** The anchored lines of a finding, from the source if it is available, else from its quote. */
function anchoredLines(finding: Finding, source: SourceLines): string[] {
  const lines = source(finding.path, finding.side);
  const { first, last } = anchorOf(finding);
  const found = lines?.slice(first - 1, last) ?? [];
  // A range that was clipped to its hunk has fewer lines than its quote: the last of them count.
  return found.length === last - first + 1 ? [...found] : finding.quote.split("\n").slice(first - last - 1);
}

/** The anchored lines with their surroundings, raw. Empty if they contain a secret, because reports end up in logs. */
export function codeFrame(finding: Finding, source: SourceLines, context = FRAME_CONTEXT): FrameLine[] {
  if (holdsSecret(finding)) return [];
  const { first, last } = anchorOf(finding);
  const lines = source(finding.path, finding.side);
  const anchored = anchoredLines(finding, source).map((text, index) => ({
    number: first + index,
    text,
    anchored: true,
  }));
  const around = (from: number, to: number): FrameLine[] =>
    (lines ?? []).slice(Math.max(0, from - 1), Math.max(0, to)).map((text, index) => ({
      number: Math.max(1, from) + index,
      text,
      anchored: false,
    }));
  return [...around(first - context, first - 1), ...shorten(anchored), ...around(last + 1, last + context)];
}

function shorten(lines: readonly FrameLine[]): FrameLine[] {
  if (lines.length <= LONGEST_ANCHOR) return [...lines];
  return [...lines.slice(0, LONGEST_ANCHOR / 2), null, ...lines.slice(-LONGEST_ANCHOR / 2)];
}

/** A line of a suggestion compared with the lines it replaces. */
interface SuggestionLine {
  sign: " " | "-" | "+";
  text: string;
}

/** A suggestion as a small diff: the lines that both ends share are context. Null if the finding has none. */
export function suggestionDiff(finding: Finding, source: SourceLines): SuggestionLine[] | null {
  if (finding.suggestion === null) return null;
  const before = anchoredLines(finding, source);
  const after = finding.suggestion === "" ? [] : finding.suggestion.split("\n");
  const shortest = Math.min(before.length, after.length);
  let head = 0;
  while (head < shortest && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shortest - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const signed = (sign: SuggestionLine["sign"], lines: string[]) => lines.map((text) => ({ sign, text }));
  return [
    ...signed(" ", before.slice(0, head)),
    ...signed("-", before.slice(head, before.length - tail)),
    ...signed("+", after.slice(head, after.length - tail)),
    ...signed(" ", before.slice(before.length - tail)),
  ];
}
