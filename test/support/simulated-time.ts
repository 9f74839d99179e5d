import { setImmediate as turn } from "node:timers/promises";
import { vi } from "vitest";

/** Not what a test may have put in its place. */
const plainFetch = globalThis.fetch;

/** The clock of `fetch`, which ticks for as long as a connection is open and looks at nothing else. */
const undiciTickMs = 499;

/**
 * Time of the whole process (`Date`, `setTimeout`) that passes only while nothing else happens: hours of it take no longer than
 * what happens in them. Requests by its `fetch` take none of it, and stop it while they are under way. To be disposed of.
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

  /** Lets time pass from one timer to the next until the work is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    await this.runUntil(work);
    return work;
  }

  /** The same until `end` settles, however it does; work goes on beside it. */
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
