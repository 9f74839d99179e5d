import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { NothingListens } from "./faults.ts";

/** First pause before a retry; doubles with each further one. */
const BASE_PAUSE_MS = 500;
const MAX_PAUSE_MS = 20_000;
/** A far side that asks for a longer pause is not waited for here: the job comes back later instead. */
const MAX_ASKED_PAUSE_MS = 90_000;
/**
 * How long after the first try another one is begun. With tries of five minutes, one that hung is tried once more, and all is
 * over after eleven.
 */
export const RETRY_FOR_MS = 360_000;

export interface RetryOptions {
  /** Further tries after the first. */
  maxRetries: number;
  /** Rejects when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** 0 to 1, for the jitter. */
  random(): number;
  /** Milliseconds of a clock that only goes forward. */
  now(): number;
}

export const realSleep = (ms: number, signal: AbortSignal): Promise<void> => delay(ms, undefined, { signal });

/**
 * Tries until it succeeds, a fault is not `retryable`, or the tries or their time are used up; rejects with the last fault. A
 * pause that the fault names (`retryAfterMs`) is kept, a little jitter added; otherwise pauses grow exponentially with jitter.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  options: RetryOptions,
  signal: AbortSignal,
): Promise<T> {
  const end = options.now() + RETRY_FOR_MS;
  for (let retries = 0; ; retries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof AppError) || !error.retryable || retries >= options.maxRetries) throw error;
      if (error instanceof NothingListens) throw error;
      if ((error.retryAfterMs ?? 0) > MAX_ASKED_PAUSE_MS) throw error;
      const wait = pauseMs(error.retryAfterMs, retries, options.random());
      if (options.now() + wait > end) throw error;
      await pause(wait, options, signal);
    }
  }
}

function pauseMs(asked: number | undefined, retries: number, random: number): number {
  if (asked !== undefined) return Math.round(asked + random * Math.min(1_000, asked * 0.1 + 50));
  return Math.round(Math.min(MAX_PAUSE_MS, BASE_PAUSE_MS * 2 ** retries) * (0.5 + random / 2));
}

async function pause(ms: number, options: RetryOptions, signal: AbortSignal): Promise<void> {
  try {
    await options.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (signal.aborted) throw abortedError();
}

export const abortedError = () => new AppError("aborted", "The model call was aborted");
