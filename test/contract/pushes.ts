import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { ClaimedJob, Task } from "../../src/server/queue/job.ts";
import type { Queue } from "../../src/server/queue/queue.ts";
import { commandJob, delivery, leaseMs, reviewJob } from "./jobs.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

const debounceMs = 10_000;
export const head = (n: number) => String(n).padStart(40, "0");
/** A job as a push creates it. */
export const pushJob = (n: number, quiet = debounceMs) =>
  reviewJob(1, { headSha: head(n), debounceMs: quiet });

/** Jobs that replace each other: when the last one runs, and what the running one learns about it. */
export function describePushes(create: () => StoresUnderTest): void {
  const data = dataOfTests(create);
  let queue: Queue;
  let other: Queue;
  const start = 1_800_000_000_000;
  let time: number;

  beforeEach(async () => {
    time = start;
    queue = await open();
    other = await open();
  });

  const open = async () => (await data.open({ now: () => time })).queue;
  const claim = () => queue.claim("worker", leaseMs);
  async function claimed(): Promise<ClaimedJob> {
    const job = await claim();
    if (!job) throw new Error("no job to claim");
    return job;
  }
  /** Milliseconds until the next job can be claimed, in steps of a second; the job is then completed. */
  async function dueIn(): Promise<number> {
    const from = time;
    let job = await claim();
    while (!job && time < from + 1_000_000) {
      time += 1_000;
      job = await claim();
    }
    if (!job) throw new Error("nothing becomes due");
    await queue.complete(job, { kind: "done", reason: "" });
    return time - from;
  }

  describe("quiet time", () => {
    it("A push waits until none has come for the quiet time, and joins those that come", async () => {
      await queue.enqueue(pushJob(1));
      time += 9_999;
      expect(await claim()).toBeUndefined();
      await other.enqueue(pushJob(2));
      time += 9_999;
      expect(await claim()).toBeUndefined();
      time += 1;
      expect((await claimed()).task.headSha).toBe(head(2));
    });

    it("The wait ends six quiet times after the first push, however fast others come", async () => {
      await queue.enqueue(pushJob(0));
      for (let n = 1; n < 12; n++) {
        time += 5_000;
        await queue.enqueue(pushJob(n));
        expect(await claim()).toBeUndefined();
      }
      expect(await dueIn()).toBe(60_000 - 55_000);
    });

    it("A job that is requested at once ends the wait of what it replaces", async () => {
      const id = await queue.enqueue(pushJob(1));
      await queue.enqueue(reviewJob(1, { headSha: head(2) }));
      expect(await claimed()).toMatchObject({ id, task: { headSha: head(2) } });
    });

    it("The quiet time begins again for a ready job that joins a push", async () => {
      await queue.enqueue(reviewJob(1));
      await queue.enqueue(pushJob(2));
      expect(await dueIn()).toBe(debounceMs);
    });

    it("A quiet time of zero delays nothing", async () => {
      await queue.enqueue(pushJob(1, 0));
      await queue.enqueue(pushJob(2, 0));
      expect(await dueIn()).toBe(0);
    });

    it("The quiet time does not delay commands and other pull requests", async () => {
      await queue.enqueue(pushJob(1));
      await queue.enqueue({ ...commandJob(1, 5), debounceMs });
      await queue.enqueue(reviewJob(2));
      expect([await claimed(), await claimed()]).toMatchObject([
        { task: { commentId: 5 } },
        { task: { pull: 2 } },
      ]);
    });

    it("The quiet time replaces a back-off and counts from the push", async () => {
      await queue.enqueue(pushJob(1));
      time += debounceMs;
      await queue.release(await claimed(), 300_000, "model is down");
      time += 100_000;
      await queue.enqueue(pushJob(2));
      time += 5_000;
      await queue.enqueue(pushJob(3));
      expect(await dueIn()).toBe(debounceMs);
    });

    it.each([
      ["its own delay", 25_000, 25_000],
      ["the newer one's quiet time", 0, debounceMs - 1_000],
    ])("A released job waits for the longer of its delay and the quiet time: %s", async (_, delay, due) => {
      await queue.enqueue(reviewJob(1));
      const running = await claimed();
      await queue.enqueue(pushJob(2));
      time += 1_000;
      await queue.release(running, delay, "superseded", { countAttempt: false });
      expect(await dueIn()).toBe(due);
    });

    it("The queue starts any pushes at the moment that a plain model computes", async () => {
      let pull = 100;
      const gaps = fc.array(fc.integer({ min: 0, max: 15 }), { maxLength: 12 });
      const property = fc.asyncProperty(gaps, async (seconds) => {
        const push = () => reviewJob(pull, { debounceMs });
        pull++;
        const first = time;
        let due = first + debounceMs;
        await queue.enqueue(push());
        for (const gap of seconds) {
          if (time + gap * 1_000 >= due) break;
          time += gap * 1_000;
          await queue.enqueue(push());
          due = Math.max(time, Math.min(time + debounceMs, first + 6 * debounceMs));
        }
        const pushed = time;
        expect(await dueIn()).toBe(due - pushed);
      });
      await fc.assert(property, { numRuns: 40 });
    });
  });

  describe("a newer head", () => {
    const running = async (job = reviewJob(1, { headSha: head(1) })) => {
      await queue.enqueue(job);
      return claimed();
    };

    it("The running job learns of a waiting newer head and the time until it may run", async () => {
      const job = await running();
      expect(await queue.newer(job)).toBeUndefined();
      await other.accept(delivery("d2"), [pushJob(2)]);
      time += 4_000;
      expect(await queue.newer(job)).toEqual({ head: head(2), dueInMs: 6_000 });
      await other.enqueue(pushJob(3));
      expect(await queue.newer(job)).toEqual({ head: head(3), dueInMs: 10_000 });
      time += 30_000;
      expect(await queue.newer(job)).toEqual({ head: head(3), dueInMs: 0 });
    });

    it("Only a coalescing job of the same key has a newer head, and no command", async () => {
      const job = await running();
      await queue.enqueue(commandJob(1, 5));
      await queue.enqueue(reviewJob(2, { headSha: head(2) }));
      expect(await queue.newer(job)).toBeUndefined();
    });

    it("A head that waited before the claim is not newer, even if it is enqueued again", async () => {
      await queue.enqueue(pushJob(2));
      const command = await running(commandJob(1, 5));
      expect(await queue.newer(command)).toBeUndefined();
      await queue.enqueue(reviewJob(1, { headSha: head(2) }));
      expect(await queue.newer(command)).toBeUndefined();
      await queue.enqueue(pushJob(3));
      expect(await queue.newer(command)).toMatchObject({ head: head(3) });
    });

    it("A newer head lets a released command run first once, and not a second time", async () => {
      const command = await running(commandJob(1, 5));
      await queue.enqueue(pushJob(2));
      await queue.release(command, debounceMs, "superseded", { countAttempt: false });
      time += debounceMs;
      const again = await claimed();
      expect(again).toMatchObject({ id: command.id, attempt: 1 });
      expect(await queue.newer(again)).toBeUndefined();
      await queue.complete(again, { kind: "done", reason: "" });
      expect((await claimed()).task.headSha).toBe(head(2));
    });

    it("Repeated runs of a command do not use up the quiet time", async () => {
      for (let n = 1; n <= 20; n++) {
        const command = n === 1 ? await running(commandJob(1, 5)) : await claimed();
        await queue.enqueue(pushJob(n));
        expect(await queue.newer(command)).toEqual({ head: head(n), dueInMs: debounceMs });
        await queue.release(command, debounceMs, "superseded", { countAttempt: false });
        time += debounceMs;
      }
    });

    it("A worker that lost the job learns of no newer head", async () => {
      const late = await running();
      time += leaseMs;
      const taken = await claimed();
      await queue.enqueue(pushJob(2));
      expect(await queue.newer(late)).toBeUndefined();
      expect(await queue.newer(taken)).toMatchObject({ head: head(2) });
    });

    it("A waiting task without a head has no newer head", async () => {
      const job = await running();
      const { task, ...rest } = pushJob(2);
      await queue.enqueue({ ...rest, task: { ...task, headSha: null } as Task });
      expect(await queue.newer(job)).toBeUndefined();
    });
  });
}
