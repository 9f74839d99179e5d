import { AppError } from "../errors.ts";
import { type Clock, systemClock } from "./clock.ts";
import { Holds } from "./holds.ts";
import { longestWaitMs, type RateLimit, rateLimited, untoldWait } from "./rate-limit.ts";
import { type SharedPace, type Traffic, unshared } from "./shared-pace.ts";
import { unlessAborted } from "./unless-aborted.ts";

export type { Clock } from "./clock.ts";

/** GitHub asks for serial writes at least a second apart; a burst is what sets off its secondary limit. */
const defaultGapMs = 1_000;

/** The traffic of one installation, whatever number of clients and processes it has: its limits are counted together. */
export interface Pacing {
  /**
   * Sends when GitHub's limits allow it: a read now or when a hold is over, a write one at a time, a gap after the last one,
   * and within what may be created. Rejects with `github_rate_limited` where that takes more than a minute.
   */
  send<T>(traffic: Traffic, send: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** GitHub refused a call for this limit. Nothing is sent for so many milliseconds as it resolves to. */
  refused(traffic: Traffic, limit: RateLimit): Promise<number>;
  /** The last request that was left was sent. */
  usedUp(limit: RateLimit): Promise<void>;
}

export interface PacingOptions {
  /** Default: this process is alone. */
  shared?: SharedPace | undefined;
  /** From the end of one write to the next, in milliseconds. Default 1 s. */
  gapMs?: number | undefined;
  /** Told of what could not be shared. */
  warn?: ((message: string, error: unknown) => void) | undefined;
}

export function createPacing(clock: Clock = systemClock, options: PacingOptions = {}): Pacing {
  const { shared = unshared(), gapMs = defaultGapMs, warn = () => {} } = options;
  const holds = new Holds({ clock, shared, warn });
  const inTurn = oneAtATime();
  let lastWrite = Number.NEGATIVE_INFINITY;

  async function reserve({ creates }: Traffic, signal?: AbortSignal): Promise<void> {
    const latest = clock.now() + longestWaitMs;
    const turn = await shared.reserve({ creates, latest }).catch((error: unknown) => {
      throw unkept(error);
    });
    // Also where the end of the last write could not be shared.
    const wait = Math.max(turn.at, lastWrite + gapMs) - clock.now();
    if (!turn.kept) throw rateLimited(wait);
    if (wait > 0) await clock.sleep(wait, signal);
  }

  async function write<T>(traffic: Traffic, send: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    do {
      await holds.pass(traffic, signal);
      await reserve(traffic, signal);
      // Another's call may have been refused meanwhile.
    } while ((await holds.left(traffic)) > 0);
    try {
      return await send();
    } finally {
      lastWrite = clock.now();
      // Never rejects: what came of the write must not be lost to it.
      await shared
        .ended()
        .catch((error: unknown) => warn("The end of a write was not shared with other processes", error));
    }
  }

  return {
    async send(traffic, send, signal) {
      if (traffic.kind === "read") await holds.pass(traffic, signal);
      const answer = await (traffic.kind === "read"
        ? send()
        : inTurn(() => write(traffic, send, signal), signal));
      await holds.wentThrough(traffic);
      return answer;
    },
    refused: (traffic, limit) => holds.refused(traffic, limit),
    usedUp: ({ stops, waitMs = untoldWait(0) }) => holds.hold(stops, waitMs),
  };
}

/** Runs work one after the other, in the order in which it came. Whoever is called off stands in nobody's way. */
function oneAtATime() {
  let tail: Promise<unknown> = Promise.resolve();
  return async <T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const before = tail;
    const mine = Promise.withResolvers<void>();
    tail = before.then(() => mine.promise);
    try {
      await unlessAborted(before, signal);
      return await work();
    } finally {
      mine.resolve();
    }
  };
}

/** Nothing was sent, and nothing may be while nobody can say what the others do: the job comes back. */
function unkept(cause: unknown): AppError {
  return new AppError(
    "github_rate_limited",
    "Nothing is written to GitHub while its limits cannot be kept: the database does not answer",
    { retryable: true, cause },
  );
}
