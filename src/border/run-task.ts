import type { ChildProcess } from "node:child_process";
import { z } from "zod";
import type { Models } from "../agent/llm/model.ts";
import type { LoopEntry, MasksEntry, Trajectory } from "../agent/record/trajectory.ts";
import type { JournalPort } from "../agent/tools/tool.ts";
import { unlessAborted, within } from "../core/async.ts";
import { AppError, type ErrorCode, errorLine } from "../core/errors.ts";
import { withoutSecrets } from "../core/secrets/redact.ts";
import type { RevisionPlace } from "../repo/git/workspace.ts";
import type { Task, TaskInput } from "../tasks/define-task.ts";
import type { RecordedTest } from "../tasks/prove/prove-input.ts";
import type { ProgressEvent } from "../tasks/shapes/review-result.ts";
import type { TaskName } from "../tasks/tasks.ts";
import { type CommandSandbox, FromChild, type TestPlace, type ToChild } from "./messages.ts";
import { type StartedProcess, startReviewProcess } from "./start-process.ts";

/** What the parent provides for a review process, whatever its work. */
export interface TaskOptions {
  place: RevisionPlace;
  /** Null for a review with analyzers only; must agree with the models of its input. */
  models: Models | null;
  trajectory: Trajectory;
  /** The record of an earlier run. As long as the conversation is the same, its turns are reused and not paid again. */
  replay?: readonly LoopEntry[];
  /** The masks of the earlier run, which its turns contain. */
  masks?: readonly MasksEntry[];
  /** Takes notes for people. Without it the model gets no tool for notes. */
  journal?: JournalPort | undefined;
  graphIndex?: string | null | undefined;
  onProgress: (event: ProgressEvent) => void;
  signal: AbortSignal;
  /** A process that has been started already; it ends with its work. Otherwise one is started now. */
  started?: StartedProcess | undefined;
  /** For the configured commands; null or left out if none can run. */
  sandbox?: CommandSandbox | null;
  /** Where the tests of findings run; left out if none are wanted. */
  testPlace?: TestPlace | undefined;
  /** Runs of tests that an earlier attempt recorded. */
  tested?: readonly RecordedTest[];
}

/**
 * Does a task in a child process without secrets, and answers its model turns. A model wrote the result, so it is redacted.
 * @throws AppError `child_died` (retryable) if the process ends without a result, `aborted`
 */
export async function runTask<Input extends TaskInput, Result>(
  task: Task<Input, Result> & { name: TaskName },
  input: Input,
  options: TaskOptions,
): Promise<Result> {
  options.signal.throwIfAborted();
  const start: Start = {
    type: "start",
    place: options.place,
    task: task.name,
    input,
    replay: [...(options.replay ?? [])],
    masks: [...(options.masks ?? [])],
    takesNotes: options.journal !== undefined,
    graphIndex: options.graphIndex ?? null,
    sandbox: options.sandbox ?? null,
    testPlace: options.testPlace ?? null,
    tested: [...(options.tested ?? [])],
  };
  const result = task.result.safeParse(await converse(start, input.limits.milliseconds, options));
  if (!result.success) throw invalid(result.error);
  return task.priced(await task.redact(result.data), options.models);
}

type Start = Extract<ToChild, { type: "start" }>;

/** Time beyond the task's own limit, for finishing. */
const GRACE_MS = 60_000;

/** Resolves to what the process sends as its result. */
async function converse(start: Start, milliseconds: number, options: TaskOptions): Promise<unknown> {
  const { place, graphIndex } = options;
  const readable = place.isCheckedOut && { checkout: place.root };
  using started = options.started ?? startReviewProcess({ ...readable, graphIndex });
  const { child, ended, stderrTail } = started;
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const ending = new AbortController();
  const turns = AbortSignal.any([options.signal, ending.signal]);

  void ended.then((how) => reject(died(how, stderrTail())));
  child.on("message", (raw) => {
    const message = FromChild.safeParse(raw);
    if (!message.success) return reject(invalid(message.error));
    const { data } = message;
    if (data.type === "failed") return reject(fromFailure(data.error));
    if (data.type === "result") return resolve(data.result);
    void answer(data, start, options, turns)
      .then((reply) => reply && send(child, reply))
      .catch(reject);
  });
  const late = () => Promise.reject(died("did not end within its time limit"));
  const aborted = () => new AppError("aborted", "the review was aborted");
  try {
    return await unlessAborted(within(milliseconds + GRACE_MS, promise, late), options.signal, aborted);
  } finally {
    ending.abort();
  }
}

type ChildRequest = Exclude<FromChild, { type: "failed" | "result" }>;

async function answer(
  message: ChildRequest,
  start: Start,
  { onProgress, trajectory, journal, models }: TaskOptions,
  turns: AbortSignal,
): Promise<ToChild | undefined> {
  switch (message.type) {
    case "ready":
      return start;
    case "progress":
      onProgress(message.event);
      return undefined;
    case "record":
      await trajectory.append(message.entry);
      return { type: "recorded", number: message.number };
    case "note": {
      const { number, page, content } = message;
      if (!journal) throw died("sent a note, although notes are not accepted");
      return { type: "noted", number, answer: await journal.log(page, content) };
    }
    case "request_turn":
      if (!models) throw died("requested a model turn without a model");
      return await modelTurn(message, models, turns);
  }
}

async function modelTurn(
  message: Extract<FromChild, { type: "request_turn" }>,
  models: Models,
  signal: AbortSignal,
): Promise<ToChild> {
  const { number } = message;
  try {
    return { type: "turn", number, turn: await models[message.role].respond(message.model, signal) };
  } catch (error) {
    const known = error instanceof AppError ? error : new AppError("model_failed", errorLine(error));
    const { code, message: text, remedy = null } = known;
    return { type: "turn_failed", number, error: { code, message: text, remedy } };
  }
}

function send(child: ChildProcess, message: ToChild): void {
  // If the process has just died, its exit event ends the review.
  if (child.connected) child.send(message, () => {});
}

type Failure = Extract<FromChild, { type: "failed" }>["error"];

/** The error of a review process without secrets. Only git errors may be temporary: no other may make a job repeat. */
export function fromFailure({ code, message, remedy, retryable }: Failure): AppError {
  return new AppError(code as ErrorCode, withoutSecrets(message), {
    retryable: retryable && (code === "git_failed" || code === "git_timeout"),
    remedy: remedy === null ? undefined : withoutSecrets(remedy),
  });
}

const invalid = (error: z.ZodError) => died(`sent an invalid message: ${z.prettifyError(error)}`);

function died(how: string, stderrTail = ""): AppError {
  const cause = stderrTail === "" ? {} : { cause: new Error(stderrTail) };
  return new AppError("child_died", `the review process ${how}`, { retryable: true, ...cause });
}
