/** A clock that moves when the test says so, and a sleep that goes by it. */
export interface VirtualTime {
  now(): number;
  /** Resolves after `ms` of this clock, or as soon as the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Lets `ms` pass, from one sleeper's end to the next, and waits for what each of them does then. */
  pass(ms: number): Promise<void>;
}

export function virtualTime(): VirtualTime {
  let now = 1_800_000_000_000;
  const sleepers = new Set<{ due: number; wake: () => void }>();
  // Nothing here waits for anything but promises: all of them are through when the event loop turns.
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  return {
    now: () => now,
    async sleep(ms, signal) {
      if (signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const sleeper = { due: now + ms, wake: resolve };
      sleepers.add(sleeper);
      signal.addEventListener("abort", resolve as () => void, { once: true });
      await promise;
      sleepers.delete(sleeper);
    },
    async pass(ms) {
      const end = now + ms;
      await settled();
      for (;;) {
        const due = Math.min(...[...sleepers].map((one) => one.due));
        if (due > end) break;
        now = Math.max(now, due);
        for (const sleeper of sleepers) if (sleeper.due <= now) sleeper.wake();
        await settled();
      }
      now = end;
      await settled();
    },
  };
}
