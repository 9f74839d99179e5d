import { parseJson } from "../../core/text/json.ts";
import type { FinishReason, ToolCall } from "../llm/model.ts";
import { refusedCall, type ToolRun } from "../tools/run-tool.ts";
import type { AnyTool } from "../tools/tool.ts";

/** With this many turns left, the model gets an instruction to finish. */
export const WRAP_UP_TURNS = 3;

/** For a turn without tool calls. */
export function noCallsNudge(finishReason: FinishReason, tools: readonly AnyTool[]): string {
  const cut = finishReason === "length" ? "Your answer was cut off at the output limit. " : "";
  return `${cut}Nobody reads text outside of tool calls. Go on with tool calls; ${ending(tools)}.`;
}

/** For the last turns under a limit. */
export function wrapUpNudge(turnsLeft: number, tools: readonly AnyTool[]): string {
  const left = turnsLeft <= 1 ? "1 turn is" : `${turnsLeft} turns are`;
  return `About ${left} left before a limit ends this run. Report what you have found and finish; ${ending(tools)}.`;
}

function ending(tools: readonly AnyTool[]): string {
  const names = tools.filter((tool) => tool.kind === "report").map((tool) => tool.name);
  return names.length > 0 ? `report and finish with ${names.join(", ")}` : "there is no tool to report with";
}

/** Appended to the answers of a turn that made the same calls as the turn before. */
const REPEATED_NOTE =
  "Note: the turn before made the same call. The same call a third time in a row ends this run.";

const notExecuted = {
  repeated: "Not executed: this is the third turn in a row with the same call, which ends the run.",
  duplicate: "Not executed: this turn makes the same call already; see its answer.",
  tooMany: (limit: number) =>
    `Not executed: only the first ${limit} calls of a turn are executed. Make this call again if you need it.`,
  noRoom:
    "Not executed: the answers of this turn have reached their limit. Make this call again in the next turn.",
  reportRefused: "Not executed: a report of this turn was refused; correct it or finish in the next turn.",
  unread: "Not executed: read the answers to the other calls of this turn first, then call this again.",
  cutOff:
    "Not executed: your answer was cut off at the output limit in the middle of this call. Make it again, with shorter arguments.",
  cutBeforeEnd:
    "Not executed: your answer was cut off at the output limit, so it may lack a call. Make this call again in the next turn.",
} as const;

/** Identifies a call by its name and the values of its arguments, independent of spacing and key order. */
function callKey(call: ToolCall): string {
  return `${call.name} ${canonical(call.arguments)}`;
}

/** Counts turns in a row with the same calls. */
export class RepeatCounter {
  #last = "";
  #count = 0;

  /** Counts a turn. Order and duplicates of its calls do not matter. */
  count(calls: readonly ToolCall[]): number {
    const key = [...new Set(calls.map(callKey))].sort().join("\n");
    this.#count = key === this.#last ? this.#count + 1 : 1;
    this.#last = key;
    return this.#count;
  }

  /** Starts over, because new input makes the same call meaningful again. */
  reset(): void {
    this.#count = 0;
  }
}

