import { AppError } from "../errors.ts";
import { refusalOf, toAppError } from "./errors.ts";
import { type Clock, longestWaitMs, type Pacing, rateLimited } from "./pacing.ts";
import { type Headers, rateLimitWait, untilReset } from "./rate-limit.ts";

/** Waits before the second, third and fourth try of a read; each is stretched by up to half by chance. */
const readRetriesMs = [500, 1_500, 4_000];
const mostLimitWaits = 3;

export interface PolicyOptions {
  clock: Clock;
  pacing: Pacing;
  signal?: AbortSignal | undefined;
}

export interface Call {
  method: string;
  /** Method and path, for messages. */
  name: string;
}

/**
 * Sends one call until it is settled. A read is repeated after a fault. A write is repeated only when GitHub certainly did not carry
 * it out: refused for a limit or a stale token. Anything else, a time-out above all, is the caller's to look into.
 * `send` is told whether to take a fresh token.
 */
export function createRequestPolicy({ clock, pacing, signal }: PolicyOptions) {
  return async function settle<T extends { headers: Headers }>(
    call: Call,
    send: (renewToken: boolean) => Promise<T>,
  ): Promise<T> {
    const isRead = call.method === "GET" || call.method === "HEAD";
    const tried = { faults: 0, limits: 0, renewed: false };

    /** Rejects when the wait is too long to be sat out here. */
    function obeyLimit(waitMs: number): void {
      pacing.holdFor(waitMs);
      tried.limits++;
      if (waitMs > longestWaitMs || tried.limits > mostLimitWaits) throw rateLimited(waitMs);
    }

    async function waitForRepeat(error: unknown): Promise<void> {
      const failure = toAppError(error, call.name);
      const pause = readRetriesMs[tried.faults++];
      const mayRepeat = isRead && failure.retryable && failure.code === "github_failed";
      if (!mayRepeat || pause === undefined) throw failure;
      await clock.sleep(pause * (1 + Math.random() / 2), signal);
    }

    for (;;) {
      const renewing = tried.renewed;
      try {
        const attempt = () => send(renewing);
        const answer = await (isRead ? pacing.read(attempt, signal) : pacing.write(attempt, signal));
        const usedUp = untilReset(answer.headers, clock.now());
        if (usedUp !== undefined) pacing.holdFor(usedUp);
        return answer;
      } catch (error) {
        if (signal?.aborted) throw new AppError("aborted", `${call.name} was called off`);
        const refusal = refusalOf(error);
        const limit = refusal && rateLimitWait(refusal, clock.now(), tried.limits);
        if (limit !== undefined) obeyLimit(limit);
        else if (refusal?.status === 401 && !tried.renewed) tried.renewed = true;
        else await waitForRepeat(error);
      }
    }
  };
}
