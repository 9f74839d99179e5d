import { setImmediate as turn } from "node:timers/promises";
import { vi } from "vitest";

/** The original `fetch`, which tests may replace. */
const plainFetch = globalThis.fetch;

/** Tick of the timer in `fetch`, which runs while a connection is open and has no other use. */
const undiciTickMs = 499;

/**
 * Simulates the time of the whole process (`Date`, `setTimeout`): it passes only while nothing else happens, so hours take no longer than
 * the work in them. Requests through its `fetch` take no time, and stop the clock while they run. Dispose of it after use.
 */
export class SimulatedTime implements Disposable {
  #underway = 0;
  readonly #send: typeof fetch;

  /** @param send sends the requests */
  constructor(start = Date.now(), send: typeof fetch = plainFetch) {
    const real = globalThis.setTimeout;
    vi.useFakeTimers({ now: start, toFake: ["Date", "setTimeout", "clearTimeout"] });
    const fake = globalThis.setTimeout;
    const either = (callback: () => void, delay?: number, ...rest: []) =>
      (delay === undiciTickMs ? real : fake)(callback, delay, ...rest);
    globalThis.setTimeout = either as typeof setTimeout;
    this.#send = send;
  }

  now = (): number => Date.now();

  sleep = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    await promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    });
  };

  fetch: typeof fetch = async (input, init) => {
    this.#underway++;
    try {
      const response = await this.#send(input, init);
      const { status, statusText, headers } = response;
      const body = [204, 205, 304].includes(status) ? null : await response.arrayBuffer();
      return new Response(body, { status, statusText, headers });
    } finally {
      this.#underway--;
    }
  };

  /** Advances time from timer to timer until the work is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    await this.runUntil(work);
    return work;
  }

  /** Advances time until `end` settles in any way; work continues beside it. */
  async runUntil(end: Promise<unknown>): Promise<void> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    end.then(done, done);
    while (!isDone) {
      for (let turns = 0; turns < 4; turns++) await turn();
      if (!isDone && this.#underway === 0 && vi.getTimerCount() > 0) vi.advanceTimersToNextTimer();
    }
  }

  [Symbol.dispose](): void {
    vi.useRealTimers();
  }
}
