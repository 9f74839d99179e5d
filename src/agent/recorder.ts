import { isDeepStrictEqual } from "node:util";
import { AppError, type ErrorCode } from "../errors.ts";
import type { Message, ModelTurn } from "../llm/model.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { WRAP_UP_TURNS } from "./answer-calls.ts";
import type { LoopEntry, StopReason, Trajectory } from "./trajectory.ts";

type ToolResults = Extract<LoopEntry, { kind: "tool_results" }>["results"];

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

function resultsEntry(loop: string, turn: number, results: ToolResults, turnsLeft: number): LoopEntry {
  const near = turnsLeft <= WRAP_UP_TURNS ? { limitNear: turnsLeft } : {};
  return { kind: "tool_results", loop, turn, results, ...near };
}

function stoppedEntry(loop: string, reason: string, fault?: AppError | null): LoopEntry {
  const why = fault ? { fault: { code: fault.code, message: withoutSecrets(fault.message) } } : {};
  return { kind: "stopped", loop, reason, ...why };
}

/** How near a limit is hangs on the clock, and says nothing of whether two runs went the same way. */
function isSameStep(one: LoopEntry, other: LoopEntry): boolean {
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
function newestCourse(entries: readonly LoopEntry[]): LoopEntry[] {
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

/**
 * Plays an earlier run's turns back, whatever the conversation is by now: the tools are asked again, and what they answer today goes
 * into the trajectory, to be compared with what they answered then. No model is asked. What hung on the clock is as it was: what
 * was said on the way, how near a limit was, and where a limit ended the loop.
 *
 * @param earlier all that is on record of the run
 */
export function createPlayback(
  trajectory: Trajectory,
  loop: string,
  earlier: readonly LoopEntry[],
): Recorder {
  const own = earlier.filter((entry) => entry.loop === loop);
  const { turns, said, near } = stepsOf(newestCourse(own.filter(({ kind }) => kind !== "stopped")));
  const end = own.findLast((entry) => entry.kind === "stopped");
  let at = 0;
  let first = true;

  return {
    async say(messages) {
      const isTask = first;
      first = false;
      const before = said.get(at) ?? (turns.has(at + 1) ? [] : messages);
      const taken = isTask ? messages : before;
      if (taken.length > 0) await trajectory.append({ kind: "messages", loop, messages: taken });
      return taken;
    },
    has: (turn) => turns.has(turn),
    async turn(turn) {
      at = turn;
      const model = turns.get(turn);
      if (!model) return missing(loop, turn, end);
      await trajectory.append({ kind: "turn", loop, turn, model });
      return model;
    },
    async results(turn, results) {
      const turnsLeft = near.get(turn) ?? Number.POSITIVE_INFINITY;
      await trajectory.append(resultsEntry(loop, turn, results, turnsLeft));
      return turnsLeft;
    },
    stopped: (reason, fault) => trajectory.append(stoppedEntry(loop, reason, fault)),
    endedBefore(turn) {
      if (turns.has(turn) || end?.kind !== "stopped") return undefined;
      return fromOutside.find((reason) => reason === end.reason);
    },
  };
}

/** Ends that no turn brings about. Where a turn did, and is not on record, the record is not whole. */
const fromOutside = [
  "turn_limit",
  "token_limit",
  "cost_limit",
  "time_limit",
  "aborted",
] as const satisfies readonly StopReason[];

/** A loop's steps by their turns. */
function stepsOf(course: readonly LoopEntry[]) {
  const turns = new Map<number, Extract<LoopEntry, { kind: "turn" }>["model"]>();
  const said = new Map<number, Message[]>();
  const near = new Map<number, number>();
  let at = 0;
  for (const entry of course) {
    if (entry.kind === "turn") {
      at = entry.turn;
      turns.set(at, entry.model);
    }
    if (entry.kind === "messages" && at > 0) said.set(at, entry.messages);
    if (entry.kind === "tool_results" && entry.limitNear !== undefined) near.set(entry.turn, entry.limitNear);
  }
  return { turns, said, near };
}

function missing(loop: string, turn: number, end: LoopEntry | undefined): AppError {
  if (end?.kind === "stopped" && end.fault)
    return new AppError(end.fault.code as ErrorCode, end.fault.message);
  return new AppError("model_failed", `The record has no turn ${turn} of ${loop}`);
}
