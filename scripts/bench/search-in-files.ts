import { rgPath } from "@vscode/ripgrep";
import { MAX_RESULTS, SearchInput } from "../../src/agent/tools/search-in-files.ts";
import { ripgrepArguments } from "../../src/repo/git/search.ts";
import { timeOf } from "./bare-process.ts";
import type { LargeChange, ToolSession } from "./large-change.ts";
import { compare, timed } from "./measure.ts";
import { rareText } from "./repositories.ts";
import { type Bench, ratioRow } from "./row.ts";

interface Search {
  what: string;
  input: { pattern: string; max_results?: number };
  /** Whether the number of results is as intended. */
  isExpected: (results: number) => boolean;
}

const rare: Search = {
  what: "a rare text",
  input: { pattern: rareText },
  isExpected: (results) => results > 0 && results < 10,
};
const common: Search = {
  what: "a common text, all of its results",
  input: { pattern: "The invoice of an? [a-c]", max_results: MAX_RESULTS },
  isExpected: (results) => results > 200 && results < MAX_RESULTS,
};
const everywhere: Search = {
  what: "a text of most files, 1,000 results",
  input: { pattern: "is above [a-c]", max_results: MAX_RESULTS },
  isExpected: (results) => results === MAX_RESULTS,
};
const searches = [rare, common, everywhere];

/** `search_in_files` in 5,000 files against ripgrep with the same arguments in the same folder, sorted as the answer is. */
export async function benchSearch(change: LargeChange, bench: Bench): Promise<void> {
  await using tools = change.session();
  // A review has listed the files of the tree by then; the last row shows a search that comes first.
  await tools.run("list_files", {});
  for (const search of searches) {
    bench.say(`search_in_files, ${search.what}`);
    const comparison = await compareSearch(change, search, () => timeOfSearch(tools, search));
    bench.add(ratioRow(`search_in_files, ${search.what} / rg`, comparison, 1.2));
  }
  bench.say("search_in_files, for information");
  const stopped = await compareSearch(change, everywhere, () => timeOfSearch(tools, everywhere), true);
  bench.add(ratioRow("search_in_files, 1,000 results / rg, killed at its 1,000th", stopped, null));
  const first = await compareSearch(change, rare, async () => {
    await using fresh = change.session();
    return await timeOfSearch(fresh, rare);
  });
  bench.add(ratioRow("search_in_files, first call of a review / rg", first, null));
}

/** `stopped`: the reference is killed after the tool's maximum number of results, instead of read to its end. */
function compareSearch(
  { place }: LargeChange,
  { input }: Search,
  ours: () => Promise<number>,
  stopped = false,
) {
  // Its answer is in order, too.
  const args = ["--sort=path", ...argumentsOf(input)];
  const bare = { program: rgPath, args, cwd: place.root, env: {} };
  const reference = () => timeOf(stopped ? { ...bare, enough: counter(input.max_results) } : bare);
  return compare({ repetitions: 7, ours, reference });
}

const timeOfSearch = (tools: ToolSession, { input, isExpected }: Search) =>
  timed(async () => {
    const { length } = (await tools.run("search_in_files", input)) as unknown[];
    if (!isExpected(length)) throw new Error(`${JSON.stringify(input)} has ${length} results`);
  });

/** Returns true after `maxResults` lines. */
function counter(maxResults = Number.POSITIVE_INFINITY): (chunk: Buffer) => boolean {
  let count = 0;
  return (chunk) => {
    for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", at + 1)) count += 1;
    return count >= maxResults;
  };
}

function argumentsOf(input: Search["input"]): string[] {
  const { pattern, context_lines, max_results } = SearchInput.parse(input);
  const flags = { fixedString: false, ignoreCase: false, wholeWord: false, invertMatch: false };
  const query = {
    pattern,
    contextLines: context_lines,
    maxResults: max_results,
    mode: "content",
    ...flags,
  } as const;
  return ripgrepArguments(query, undefined);
}
