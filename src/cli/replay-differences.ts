import { isSameStep, newestCourse } from "../agent/recorder.ts";
import type { LoopEntry } from "../agent/trajectory.ts";
import { type EndDifference, endDifferences } from "./replay-ends.ts";
import { firstDifference, type TextDifference } from "./replay-text.ts";
import type { WorkEnd } from "./replay-work.ts";
import type { RunHeader } from "./run-file.ts";

/** What differs between a run on record and the same run played back today. Snake case: `--format json` prints it. */
export type Difference =
  /** What the model was told at the beginning of a loop. */
  | ({ kind: "task"; loop: string } & TextDifference)
  /** What a tool answered; null where the record has no answer. */
  | {
      kind: "answer";
      loop: string;
      turn: number;
      tool: string;
      arguments: string;
      recorded: string | null;
      today: string;
    }
  /** missing: the loop goes on today where the record has no such turn. unplayed: today the loop does not get that far. */
  | { kind: "turn"; loop: string; turn: number; change: "missing" | "unplayed" }
  /** Of a loop that only one of them has, the other reason is null. */
  | { kind: "loop"; loop: string; recorded: string | null; today: string | null }
  | EndDifference;

/** What a replay came to. Snake case: `--format json` prints it. */
export interface Replay {
  run: RunHeader;
  /** Of Hunkwise, today. */
  version: string;
  /** Each piece of work on record: a fix is followed by a review. */
  works: WorkReplay[];
}

export interface WorkReplay {
  what: WorkEnd["what"];
  /** Of the loops played, their turns and the calls of tools in these. */
  played: { loops: number; turns: number; calls: number };
  /** Null where the run on record came to no result. */
  recorded: WorkEnd["result"] | null;
  today: WorkEnd["result"];
  differences: Difference[];
}

export interface Played {
  turns: readonly LoopEntry[];
  end: WorkEnd | null;
}

/** Compares step by step, and then what came of it. Nothing that hangs on the clock is looked at. */
export function differencesOf(recorded: Played, today: Played): Difference[] {
  return [...loopDifferences(recorded, today), ...endDifferences(recorded.end, today.end)];
}

function loopDifferences(recorded: Played, today: Played): Difference[] {
  const [then, now] = [recorded, today].map(({ turns }) => Map.groupBy(turns, ({ loop }) => loop));
  const names = new Set([...(then?.keys() ?? []), ...(now?.keys() ?? [])]);
  return [...names].flatMap((loop) => {
    const [before, after] = [then?.get(loop) ?? [], now?.get(loop) ?? []];
    return [
      ...stepDifferences(loop, courseOf(before), courseOf(after)),
      ...turnDifferences(loop, before, after),
      ...endDifference(loop, [before, after], recorded.end !== null),
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
  // A run that was killed while its tools worked has the turn, and nothing behind it.
  if (asked?.kind !== "turn" || asked === before.at(-1)) return [];
  return results.flatMap(({ callId, tool, text }, index): Difference[] => {
    const was = then?.kind === "tool_results" ? then.results[index]?.text : undefined;
    if (was !== undefined && comparable(tool, was) === comparable(tool, text)) return [];
    const call = asked.model.toolCalls.find(({ id }) => id === callId);
    const about = { kind: "answer", loop, turn, tool, arguments: call?.arguments ?? "" } as const;
    if (was === undefined) return [{ ...about, recorded: null, today: text.split("\n", 1)[0] ?? "" }];
    const { recorded, today } = firstDifference(was, text);
    return [{ ...about, recorded, today }];
  });
}

/** Of a command its exit code alone: what it prints tells times, names of temporary files and the like. */
const comparable = (tool: string, text: string) => (tool === "run_command" ? text.split("\n", 1)[0] : text);

/** Where the turns are not those on record: one was lost or taken out of it, or today the loop ends earlier. */
function turnDifferences(
  loop: string,
  before: readonly LoopEntry[],
  after: readonly LoopEntry[],
): Difference[] {
  const [then, now] = [turnsOf(before), turnsOf(after)];
  if (then.length === 0 || after.length === 0) return [];
  const next = now.length + 1;
  const [end, endNow] = [endOf(before), endOf(after)];
  // A loop that goes on where the record has no turn ends as if the model had failed.
  const goesOn = endNow === "model_error" && end !== undefined && end !== "model_error";
  const isMissing = !then.includes(next) && (goesOn || then.some((turn) => turn > next));
  const unplayed = then.filter((turn) => !now.includes(turn)).slice(0, 1);
  return [
    ...(isMissing ? [{ kind: "turn", loop, turn: next, change: "missing" } as const] : []),
    ...unplayed.map((turn) => ({ kind: "turn", loop, turn, change: "unplayed" }) as const),
  ];
}

const turnsOf = (entries: readonly LoopEntry[]) =>
  courseOf(entries).flatMap((entry) => (entry.kind === "turn" ? [entry.turn] : []));

function endOf(entries: readonly LoopEntry[]): string | undefined {
  const end = entries.findLast(({ kind }) => kind === "stopped");
  return end?.kind === "stopped" ? end.reason : undefined;
}

/** Of a run that came to nothing the last loops are cut off, which is no difference: today they are played as far as they went. */
function endDifference(
  loop: string,
  [before, after]: [readonly LoopEntry[], readonly LoopEntry[]],
  isWhole: boolean,
): Difference[] {
  const cutOff = (entries: readonly LoopEntry[]) => (entries.length > 0 ? "cut off" : null);
  const [recorded, today] = [endOf(before) ?? cutOff(before), endOf(after) ?? cutOff(after)];
  const isCut = !isWhole && recorded === "cut off";
  return recorded === today || isCut ? [] : [{ kind: "loop", loop, recorded, today }];
}
