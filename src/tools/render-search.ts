import { shownBytes } from "../diff/render.ts";
import { type FileKind, fileKindOf, fileKinds } from "./file-kind.ts";
import { factsOf, inReadingOrder, type SearchFacts } from "./search-facts.ts";
import {
  contextOf,
  DEFAULT_RESULTS,
  type FileCount,
  type SearchInput,
  type SearchMatch,
  type SearchOutput,
} from "./search-input.ts";
import { headed, numberedLines, plainLines, type ShownLine } from "./search-lines.ts";
import { count, fitting, showPath } from "./show.ts";
import type { Rendered } from "./tool.ts";

/** What an answer takes unless more results were asked for: whoever searches broadly learns more from counts. */
const USUAL_BYTES = 8_000;
/** What the files that are not shown may take in it. */
const REST_BYTES = 1_500;

const headings: Record<FileKind, string | null> = {
  product: null,
  test: "Tests:",
  prose: "Documentation and examples:",
  foreign: "Vendored, generated and lock files:",
};

/** A line with the file that it belongs to; headings of groups belong to none. */
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

/** Files by kind, product code first; those of the other kinds under a heading. */
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

/** Matches by file, under how many there are, and what of them is not shown by file and number. */
export function renderSearch(output: SearchOutput, input: SearchInput, maxBytes: number): Rendered {
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

/** How many of the first lines are shown when no heading may be the last of them. */
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

/** What the search was limited to, since the limit may be the reason why nothing was found. */
function whereOf(input: SearchInput): string {
  const limits = [
    ...(input.path === undefined ? [] : [`below '${input.path}'`]),
    ...(input.file_pattern === undefined ? [] : [`in files like '${input.file_pattern}'`]),
    ...(input.file_type === undefined ? [] : [`in files of type ${input.file_type}`]),
  ];
  return limits.length === 0 ? "" : ` ${limits.join(", ")}`;
}
