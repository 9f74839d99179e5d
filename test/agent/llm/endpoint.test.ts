import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { withRetries } from "../../../src/agent/llm/endpoint.ts";
import { NothingListens } from "../../../src/agent/llm/model.ts";
import { AppError } from "../../../src/core/errors.ts";

const passing = new AppError("model_failed", "no answer", { retryable: true });
const limited = (retryAfterMs: number) =>
  new AppError("model_rate_limited", "wait", { retryable: true, retryAfterMs });
const never = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"], fakeNodeBuiltins: true });
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A request whose tries each take `tryMs`; `fault` is what each ends with. Times in milliseconds from the first try. */
async function retry(tryMs: number, fault: Error, maxRetries = 4) {
  const start = performance.now();
  const passed = () => performance.now() - start;
  const begun: number[] = [];
  const attempt = async () => {
    begun.push(passed());
    await new Promise((resolve) => setTimeout(resolve, tryMs));
    throw fault;
  };
  let end = 0;
  const ended = withRetries(attempt, { maxRetries }, never).catch((error: unknown) => {
    end = passed();
    return error;
  });
  await vi.runAllTimersAsync();
  return { begun, ended: await ended, end };
}

describe("the retries of a request", () => {
  it("The retries of a request are so many, with pauses that grow", async () => {
    const { begun, ended } = await retry(0, passing);
    expect(ended).toBe(passing);
    expect(begun).toEqual([0, 500, 1_500, 3_500, 7_500]);
  });

  it("The retries of a request end with the first answer", async () => {
    let tries = 0;
    const answered = withRetries(
      async () => {
        if (++tries < 3) throw passing;
        return "ok";
      },
      { maxRetries: 4 },
      never,
    );
    await vi.runAllTimersAsync();
    expect(await answered).toBe("ok");
    expect(tries).toBe(3);
  });

  it.each([
    [
      "where nobody listens on this machine",
      new NothingListens("model_failed", "refused", { retryable: true }),
    ],
    ["of what is refused again", new AppError("model_refused", "no such model")],
    ["where the endpoint asks for a long pause", limited(90_001)],
    ["of an error of ours", new TypeError("undefined is not a function")],
  ])("The retries of a request are none %s", async (_, fault) => {
    expect(await retry(0, fault)).toEqual({ begun: [0], ended: fault, end: 0 });
  });

  it("The retries of a request keep an answer that was paid for", async () => {
    const controller = new AbortController();
    const attempt = async () => {
      controller.abort();
      return "answer";
    };
    await expect(withRetries(attempt, { maxRetries: 4 }, controller.signal)).resolves.toBe("answer");
  });

  it("The retries of a request end in time as well: of tries that hang for five minutes", async () => {
    const { begun, end } = await retry(300_000, passing);
    expect(begun).toEqual([0, 300_500]);
    expect(end).toBe(600_500);
  });

  it("The retries of a request come no sooner than the endpoint asks", async () => {
    expect((await retry(0, limited(7_000), 2)).begun).toEqual([0, 7_000, 14_000]);
    expect((await retry(0, limited(100), 2)).begun).toEqual([0, 500, 1_500]);
  });

  it("The retries of a request wait for no pause that would end after their time", async () => {
    expect((await retry(60_000, limited(90_000), 9)).begun).toEqual([0, 150_000, 300_000]);
  });

  it.each([passing, limited(60_000)])(
    "The retries of a request end at once when the caller aborts in a pause (%s)",
    async (fault) => {
      const abort = new AbortController();
      let tries = 0;
      const attempt = async () => {
        tries += 1;
        throw fault;
      };
      const ended = withRetries(attempt, { maxRetries: 4 }, abort.signal).catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(fault.retryAfterMs ? 10_000 : 100);
      abort.abort();
      expect(await ended).toMatchObject({ code: "aborted" });
      expect(tries).toBe(1);
    },
  );
});
