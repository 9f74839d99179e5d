import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors.ts";

/** Time as this room sees it, so that tests own it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) => sleep(milliseconds, undefined, signal ? { signal } : {}),
};

/** GitHub asks for serial writes at least a second apart; a burst is what sets off its secondary limit. */
const writeGapMs = 1_000;

/** A wait up to this long is sat out; beyond it the job gives up its worker and comes back. */
export const longestWaitMs = 60_000;

/** The traffic of one installation, whatever number of clients it has: its limits are counted together. */
export interface Pacing {
  /** Sends now, or when a short hold is over. Rejects with `github_rate_limited` while a long one lasts. */
  read<T>(send: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Like `read`, one at a time and a second after the last write. */
  write<T>(send: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Nothing is sent for this long: GitHub said so. */
  holdFor(milliseconds: number): void;
}

export function createPacing(clock: Clock = systemClock): Pacing {
  let heldUntil = 0;
  let lastWrite = Number.NEGATIVE_INFINITY;
  let tail: Promise<void> = Promise.resolve();

  async function passHold(signal?: AbortSignal): Promise<void> {
    for (let left = heldUntil - clock.now(); left > 0; left = heldUntil - clock.now()) {
      if (left > longestWaitMs) throw rateLimited(left);
      await clock.sleep(left, signal);
    }
  }

  return {
    async read(send, signal) {
      await passHold(signal);
      return send();
    },

    async write(send, signal) {
      const before = tail;
      const mine = Promise.withResolvers<void>();
      tail = mine.promise;
      await before;
      try {
        const gap = lastWrite + writeGapMs - clock.now();
        if (gap > 0) await clock.sleep(gap, signal);
        await passHold(signal);
        try {
          return await send();
        } finally {
          lastWrite = clock.now();
        }
      } finally {
        mine.resolve();
      }
    },

    holdFor(milliseconds) {
      heldUntil = Math.max(heldUntil, clock.now() + milliseconds);
    },
  };
}

/** One pacing an installation, made when it is first asked for. */
export function createPacings(clock: Clock = systemClock): (installation: number) => Pacing {
  const pacings = new Map<number, Pacing>();
  return (installation) => {
    const known = pacings.get(installation);
    if (known) return known;
    const made = createPacing(clock);
    pacings.set(installation, made);
    return made;
  };
}

export function rateLimited(waitMs: number): AppError {
  return new AppError(
    "github_rate_limited",
    `GitHub's rate limit is used up for another ${Math.ceil(waitMs / 1_000)} s`,
    { retryable: true, retryAfterMs: waitMs },
  );
}
