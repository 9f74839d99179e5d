import type { Usage } from "../llm/model.ts";
import { dollars, plural, thousands } from "../reporters/outcome.ts";
import { clip, plainLine } from "../reporters/terminal-style.ts";
import type { ProgressEvent } from "../review/progress.ts";

/** Milliseconds between two progress lines if the output is not a terminal. */
const SPARSE_MS = 15_000;
/** Milliseconds after the start of the process until the first line; shorter runs show only their phases. */
const FIRST_MS = 300;
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
} as const;

type Phase = keyof typeof phaseWords;

/** An event of a run, or the probe of a model before it. */
type ShownEvent = ProgressEvent | { type: "probe"; model: string };

/** The number of finished parts of a phase. */
interface Share {
  done: number;
  total: number;
}

/** The state of a run, folded from its events. */
interface ProgressState {
  /** The model that is being probed, before the first phase. */
  probed: string | null;
  phase: Phase | null;
  /** Number of turns of all loops together. */
  turn: number;
  /** Agent runs on the change, and verifications; null until they are known. */
  units: Share | null;
  verdicts: Share | null;
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
  turn: 0,
  units: null,
  verdicts: null,
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
    case "phase":
      return { ...state, phase: event.phase, activity: "" };
    case "turn":
      return { ...state, turn: event.turn, usage: event.total };
    case "tool":
      if (event.status !== "started") return state;
      return { ...state, activity: plainLine([event.tool, event.target ?? ""].join(" ").trim()) };
    case "unit":
      return { ...state, units: { done: event.done, total: event.total } };
    case "verdict":
      return { ...state, verdicts: { done: event.done, total: event.total } };
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
export function clock(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** The state of a run in one line. */
export function statusLine(state: ProgressState, elapsedMs: number): string {
  const { usage } = state;
  return [
    clock(elapsedMs),
    phaseWord(state),
    ...(state.turn > 0 ? [plural(state.turn, "turn")] : []),
    ...(state.total > 0 && state.turn > 0 ? [`${state.served}/${state.total} hunks`] : []),
    ...(state.findings > 0 ? [plural(state.findings, "finding")] : []),
    ...(usage ? [`${thousands(usage.promptTokens + usage.completionTokens)} tokens`] : []),
    ...(usage && usage.costUsd !== null ? [dollars(usage.costUsd)] : []),
    ...(state.activity ? [state.activity] : []),
  ].join(" · ");
}

/** "reviewing 3/12 units", "checking each finding 2/7" */
function phaseWord({ probed, phase, units, verdicts }: ProgressState): string {
  if (phase === null) return probed === null ? "reading the repository" : `asking ${probed} what it can do`;
  const word = phaseWords[phase];
  if (phase === "review" && isSeveral(units)) return `${word} ${units.done}/${units.total} units`;
  if (phase === "verifying" && verdicts) return `${word} ${verdicts.done}/${verdicts.total}`;
  return word;
}

const isSeveral = (share: Share | null): share is Share => share !== null && share.total > 1;

export interface Progress extends Disposable {
  handle(event: ShownEvent): void;
  /** Prints a line that stays. */
  say(line: string): void;
  /** Removes the live line. No event is shown afterwards. */
  end(): void;
}

/**
 * One live line on a terminal; else a line for each phase, and one every 15 s. The first one comes at the latest 0.3 s after the start of
 * the process. Create it before the work begins.
 */
export function createProgress(stream: NodeJS.WriteStream, now: () => number = Date.now): Progress {
  return stream.isTTY ? liveProgress(stream, now) : plainProgress(stream, now);
}

function crashLine(event: ShownEvent): string | null {
  return event.type === "crash" ? `fault in ${plainLine(event.where)}: ${plainLine(event.error)}\n` : null;
}

function liveProgress(stream: NodeJS.WriteStream, now: () => number): Progress {
  const began = now();
  let state = noProgress;
  let isEnded = false;
  const draw = () => stream.write(CLEAR_LINE + clip(statusLine(state, now() - began), stream.columns - 1));
  const first = atFirst(draw);
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  const end = () => {
    if (isEnded) return;
    isEnded = true;
    clearTimeout(first);
    clearInterval(timer);
    stream.write(CLEAR_LINE);
  };
  return {
    say(line) {
      stream.write(`${isEnded ? "" : CLEAR_LINE}${line}\n`);
    },
    handle(event) {
      state = advance(state, event);
      const crash = crashLine(event);
      if (crash) stream.write(CLEAR_LINE + crash);
    },
    end,
    [Symbol.dispose]: end,
  };
}

/** `performance.now()` counts from the start of the process. */
function atFirst(show: () => void): NodeJS.Timeout {
  return setTimeout(show, Math.max(0, FIRST_MS - performance.now())).unref();
}

function plainProgress(stream: NodeJS.WriteStream, now: () => number): Progress {
  const began = now();
  let state = noProgress;
  let last = began;
  const print = () => {
    clearTimeout(first);
    last = now();
    stream.write(`${statusLine(state, last - began)}\n`);
  };
  const first = atFirst(print);
  const end = () => clearTimeout(first);
  return {
    say(line) {
      stream.write(`${line}\n`);
    },
    handle(event) {
      state = advance(state, event);
      const crash = crashLine(event);
      if (crash) stream.write(crash);
      if (event.type !== "phase" && event.type !== "probe" && now() - last < SPARSE_MS) return;
      print();
    },
    end,
    [Symbol.dispose]: end,
  };
}
