import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { githubLimits, type Pace, type PaceLimits } from "../../src/queue/pace.ts";
import type { Stores } from "../../src/queue/stores.ts";
import type { StoresUnderTest } from "./stores.ts";

const start = 1_800_000_000_000;
const never = Number.MAX_SAFE_INTEGER;
const limits: PaceLimits = { gapMs: 1_000, creationsAMinute: 4, creationsAnHour: 9 };

/** What GitHub allows in a while, however many processes ask for it. */
export function describePace(create: () => StoresUnderTest): void {
  let underTest: StoresUnderTest;
  const opened: Stores[] = [];
  let time: number;

  beforeEach(() => {
    time = start;
    underTest = create();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((stores) => stores.close()));
    await underTest.remove();
  });

  async function open(paceLimits: PaceLimits = limits): Promise<Pace> {
    const stores = await underTest.open({ now: () => time, paceLimits });
    opened.push(stores);
    return stores.pace;
  }
  const write = { creates: false, latest: never };
  const creation = { creates: true, latest: never };
  /** When writes may begin that are asked for at once, in milliseconds from now. */
  async function turns(pace: Pace, count: number, asked = creation): Promise<number[]> {
    const found: number[] = [];
    for (let n = 0; n < count; n++) found.push((await pace.reserve(1, asked)).at - time);
    return found;
  }

  it("lets the first write begin at once, and each further one a gap later, whoever asks", async () => {
    const [pace, other] = [await open(), await open()];
    expect(await pace.reserve(1, write)).toEqual({ at: start, kept: true });
    expect(await other.reserve(1, write)).toEqual({ at: start + 1_000, kept: true });
    expect(await other.reserve(2, write)).toEqual({ at: start, kept: true });
  });

  it("gives one turn to each of many who ask at the same moment", async () => {
    const paces = [await open(), await open()];
    const asked = Array.from({ length: 20 }, (_, n) => paces[n % 2]?.reserve(1, write));
    const given = (await Promise.all(asked)).map((turn) => turn?.at).toSorted();
    expect(given).toEqual(Array.from({ length: 20 }, (_, n) => start + n * 1_000));
  });

  it("counts the gap from the end of a write", async () => {
    const pace = await open();
    await pace.reserve(1, write);
    time += 700;
    await pace.ended(1);
    expect((await pace.reserve(1, write)).at).toBe(time + 1_000);
  });

  it("keeps no turn that is later than whoever asks would wait", async () => {
    const pace = await open();
    await pace.reserve(1, write);
    expect(await pace.reserve(1, { creates: false, latest: start + 999 })).toEqual({
      ...{ at: start + 1_000, kept: false },
    });
    expect(await pace.reserve(1, { creates: false, latest: start + 1_000 })).toMatchObject({ kept: true });
  });

  it("lets only so many creations begin in any minute and in any hour, and other writes between", async () => {
    const pace = await open({ ...limits, gapMs: 0 });
    expect(await turns(pace, 4)).toEqual([0, 0, 0, 0]);
    expect(await turns(pace, 2, write)).toEqual([0, 0]);
    expect(await turns(pace, 6)).toEqual([60_000, 60_000, 60_000, 60_000, 120_000, 3_600_000]);
  });

  it("posts what GitHub's own limits allow: 500 in the first hour", async () => {
    const pace = await open({ ...githubLimits, gapMs: 0 });
    const given = await turns(pace, 501);
    expect(given.filter((at) => at < 3_600_000)).toHaveLength(500);
    expect(given.filter((at) => at < 60_000)).toHaveLength(80);
  });

  it("holds everything back until GitHub wants to hear of us again, for the longest time that it named", async () => {
    const [pace, other] = [await open(), await open()];
    expect(await pace.heldUntil(1)).toBe(0);
    await pace.hold(1, start + 60_000);
    await other.hold(1, start + 30_000);
    expect(await other.heldUntil(1)).toBe(start + 60_000);
    expect((await other.reserve(1, write)).at).toBe(start + 60_000);
    expect((await other.reserve(2, write)).at).toBe(start);
  });

  it("is kept when all processes end", async () => {
    await (await open()).reserve(1, write);
    await Promise.all(opened.splice(0).map((stores) => stores.close()));
    expect((await (await open()).reserve(1, write)).at).toBe(start + 1_000);
  });

  type Step = { wait: number } | { creates: boolean; patience: number } | { ends: true } | { hold: number };
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ wait: fc.integer({ min: 0, max: 40_000 }) }),
    {
      arbitrary: fc.record({ creates: fc.boolean(), patience: fc.integer({ min: 0, max: 90_000 }) }),
      weight: 5,
    },
    fc.record({ ends: fc.constant(true as const) }),
    fc.record({ hold: fc.integer({ min: 0, max: 20_000 }) }),
  );

  it("finds the same moments as a slow reckoning that knows of everything, for any traffic", async () => {
    const pace = await open();
    let installation = 100;
    const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      installation++;
      const slow = slowReckoning(limits);
      for (const one of steps) {
        if ("wait" in one) time += one.wait;
        else if ("ends" in one) {
          slow.ended(time);
          await pace.ended(installation);
        } else if ("hold" in one) {
          slow.hold(time + one.hold);
          await pace.hold(installation, time + one.hold);
        } else {
          const latest = time + one.patience;
          expect(await pace.reserve(installation, { creates: one.creates, latest })).toEqual(
            slow.reserve(time, one.creates, latest),
          );
        }
      }
    });
    await fc.assert(property, { numRuns: 40 });
  });
}

/** Tries one moment after the other and counts by hand. */
function slowReckoning({ gapMs, creationsAMinute, creationsAnHour }: PaceLimits) {
  const begun: number[] = [];
  const created: number[] = [];
  const ends: number[] = [];
  const holds: number[] = [];
  const crowded = (at: number, windowMs: number, limit: number) =>
    created.filter((other) => other > at - windowMs).length >= limit;
  const isFree = (at: number, creates: boolean) =>
    begun.every((other) => at >= other + gapMs) &&
    ends.every((other) => at >= other + gapMs) &&
    holds.every((until) => at >= until) &&
    !(creates && (crowded(at, 60_000, creationsAMinute) || crowded(at, 3_600_000, creationsAnHour)));
  return {
    ended: (at: number) => void ends.push(at),
    hold: (until: number) => void holds.push(until),
    reserve(now: number, creates: boolean, latest: number) {
      // The rule changes at these moments alone.
      const changes = [
        ...begun.map((at) => at + gapMs),
        ...ends.map((at) => at + gapMs),
        ...holds,
        ...created.flatMap((at) => [at + 60_000, at + 3_600_000]),
      ];
      const at = [now, ...changes]
        .filter((one) => one >= now)
        .toSorted((a, b) => a - b)
        .find((one) => isFree(one, creates));
      if (at === undefined || at > latest) return { at, kept: false };
      begun.push(at);
      if (creates) created.push(at);
      return { at, kept: true };
    },
  };
}
