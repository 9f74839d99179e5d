import type { Usage } from "../agent/llm/model.ts";
import { count, thousands } from "../core/text/count.ts";
import { dollars } from "../report/outcome.ts";
import { clip, plainLine } from "../report/terminal-style.ts";
import type { ProgressEvent } from "../tasks/shapes/review-result.ts";

/** Milliseconds between two progress lines of a phase if the output is not a terminal, and of a step, which is short. */
const SPARSE_MS = 15_000;
const STEP_MS = 5_000;
/** Milliseconds after the start of the process until the first line. */
const FIRST_MS = 200;
const REDRAW_MS = 200;
const CLEAR_LINE = "\r\u001b[2K";

const phaseWords = {
  context: "reading the change",
  analyzers: "running the analyzers",
  planning: "dividing the change",
  review: "reviewing",
  merging: "merging what was found",
  verifying: "checking each finding",
  placing: "placing the findings",
  proving: "proving findings",
} as const;

type Phase = keyof typeof phaseWords;

/** An event of a run, the probe of a model before it, or a step of other work: "indexing 3/20 files". */
type ShownEvent =
  | ProgressEvent
  | { type: "probe"; model: string }
  | { type: "step"; name: string; text: string };

/** How many parts of a phase have ended: agent runs on the change, verifications, proofs. */
type Share = Pick<Extract<ProgressEvent, { type: "unit" }>, "done" | "total">;

/** The state of a run, folded from its events. */
interface ProgressState {
  /** The model that is being probed, before the first phase. */
  probed: string | null;
  phase: Phase | null;
  step: { name: string; text: string } | null;
  /** Number of turns of all loops together. */
  turn: number;
  shares: { unit?: Share; verdict?: Share; proof?: Share };
  /** The tool that ran last in any agent run, with its target. */
  activity: string;
  served: number;
  total: number;
  findings: number;
  usage: Usage | null;
}

export const noProgress: ProgressState = {
  probed: null,
  phase: null,
  step: null,
  turn: 0,
  shares: {},
  activity: "",
  served: 0,
  total: 0,
  findings: 0,
  usage: null,
};

/** The state after an event. Pure. */
export function advance(state: ProgressState, event: ShownEvent): ProgressState {
  switch (event.type) {
    case "probe":
      return { ...state, probed: plainLine(event.model) };
    case "step":
      return { ...state, step: { name: event.name, text: plainLine(event.text) } };
    case "phase":
      return { ...state, phase: event.phase, activity: "" };
    case "turn":
      return { ...state, turn: event.turn, usage: event.total };
    case "tool":
      if (event.status !== "started") return state;
      return { ...state, activity: plainLine([event.tool, event.target ?? ""].join(" ").trim()) };
    case "unit":
    case "proof":
    case "verdict":
      return { ...state, shares: { ...state.shares, [event.type]: event } };
    case "coverage":
      return { ...state, served: event.served, total: event.total };
    case "finding":
      return { ...state, findings: state.findings + 1 };
    case "model_failed":
    case "crash":
      return state;
  }
}

/** Minutes and seconds: "1:07". */
function clock(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** The state of a run in one line. */
export function statusLine(state: ProgressState, elapsedMs: number): string {
  const { usage } = state;
  return [
    clock(elapsedMs),
    phaseWord(state),
    ...(state.turn > 0 ? [count(state.turn, "turn")] : []),
    ...(state.total > 0 && state.turn > 0 ? [`${state.served}/${state.total} hunks`] : []),
    ...(state.findings > 0 ? [count(state.findings, "finding")] : []),
    ...(usage ? [`${thousands(usage.promptTokens + usage.completionTokens)} tokens`] : []),
    ...(usage && usage.costUsd !== null ? [dollars(usage.costUsd)] : []),
    ...(state.activity ? [state.activity] : []),
  ].join(" · ");
}

/** "reviewing 3/12 units", "checking each finding 2/7" */
function phaseWord({ probed, phase, step, shares: { unit, verdict, proof } }: ProgressState): string {
  if (phase === null && step !== null) return step.text;
  if (phase === null) return probed === null ? "reading the repository" : `asking ${probed} what it can do`;
  const word = phaseWords[phase];
  if (phase === "review" && unit && unit.total > 1) return `${word} ${unit.done}/${unit.total} units`;
  if (phase === "verifying" && verdict) return `${word} ${verdict.done}/${verdict.total}`;
  return phase === "proving" && proof ? `${word} ${proof.done}/${proof.total}` : word;
}

export interface Progress extends Disposable {
  handle(event: ShownEvent): void;
  /** Prints a line that stays. */
  say(line: string): void;
  /** Removes the live line. No event is shown afterwards. */
  end(): void;
}

interface ProgressOptions {
  /** Milliseconds. */
  now?: () => number;
  /** Whether the progress is shown if the output is not a terminal. Default: true. */
  isLogged?: boolean;
  /** Shows nothing but faults. */
  onlyFaults?: boolean;
  /** Milliseconds from now on in which nothing is shown. Default: until {@link FIRST_MS} after the start of the process. */
  quietMs?: number;
}

/** One live line on a terminal; else a line for each phase or step, and one every few seconds. Nothing if the work ends at once. */
export function createProgress(stream: NodeJS.WriteStream, options: ProgressOptions = {}): Progress {
  const {
    now = Date.now,
    isLogged = true,
    onlyFaults = false,
    quietMs = FIRST_MS - performance.now(),
  } = options;
  const isHidden = onlyFaults || (!stream.isTTY && !isLogged);
  const began = now();
  let state = noProgress;
  let last = began;
  let isQuiet = quietMs > 0;
  let isShown = false;
  let redrawing: NodeJS.Timeout | undefined;
  const line = () => statusLine(state, now() - began);
  const erase = () => {
    if (stream.isTTY && isShown) stream.write(CLEAR_LINE);
    isShown = false;
  };
  const show = () => {
    last = now();
    stream.write(stream.isTTY ? CLEAR_LINE + clip(line(), stream.columns - 1) : `${line()}\n`);
    isShown = true;
  };
  const begin = () => {
    isQuiet = false;
    if (isHidden) return;
    if (!isShown) show();
    if (stream.isTTY) redrawing = setInterval(show, REDRAW_MS).unref();
  };
  // `performance.now()` counts from the start of the process.
  const beginning = setTimeout(begin, Math.max(0, quietMs)).unref();
  const end = () => {
    clearTimeout(beginning);
    clearInterval(redrawing);
    erase();
  };
  const print = (text: string) => {
    erase();
    stream.write(`${text}\n`);
  };
  return {
    say: onlyFaults ? () => {} : print,
    handle(event) {
      const isNew = isNewPhase(state, event);
      state = advance(state, event);
      if (event.type === "crash") print(`fault in ${plainLine(event.where)}: ${plainLine(event.error)}`);
      if (isQuiet || isHidden || stream.isTTY) return;
      if (isNew || now() - last >= (event.type === "step" ? STEP_MS : SPARSE_MS)) show();
    },
    end,
    [Symbol.dispose]: end,
  };
}

function isNewPhase({ step }: ProgressState, event: ShownEvent): boolean {
  if (event.type === "step") return step?.name !== event.name;
  return event.type === "phase" || event.type === "probe";
}
