import { z } from "zod";
import { unlessAborted } from "../../core/async.ts";
import { AppError } from "../../core/errors.ts";
import { byteLength, cutAtLine } from "../../core/text/cut.ts";
import { escapeInvisible } from "../../core/text/escape-invisible.ts";
import { MAX_RENDERED_BYTES } from "../../repo/show.ts";
import { isObject, readLenient } from "../llm/lenient-json.ts";
import type { ToolDefinition } from "../llm/model.ts";
import { inputSchema, readArguments, type Taking, withinLimits } from "./read-arguments.ts";
import { toDefinition } from "./to-openai.ts";
import {
  type AnyTool,
  type Executed,
  type ToolContext,
  ToolError,
  type ToolMetadata,
  type ToolResult,
  WithheldError,
} from "./tool.ts";

type Arguments = Record<string, unknown>;

function toObject(name: string, raw: unknown): Arguments {
  if (raw === null || raw === undefined) return {};
  const [first, ...others] = Array.isArray(raw) ? raw : [raw];
  if (isObject(first) && others.length === 0) return first;
  const kind = Array.isArray(raw) ? "an array" : `a ${typeof raw}`;
  throw new ToolError(`the arguments of ${name} must be one JSON object, not ${kind}`);
}

function fromJson(name: string, text: string): unknown {
  if (text.trim() === "") return {};
  const mended = readLenient(text);
  if (mended !== undefined) return mended;
  throw new ToolError(`the arguments of ${name} are not valid JSON (${faultOf(text)}); send one JSON object`);
}

