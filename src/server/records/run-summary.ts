import type { ToolCall, Usage } from "../../agent/llm/model.ts";
import { isLoopEntry, type LoopEntry, type TrajectoryEntry } from "../../agent/record/trajectory.ts";
import { ReviewResult } from "../../tasks/shapes/review-result.ts";
import { tasks } from "../../tasks/tasks.ts";
import type { RecordedEntry } from "../queue/runs.ts";

/* A summary of one run as data, created from its record. All text in it is hostile: the printing code escapes it and removes secrets. */

export type RunSummary = ReturnType<typeof summaryOf>;
type AnyTask = (typeof tasks)[number];

export type Asked = NonNullable<ReturnType<AnyTask["askedIn"]>>;

export type ResultSummary = NonNullable<ReturnType<AnyTask["summaryOf"]>>;

/** @param began when the run began, in milliseconds since 1970; each `after_ms` counts from then */
export function summaryOf(recorded: readonly RecordedEntry[], began: number) {
  const entries = recorded.map(({ entry }) => entry);
  const steps = recorded.flatMap(({ at, entry }) =>
    isLoopEntry(entry) ? [{ after_ms: at - began, entry }] : [],
  );
  const titles = titlesIn(entries);
  const start = entries.findLast((entry) => entry.kind === "run");
  const turns = entries.filter((entry) => entry.kind === "turn");
  return {
    attempts: new Set(recorded.flatMap(({ entry, claim }) => (entry.kind === "ended" ? [] : [claim]))).size,
    /** Full object names; null if no review, answer, fix or proof began. */
    commits: start
      ? { head: start.shas.head, base: start.shas.base, merge_base: start.shas.mergeBase }
      : null,
    /** Null for an event. */
    asked: askedIn(entries),
    totals: totalsOf(entries),
    loops: [...Map.groupBy(steps, ({ entry }) => entry.loop)].map(([name, own]) => loopOf(name, own, titles)),
    notes: recorded.flatMap(({ at, entry }) =>
      entry.kind === "note" ? [{ after_ms: at - began, page: entry.page, content: entry.content }] : [],
    ),
    /** At most one of each kind, the last: a fix is followed by a review. */
    results: resultsIn(entries),
    written: recorded.flatMap(({ at, entry }) =>
      entry.kind === "wrote"
        ? [{ after_ms: at - began, request: entry.request, id: entry.id, url: entry.url }]
        : [],
    ),
    /** The cost by purpose: "review", "second looks at findings". */
    paid_for: [...Map.groupBy(turns, ({ loop }) => purposeOf(loop))].map(([purpose, part]) => ({
      purpose,
      ...paidFor(part),
    })),
  };
}

/** The usage that a run paid for: every turn on record counts once, even if several attempts used it. */
export function paidFor(entries: readonly TrajectoryEntry[]) {
  const usages = entries.flatMap((entry) => (entry.kind === "turn" ? [entry.model.usage] : []));
  const sum = (of: (usage: Usage) => number) => usages.reduce((total, usage) => total + of(usage), 0);
  return {
    turns: usages.length,
    tokens: sum(({ promptTokens, completionTokens }) => promptTokens + completionTokens),
    cached_tokens: sum(({ cachedTokens }) => cachedTokens),
    /** In dollars; null if the price of a turn is not known. */
    cost_usd: usages.every(({ costUsd }) => costUsd !== null) ? sum(({ costUsd }) => costUsd ?? 0) : null,
  };
}

/** The last review among the entries; undefined if none can be read. */
export function lastReview(entries: readonly TrajectoryEntry[]): ReviewResult | undefined {
  const last = entries.findLast((entry) => entry.kind === "result");
  return ReviewResult.safeParse(last?.result).data;
}

/** Purposes of loops, by the beginnings of their names: the first match counts. */
const purposes: readonly (readonly [string, string])[] = [
  ["fix:check", "second looks at the repair"],
  ["verify", "second looks at findings"],
  ["choose", "choice of comments"],
  ["prove", "tests of findings"],
  ["intent", "what the change asks for"],
  ["recheck", "checks of earlier findings"],
  ["compare", "comparison with earlier findings"],
  ["merge", "merging findings"],
];

export const purposeOf = (loop: string): string =>
  purposes.find(([start]) => loop === start || loop.startsWith(`${start}:`))?.[1] ??
  loop.split(":", 1)[0] ??
  loop;

const reading = new Set(["read_file_part", "read_definition", "diff_file"]);
const searching = new Set(["search_in_files", "graph_rag_query"]);

function totalsOf(entries: readonly TrajectoryEntry[]) {
  const calls = entries.flatMap((entry) => (entry.kind === "turn" ? entry.model.toolCalls : []));
  const review = lastReview(entries);
  return {
    files_read: new Set(calls.flatMap(fileRead)).size,
    searches: calls.filter(({ name }) => searching.has(name)).length,
    /** Runs of tests of proofs. */
    test_runs: entries.filter(({ kind }) => kind === "tested").length,
    /** Of the last review; null if none has a result. */
    findings: review?.findings.length ?? null,
    refuted: review?.dropped.filter(({ verdict }) => verdict === "refuted").length ?? 0,
    /** Requests that GitHub accepted. */
    written: entries.filter(({ kind }) => kind === "wrote").length,
    paid: paidFor(entries),
  };
}

