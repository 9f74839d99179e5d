import { clip } from "../reporters/terminal-style.ts";
import { clock } from "./progress.ts";

/** Milliseconds after the start of the process without a line: most answers come sooner. */
const QUIET_MS = 400;
/** Between two plain lines of one step. */
const SPARSE_MS = 5_000;
const REDRAW_MS = 200;
const CLEAR_LINE = "\r\u001b[2K";

/** What a command that prints an answer at its end shows until then. */
export interface WaitLine extends Disposable {
  /** @param kind a new one is shown at once, if the output is not a terminal */
  show(kind: string, text: string): void;
}

/** One live line on a terminal; else a line for each kind of step, and one every few seconds. Nothing if the answer comes at once. */
export function createWaitLine(stream: NodeJS.WriteStream, quietMs = QUIET_MS - performance.now()): WaitLine {
  const began = performance.now();
  let now = { kind: "", text: "" };
  let shown: { kind: string; at: number } | null = null;
  const line = () => `${clock(performance.now() - began)} · ${now.text}`;
  const draw = () => {
    if (now.text === "") return;
    if (stream.isTTY) stream.write(CLEAR_LINE + clip(line(), stream.columns - 1));
    else if (shown?.kind !== now.kind || performance.now() - shown.at >= SPARSE_MS)
      stream.write(`${line()}\n`);
    else return;
    shown = { kind: now.kind, at: performance.now() };
  };
  let redraw: NodeJS.Timeout | undefined;
  const begin = setTimeout(
    () => {
      draw();
      redraw = setInterval(draw, REDRAW_MS);
    },
    Math.max(0, quietMs),
  );
  return {
    show(kind, text) {
      now = { kind, text };
    },
    [Symbol.dispose]() {
      clearTimeout(begin);
      clearInterval(redraw);
      if (shown && stream.isTTY) stream.write(CLEAR_LINE);
      shown = null;
    },
  };
}