function faultOf(text: string): string {
  try {
    JSON.parse(text);
    return "it cannot be read";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The caller's arguments as the tool's input, and a sentence on each thing that was left out. Null values count as omitted. */
export function parseArguments(tool: Taking, sent: unknown): { input: unknown; notes: string[] } {
  const given = toObject(tool.name, typeof sent === "string" ? fromJson(tool.name, sent) : sent);
  const { input, notes } = readArguments(tool, given);
  const parsed = tool.input.safeParse(input);
  if (parsed.success) return { input: parsed.data, notes };
  const rest = tool.kind === "report" ? withoutBadEntries(tool, input, parsed.error) : null;
  if (rest) return { input: rest.input, notes: [...notes, ...rest.notes] };
  throw new ToolError(
    `invalid arguments for ${tool.name}:\n${z.prettifyError(parsed.error)}\n${usage(tool)}`,
  );
}

/** The input without entries of optional lists that cannot be read: a report must not fail because of them. Null if something else is wrong. */
function withoutBadEntries(tool: Taking, input: Arguments, { issues }: z.ZodError) {
  const required = inputSchema(tool).required ?? [];
  const bad = Map.groupBy(issues, ({ path: [list] }) => String(list));
  const kept = { ...input };
  for (const [list, faults] of bad) {
    const entries = input[list];
    if (required.includes(list) || !Array.isArray(entries) || faults.some(({ path }) => path.length < 2))
      return null;
    kept[list] = entries.filter((_, at) => !faults.some(({ path }) => path[1] === at));
  }
  const parsed = tool.input.safeParse(kept);
  const notes = [...bad.keys()].map((list) => `Entries of ${list} that cannot be read were left out.`);
  return parsed.success ? { input: parsed.data, notes } : null;
}

function usage(tool: Taking): string {
  const { properties = {}, required = [] } = inputSchema(tool);
  const names = Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`));
  return names.length === 0 ? "It takes no arguments." : `It takes: ${names.join(", ")}.`;
}

export interface RunToolOptions {
  /** Ends the call early; the result then reports that it was stopped. */
  signal?: AbortSignal | undefined;
  /** Receives errors of a tool that are neither a ToolError nor an AppError: bugs of ours. */
  onCrash?: ((tool: string, error: unknown) => void) | undefined;
  /** Milliseconds; injected by tests. */
  now?: (() => number) | undefined;
}

/** The answer to a call: data for programs, and text for the model. */
export interface ToolRun {
  result: ToolResult;
  /** Escaped, at most MAX_RENDERED_BYTES. */
  text: string;
  endsLoop: boolean;
  /** Refused on purpose: there is nothing to correct. */
  isWithheld?: true;
}

/** Runs `work` until it settles, the time is up or the caller aborts; work that ignores the signal is abandoned. */
async function withDeadline<T>(
  { name, timeoutMs }: AnyTool,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = outer ? AbortSignal.any([outer, timeout]) : timeout;
  try {
    signal.throwIfAborted();
    return await unlessAborted(work(signal), signal);
  } catch (error) {
    // An error after an abort is not the real reason.
    if (outer?.aborted) throw new ToolError(`${name} was stopped`);
    if (!timeout.aborted) throw error;
    const late = `${name} took longer than ${timeoutMs / 1_000} s; narrow the call down`;
    throw new ToolError(late, undefined, "timeout");
  }
}

function failure(status: "error" | "timeout", error: string, metadata: ToolMetadata): ToolRun {
  const { text } = cutAtLine(`${status}: ${escapeInvisible(error)}`, MAX_RENDERED_BYTES);
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
  const body = cutAtLine(escapeInvisible(rendered.text), room);
  const isCut = body.omittedLines > 0;
  const less = executed.truncated === true || rendered.truncated === true;
  const metadata: ToolMetadata = {
    duration_ms,
    truncated: isCut || next !== undefined || less,
    ...(next === undefined ? {} : { next: { tool: tool.name, arguments: next } }),
    ...(executed.note === undefined ? {} : { note: executed.note }),
    ...(executed.debug === undefined ? {} : { debug: executed.debug }),
  };
  return {
    result: { status: "success", output: executed.output, metadata },
    text: body.text + (isCut ? CUT_NOTE : "") + ending.join(""),
    endsLoop: executed.endsLoop ?? false,
  };
}

/** Reserved for the note and the call that continues. */
const RESERVED_BYTES = 1_024;
const CUT_NOTE = "\n(cut here; ask for less at a time)";

/**
 * The only way to call a tool. Never rejects: invalid arguments, tool errors and time-outs are results.
 * @param sent the arguments, as JSON text or as an object
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
    const { input: given, notes: left } = parseArguments(tool, sent);
    const { input, changes } = withinLimits(tool, given);
    const executed = await withDeadline(tool, options.signal, (signal) =>
      tool.execute(input, context, signal),
    );
    const notes = [...left, ...changes, executed.note].filter((note) => note !== undefined);
    const noted = notes.length === 0 ? executed : { ...executed, note: notes.join(" ") };
    return success(tool, noted, input, elapsed());
  } catch (error) {
    const metadata = { duration_ms: elapsed(), truncated: false };
    if (error instanceof ToolError) {
      const debug = error.debug === undefined ? {} : { debug: error.debug };
      const run = failure(error.status, error.message, { ...metadata, ...debug });
      return error instanceof WithheldError ? { ...run, isWithheld: true } : run;
    }
    if (error instanceof AppError) return failure("error", error.line, metadata);
    options.onCrash?.(tool.name, error);
    return failure(
      "error",
      `${tool.name} failed because of an internal error, not because of the arguments`,
      metadata,
    );
  }
}

/** The loop knows no values of the room of models, whose probe reads names alike. */
export { toolNameIn } from "../llm/model.ts";

export const NO_SUCH_TOOL = "there is no tool";

export function unknownTool(name: string, known: readonly string[]): ToolRun {
  const error = `${NO_SUCH_TOOL} '${name}'; the tools are ${known.join(", ")}`;
  return failure("error", error, { duration_ms: 0, truncated: false });
}

export const refusedCall = (why: string): ToolRun =>
  failure("error", why, { duration_ms: 0, truncated: false });

export function createRegistry(tools: readonly AnyTool[] = []) {
  const byName = new Map<string, AnyTool>();
  const names = () => [...byName.keys()];
  /** Throws if the name is taken, which is a programming error. */
  function register(tool: AnyTool): void {
    if (byName.has(tool.name)) throw new Error(`There is already a tool named '${tool.name}'`);
    byName.set(tool.name, tool);
  }
  for (const tool of tools) register(tool);
  return {
    register,
    names,
    get: (name: string) => byName.get(name),
    definitions: (): ToolDefinition[] => [...byName.values()].map(toDefinition),
    /** Calls a tool by name; an unknown name gets an answer and does not throw. */
    async execute(
      name: string,
      sent: unknown,
      context: ToolContext,
      options?: RunToolOptions,
    ): Promise<ToolRun> {
      const tool = byName.get(name);
      return tool ? runTool(tool, sent, context, options) : unknownTool(name, names());
    },
  };
}
