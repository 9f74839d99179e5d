import { beforeEach, describe, expect, it } from "vitest";
import type { ClaimedJob, NewJob, Task } from "../../src/server/queue/job.ts";
import type { Stores } from "../../src/server/queue/stores.ts";
import { paidTurn, payer } from "../support/paid-turn.ts";
import { commandJob, leaseMs, reviewJob } from "./jobs.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

const head = "a".repeat(40);
const key = "7#1";
const none = "0".repeat(40);

/** The queries of a start and a reconciliation, and the deletions after an uninstallation. */
export function describeRecovery(create: () => StoresUnderTest): void {
  const data = dataOfTests(create);
  let stores: Stores;
  let time: number;

  beforeEach(async () => {
    time = 1_800_000_000_000;
    stores = await data.open({ now: () => time });
  });

  async function claimed(worker = "worker"): Promise<ClaimedJob> {
    const job = await stores.queue.claim(worker, leaseMs);
    if (!job) throw new Error("no job to claim");
    return job;
  }

  describe("a head", () => {
    it("A head is known while its job waits or runs, and when it is done", async () => {
      const { queue } = stores;
      expect(await queue.knows(key, head)).toBe(false);
      await queue.enqueue(reviewJob(1));
      expect(await queue.knows(key, head)).toBe(true);
      const job = await claimed();
      expect(await queue.knows(key, head)).toBe(true);
      await queue.complete(job, { kind: "done", reason: "" });
      expect(await queue.knows(key, head)).toBe(true);
      expect([await queue.knows(key, none), await queue.knows("7#2", head)]).toEqual([false, false]);
    });

    it.each(["failed", "skipped", "superseded"] as const)(
      "A head is not known if its job ended as %s",
      async (kind) => {
        await stores.queue.enqueue(reviewJob(1));
        await stores.queue.complete(await claimed(), { kind, reason: "" });
        expect(await stores.queue.knows(key, head)).toBe(false);
      },
    );

    it("A head is not known after a newer one replaced it", async () => {
      const { queue } = stores;
      await queue.enqueue(reviewJob(1, { headSha: none }));
      await queue.enqueue(reviewJob(1));
      expect([await queue.knows(key, none), await queue.knows(key, head)]).toEqual([false, true]);
      const job = await claimed();
      await queue.enqueue(reviewJob(1, { headSha: "b".repeat(40) }));
      await queue.release(job, 0, "superseded");
      expect([await queue.knows(key, head), await queue.knows(key, "b".repeat(40))]).toEqual([false, true]);
    });
  });

  describe("an installation that left", () => {
    const jobOf = (pull: number, repository: { installation: number; id: number }): NewJob => {
      const { task, ...rest } = reviewJob(pull, { concurrencyKey: `${repository.id}#${pull}` });
      return { ...rest, task: { ...task, repository: { ...repository, owner: "o", name: "n" } } as Task };
    };
    const kept = async () => (await stores.queue.stats()).jobs;
    const spend = (installation: number, repository: number) =>
      stores.spending.charge(
        payer({ installation, repository, pull: 1 }),
        paidTurn({ tokens: 1, costUsd: 0 }),
        0,
      );
    const spent = async (installation: number) =>
      (await stores.spending.spentOn("1970-01-01", { installation })).tokens;

    it("The deletion of an installation deletes its jobs, trajectories and spending, and no others", async () => {
      const { queue } = stores;
      await queue.enqueue(jobOf(1, { installation: 1, id: 7 }));
      const done = await claimed();
      await queue.record(done, { kind: "stopped", loop: "review", reason: "private" });
      await queue.complete(done, { kind: "done", reason: "" });
      await queue.enqueue(jobOf(2, { installation: 1, id: 8 }));
      await queue.enqueue(jobOf(3, { installation: 2, id: 9 }));
      await spend(1, 7);
      await spend(2, 9);
      expect(await queue.forget(1, null)).toEqual({ running: 0 });
      expect(await kept()).toEqual({ waiting: 1, active: 0, done: 0, failed: 0 });
      expect(await queue.trajectory(done.id)).toEqual([]);
      expect([await spent(1), await spent(2)]).toEqual([0, 1]);
    });

    it("The deletion of some repositories keeps the others", async () => {
      const { queue } = stores;
      for (const id of [7, 8, 9]) {
        await queue.enqueue(jobOf(1, { installation: 1, id }));
        await spend(1, id);
      }
      await queue.forget(1, [7, 8]);
      expect((await kept()).waiting).toBe(1);
      expect((await claimed()).task).toMatchObject({ repository: { id: 9 } });
      expect(await spent(1)).toBe(1);
    });

    it("The deletion keeps waiting deletions", async () => {
      const { queue } = stores;
      const named: Task = { kind: "purge", installation: 1, repositories: [], headSha: null };
      await queue.enqueue({ task: named, concurrencyKey: "installation#1", coalesce: false, priority: 0 });
      await queue.forget(1, null);
      expect((await claimed()).task).toEqual(named);
    });

    it("The deletion has no limit on the number of jobs", async () => {
      const { queue } = stores;
      for (let pull = 0; pull < 101; pull++) await queue.enqueue(jobOf(pull, { installation: 1, id: 7 }));
      await queue.forget(1, [7]);
      expect((await kept()).waiting).toBe(0);
    });

    it("The deletion counts the jobs that still run, without its own", async () => {
      const { queue } = stores;
      await queue.enqueue({
        task: { kind: "purge", installation: 1, repositories: null, headSha: null },
        ...{ concurrencyKey: "purge#1", coalesce: true, priority: 20 },
      });
      await queue.enqueue(jobOf(1, { installation: 1, id: 7 }));
      await queue.enqueue(jobOf(1, { installation: 2, id: 8 }));
      const [, , running] = [await claimed(), await claimed(), await claimed()];
      expect(await queue.forget(1, null)).toEqual({ running: 1 });
      expect(await queue.forget(1, [9])).toEqual({ running: 0 });
      await queue.complete(running, { kind: "done", reason: "" });
      expect(await queue.forget(1, [7])).toEqual({ running: 0 });
      expect(await kept()).toMatchObject({ active: 2, done: 0 });
    });
  });

  it("The check passes for a queue that can be written", async () => {
    await stores.queue.check();
    await stores.queue.check();
  });

  describe("the age of the oldest job", () => {
    const oldest = async () => (await stores.queue.stats()).oldestWaitingMs;

    it("The age of a job counts from the end of its quiet time or back-off", async () => {
      await stores.queue.enqueue(reviewJob(1, { debounceMs: 10_000 }));
      time += 9_999;
      expect(await oldest()).toBeNull();
      time += 2_001;
      expect(await oldest()).toBe(2_000);
    });

    it("A job that waits for its key has no age", async () => {
      await stores.queue.enqueue(commandJob(1, 5));
      await stores.queue.enqueue(commandJob(1, 6));
      await claimed();
      time += 5_000;
      expect(await oldest()).toBeNull();
    });

    it("The age of a dead worker's job counts from the end of its lease", async () => {
      await stores.queue.enqueue(reviewJob(1));
      await claimed();
      time += leaseMs + 700;
      expect(await oldest()).toBe(700);
    });
  });
}
