import type { Usage } from "../llm/model.ts";
import { dollars, plural, thousands } from "../reporters/outcome.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import { clip } from "../reporters/terminal-wrap.ts";
import type { ProgressEvent } from "../review/progress.ts";

/** Between two lines of progress where nobody watches a terminal, in milliseconds. */
const SPARSE_MS = 15_000;
const REDRAW_MS = 200;
const CLEAR_LINE = "\r\u001b[2K";

const phaseWords = {
  context: "reading the change",
  analyzers: "running the analyzers",
  review: "reviewing",
  placing: "placing the findings",
} as const;

type Phase = keyof typeof phaseWords;

/** What is known about a run; folded from its events, so that display and meaning stay apart. */
export interface ProgressState {
  phase: Phase | null;
  turn: number;
  /** The tool that runs or ran last, with its target. */
  activity: string;
  served: number;
  total: number;
  findings: number;
  usage: Usage | null;
}

export const noProgress: ProgressState = {
  phase: null,
  turn: 0,
  activity: "",
  served: 0,
  total: 0,
  findings: 0,
  usage: null,
};

/** The state after an event. Pure. */
export function advance(state: ProgressState, event: ProgressEvent): ProgressState {
  switch (event.type) {
    case "phase":
      return { ...state, phase: event.phase, activity: "" };
    case "turn":
      return { ...state, turn: event.turn, usage: event.total };
    case "tool":
      if (event.status !== "started") return state;
      return { ...state, activity: plainLine([event.tool, event.target ?? ""].join(" ").trim()) };
    case "coverage":
      return { ...state, served: event.served, total: event.total };
    case "finding":
      return { ...state, findings: state.findings + 1 };
    case "model_failed":
    case "crash":
      return state;
  }
}

/** One line about where a run stands. */
export function statusLine(state: ProgressState, elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000);
  const { usage } = state;
  return [
    `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`,
    state.phase === null ? "starting" : phaseWords[state.phase],
    ...(state.turn > 0 ? [`turn ${state.turn}`] : []),
    ...(state.total > 0 && state.turn > 0 ? [`${state.served}/${state.total} hunks`] : []),
    ...(state.findings > 0 ? [plural(state.findings, "finding")] : []),
    ...(usage ? [`${thousands(usage.promptTokens + usage.completionTokens)} tokens`] : []),
    ...(usage && usage.costUsd !== null ? [dollars(usage.costUsd)] : []),
    ...(state.activity ? [state.activity] : []),
  ].join(" · ");
}

export interface Progress {
  handle(event: ProgressEvent): void;
  /** Takes the live line away. Nothing is shown afterwards. */
  end(): void;
}

/** One live line on a terminal; elsewhere a plain line for each phase and now and then one in between. */
export function createProgress(stream: NodeJS.WriteStream, now: () => number = Date.now): Progress {
  return stream.isTTY ? liveProgress(stream, now) : plainProgress(stream, now);
}

function crashLine(event: ProgressEvent): string | null {
  return event.type === "crash" ? `fault in ${plainLine(event.where)}: ${plainLine(event.error)}\n` : null;
}

function liveProgress(stream: NodeJS.WriteStream, now: () => number): Progress {
  const began = now();
  let state = noProgress;
  const draw = () => stream.write(CLEAR_LINE + clip(statusLine(state, now() - began), stream.columns - 1));
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  return {
    handle(event) {
      state = advance(state, event);
      const crash = crashLine(event);
      if (crash) stream.write(CLEAR_LINE + crash);
    },
    end() {
      clearInterval(timer);
      stream.write(CLEAR_LINE);
    },
  };
}

function plainProgress(stream: NodeJS.WriteStream, now: () => number): Progress {
  const began = now();
  let state = noProgress;
  let last = began;
  return {
    handle(event) {
      state = advance(state, event);
      const crash = crashLine(event);
      if (crash) stream.write(crash);
      if (event.type !== "phase" && now() - last < SPARSE_MS) return;
      last = now();
      stream.write(`${statusLine(state, last - began)}\n`);
    },
    end() {},
  };
}
