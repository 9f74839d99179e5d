import { type ChildProcess, fork } from "node:child_process";
import { extname, join } from "node:path";
import { z } from "zod";
import type { Trajectory } from "../agent/trajectory.ts";
import { AppError, type ErrorCode, errorLine } from "../errors.ts";
import type { CheckoutPlace } from "../git/checkout-place.ts";
import { killGroup } from "../git/run-process.ts";
import type { Model } from "../llm/model.ts";
import type { ReviewInput } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { FromChild, type ProgressEvent, type ToChild } from "./messages.ts";

export interface ReviewProcessOptions {
  place: CheckoutPlace;
  input: ReviewInput;
  /** Null reviews with the analyzers alone; must agree with `input.model`. */
  model: Model | null;
  trajectory: Trajectory;
  onProgress: (event: ProgressEvent) => void;
  signal: AbortSignal;
  /** Heap limit of the review process in megabytes. */
  memoryMb?: number;
}

const DEFAULT_MEMORY_MB = 512;
/** How much longer than its own time limit a review process may live: it needs a moment to wrap up. */
const GRACE_MS = 60_000;
/** What is kept of the last words of a dying process. */
const STDERR_BYTES = 2_000;

const entry = join(import.meta.dirname, `review-process${extname(import.meta.filename)}`);

/**
 * Runs one review in a child process with an empty environment and answers its model turns. Rejects with `child_died`
 * (retryable) when the process ends without a result, `aborted` when the signal fires.
 */
export async function runReviewProcess(options: ReviewProcessOptions): Promise<ReviewResult> {
  options.signal.throwIfAborted();
  const child = fork(entry, [], {
    env: {},
    cwd: options.place.emptyHome,
    execArgv: [`--max-old-space-size=${options.memoryMb ?? DEFAULT_MEMORY_MB}`],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    // A group of its own, so that git and ripgrep below it end with it.
    detached: true,
  });
  const ending = new AbortController();
  try {
    return await converse(child, options, ending.signal);
  } finally {
    ending.abort();
    killGroup(child, "SIGKILL");
  }
}

function converse(
  child: ChildProcess,
  options: ReviewProcessOptions,
  ended: AbortSignal,
): Promise<ReviewResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ReviewResult>();
  const lastWords = collectStderr(child);
  const deadline = setTimeout(
    () => reject(new AppError("child_died", "the review process did not end within its time limit")),
    options.input.limits.milliseconds + GRACE_MS,
  );
  const aborted = () => reject(new AppError("aborted", "the review was aborted"));
  options.signal.addEventListener("abort", aborted, { once: true });

  child.on("error", (error) => reject(died(`could not be started: ${error.message}`)));
  child.on("exit", (code, signal) => reject(died(`ended with ${signal ?? `code ${code}`}${lastWords()}`)));
  child.on("message", (raw) => {
    const message = FromChild.safeParse(raw);
    if (!message.success)
      return reject(died(`sent a message of no known shape: ${z.prettifyError(message.error)}`));
    if (message.data.type === "result") return resolve(message.data.result);
    if (message.data.type === "failed") return reject(failureOf(message.data.error));
    void answer(child, message.data, options, ended).catch(reject);
  });
  return promise.finally(() => {
    clearTimeout(deadline);
    options.signal.removeEventListener("abort", aborted);
  });
}

type Request = Exclude<FromChild, { type: "result" | "failed" }>;

async function answer(
  child: ChildProcess,
  message: Request,
  options: ReviewProcessOptions,
  ended: AbortSignal,
) {
  switch (message.type) {
    case "ready":
      return send(child, { type: "start", place: options.place, input: options.input });
    case "progress":
      return options.onProgress(message.event);
    case "record":
      await options.trajectory.append(message.entry);
      return send(child, { type: "recorded", number: message.number });
    case "request_turn":
      return send(child, await modelTurn(message, options, AbortSignal.any([options.signal, ended])));
  }
}

async function modelTurn(
  message: Extract<FromChild, { type: "request_turn" }>,
  { model }: ReviewProcessOptions,
  signal: AbortSignal,
): Promise<ToChild> {
  const { request } = message;
  if (!model) throw died("asked for a model turn in a review without a model");
  try {
    return { type: "turn", request, turn: await model.respond(message.model, signal) };
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

function failureOf(error: { code: string; message: string; remedy: string | null }): AppError {
  return new AppError(error.code as ErrorCode, error.message, error.remedy ? { remedy: error.remedy } : {});
}

function died(how: string): AppError {
  return new AppError("child_died", `the review process ${how}`, { retryable: true });
}

function collectStderr(child: ChildProcess): () => string {
  let tail = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    tail = (tail + chunk).slice(-STDERR_BYTES);
  });
  return () => (tail ? `: ${tail.trim()}` : "");
}
