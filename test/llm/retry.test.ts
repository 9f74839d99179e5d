import { describe, expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import { NothingListens } from "../../src/llm/faults.ts";
import { RETRY_FOR_MS, withRetries } from "../../src/llm/retry.ts";

const passing = new AppError("model_failed", "no answer", { retryable: true });
const never = new AbortController().signal;

/** A request whose tries each take `tryMs` of a clock that moves when somebody waits; `fault` is what each ends with. */
async function retry(tryMs: number, fault: AppError, maxRetries = 4) {
  let now = 0;
  const begun: number[] = [];
  const options = {
    ...{ maxRetries, random: () => 1, now: () => now },
    sleep: async (ms: number) => {
      now += ms;
    },
  };
  const ended = await withRetries(
    async () => {
      begun.push(now);
      now += tryMs;
      throw fault;
    },
    options,
    never,
  ).catch((error: unknown) => error);
  return { begun, ended, now };
}

describe("the retries of a request", () => {
  it("are so many, with pauses that grow", async () => {
    const { begun, ended } = await retry(0, passing);
    expect(ended).toBe(passing);
    expect(begun).toEqual([0, 500, 1_500, 3_500, 7_500]);
  });

  it("are none where nothing listens on this machine, though whoever asks later may find it started", async () => {
    const refused = new NothingListens("model_failed", "refused", { retryable: true });
    expect(await retry(0, refused)).toEqual({ begun: [0], ended: refused, now: 0 });
  });

  it("end in time as well: of tries that hang for five minutes, one is tried once more", async () => {
    const { begun, now } = await retry(300_000, passing);
    expect(begun).toEqual([0, 300_500]);
    expect(now).toBe(600_500);
  });

  it("wait for no pause that would end after that", async () => {
    const asked = new AppError("model_rate_limited", "wait", { retryable: true, retryAfterMs: 90_000 });
    const { begun } = await retry(60_000, asked, 9);
    expect(begun).toHaveLength(3);
    expect(begun.at(-1)).toBeLessThan(RETRY_FOR_MS);
  });
});
