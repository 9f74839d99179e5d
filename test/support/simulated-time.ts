import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../src/github/clock.ts";

interface Sleeper {
  due: number;
  wake: () => void;
}

/** Not what a test may have put in its place. */
const plainFetch = globalThis.fetch;

/**
 * Time that passes only while all that runs sleeps by it: hours of it take no longer than what happens in them. Requests by its
 * `fetch` take none of it, and stop it while they are under way.
 */
export class SimulatedTime implements Clock {
  #now: number;
  #underway = 0;
  readonly #sleepers = new Set<Sleeper>();

  constructor(start = Date.now()) {
    this.#now = start;
  }

  now = (): number => this.#now;

  sleep = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { due: this.#now + milliseconds, wake: resolve };
    const abort = () => reject(signal?.reason);
    this.#sleepers.add(sleeper);
    signal?.addEventListener("abort", abort, { once: true });
    await promise.finally(() => {
      this.#sleepers.delete(sleeper);
      signal?.removeEventListener("abort", abort);
    });
  };

  fetch: typeof fetch = async (input, init) => {
    this.#underway++;
    try {
      const response = await plainFetch(input, init);
      const { status, statusText, headers } = response;
      const body = [204, 205, 304].includes(status) ? null : await response.arrayBuffer();
      return new Response(body, { status, statusText, headers });
    } finally {
      this.#underway--;
    }
  };

  /** Lets time pass from one sleeper's end to the next until the work is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    for (let idle = 0; !isDone; ) {
      await turn();
      await turn();
      if (isDone || this.#underway > 0) continue;
      const due = Math.min(...[...this.#sleepers].map((sleeper) => sleeper.due));
      if (due !== Number.POSITIVE_INFINITY) this.#wake(due);
      else if (++idle > 10_000) throw new Error("Nobody sleeps, and nothing happens");
    }
    return work;
  }

  #wake(due: number): void {
    this.#now = Math.max(this.#now, due);
    for (const sleeper of [...this.#sleepers]) if (sleeper.due <= this.#now) sleeper.wake();
  }
}
