import fc from "fast-check";
import { expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import type { Pacing } from "../../src/github/pacing.ts";
import { createPacings } from "../../src/jobs/pacings.ts";
import { githubLimits } from "../../src/queue/pace.ts";
import { openSqliteStores, type Stores } from "../../src/queue/stores.ts";
import { TempFolder } from "../support/git-repo.ts";
import { RateLimits } from "../support/github-double/rate-limits.ts";
import { memoryNotes, memoryPace } from "../support/memory-pace.ts";
import { SimulatedTime } from "../support/simulated-time.ts";

/** A call of some process about some installation: when it is asked for, and how long GitHub takes to answer. */
interface Call {
  process: number;
  installation: number;
  method: "GET" | "POST" | "PATCH" | "DELETE";
  afterMs: number;
  takesMs: number;
}

const call: fc.Arbitrary<Call> = fc.record({
  process: fc.nat(3),
  installation: fc.integer({ min: 1, max: 2 }),
  method: fc.constantFrom("GET", "POST", "POST", "PATCH", "DELETE"),
  // Most of them in bursts.
  afterMs: fc.oneof(fc.nat(20_000), fc.constant(0), fc.constant(60_000)),
  // Beyond a second the writes of two processes would overlap: they are kept apart by when they begin.
  takesMs: fc.nat(999),
});

type Shared = Pick<Stores, "pace" | "notes">;
function inMemory({ now }: SimulatedTime): () => Shared {
  const stores = { pace: memoryPace(now), notes: memoryNotes() };
  return () => stores;
}

/** Sends all calls as jobs do, which park for a limit and come back; resolves to what GitHub counted. */
async function traffic(calls: readonly Call[], open: (time: SimulatedTime) => () => Shared = inMemory) {
  const time = new SimulatedTime(1_800_000_000_000);
  const limits = new RateLimits({ now: time.now });
  const connect = open(time);
  const processes = Array.from({ length: 4 }, () => createPacings({ stores: connect(), clock: time }));

  async function send(pacing: Pacing, { method, installation, takesMs }: Call): Promise<void> {
    const kind = method === "GET" ? "read" : "write";
    const request = { installation, method, path: "/repos/o/r" };
    await pacing.send({ kind, creates: method === "POST", graphql: false }, async () => {
      const refusal = limits.enter(request);
      await time.sleep(takesMs);
      if (!refusal) limits.leave(request, 200);
    });
  }

  async function job(one: Call): Promise<void> {
    await time.sleep(one.afterMs);
    const pacing = processes[one.process]!(one.installation);
    for (;;) {
      try {
        return await send(pacing, one);
      } catch (error) {
        if (!(error instanceof AppError && error.retryAfterMs !== undefined)) throw error;
        await time.sleep(error.retryAfterMs);
      }
    }
  }

  const start = time.now();
  await time.run(Promise.all(calls.map(job)));
  return { limits, lastedMs: time.now() - start };
}

it("keeps every limit to the second, whatever four processes ask for", async () => {
  const burst = fc.array(call, { minLength: 1, maxLength: 120, size: "max" });
  await fc.assert(
    fc.asyncProperty(burst, async (calls) => {
      const { limits } = await traffic(calls);
      expect(limits.breaches).toEqual([]);
      expect(limits.counted.requests).toBe(calls.length);
    }),
    { numRuns: 60 },
  );
});

it("takes 600 creations of four processes as fast as GitHub allows and no faster", async () => {
  const calls = Array.from(
    { length: 600 },
    (_, index): Call => ({ process: index % 4, installation: 1, method: "POST", afterMs: 0, takesMs: 0 }),
  );
  const { limits, lastedMs } = await traffic(calls);
  expect(limits.breaches).toEqual([]);
  expect(limits.counted.creations).toBe(600);
  // 500 of them a second apart; the others when the first ones are an hour old.
  expect(lastedMs).toBe(3_600_000 + 99 * githubLimits.gapMs);
});

it("keeps them through the database of the queue, which each process opens for itself", async () => {
  const folder = new TempFolder("pace");
  const opened: Stores[] = [];
  const open = ({ now }: SimulatedTime) => {
    return () => {
      const stores = openSqliteStores(folder.path, { now });
      opened.push(stores);
      return stores;
    };
  };
  const calls = Array.from(
    { length: 40 },
    (_, index): Call => ({ process: index % 4, installation: 1, method: "POST", afterMs: 0, takesMs: 300 }),
  );
  const { limits } = await traffic(calls, open);
  expect(limits.breaches).toEqual([]);
  expect(limits.counted.creations).toBe(40);
  for (const stores of opened) await stores.close();
  folder.dispose();
});
