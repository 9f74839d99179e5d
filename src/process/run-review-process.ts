import type { ChildProcess } from "node:child_process";
import { z } from "zod";
import type { LoopEntry, MasksEntry, Trajectory } from "../agent/trajectory.ts";
import { AppError, type ErrorCode, errorLine } from "../errors.ts";
import type { RevisionPlace } from "../git/workspace.ts";
import type { Models } from "../llm/model.ts";
import type { AnswerInput, AnswerResult } from "../review/answer/answer-input.ts";
import type { FixInput, FixResult } from "../review/fix/fix-input.ts";
import type { ProveInput, ProveResult, RecordedTest } from "../review/prove/prove-input.ts";
import type { ReviewInput } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import type { JournalPort } from "../tools/tool.ts";
import type { CommandSandbox, TestPlace } from "./command-sandbox.ts";
import {
  type Assignment,
  type ChildResult,
  FromChild,
  type ProgressEvent,
  type ToChild,
} from "./messages.ts";
import { redactFailure, redactResult } from "./redact-result.ts";
import { type StartedProcess, startReviewProcess } from "./start-process.ts";

/** What the parent provides for a review process, whatever its work. */
export interface ProcessOptions {
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
  /** Absolute path of the index of the repository's graph, read-only; null or undefined if there is none. */
  graphIndex?: string | null | undefined;
  onProgress: (event: ProgressEvent) => void;
  signal: AbortSignal;
  /** Heap limit of the process in megabytes. */
  memoryMb?: number;
  /** A process that has been started already; it ends with its work. Otherwise one is started now. */
  started?: StartedProcess | undefined;
}

export interface ReviewProcessOptions extends ProcessOptions {
  input: ReviewInput;
}

/**
 * Runs a review in a child process without secrets and answers its model turns.
 *
 * @throws AppError `child_died` (retryable) if the process ends without a result, `aborted`
 */
export async function runReviewProcess({ input, ...options }: ReviewProcessOptions): Promise<ReviewResult> {
  const { result } = await runInProcess({ kind: "review", input }, "result", options);
  return priced(result, options.models);
}

/** Only this process knows prices. Assumes no cached tokens, because their number cannot be predicted. */
function priced(result: ReviewResult, models: Models | null): ReviewResult {
  const { predicted } = result;
  if (!predicted || !models) return result;
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = predicted;
  const cost = models.review.costOf?.({ promptTokens, completionTokens, cachedTokens: 0 }) ?? null;
  return { ...result, predicted: { ...predicted, cost_usd: cost } };
}

interface AnswerProcessOptions extends ProcessOptions {
  input: AnswerInput;
  models: Models;
}

/** Answers a question in a child process, as `runReviewProcess` does a review. */
export async function runAnswerProcess({ input, ...options }: AnswerProcessOptions): Promise<AnswerResult> {
  return (await runInProcess({ kind: "answer", input }, "answer", options)).answer;
}

interface FixProcessOptions extends ProcessOptions {
  input: FixInput;
  models: Models;
  /** For the configured commands; null if none can run. */
  sandbox: CommandSandbox | null;
  /** Where the tests of its findings run; left out if none has one. */
  testPlace?: TestPlace | undefined;
  /** Runs of tests that an earlier attempt recorded. */
  tested?: readonly RecordedTest[];
}

/**
 * Fixes findings in a child process, as `runReviewProcess` does a review. The process cannot write to the repository: it returns edited
 * files, which a hostile model may have written.
 */
export async function runFixProcess({
  input,
  sandbox,
  testPlace: where,
  tested = [],
  ...options
}: FixProcessOptions): Promise<FixResult> {
  const assignment: Assignment = {
    ...{ kind: "fix", input, sandbox, where: where ?? null },
    tested: [...tested],
  };
  return (await runInProcess(assignment, "fix", options)).fix;
}

interface ProveProcessOptions extends ProcessOptions {
  input: ProveInput;
  models: Models;
  testPlace: TestPlace;
  /** Runs of tests that an earlier attempt recorded. */
  tested?: readonly RecordedTest[];
}

