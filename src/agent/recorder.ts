import { isDeepStrictEqual } from "node:util";
import { AppError } from "../errors.ts";
import type { Message, ModelTurn } from "../llm/model.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { WRAP_UP_TURNS } from "./answer-calls.ts";
import type { LoopEntry, Trajectory } from "./trajectory.ts";

type ToolResults = Extract<LoopEntry, { kind: "tool_results" }>["results"];

/** Writes a loop's trajectory, and follows an earlier one of the same loop as long as the conversation is the same. */
export interface Recorder {
  /** Records messages of ours. While it follows an earlier run, that run's messages are returned instead. */
  say(messages: Message[]): Promise<Message[]>;
  /** Whether this turn is recorded: it costs nothing. */
  has(turn: number): boolean;
  /** The recorded turn, or the answer to `ask`, which is durable before it is returned. An error is not recorded. */
  turn(turn: number, ask: () => Promise<ModelTurn | AppError>): Promise<ModelTurn | AppError>;
  /** Records answers. Resolves to the number of turns left: the given estimate, or that of the earlier run. */
  results(turn: number, results: ToolResults, turnsLeft: number): Promise<number>;
  stopped(reason: string, fault?: AppError | null): Promise<void>;
  /** Whether the earlier run finished in this turn; false if it went on, undefined if the record does not say. */
  finishedIn(turn: number): boolean | undefined;
}

/**
 * Resumes a run: the turns in `earlier` are paid for and not requested again. Tool results are compared: if they differ, the rest of
 * the earlier run is ignored.
 */
export function createRecorder(
  trajectory: Trajectory,
  loop: string,
  earlier: readonly LoopEntry[],
): Recorder {
  const own = earlier.filter((entry) => entry.loop === loop);
  let ahead = newestCourse(own.filter(({ kind }) => kind !== "stopped"));
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
      // The first messages are the task: if they differ, nothing of the record applies.
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
    finishedIn(turn) {
      const [next, ...later] = ahead;
      if (next?.kind !== "tool_results" || next.turn !== turn) return undefined;
      return later.length > 0 ? false : isFinished(own.at(-1)) || undefined;
    },
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

const isFinished = (entry: LoopEntry | undefined) => entry?.kind === "stopped" && entry.reason === "finished";

/** Compares two steps without the distance to a limit, which depends on the clock. */
function isSameStep(one: LoopEntry, other: LoopEntry): boolean {
  return isDeepStrictEqual(withoutLimit(one), withoutLimit(other));
}

function withoutLimit(entry: LoopEntry): LoopEntry {
  if (entry.kind !== "tool_results") return entry;
  const { limitNear: _, ...step } = entry;
  return step;
}

/**
 * The newest course of a loop. A run that diverged from an earlier one has appended its own steps: a step that is recorded again
 * replaces everything from there on, and a new task replaces everything.
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

/** Only the task has a system prompt; later messages have none. */
function isTask(entry: LoopEntry): boolean {
  return entry.kind === "messages" && entry.messages.some(({ role }) => role === "system");
}
