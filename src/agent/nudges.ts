import type { FinishReason } from "../llm/model.ts";
import type { AnyTool } from "../tools/tool.ts";

/** At this many turns left, by whatever limit, the model is told to come to an end. */
export const WRAP_UP_TURNS = 3;

/** For a turn without tool calls. */
export function noCallsNudge(finishReason: FinishReason, tools: readonly AnyTool[]): string {
  const cut = finishReason === "length" ? "Your answer was cut off at the output limit. " : "";
  return `${cut}Text outside of tool calls reaches nobody. Go on with tool calls; ${ending(tools)}.`;
}

/** For the last turns under a limit. */
export function wrapUpNudge(turnsLeft: number, tools: readonly AnyTool[]): string {
  const left = turnsLeft <= 1 ? "1 turn is" : `${turnsLeft} turns are`;
  return `About ${left} left before a limit ends this run. Report what you have found and finish; ${ending(tools)}.`;
}

function ending(tools: readonly AnyTool[]): string {
  const names = tools.filter((tool) => tool.kind === "report").map((tool) => tool.name);
  return names.length > 0
    ? `report and finish through ${names.join(", ")}`
    : "there is nothing to report through";
}

/** Appended to the answers of a turn that made the same calls as the turn before. */
export const REPEATED_NOTE =
  "Note: the turn before made the same call. The same call a third time in a row ends this run.";

export const notExecuted = {
  repeated: "Not executed: this is the third turn in a row with the same call, which ends the run.",
  duplicate: "Not executed: this turn makes the same call already; see its answer.",
  tooMany: (limit: number) =>
    `Not executed: only the first ${limit} calls of a turn are. Make this call again if you need it.`,
  noRoom:
    "Not executed: the answers of this turn are long enough already. Make this call again in the next turn.",
  reportRefused: "Not executed: a report of this turn was refused; correct it or finish in the next turn.",
  cutOff:
    "Not executed: your answer was cut off at the output limit in the middle of this call. Make it again, with shorter arguments.",
} as const;