function fileRead({ name, arguments: text }: ToolCall): string[] {
  if (!reading.has(name)) return [];
  const { file_path, path } = argumentsIn(text);
  return [file_path, path].filter((one) => typeof one === "string").slice(0, 1);
}

function argumentsIn(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Null for a review, also if it proves its findings. */
function askedIn(entries: readonly TrajectoryEntry[]): Asked | null {
  const starts = entries.filter((entry) => entry.kind === "run");
  const isReview = starts.some(({ what }) => what === undefined);
  const start = starts.findLast(({ what }) => what !== undefined && !(isReview && what === "prove"));
  return tasks.find(({ name }) => name === start?.what)?.askedIn(start?.input) ?? null;
}

/** Titles of all findings that people asked about or that reviews found, including refuted ones, by id. */
function titlesIn(entries: readonly TrajectoryEntry[]): ReadonlyMap<string, string> {
  const reviews = entries.flatMap((entry) =>
    entry.kind === "result" ? (ReviewResult.safeParse(entry.result).data ?? []) : [],
  );
  const reported = reviews.flatMap(({ findings, dropped }) => [
    ...findings.map(({ finding }) => finding),
    ...dropped,
  ]);
  const asked = askedIn(entries);
  const targets = asked !== null && "targets" in asked ? asked.targets : [];
  return new Map([...targets, ...reported].map(({ id, title }) => [id, title]));
}

function resultsIn(entries: readonly TrajectoryEntry[]): ResultSummary[] {
  const posted = entries.flatMap((entry) => (entry.kind === "posted" ? entry.comments : []));
  const pages = new Map(posted.map(({ finding, url }) => [finding, url]));
  const urlOf = (finding: string) => pages.get(finding) ?? null;
  const results = entries.flatMap((entry) => (entry.kind === "result" ? [entry.result] : []));
  const summaries = results.flatMap((result) => tasks.flatMap((task) => task.summaryOf(result, urlOf) ?? []));
  return [...new Map(summaries.map((summary) => [summary.what, summary])).values()];
}

interface TimedEntry {
  after_ms: number;
  entry: LoopEntry;
}

function loopOf(name: string, entries: readonly TimedEntry[], titles: ReadonlyMap<string, string>) {
  const answers = answersIn(entries);
  return {
    name,
    /** Of the finding that the loop is about; null if it is about none. */
    title: titles.get(name.slice(name.indexOf(":") + 1)) ?? null,
    paid: paidFor(entries.map(({ entry }) => entry)),
    steps: entries.flatMap(({ after_ms, entry }) => stepOf(entry, after_ms, answers)),
  };
}

/** The first line of each answer, by turn and call: ids of calls repeat in other turns. */
function answersIn(entries: readonly TimedEntry[]): ReadonlyMap<string, string> {
  return new Map(
    entries.flatMap(({ entry }) =>
      entry.kind === "tool_results"
        ? entry.results.map(
            ({ callId, text }) => [`${entry.turn} ${callId}`, text.split("\n", 1)[0] ?? ""] as const,
          )
        : [],
    ),
  );
}

function stepOf(entry: LoopEntry, after_ms: number, answers: ReadonlyMap<string, string>) {
  switch (entry.kind) {
    case "turn": {
      const calls = entry.model.toolCalls.map((call) => ({
        tool: call.name,
        /** As the model wrote them: JSON, if it wrote JSON. */
        arguments: call.arguments,
        about: aboutOf(call.arguments),
        /** First line of the result; null if there is none on record. */
        answer: answers.get(`${entry.turn} ${call.id}`) ?? null,
      }));
      return { kind: "turn" as const, after_ms, turn: entry.turn, text: entry.model.content.trim(), calls };
    }
    case "messages": {
      // The task itself is left out.
      if (entry.messages.some(({ role }) => role === "system")) return [];
      const messages = entry.messages.map(({ content }) => content);
      return { kind: "messages" as const, after_ms, messages };
    }
    case "stopped": {
      const fault = entry.fault?.message ?? null;
      return { kind: "stopped" as const, after_ms, reason: entry.reason as string, fault };
    }
    case "tool_results":
      return [];
  }
}

/** The arguments of a call whose values tell most, without their names ("src/cart.ts:6"), in display order. */
const informative =
  "severity verdict state file_path path pattern query directory page_name title reason summary content name".split(
    " ",
  );

function aboutOf(text: string): string {
  const given = argumentsIn(text);
  return informative
    .flatMap((key) => {
      const value = given[key];
      if (typeof value !== "string" || value === "") return [];
      return [key === "path" && typeof given.line === "number" ? `${value}:${given.line}` : value];
    })
    .join(" ");
}
