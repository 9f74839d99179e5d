import type { ChildProcess } from "node:child_process";
import { z } from "zod";
import type { LoopEntry, MasksEntry, Trajectory } from "../agent/trajectory.ts";
import { AppError, type ErrorCode, errorLine } from "../errors.ts";
import type { CheckoutPlace } from "../git/workspace.ts";
import type { Models } from "../llm/model.ts";
import type { JournalPort } from "../tools/tool.ts";
import { type Assignment, FromChild, type Outcome, type ProgressEvent, type ToChild } from "./messages.ts";
import { redactFailure, redactOutcome } from "./redact-outcome.ts";
import { type StartedReviewProcess, startReviewProcess } from "./start-review-process.ts";

/** What the parent gives a review process to work with, whatever it is to do. */
export interface ProcessOptions {
  place: CheckoutPlace;
  /** Null for a review with the analyzers alone; must agree with the models of its input. */
  models: Models | null;
  trajectory: Trajectory;
  /** What an earlier run recorded: as long as the conversation is the same, its turns are not paid again. */
  replay?: readonly LoopEntry[];
  /** The masks of the earlier run, which its turns quote; left out, there are none. */
  masks?: readonly MasksEntry[];
  /** `replay` is played back as it stands, and no model is asked, whatever the conversation is by now. */
  isPlayback?: boolean;
  /** Takes notes for people; left out, none are offered to be left. */
  journal?: JournalPort | undefined;
  /** Absolute path of the index of the repository's graph, which is only read; left out or null, there is none. */
  graphIndex?: string | null | undefined;
  onProgress: (event: ProgressEvent) => void;
  signal: AbortSignal;
  /** Heap limit of the process in megabytes. */
  memoryMb?: number;
  /** A process that was started before; it ends with its work. Without it one is started now. */
  started?: StartedReviewProcess | undefined;
}

type Request = Exclude<FromChild, Outcome | { type: "failed" }>;

export interface Assigned<Result> {
  assignment: Assignment;
  /** What the outcome of this kind of work came to; undefined for that of another kind. */
  resultOf(outcome: Outcome): Result | undefined;
}

/** How much longer than its own time limit a process may live: it needs a moment to wrap up. */
const GRACE_MS = 60_000;

/**
 * Has a child process without a secret do one piece of work, and answers its model turns. What it hands back was written by a model: no
 * secret that this process knows, or that shows by its form, is left in it. Rejects with `child_died`
 * (retryable) when the process ends without a result, `aborted` when the signal fires.
 */
export async function runInProcess<Result>(
  { assignment, resultOf }: Assigned<Result>,
  options: ProcessOptions,
): Promise<Result> {
  options.signal.throwIfAborted();
  const result = resultOf(await redactOutcome(await outcomeOf(assignment, options)));
  if (result === undefined) throw died("did something else than it was asked for");
  return result;
}

async function outcomeOf(assignment: Assignment, options: ProcessOptions): Promise<Outcome> {
  using started =
    options.started ??
    startReviewProcess({
      checkout: options.place.root,
      graphIndex: options.graphIndex,
      memoryMb: options.memoryMb,
    });
  const ending = new AbortController();
  try {
    return await converse(started, assignment, options, ending.signal);
  } finally {
    ending.abort();
  }
}

function converse(
  { child, ended: exited, lastWords }: StartedReviewProcess,
  assignment: Assignment,
  options: ProcessOptions,
  ended: AbortSignal,
): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const deadline = setTimeout(
    () => reject(new AppError("child_died", "the review process did not end within its time limit")),
    assignment.input.limits.milliseconds + GRACE_MS,
  );
  const aborted = () => reject(new AppError("aborted", "the review was aborted"));
  options.signal.addEventListener("abort", aborted, { once: true });

  void exited.then((how) => reject(died(how, lastWords())));
  child.on("message", (raw) => {
    const message = FromChild.safeParse(raw);
    if (!message.success)
      return reject(died(`sent a message of no known shape: ${z.prettifyError(message.error)}`));
    const { data } = message;
    if (data.type === "failed") return reject(failureOf(redactFailure(data.error)));
    if (data.type !== "result" && data.type !== "answer" && data.type !== "fix")
      return void answer(child, data, assignment, options, ended).catch(reject);
    resolve(data);
  });
  return promise.finally(() => {
    clearTimeout(deadline);
    options.signal.removeEventListener("abort", aborted);
  });
}

async function answer(
  child: ChildProcess,
  message: Request,
  assignment: Assignment,
  options: ProcessOptions,
  ended: AbortSignal,
) {
  switch (message.type) {
    case "ready": {
      const { place, replay = [], masks = [], isPlayback = false, graphIndex = null } = options;
      const takesNotes = options.journal !== undefined;
      const how = { replay: [...replay], masks: [...masks], isPlayback, takesNotes, graphIndex };
      return send(child, { type: "start", place, assignment, ...how });
    }
    case "progress":
      return options.onProgress(message.event);
    case "record":
      await options.trajectory.append(message.entry);
      return send(child, { type: "recorded", number: message.number });
    case "note": {
      const { number, page, content } = message;
      if (!options.journal) throw died("left a note where none are taken");
      return send(child, { type: "noted", number, answer: await options.journal.log(page, content) });
    }
    case "request_turn":
      return send(child, await modelTurn(message, options, AbortSignal.any([options.signal, ended])));
  }
}

async function modelTurn(
  message: Extract<FromChild, { type: "request_turn" }>,
  { models }: ProcessOptions,
  signal: AbortSignal,
): Promise<ToChild> {
  const { request } = message;
  if (!models) throw died("asked for a model turn without a model");
  try {
    return { type: "turn", request, turn: await models[message.role].respond(message.model, signal) };
  } catch (error) {
    const code = error instanceof AppError ? error.code : "model_failed";
    const remedy = error instanceof AppError ? (error.remedy ?? null) : null;
    return { type: "turn_failed", request, error: { code, message: messageOf(error), remedy } };
  }
}

function messageOf(error: unknown): string {
  return error instanceof AppError ? error.message : errorLine(error);
}

function send(child: ChildProcess, message: ToChild): void {
  // A process that has just died cannot be told anything; its exit event ends the review.
  if (child.connected) child.send(message, () => {});
}

type Failure = Extract<FromChild, { type: "failed" }>["error"];

/** Of faults that pass, it can only meet those of git: nothing else may have a job come back again and again. */
function failureOf({ code, message, remedy, retryable }: Failure): AppError {
  const passes = retryable && (code === "git_failed" || code === "git_timeout");
  return new AppError(code as ErrorCode, message, { retryable: passes, ...(remedy ? { remedy } : {}) });
}

function died(how: string, lastWords = ""): AppError {
  const cause = lastWords === "" ? {} : { cause: new Error(lastWords) };
  return new AppError("child_died", `the review process ${how}`, { retryable: true, ...cause });
}
