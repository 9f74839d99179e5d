import { setTimeout as delay } from "node:timers/promises";
import pRetry from "p-retry";
import { AppError } from "../errors.ts";
import { abortedError, NothingListens } from "./model.ts";

/** Before the first retry; doubles with each further one. In milliseconds, as all of these. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 20_000;
/** A longer pause that a provider asks for is not waited for here: the job comes back later instead. */
const MAX_ASKED_PAUSE_MS = 90_000;
/** At most; several processes should not come back in the same moment. */
const ASKED_PAUSE_JITTER_MS = 1_000;
/** No try begins later than this after the first. With tries of five minutes, one that hung is repeated once. */
const RETRY_FOR_MS = 360_000;

export interface RetryOptions {
  /** Further tries after the first. */
  maxRetries: number;
  /** Default 500 ms; less for tests. */
  firstPauseMs?: number;
}

/**
 * Tries until it succeeds, an error is not `retryable`, or the tries or their time are used up; rejects with the last error. Pauses
 * grow exponentially with jitter, and are at least as long as the error says (`retryAfterMs`). Rejects with `aborted` when the signal
 * fires, in a pause too.
 *
 * The openai package's own retries do not fit: they repeat whatever `fetch` threw, also what cannot succeed, and repeat an exhausted
 * quota; they ignore a `retry-after` of more than a minute and come back at once; and an answer that was cut off, or an error in an
 * answer with status 200, is not repeated.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { maxRetries, firstPauseMs = FIRST_PAUSE_MS }: RetryOptions,
  signal: AbortSignal,
): Promise<T> {
  const end = performance.now() + RETRY_FOR_MS;
  let earliest = 0;
  let done: { value: T } | undefined;
  const run = async () => {
    const left = earliest - performance.now();
    if (left > 0) await delay(left, undefined, { signal });
    done = { value: await attempt() };
    return done.value;
  };
  const canPass = (error: Error): error is AppError =>
    error instanceof AppError && error.retryable && !(error instanceof NothingListens);
  try {
    return await pRetry(run, {
      ...{ signal, retries: maxRetries, minTimeout: firstPauseMs, maxTimeout: MAX_PAUSE_MS, randomize: true },
      shouldRetry({ error, retryDelay }) {
        if (!canPass(error)) return false;
        const { retryAfterMs: asked = 0 } = error;
        if (asked > MAX_ASKED_PAUSE_MS) return false;
        const jitter = Math.random() * Math.min(ASKED_PAUSE_JITTER_MS, asked * 0.1);
        earliest = performance.now() + Math.max(retryDelay, asked + jitter);
        return earliest <= end;
      },
    });
  } catch (error) {
    // The library also rejects if the signal fires after the answer, which is paid for.
    if (done) return done.value;
    throw signal.aborted ? abortedError() : error;
  }
}
