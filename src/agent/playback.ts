import { AppError, type ErrorCode } from "../errors.ts";
import type { Message } from "../llm/model.ts";
import type { StopReason } from "./events.ts";
import { newestCourse, type Recorder, resultsEntry, stoppedEntry } from "./recorder.ts";
import type { LoopEntry, Trajectory } from "./trajectory.ts";

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