function canonical(json: string): string {
  const value = parseJson(json);
  if (value === undefined) return json;
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

const MAX_CALLS_A_TURN = 64;
/** The same calls this many turns in a row end the loop. */
export const MAX_REPEATS = 3;

interface CallAnswer {
  callId: string;
  tool: string;
  text: string;
  endsLoop: boolean;
}

export interface AnswerOptions {
  finishReason: FinishReason;
  tools: ReadonlyMap<string, AnyTool>;
  /** Number of turns in a row with these calls, including this one. */
  repeats: number;
  /** Whether no turn follows, so that a finish must not wait for one. */
  isLast(): boolean;
  concurrency: number;
  /** If the answers of a turn have more characters, further reading calls are refused until the next turn. */
  roomCharacters: number;
  execute(call: ToolCall): Promise<ToolRun>;
  started(call: ToolCall): void;
  finished(call: ToolCall, run: ToolRun): void;
}

/**
 * Answers every call of a turn in its order. Reading calls run concurrently; then reports and changes, one by one; then the call that
 * finishes. The finish is refused if a report or change failed, because the finding would be lost, and beside a call that reads, because its
 * result would be a guess.
 */
export async function answerCalls(calls: readonly ToolCall[], options: AnswerOptions): Promise<CallAnswer[]> {
  const answers = new Map<ToolCall, CallAnswer>();
  const refusals = refusalsOf(calls, options);
  const toolOf = (call: ToolCall) => options.tools.get(call.name);
  const reads = calls.filter((call) => toolOf(call)?.kind === "read");
  const finishing = calls.filter((call) => toolOf(call)?.finishes);
  const isDeed = (call: ToolCall) => isDoing(toolOf(call)) && !finishing.includes(call);
  let characters = 0;
  let deedFailed = false;
  let hasUnread = false;

  async function answer(call: ToolCall): Promise<void> {
    options.started(call);
    const refused = refusals.get(call) ?? null;
    const run = refused === null ? await options.execute(call) : notRun(refused);
    const { result, text, endsLoop } = run;
    options.finished(call, run);
    // The answers to a turn's calls that are made again are the ones that the model has just read.
    hasUnread ||= refused === null && toolOf(call)?.kind === "read" && options.repeats === 1;
    // A duplicate fails if the call that it repeats fails.
    deedFailed ||= isDeed(call) && result.status !== "success" && refused !== notExecuted.duplicate;
    const noted =
      refused === null && options.repeats === MAX_REPEATS - 1 ? `${text}\n\n${REPEATED_NOTE}` : text;
    characters += noted.length;
    answers.set(call, { callId: call.id, tool: call.name, text: noted, endsLoop });
  }

  function reasonToWait(): string | null {
    if (deedFailed) return notExecuted.reportRefused;
    if (options.finishReason === "length") return notExecuted.cutBeforeEnd;
    return hasUnread && !options.isLast() ? notExecuted.unread : null;
  }

  for (let i = 0; i < reads.length; i += options.concurrency) {
    const batch = reads.slice(i, i + options.concurrency);
    if (characters > options.roomCharacters) {
      for (const call of batch) refusals.set(call, refusals.get(call) ?? notExecuted.noRoom);
    }
    await Promise.all(batch.map(answer));
  }
  for (const call of calls) if (!answers.has(call) && !finishing.includes(call)) await answer(call);
  for (const call of finishing) {
    const reason = reasonToWait();
    if (reason) refusals.set(call, refusals.get(call) ?? reason);
    await answer(call);
  }
  return calls.flatMap((call) => answers.get(call) ?? []);
}

const isDoing = (tool: AnyTool | undefined) => tool?.kind === "report" || tool?.kind === "change";

function refusalsOf(calls: readonly ToolCall[], options: AnswerOptions): Map<ToolCall, string> {
  const refusals = new Map<ToolCall, string>();
  const seen = new Set<string>();
  for (const [index, call] of calls.entries()) {
    const key = callKey(call);
    if (options.repeats >= MAX_REPEATS) refusals.set(call, notExecuted.repeated);
    else if (isCutOff(call, calls, options)) refusals.set(call, notExecuted.cutOff);
    else if (seen.has(key)) refusals.set(call, notExecuted.duplicate);
    else if (index >= MAX_CALLS_A_TURN) refusals.set(call, notExecuted.tooMany(MAX_CALLS_A_TURN));
    seen.add(key);
  }
  return refusals;
}

/** Whether the output limit ended the answer in this call: the last one lacks its end, even if its JSON looks whole. */
const isCutOff = (call: ToolCall, calls: readonly ToolCall[], { finishReason }: AnswerOptions) =>
  finishReason === "length" && (call === calls.at(-1) || parseJson(call.arguments) === undefined);

const notRun = (reason: string): ToolRun => ({
  ...refusedCall(reason),
  text: reason,
  // The same call was answered already.
  ...(reason === notExecuted.duplicate || reason === notExecuted.repeated ? { isWithheld: true } : {}),
});
