import { isDeepStrictEqual } from "node:util";
import { AppError } from "../errors.ts";
import type { Message, ModelTurn } from "../llm/model.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import type { StopReason } from "./events.ts";
import { WRAP_UP_TURNS } from "./nudges.ts";
import type { LoopEntry, Trajectory } from "./trajectory.ts";

export type ToolResults = Extract<LoopEntry, { kind: "tool_results" }>["results"];

/** Writes a loop's trajectory, and goes along an earlier one of the same loop as long as the conversation is the same. */
export interface Recorder {
  /** Notes messages that are ours. Those of the earlier run are taken instead of `messages` while going along it. */
  say(messages: Message[]): Promise<Message[]>;
  /** Whether an earlier run has made this turn: it costs nothing. */
  has(turn: number): boolean;
  /** The earlier run's turn, or the answer to `ask`, which is durable before it is handed on. A fault is not recorded. */
  turn(turn: number, ask: () => Promise<ModelTurn | AppError>): Promise<ModelTurn | AppError>;
  /** Notes answers. Of the turns that are left it resolves to what the loop goes by: the guess, or what an earlier run went by. */
  results(turn: number, results: ToolResults, turnsLeft: number): Promise<number>;
  stopped(reason: string, fault?: AppError | null): Promise<void>;
  /** Why the loop ends before this turn, where the record says so; only a run that is played back goes by it. */
  endedBefore(turn: number): StopReason | undefined;
}

/**
 * `earlier` are all entries of a run that was cut short; its turns are paid for and are not asked for again. What the tools
 * answer is compared, not trusted: where it differs, the rest of the earlier run is about something else and left alone.
 */
export function createRecorder(
  trajectory: Trajectory,
  loop: string,
  earlier: readonly LoopEntry[],
): Recorder {
  let ahead = newestCourse(earlier.filter((entry) => entry.loop === loop && entry.kind !== "stopped"));
  let first = true;

  async function compareOrAppend(entry: LoopEntry): Promise<LoopEntry> {
    const [next] = ahead;
    if (next && isSameStep(next, entry)) {
      ahead = ahead.slice(1);
      return next;
    }
    ahead = [];
    await trajectory.append(entry);
    return entry;
  }

  return {
    async say(messages) {
      const [next] = ahead;
      // The first messages are the task itself: when they differ, so does everything.
      if (!first && next?.kind === "messages") {
        ahead = ahead.slice(1);
        return next.messages;
      }
      if (!first && next) return [];
      first = false;
      if (messages.length > 0) await compareOrAppend({ kind: "messages", loop, messages });
      return messages;
    },
    has(turn) {
      const [next] = ahead;
      return next?.kind === "turn" && next.turn === turn;
    },
    async turn(turn, ask) {
      const [next] = ahead;
      if (next?.kind === "turn" && next.turn === turn) {
        ahead = ahead.slice(1);
        return next.model;
      }
      ahead = [];
      const model = await ask();
      if (model instanceof AppError) return model;
      await trajectory.append({ kind: "turn", loop, turn, model });
      return model;
    },
    async results(turn, results, turnsLeft) {
      const taken = await compareOrAppend(resultsEntry(loop, turn, results, turnsLeft));
      return (taken.kind === "tool_results" && taken.limitNear) || turnsLeft;
    },
    stopped: (reason, fault) => trajectory.append(stoppedEntry(loop, reason, fault)),
    endedBefore: () => undefined,
  };
}

export function resultsEntry(loop: string, turn: number, results: ToolResults, turnsLeft: number): LoopEntry {
  const near = turnsLeft <= WRAP_UP_TURNS ? { limitNear: turnsLeft } : {};
  return { kind: "tool_results", loop, turn, results, ...near };
}

export function stoppedEntry(loop: string, reason: string, fault?: AppError | null): LoopEntry {
  const why = fault ? { fault: { code: fault.code, message: withoutSecrets(fault.message) } } : {};
  return { kind: "stopped", loop, reason, ...why };
}

/** How near a limit is hangs on the clock, and says nothing of whether two runs went the same way. */
export function isSameStep(one: LoopEntry, other: LoopEntry): boolean {
  return isDeepStrictEqual(withoutLimit(one), withoutLimit(other));
}

function withoutLimit(entry: LoopEntry): LoopEntry {
  if (entry.kind !== "tool_results") return entry;
  const { limitNear: _, ...step } = entry;
  return step;
}

/**
 * A run that left an earlier one's course wrote its own steps behind it: a step written again replaces all from there on, and
 * a new task everything, for no turn before is an answer to it.
 */
export function newestCourse(entries: readonly LoopEntry[]): LoopEntry[] {
  const course: LoopEntry[] = [];
  for (const entry of entries) {
    if (isTask(entry)) course.length = 0;
    const again = course.findIndex(
      (one) => "turn" in one && "turn" in entry && one.kind === entry.kind && one.turn === entry.turn,
    );
    if (again >= 0) course.length = again;
    course.push(entry);
  }
  return course;
}

/** Only the task has a system prompt; what is said on the way has none. */
function isTask(entry: LoopEntry): boolean {
  return entry.kind === "messages" && entry.messages.some(({ role }) => role === "system");
}
