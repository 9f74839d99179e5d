import { beforeEach, describe, expect, it } from "vitest";
import type { TrajectoryEntry } from "../../src/agent/record/trajectory.ts";
import { type ClaimedJob, maxAttempts } from "../../src/server/queue/job.ts";
import type { Queue } from "../../src/server/queue/queue.ts";
import { commandJob, delivery, leaseMs, reviewJob } from "./jobs.ts";
import { describePushes } from "./pushes.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";
import { describeTasks } from "./tasks.ts";

export { commandJob, reviewJob } from "./jobs.ts";

const entry = (turn: number): TrajectoryEntry => ({
  kind: "stopped",
  loop: "review",
  reason: `turn ${turn}`,
});
const headOf = (job: ClaimedJob | undefined) => job?.task.headSha;

/** The contract of every implementation of Queue. */
export function describeQueue(name: string, create: () => StoresUnderTest): void {
  describe(name, () => {
    const data = dataOfTests(create);
    let queue: Queue;
    let other: Queue;
    let time: number;
    const open = async () => (await data.open({ now: () => time })).queue;

    beforeEach(async () => {
      time = 1_800_000_000_000;
      queue = await open();
      other = await open();
    });

    const claim = (from: Queue = queue) => from.claim("worker", leaseMs);
    async function claimed(from: Queue = queue): Promise<ClaimedJob> {
      const job = await claim(from);
      if (!job) throw new Error("no job to claim");
      return job;
    }

    describe("acceptance", () => {
      it("A stored job is claimed once, with its task and delivery", async () => {
        expect(await queue.accept(delivery("d1"), [reviewJob(1)])).toBe(true);
        const job = await claimed();
        expect(job).toMatchObject({ task: reviewJob(1).task, attempt: 1, deliveryId: "d1" });
        expect(await claim()).toBeUndefined();
      });

      it("A job keeps its first start until a newer task replaces its own", async () => {
        await queue.enqueue(reviewJob(1));
        const stored = time;
        time += 3_600_000;
        const begun = time;
        const first = await claimed();
        expect(first).toMatchObject({ createdAt: stored, startedAt: begun });
        time += 1_000;
        await queue.release(first, 0, "an outage");
        const second = await claimed();
        expect(second.startedAt).toBe(begun);
        await queue.release(second, 0, "an outage");
        await other.enqueue(reviewJob(1, { headSha: "b".repeat(40) }));
        time += 1_000;
        expect((await claimed()).startedAt).toBe(time);
      });

      it("A known delivery id stores nothing, even through another connection", async () => {
        await queue.accept(delivery("d1"), [reviewJob(1)]);
        expect(await other.accept(delivery("d1"), [reviewJob(2)])).toBe(false);
        expect((await queue.stats()).jobs.waiting).toBe(1);
      });

      it("Fifty parallel deliveries of one id make one job", async () => {
        const all = Array.from({ length: 50 }, (_, n) =>
          (n % 2 ? queue : other).accept(delivery("same"), [commandJob(1, 5)]),
        );
        expect((await Promise.all(all)).filter(Boolean)).toHaveLength(1);
        expect((await queue.stats()).jobs.waiting).toBe(1);
      });

      it("A delivery that started nothing is remembered", async () => {
        expect(await queue.accept(delivery("d1"), [])).toBe(true);
        expect(await queue.accept(delivery("d1"), [reviewJob(1)])).toBe(false);
        expect(await claim()).toBeUndefined();
      });

      it("A delivery and its jobs are stored together or not at all", async () => {
        const broken = { ...reviewJob(2), concurrencyKey: null as unknown as string };
        await expect(queue.accept(delivery("d1"), [reviewJob(1), broken])).rejects.toThrow();
        expect((await queue.stats()).jobs.waiting).toBe(0);
        expect(await queue.accept(delivery("d1"), [reviewJob(1)])).toBe(true);
      });

      it("A job needs no delivery", async () => {
        const id = await queue.enqueue(reviewJob(1));
        expect(await claimed()).toMatchObject({ id, deliveryId: null });
      });
    });

    describe("coalescing", () => {
      it("One job of a key waits, with the newest task and the first id", async () => {
        const first = await queue.enqueue(reviewJob(1, { headSha: "1".repeat(40) }));
        const second = await queue.enqueue(reviewJob(1, { headSha: "2".repeat(40) }));
        expect(second).toBe(first);
        expect(headOf(await claimed())).toBe("2".repeat(40));
        expect(await claim()).toBeUndefined();
      });

      it("One job of a key runs and one waits, however many arrive", async () => {
        await queue.enqueue(reviewJob(1));
        const running = await claimed();
        for (let n = 0; n < 5; n++) await queue.enqueue(reviewJob(1, { headSha: String(n).repeat(40) }));
        expect((await queue.stats()).jobs).toMatchObject({ active: 1, waiting: 1 });
        await queue.complete(running, { kind: "done", reason: "" });
        expect(headOf(await claimed())).toBe("4".repeat(40));
      });

      it("Jobs of other keys are not coalesced", async () => {
        await queue.enqueue(reviewJob(1));
        await queue.enqueue(reviewJob(2));
        expect((await queue.stats()).jobs.waiting).toBe(2);
      });

      it("A review replaces no command, and a command no review", async () => {
        await queue.enqueue(reviewJob(1));
        await queue.enqueue(commandJob(1, 5));
        await queue.enqueue(commandJob(1, 6));
        await queue.enqueue(reviewJob(1));
        expect((await queue.stats()).jobs.waiting).toBe(3);
      });

      it("A released job joins the newer one: its own id, the newer task, attempts from one", async () => {
        await queue.enqueue(reviewJob(1, { headSha: "1".repeat(40) }));
        const running = await claimed();
        await queue.record(running, entry(1));
        await queue.accept(delivery("d2"), [reviewJob(1, { headSha: "2".repeat(40) })]);
        await queue.release(running, 1_000, "model is down");
        expect((await queue.stats()).jobs).toMatchObject({ active: 0, waiting: 1 });
        time += 1_000;
        const again = await claimed();
        expect(again).toMatchObject({ id: running.id, attempt: 1, deliveryId: "d2" });
        expect(headOf(again)).toBe("2".repeat(40));
        expect(await queue.trajectory(again.id)).toEqual([entry(1)]);
      });

      it("A job in back-off starts at once when its pull request changes", async () => {
        await queue.enqueue(reviewJob(1));
        const running = await claimed();
        await queue.release(running, 60_000, "model is down");
        expect(await claim()).toBeUndefined();
        await queue.enqueue(reviewJob(1));
        expect(await claimed()).toMatchObject({ id: running.id, attempt: 1 });
      });
    });

    describePushes(create);
    describe("tasks", () => describeTasks(create));

    describe("order", () => {
      it("The higher priority runs first, then the older job", async () => {
        const low = await queue.enqueue(reviewJob(1));
        const high = await queue.enqueue(commandJob(2, 5));
        const later = await queue.enqueue(reviewJob(3));
        expect([await claimed(), await claimed(), await claimed()].map((job) => job.id)).toEqual([
          high,
          low,
          later,
        ]);
      });

      it("Two jobs of one key never run at a time", async () => {
        await queue.enqueue(commandJob(1, 5));
        await queue.enqueue(commandJob(1, 6));
        const first = await claimed();
        expect(await claim(other)).toBeUndefined();
        await queue.complete(first, { kind: "done", reason: "" });
        expect(await claim(other)).toBeDefined();
      });

      it("A claim skips a busy key", async () => {
        await queue.enqueue(commandJob(1, 5));
        await queue.enqueue(commandJob(1, 6));
        const elsewhere = await queue.enqueue(reviewJob(2));
        await claimed();
        expect((await claimed()).id).toBe(elsewhere);
      });
    });

    describe("leases", () => {
      it("A lease keeps a job while heartbeats prolong it", async () => {
        await queue.enqueue(reviewJob(1));
        const job = await claimed();
        time += leaseMs - 1;
        expect(await claim(other)).toBeUndefined();
        expect(await queue.heartbeat(job, leaseMs)).toBe(true);
        time += leaseMs - 1;
        expect(await claim(other)).toBeUndefined();
      });

      it("A lease that ends gives the job and its trajectory to the next worker", async () => {
        await queue.enqueue(reviewJob(1));
        const dead = await claimed();
        await queue.record(dead, entry(1));
        time += leaseMs;
        const taken = await claimed(other);
        expect(taken).toMatchObject({ id: dead.id, attempt: 2 });
        expect(taken.fence).toBeGreaterThan(dead.fence);
        expect(await other.trajectory(taken.id)).toEqual([entry(1)]);
      });

      it("A late worker can change nothing", async () => {
        await queue.enqueue(reviewJob(1));
        const late = await claimed();
        time += leaseMs;
        await claimed(other);
        expect(await queue.heartbeat(late, leaseMs)).toBe(false);
        expect(await queue.complete(late, { kind: "done", reason: "" })).toBe(false);
        expect(await queue.release(late, 0, "late")).toBe(false);
        await expect(queue.record(late, entry(9))).rejects.toMatchObject({ code: "lease_lost" });
        expect((await queue.stats()).jobs.active).toBe(1);
        expect(await queue.trajectory(late.id)).toEqual([]);
      });

      it("A late heartbeat prolongs a lease that nobody else has taken", async () => {
        await queue.enqueue(reviewJob(1));
        const job = await claimed();
        time += leaseMs * 2;
        expect(await queue.heartbeat(job, leaseMs)).toBe(true);
        expect(await claim(other)).toBeUndefined();
      });

      it("A dead worker's job runs before newer ones of its key", async () => {
        await queue.enqueue(reviewJob(1));
        const dead = await claimed();
        await queue.enqueue(commandJob(1, 5));
        time += leaseMs;
        expect((await claimed(other)).id).toBe(dead.id);
      });

      it("A job whose leases always run out fails after one last claim", async () => {
        await queue.enqueue(reviewJob(1));
        for (let attempt = 1; attempt <= maxAttempts + 1; attempt++) {
          expect((await claimed()).attempt).toBe(attempt);
          time += leaseMs;
        }
        expect(await claim()).toBeUndefined();
        expect((await queue.stats()).jobs).toMatchObject({ failed: 1, active: 0, waiting: 0 });
      });
    });

    describe("release", () => {
      it("A released job waits for the delay and counts the attempt", async () => {
        await queue.enqueue(reviewJob(1));
        await queue.release(await claimed(), 5_000, "model is down");
        time += 4_999;
        expect(await claim()).toBeUndefined();
        time += 1;
        expect((await claimed()).attempt).toBe(2);
      });

      it("A job released without failure counts no attempt, but moves the fence", async () => {
        await queue.enqueue(reviewJob(1));
        const first = await claimed();
        await queue.release(first, 0, "the worker stops", { countAttempt: false });
        const again = await claimed();
        expect(again.attempt).toBe(1);
        expect(await queue.heartbeat(first, leaseMs)).toBe(false);
      });
    });

    describe("records", () => {
      it("Trajectory entries keep their order across attempts", async () => {
        await queue.enqueue(reviewJob(1));
        const first = await claimed();
        await queue.record(first, entry(1));
        await queue.record(first, entry(2));
        await queue.release(first, 0, "again");
        await queue.record(await claimed(), entry(3));
        expect(await other.trajectory(first.id)).toEqual([entry(1), entry(2), entry(3)]);
      });

      it("The statistics count jobs by state, with the oldest job's wait", async () => {
        expect(await queue.stats()).toEqual({
          jobs: { waiting: 0, active: 0, done: 0, failed: 0 },
          oldestWaitingMs: null,
        });
        for (const pull of [1, 2, 3, 4]) await queue.enqueue(reviewJob(pull));
        await queue.complete(await claimed(), { kind: "skipped", reason: "draft" });
        await queue.complete(await claimed(), { kind: "failed", reason: "no" });
        await claimed();
        time += 1_500;
        expect(await other.stats()).toEqual({
          jobs: { waiting: 1, active: 1, done: 1, failed: 1 },
          oldestWaitingMs: 1_500,
        });
      });

      it("A purge deletes old jobs with their trajectories and keeps open ones", async () => {
        await queue.accept(delivery("d1"), [reviewJob(1)]);
        const old = await claimed();
        await queue.record(old, entry(1));
        await queue.complete(old, { kind: "done", reason: "" });
        await queue.enqueue(reviewJob(2));
        time += 1_000;
        await queue.accept(delivery("d2"), []);
        expect(await queue.purge(1_000, 400 * 86_400_000)).toBe(0);
        time += 1;
        expect(await queue.purge(1_000, 400 * 86_400_000)).toBe(2);
        expect(await queue.trajectory(old.id)).toEqual([]);
        expect((await queue.stats()).jobs).toMatchObject({ done: 0, waiting: 1 });
        expect(await queue.accept(delivery("d2"), [])).toBe(false);
        expect(await queue.accept(delivery("d1"), [])).toBe(true);
      });

      it("Jobs and deliveries survive a restart", async () => {
        await queue.accept(delivery("d1"), [reviewJob(1)]);
        await data.close();
        queue = await open();
        expect(await queue.accept(delivery("d1"), [])).toBe(false);
        expect((await claimed()).deliveryId).toBe("d1");
      });
    });
  });
}
