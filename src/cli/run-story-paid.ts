import type { TrajectoryEntry } from "../agent/trajectory.ts";
import type { ToolCall } from "../llm/model.ts";
import { dollars, plural, thousands } from "../reporters/outcome.ts";
import { plainLine, type Style } from "../reporters/terminal-style.ts";
import { clip, wrap } from "../reporters/terminal-wrap.ts";
import { ReviewResult } from "../review/review-result.ts";
import { type Paid, paidFor } from "./run-figures.ts";

/** What loops are for, by what their names begin with: the first that fits. */
const purposes: readonly (readonly [string, string])[] = [
  ["fix:check", "second looks at the repair"],
  ["verify", "second looks at findings"],
  ["recheck", "looks at earlier findings"],
  ["compare", "comparing with earlier ones"],
  ["merge", "merging findings"],
];

/** What was paid, and for what, in the lines of a story; none where one thing alone was paid for, which stands above its turns. */
export function paidLines(entries: readonly TrajectoryEntry[], style: Style): string[] {
  const turns = entries.filter((entry) => entry.kind === "turn");
  const parts = Map.groupBy(turns, ({ loop }) => purposeOf(loop));
  if (parts.size < 2) return [];
  const named = [...parts].map(([name, part]) => [name, paidFor(part)] as const);
  const lines = [...named, ["in all", paidFor(turns)] as const].map(
    ([name, paid]) => `${clip(plainLine(name), NAME).padEnd(NAME)}  ${words(paid)}`,
  );
  return [style.bold("Paid"), ...lines.map((line) => clip(line, style.width))];
}

const NAME = 27;

const purposeOf = (loop: string): string =>
  purposes.find(([start]) => loop === start || loop.startsWith(`${start}:`))?.[1] ??
  loop.split(":", 1)[0] ??
  loop;

function words({ turns, tokens, cachedTokens, costUsd }: Paid): string {
  const cached = cachedTokens === 0 ? "" : ` (${thousands(cachedTokens)} cached)`;
  const cost = costUsd === null ? "no price" : dollars(costUsd);
  return `${plural(turns, "turn")}, ${plural(tokens, "token")}${cached}, ${cost}`;
}

/** All of a run in one sentence: what was read, searched, found, refuted, written and paid. */
export function digestLines(entries: readonly TrajectoryEntry[], style: Style): string[] {
  const calls = entries.flatMap((entry) => (entry.kind === "turn" ? entry.model.toolCalls : []));
  const paid = paidFor(entries);
  const { result } = entries.findLast((entry) => entry.kind === "result") ?? {};
  const review = ReviewResult.safeParse(result).data;
  const refuted = review?.dropped.filter(({ verdict }) => verdict === "refuted").length ?? 0;
  const written = entries.filter(({ kind }) => kind === "wrote").length;
  const facts = [
    ...count("read", new Set(calls.flatMap(fileRead)).size, "file"),
    ...count("searched", calls.filter(({ name }) => searching.has(name)).length, "time"),
    ...(review ? [`found ${review.findings.length}`] : []),
    ...(refuted > 0 ? [`refuted ${refuted}`] : []),
    ...(written > 0 ? [`${written} written to GitHub`] : []),
    ...(paid.turns > 0 ? [words(paid)] : []),
  ];
  return wrap(facts.join(" · "), style.width);
}

const count = (word: string, number: number, noun: string) =>
  number === 0 ? [] : [`${word} ${plural(number, noun)}`];

const reading = new Set(["read_file_part", "read_definition", "diff_file"]);
const searching = new Set(["search_in_files", "graph_rag_query"]);

/** The file that a call reads, in a list; none where it reads none. */
function fileRead({ name, arguments: text }: ToolCall): string[] {
  if (!reading.has(name)) return [];
  try {
    const { file_path, path } = JSON.parse(text);
    return [file_path, path].filter((one) => typeof one === "string").slice(0, 1);
  } catch {
    return [];
  }
}
