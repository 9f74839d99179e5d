/** A clock that moves only on request. */
export interface FakeClock {
  /** Milliseconds since 1970. */
  now: () => number;
  pass(milliseconds: number): void;
}

export function fakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let now = start;
  return {
    now: () => now,
    pass(milliseconds) {
      now += milliseconds;
    },
  };
}
