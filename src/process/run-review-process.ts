import type { ChildProcess } from "node:child_process";
import { z } from "zod";
import type { LoopEntry, Trajectory } from "../agent/trajectory.ts";
import { AppError, type ErrorCode, errorLine } from "../errors.ts";
import type { CheckoutPlace } from "../git/checkout-place.ts";
import type { Models } from "../llm/model.ts";
import type { ReviewInput } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { FromChild, type ProgressEvent, type ToChild } from "./messages.ts";
import { type StartedReviewProcess, startReviewProcess } from "./start-review-process.ts";

export interface ReviewProcessOptions {
  place: CheckoutPlace;
  input: ReviewInput;
  /** Null reviews with the analyzers alone; must agree with `input.models`. */
  models: Models | null;
  trajectory: Trajectory;
  /** What an earlier run recorded: as long as the conversation is the same, its turns are not paid again. */
  replay?: readonly LoopEntry[];
  onProgress: (event: ProgressEvent) => void;
  signal: AbortSignal;
  /** Heap limit of the review process in megabytes. */
  memoryMb?: number;
  /** A process that was started before; it ends with the review. Without it one is started now. */
  started?: StartedReviewProcess | undefined;
}

/** How much longer than its own time limit a review process may live: it needs a moment to wrap up. */
const GRACE_MS = 60_000;

/**
 * Runs one review in a child process with an empty environment and answers its model turns. Rejects with `child_died`
 * (retryable) when the process ends without a result, `aborted` when the signal fires.
 */
export async function runReviewProcess(options: ReviewProcessOptions): Promise<ReviewResult> {
  options.signal.throwIfAborted();
  using started = options.started ?? startReviewProcess(options.memoryMb);
  const ending = new AbortController();
  try {
    return await converse(started, options, ending.signal);
  } finally {
    ending.abort();
  }
}

function converse(
  { child, ended: exited, lastWords }: StartedReviewProcess,
  options: ReviewProcessOptions,
  ended: AbortSignal,
): Promise<ReviewResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ReviewResult>();
  const deadline = setTimeout(
    () => reject(new AppError("child_died", "the review process did not end within its time limit")),
    options.input.limits.milliseconds + GRACE_MS,
  );
  const aborted = () => reject(new AppError("aborted", "the review was aborted"));
  options.signal.addEventListener("abort", aborted, { once: true });

  void exited.then((how) => reject(died(how, lastWords())));
  child.on("message", (raw) => {
    const message = FromChild.safeParse(raw);
    if (!message.success)
      return reject(died(`sent a message of no known shape: ${z.prettifyError(message.error)}`));
    if (message.data.type === "result") return resolve(priced(message.data.result, options.models));
    if (message.data.type === "failed") return reject(failureOf(message.data.error));
    void answer(child, message.data, options, ended).catch(reject);
  });
  return promise.finally(() => {
    clearTimeout(deadline);
    options.signal.removeEventListener("abort", aborted);
  });
}

/** Prices are known on this side alone. What a provider's cache saves is left out: nobody knows it beforehand. */
function priced(result: ReviewResult, models: Models | null): ReviewResult {
  const { predicted } = result;
  if (!predicted || !models) return result;
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = predicted;
  const cost = models.review.costOf?.({ promptTokens, completionTokens, cachedTokens: 0 }) ?? null;
  return { ...result, predicted: { ...predicted, cost_usd: cost } };
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
      return send(child, {
        type: "start",
        place: options.place,
        input: options.input,
        replay: [...(options.replay ?? [])],
      });
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
  { models }: ReviewProcessOptions,
  signal: AbortSignal,
): Promise<ToChild> {
  const { request } = message;
  if (!models) throw died("asked for a model turn in a review without a model");
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

function failureOf(error: { code: string; message: string; remedy: string | null }): AppError {
  return new AppError(error.code as ErrorCode, error.message, error.remedy ? { remedy: error.remedy } : {});
}

function died(how: string, lastWords = ""): AppError {
  const cause = lastWords === "" ? {} : { cause: new Error(lastWords) };
  return new AppError("child_died", `the review process ${how}`, { retryable: true, ...cause });
}
