import { AppError } from "../errors.ts";
import type { Clock } from "./clock.ts";
import { refusalOf, toAppError } from "./errors.ts";
import type { Pacing } from "./pacing.ts";
import { type Headers, longestWaitMs, rateLimited, rateLimitOf, spentBudget } from "./rate-limit.ts";
import type { Traffic } from "./shared-pace.ts";

/** Waits before the second, third and fourth try of a read; each is stretched by up to half by chance. */
const readRetriesMs = [500, 1_500, 4_000];
const mostLimitWaits = 3;

export interface PolicyOptions {
  clock: Clock;
  pacing: Pacing;
  signal?: AbortSignal | undefined;
}

export interface Call extends Traffic {
  /** Method and path, for messages. */
  name: string;
  /** A write that does no more when it is done twice. */
  isHarmlessTwice?: boolean;
}

/** What was already tried for one call. */
interface Tries {
  faults: number;
  limits: number;
  renewed: boolean;
}

/**
 * Sends one call until it is settled. A read is repeated after a fault, and so is a write that is harmless twice. Any other
 * write is repeated only when GitHub certainly did not carry it out: refused for a limit or a stale token. Anything else, a
 * time-out above all, is the caller's to look into. `send` is told whether to take a fresh token.
 */
export function createRequestPolicy(options: PolicyOptions) {
  const { clock, pacing, signal } = options;

  return async function settle<T extends { headers: Headers }>(
    call: Call,
    send: (renewToken: boolean) => Promise<T>,
  ): Promise<T> {
    const tried: Tries = { faults: 0, limits: 0, renewed: false };
    let renewToken = false;
    for (;;) {
      try {
        const answer = await pacing.send(call, () => send(renewToken), signal);
        const usedUp = spentBudget(answer.headers, clock.now());
        if (usedUp) await pacing.usedUp(usedUp);
        return answer;
      } catch (error) {
        renewToken = (await beforeRepeat(error, call, tried, options)) === "with a fresh token";
      }
    }
  };
}

/** Waits as long as the failure asks for; rejects with its AppError when the call may not be repeated. */
async function beforeRepeat(
  error: unknown,
  call: Call,
  tried: Tries,
  { clock, pacing, signal }: PolicyOptions,
): Promise<"as it was" | "with a fresh token"> {
  if (signal?.aborted) throw new AppError("aborted", `${call.name} was called off`);
  const refusal = refusalOf(error);
  const limit = refusal && rateLimitOf(refusal, clock.now());
  if (limit) {
    const waitMs = await pacing.refused(call, limit);
    tried.limits++;
    if (waitMs > longestWaitMs || tried.limits > mostLimitWaits) throw rateLimited(waitMs);
    return "as it was";
  }
  if (refusal?.status === 401 && !tried.renewed) {
    tried.renewed = true;
    return "with a fresh token";
  }
  const failure = toAppError(error, call.name);
  const pause = readRetriesMs[tried.faults++];
  const mayRepeat =
    (call.kind === "read" || call.isHarmlessTwice) && failure.retryable && failure.code === "github_failed";
  if (!mayRepeat || pause === undefined) throw failure;
  await clock.sleep(pause * (1 + Math.random() / 2), signal);
  return "as it was";
}
