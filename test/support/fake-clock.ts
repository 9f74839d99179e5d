import type { Clock } from "../../src/github/pacing.ts";

/** A clock that only moves by sleeping, and keeps every nap. */
export interface FakeClock extends Clock {
  naps: number[];
}

export function fakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let now = start;
  const naps: number[] = [];
  return {
    naps,
    now: () => now,
    async sleep(milliseconds, signal) {
      signal?.throwIfAborted();
      naps.push(milliseconds);
      now += milliseconds;
    },
  };
}
