import { AppError } from "../errors.ts";
import { byteLength, cutAtLine } from "../text/cut.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";
import { withinLimits } from "./limits.ts";
import { parseArguments } from "./parse-arguments.ts";
import {
  type AnyTool,
  type Executed,
  MAX_RENDERED_BYTES,
  type ToolContext,
  ToolError,
  type ToolMetadata,
  type ToolResult,
} from "./tool.ts";

export interface RunToolOptions {
  /** Ends the call early; the result then says that it was stopped. */
  signal?: AbortSignal | undefined;
  /** Told what a tool threw that is neither a ToolError nor an AppError: a fault of ours. */
  onCrash?: ((tool: string, error: unknown) => void) | undefined;
  /** Milliseconds; injected by tests. */
  now?: (() => number) | undefined;
}

/** A call's answer: as data for programs, and as the text that the model reads. */
export interface ToolRun {
  result: ToolResult;
  /** Escaped, at most MAX_RENDERED_BYTES. */
  text: string;
  endsLoop: boolean;
}

class ToolTimeout extends Error {}
class ToolStopped extends Error {}

/** Runs `work` until it settles, the time is up or the caller gives up; work that ignores the signal is left behind. */
async function withDeadline<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (outer?.aborted) throw new ToolStopped();
  const controller = new AbortController();
  const stop = () => controller.abort(new ToolStopped());
  const timer = setTimeout(() => controller.abort(new ToolTimeout()), timeoutMs);
  outer?.addEventListener("abort", stop, { once: true });
  try {
    const ended = new Promise<never>((_, reject) => {
      controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true });
    });
    return await Promise.race([ended, work(controller.signal)]);
  } catch (error) {
    // What a tool throws because it was aborted is not the reason.
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", stop);
  }
}

function fits(text: string, maxBytes: number): { text: string; cut: boolean } {
  const { text: kept, omittedLines } = cutAtLine(text, maxBytes);
  return { text: kept, cut: omittedLines > 0 };
}

/** What an error says to the model, cut like any rendering. */
function failure(status: "error" | "timeout", error: string, metadata: ToolMetadata): ToolRun {
  const { text } = fits(`${status}: ${escapeInvisible(error)}`, MAX_RENDERED_BYTES);
  return { result: { status, error, metadata }, text, endsLoop: false };
}

function success(tool: AnyTool, executed: Executed<unknown>, input: unknown, duration_ms: number): ToolRun {
  const rendered = tool.render(executed.output, input, MAX_RENDERED_BYTES - RESERVED_BYTES);
  const next = rendered.next ?? executed.next;
  const ending = [
    ...(executed.note === undefined ? [] : [`(${executed.note})`]),
    ...(next === undefined ? [] : [`(more: ${tool.name} ${JSON.stringify(next)})`]),
  ].map((line) => `\n${escapeInvisible(line)}`);
  const room = MAX_RENDERED_BYTES - byteLength(ending.join("")) - byteLength(CUT_NOTE);
  const body = fits(escapeInvisible(rendered.text), room);
  const less = executed.truncated === true || rendered.truncated === true;
  const metadata: ToolMetadata = {
    duration_ms,
    truncated: body.cut || next !== undefined || less,
    ...(next === undefined ? {} : { next: { tool: tool.name, arguments: next } }),
    ...(executed.note === undefined ? {} : { note: executed.note }),
    ...(executed.debug === undefined ? {} : { debug: executed.debug }),
  };
  return {
    result: { status: "success", output: executed.output, metadata },
    text: body.text + (body.cut ? CUT_NOTE : "") + ending.join(""),
    endsLoop: executed.endsLoop ?? false,
  };
}

/** Kept free for the note and the call that continues. */
const RESERVED_BYTES = 1_024;
const CUT_NOTE = "\n(cut here; ask for less at a time)";

/**
 * The one way a tool is called. Never rejects: broken arguments, faults of the tool and time-outs are results that the
 * caller can act on.
 *
 * @param sent the arguments, as JSON text (how models write them) or already as an object
 */
export async function runTool(
  tool: AnyTool,
  sent: unknown,
  context: ToolContext,
  options: RunToolOptions = {},
): Promise<ToolRun> {
  const now = options.now ?? (() => performance.now());
  const start = now();
  const elapsed = () => Math.round(now() - start);
  try {
    const { input, changes } = withinLimits(tool, parseArguments(tool, sent));
    const executed = await withDeadline(tool.timeoutMs, options.signal, (signal) =>
      tool.execute(input, context, signal),
    );
    const notes = executed.note === undefined ? changes : [...changes, executed.note];
    const noted = notes.length === 0 ? executed : { ...executed, note: notes.join(" ") };
    return success(tool, noted, input, elapsed());
  } catch (error) {
    const metadata = { duration_ms: elapsed(), truncated: false };
    if (error instanceof ToolTimeout) {
      const seconds = tool.timeoutMs / 1_000;
      return failure("timeout", `${tool.name} took longer than ${seconds} s; narrow the call down`, metadata);
    }
    if (error instanceof ToolStopped) return failure("error", `${tool.name} was stopped`, metadata);
    if (error instanceof ToolError) {
      const debug = error.debug === undefined ? {} : { debug: error.debug };
      return failure(error.status, error.message, { ...metadata, ...debug });
    }
    if (error instanceof AppError) return failure("error", error.line, metadata);
    options.onCrash?.(tool.name, error);
    return failure("error", `${tool.name} failed by a fault of its own, not of the arguments`, metadata);
  }
}

/** The answer to a call of a tool that is not there. */
export function unknownTool(name: string, known: readonly string[]): ToolRun {
  const error = `there is no tool '${name}'; the tools are ${known.join(", ")}`;
  return failure("error", error, { duration_ms: 0, truncated: false });
}

/** The answer to a call that is not made. */
export const refusedCall = (why: string): ToolRun =>
  failure("error", why, { duration_ms: 0, truncated: false });
