import { isDeepStrictEqual } from "node:util";
import { isSameStep, newestCourse } from "../agent/recorder.ts";
import type { LoopEntry } from "../agent/trajectory.ts";
import type { PlacedFinding, ReviewResult } from "../review/review-result.ts";
import type { RunHeader } from "./run-file.ts";

/** What differs between a run on record and the same run played back today. Snake case: `--format json` prints it. */
export type Difference =
  /** What the model was told at the beginning of a loop. */
  | { kind: "task"; loop: string; recorded: string; today: string }
  | {
      kind: "answer";
      loop: string;
      turn: number;
      tool: string;
      arguments: string;
      recorded: string;
      today: string;
    }
  /** Of a loop that only one of them has, the other reason is null. */
  | { kind: "loop"; loop: string; recorded: string | null; today: string | null }
  | {
      kind: "finding";
      id: string;
      path: string;
      line: number;
      title: string;
      change: "missing" | "new" | "changed";
      fields: string[];
    }
  | { kind: "dropped"; id: string; path: string; line: number; title: string; change: "missing" | "new" }
  | { kind: "review"; field: string; recorded: string; today: string };

/** What a replay came to. Snake case: `--format json` prints it. */
export interface Replay {
  run: RunHeader;
  /** Of the loops played, their turns and the calls of tools in these. */
  played: { loops: number; turns: number; calls: number };
  /** Null where the run on record came to no result. */
  recorded: ReviewResult | null;
  today: ReviewResult;
  differences: Difference[];
}

export interface Played {
  turns: readonly LoopEntry[];
  result: ReviewResult | null;
}

/** Compares step by step, and then what came of it. Nothing that hangs on the clock is looked at. */
export function differencesOf(recorded: Played, today: Played): Difference[] {
  return [
    ...loopDifferences(recorded.turns, today.turns),
    ...resultDifferences(recorded.result, today.result),
  ];
}

function loopDifferences(recorded: readonly LoopEntry[], today: readonly LoopEntry[]): Difference[] {
  const [then, now] = [recorded, today].map((entries) => Map.groupBy(entries, ({ loop }) => loop));
  const names = new Set([...(then?.keys() ?? []), ...(now?.keys() ?? [])]);
  return [...names].flatMap((loop) => {
    const [before, after] = [then?.get(loop) ?? [], now?.get(loop) ?? []];
    return [
      ...stepDifferences(loop, courseOf(before), courseOf(after)),
      ...endDifference(loop, before, after),
    ];
  });
}

const courseOf = (entries: readonly LoopEntry[]) =>
  newestCourse(entries.filter(({ kind }) => kind !== "stopped"));

/** What was said on the way is played back, not said anew. */
function stepDifferences(loop: string, before: LoopEntry[], after: LoopEntry[]): Difference[] {
  const [task, taskNow] = [before[0], after[0]];
  const told =
    task?.kind === "messages" && taskNow?.kind === "messages" && !isSameStep(task, taskNow)
      ? [{ kind: "task", loop, ...firstDifference(wordsOf(task), wordsOf(taskNow)) } as const]
      : [];
  return [...told, ...after.flatMap((entry) => answerDifferences(loop, before, entry))];
}

const wordsOf = ({ messages }: Extract<LoopEntry, { kind: "messages" }>) =>
  messages.map(({ content }) => content).join("\n");

function answerDifferences(loop: string, before: readonly LoopEntry[], entry: LoopEntry): Difference[] {
  if (entry.kind !== "tool_results") return [];
  const { turn, results } = entry;
  const then = before.find((one) => one.kind === "tool_results" && one.turn === turn);
  const asked = before.find((one) => one.kind === "turn" && one.turn === turn);
  if (then?.kind !== "tool_results" || asked?.kind !== "turn") return [];
  return results.flatMap(({ callId, tool, text }, index) => {
    const was = then.results[index]?.text ?? "";
    if (was === text) return [];
    const call = asked.model.toolCalls.find(({ id }) => id === callId);
    const about = { kind: "answer", loop, turn, tool, arguments: call?.arguments ?? "" } as const;
    return [{ ...about, ...firstDifference(was, text) }];
  });
}