/** Proves findings in a child process, as `runReviewProcess` does a review. */
export async function runProveProcess({
  input,
  testPlace: where,
  tested = [],
  ...options
}: ProveProcessOptions): Promise<ProveResult> {
  return (await runInProcess({ kind: "prove", input, where, tested: [...tested] }, "prove", options)).prove;
}

type ResultOf<Kind extends ChildResult["type"]> = Extract<ChildResult, { type: Kind }>;

/** Returns the result without secrets, neither those that this process knows nor those that show by their form: a model wrote it. */
async function runInProcess<Kind extends ChildResult["type"]>(
  assignment: Assignment,
  kind: Kind,
  options: ProcessOptions,
): Promise<ResultOf<Kind>> {
  options.signal.throwIfAborted();
  const result = await redactResult(await resultOf(assignment, options));
  if (result.type !== kind) throw died(`sent a result of type ${result.type} instead of ${kind}`);
  return result as ResultOf<Kind>;
}

async function resultOf(assignment: Assignment, options: ProcessOptions): Promise<ChildResult> {
  const { place } = options;
  using started =
    options.started ??
    startReviewProcess({
      // Only ripgrep reads a user's work tree, which also holds files that git does not track.
      ...(place.files.kind === "checkout" && { checkout: place.root }),
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

/** Time beyond the review's own limit, for finishing. */
const GRACE_MS = 60_000;

function converse(
  { child, ended: exited, stderrTail }: StartedProcess,
  assignment: Assignment,
  options: ProcessOptions,
  ended: AbortSignal,
): Promise<ChildResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ChildResult>();
  const deadline = setTimeout(
    () => reject(new AppError("child_died", "the review process did not end within its time limit")),
    assignment.input.limits.milliseconds + GRACE_MS,
  );
  const aborted = () => reject(new AppError("aborted", "the review was aborted"));
  options.signal.addEventListener("abort", aborted, { once: true });

  void exited.then((how) => reject(died(how, stderrTail())));
  child.on("message", (raw) => {
    const message = FromChild.safeParse(raw);
    if (!message.success) return reject(died(`sent an invalid message: ${z.prettifyError(message.error)}`));
    const { data } = message;
    if (data.type === "failed") return reject(fromFailure(redactFailure(data.error)));
    if (!isResult(data)) return void answer(child, data, assignment, options, ended).catch(reject);
    resolve(data);
  });
  return promise.finally(() => {
    clearTimeout(deadline);
    options.signal.removeEventListener("abort", aborted);
  });
}

const isResult = (message: Exclude<FromChild, { type: "failed" }>): message is ChildResult =>
  ["result", "answer", "fix", "prove"].includes(message.type);

type ChildRequest = Exclude<FromChild, ChildResult | { type: "failed" }>;

async function answer(
  child: ChildProcess,
  message: ChildRequest,
  assignment: Assignment,
  options: ProcessOptions,
  ended: AbortSignal,
) {
  switch (message.type) {
    case "ready": {
      const { place, replay = [], masks = [], graphIndex = null } = options;
      const takesNotes = options.journal !== undefined;
      const how = { replay: [...replay], masks: [...masks], takesNotes, graphIndex };
      return send(child, { type: "start", place, assignment, ...how });
    }
    case "progress":
      return options.onProgress(message.event);
    case "record":
      await options.trajectory.append(message.entry);
      return send(child, { type: "recorded", number: message.number });
    case "note": {
      const { number, page, content } = message;
      if (!options.journal) throw died("sent a note, although notes are not accepted");
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
  if (!models) throw died("requested a model turn without a model");
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
  // If the process has just died, its exit event ends the review.
  if (child.connected) child.send(message, () => {});
}

type Failure = Extract<FromChild, { type: "failed" }>["error"];

/** Only git errors of a review process may be temporary. Any other must not make a job repeat. */
function fromFailure({ code, message, remedy, retryable }: Failure): AppError {
  const isTemporary = retryable && (code === "git_failed" || code === "git_timeout");
  return new AppError(code as ErrorCode, message, { retryable: isTemporary, ...(remedy ? { remedy } : {}) });
}

function died(how: string, stderrTail = ""): AppError {
  const cause = stderrTail === "" ? {} : { cause: new Error(stderrTail) };
  return new AppError("child_died", `the review process ${how}`, { retryable: true, ...cause });
}
