import type { Definition } from "../code/source.ts";
import { AppError } from "../errors.ts";
import type { SearchHits, SearchQuery } from "../git/workspace.ts";
import { kindRank } from "./file-kind.ts";
import { parseEntry } from "./parsed-files.ts";
import type { SearchOutput } from "./search-input.ts";
import type { ToolContext } from "./tool.ts";

/** What the text for the model says beside the matches themselves. */
export interface SearchFacts {
  /** Matching lines of each file, those of files that are not in the output too. */
  counts: ReadonlyMap<string, number>;
  /** False when there are more files, or more matches in them. */
  isComplete: boolean;
  /** What some of the files define. */
  definitions: ReadonlyMap<string, readonly Definition[]>;
}

const factsByOutput = new WeakMap<SearchOutput, SearchFacts>();

/** Keeps facts beside an output, whose shape is that of the contract. */
export function keepFacts(output: SearchOutput, facts: SearchFacts): void {
  factsByOutput.set(output, facts);
}
export const factsOf = (output: SearchOutput): SearchFacts | undefined => factsByOutput.get(output);

/** Product code first, then tests, then what nobody wrote here; by path within each. */
export const inReadingOrder = (paths: Iterable<string>): string[] =>
  [...paths].sort((left, right) => kindRank(left) - kindRank(right));

function countsIn(hits: SearchHits): Map<string, number> {
  if (hits.mode === "files_with_matches") return new Map(hits.paths.map((path) => [path, 0]));
  if (hits.mode === "count") return new Map(hits.counts.map(({ path, count }) => [path, count]));
  const counts = new Map<string, number>();
  for (const { path } of hits.matches) counts.set(path, (counts.get(path) ?? 0) + 1);
  return counts;
}

const MAX_COUNTED_FILES = 2_000;
const COUNTING_MS = 3_000;

/** What a search that was stopped would have found, in numbers; null when that takes too long. */
async function countAll(
  query: SearchQuery,
  context: ToolContext,
  signal: AbortSignal,
): Promise<{ counts: Map<string, number>; isComplete: boolean } | null> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(COUNTING_MS)]);
  const counting = { ...query, mode: "count" as const, contextLines: 0, maxResults: MAX_COUNTED_FILES };
  try {
    const hits = await context.workspace.search(counting, ended);
    return { counts: countsIn(hits), isComplete: !hits.limited };
  } catch (error) {
    if (!signal.aborted && error instanceof AppError && error.code === "aborted") return null;
    throw error;
  }
}

const MAX_PARSED_FILES = 20;
const PARSING_MS = 1_000;

/** What the first files of an answer define, as far as that is quickly told. */
async function definitionsOf(
  paths: Iterable<string>,
  { workspace }: ToolContext,
  signal: AbortSignal,
): Promise<Map<string, readonly Definition[]>> {
  const definitions = new Map<string, readonly Definition[]>();
  const tree = await workspace.tree("head");
  const deadline = performance.now() + PARSING_MS;
  for (const path of inReadingOrder(paths).slice(0, MAX_PARSED_FILES)) {
    const entry = tree.get(path);
    const parsed = entry && (await parseEntry(entry, workspace));
    if (parsed) definitions.set(path, parsed.definitions);
    if (signal.aborted || performance.now() > deadline) break;
  }
  return definitions;
}

/**
 * Gathers the facts of an answer.
 *
 * @param mayCount whether a search that was stopped may be run once more to count
 */
export async function gatherFacts(
  hits: SearchHits,
  query: SearchQuery,
  { mayCount, mayParse }: { mayCount: boolean; mayParse: boolean },
  context: ToolContext,
  signal: AbortSignal,
): Promise<SearchFacts> {
  const found = { counts: countsIn(hits), isComplete: !hits.limited };
  const isContent = hits.mode === "content";
  const all = hits.limited && isContent && mayCount ? await countAll(query, context, signal) : null;
  const definitions =
    isContent && mayParse ? await definitionsOf(found.counts.keys(), context, signal) : new Map();
  return { ...(all ?? found), definitions };
}