function endDifference(
  loop: string,
  before: readonly LoopEntry[],
  after: readonly LoopEntry[],
): Difference[] {
  const [recorded, today] = [before, after].map((entries) => {
    const end = entries.findLast(({ kind }) => kind === "stopped");
    return end?.kind === "stopped" ? end.reason : entries.length > 0 ? "cut off" : null;
  });
  return recorded === today ? [] : [{ kind: "loop", loop, recorded: recorded ?? null, today: today ?? null }];
}

/** The first line of two texts that is not the same. */
function firstDifference(recorded: string, today: string): { recorded: string; today: string } {
  const [then, now] = [recorded.split("\n"), today.split("\n")];
  const at = then.findIndex((line, index) => line !== now[index]);
  const index = at < 0 ? then.length : at;
  return { recorded: then[index] ?? "", today: now[index] ?? "" };
}

function resultDifferences(recorded: ReviewResult | null, today: ReviewResult | null): Difference[] {
  if (!recorded || !today) return [];
  const reviewed = (["merge_base_sha", "mode", "stop_reason", "summary"] as const).flatMap((field) =>
    recorded[field] === today[field]
      ? []
      : [{ kind: "review", field, ...firstDifference(recorded[field], today[field]) } as const],
  );
  const [read, readNow] = [coverageOf(recorded), coverageOf(today)];
  const coverage =
    read === readNow ? [] : [{ kind: "review", field: "coverage", recorded: read, today: readNow } as const];
  return [
    ...findingDifferences(recorded.findings, today.findings),
    ...droppedDifferences(recorded, today),
    ...reviewed,
    ...coverage,
  ];
}

const coverageOf = ({ coverage: { hunks_served, hunks_total } }: ReviewResult) =>
  `${hunks_served} of ${hunks_total} hunks read`;

function findingDifferences(
  recorded: readonly PlacedFinding[],
  today: readonly PlacedFinding[],
): Difference[] {
  const left = [...today];
  const gone = recorded.flatMap((placed) => {
    const index = left.findIndex(({ finding }) => finding.id === placed.finding.id);
    const now = index < 0 ? undefined : left.splice(index, 1)[0];
    const fields = now ? changedFields(placed, now) : [];
    if (now && fields.length === 0) return [];
    return [findingDifference(placed, now ? "changed" : "missing", fields)];
  });
  return [...gone, ...left.map((placed) => findingDifference(placed, "new", []))];
}

function changedFields(one: PlacedFinding, other: PlacedFinding): string[] {
  const fields = Object.keys(one.finding) as (keyof PlacedFinding["finding"])[];
  const changed: string[] = fields.filter(
    (field) => !isDeepStrictEqual(one.finding[field], other.finding[field]),
  );
  return isDeepStrictEqual(one.placement, other.placement) ? changed : [...changed, "placement"];
}

function findingDifference(
  { finding: { id, path, line, title } }: PlacedFinding,
  change: "missing" | "new" | "changed",
  fields: string[],
): Difference {
  return { kind: "finding", id, path, line, title, change, fields };
}

function droppedDifferences(recorded: ReviewResult, today: ReviewResult): Difference[] {
  const lacks = (all: ReviewResult["dropped"], one: ReviewResult["dropped"][number]) =>
    !all.some(({ id, verdict }) => id === one.id && verdict === one.verdict);
  const differing = (
    all: ReviewResult["dropped"],
    than: ReviewResult["dropped"],
    change: "missing" | "new",
  ) =>
    all
      .filter((one) => lacks(than, one))
      .map(({ id, path, line, title }) => ({ kind: "dropped", id, path, line, title, change }) as const);
  return [
    ...differing(recorded.dropped, today.dropped, "missing"),
    ...differing(today.dropped, recorded.dropped, "new"),
  ];
}
