import fc from "fast-check";
import { beforeEach, expect, it } from "vitest";
import {
  type ClaimedJob,
  type Lane,
  type NewJob,
  noticePriority,
  type Task,
} from "../../src/server/queue/job.ts";
import type { Queue } from "../../src/server/queue/queue.ts";
import { leaseMs, reviewJob } from "./jobs.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

/** A job of an installation; `key` identifies one of its pull requests. */
function jobOf(installation: number, key: number, priority = 0): NewJob {
  const { task, ...rest } = reviewJob(key, {
    concurrencyKey: `${installation}#${key}`,
    coalesce: false,
    priority,
  });
  return { ...rest, task: { ...task, repository: { installation, id: 1, owner: "o", name: "n" } } as Task };
}
const installationOf = (job: ClaimedJob | undefined) =>
  job && "repository" in job.task ? job.task.repository.installation : undefined;

/** Which installation's job is next, if several wait. */
export function describeFairness(create: () => StoresUnderTest): void {
  const data = dataOfTests(create);
  let time: number;

  beforeEach(() => {
    time = 1_800_000_000_000;
  });

  async function open(installationConcurrency = 100): Promise<Queue> {
    return (await data.open({ now: () => time, installationConcurrency })).queue;
  }
  async function turns(queue: Queue, count: number): Promise<(number | undefined)[]> {
    const found: (number | undefined)[] = [];
    for (let n = 0; n < count; n++) found.push(installationOf(await queue.claim("worker", leaseMs)));
    return found;
  }

  it("Installations take turns, however many jobs the first one stored", async () => {
    const queue = await open();
    for (let key = 0; key < 4; key++) await queue.enqueue(jobOf(1, key));
    for (const installation of [2, 3])
      for (let key = 0; key < 2; key++) await queue.enqueue(jobOf(installation, key));
    expect(await turns(queue, 9)).toEqual([1, 2, 3, 1, 2, 3, 1, 1, undefined]);
  });

  it("Notices have a lane of their own: neither they nor reviews wait for each other", async () => {
    const queue = await open(1);
    const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
    const notice = (n: number): NewJob => ({
      task: { kind: "notify", repository, id: `msg_${n}`, body: "{}", headSha: null },
      ...{ concurrencyKey: "notify#7", coalesce: false, priority: noticePriority },
    });
    for (let n = 0; n < 2; n++) await queue.enqueue(notice(n));
    for (let key = 0; key < 2; key++) await queue.enqueue(jobOf(1, key));
    const kinds: unknown[] = [];
    const claim = async (lane?: Lane) => {
      const job = await queue.claim("worker", leaseMs, lane);
      kinds.push(job?.task.kind);
      return job;
    };
    const first = await claim("notices");
    // One of a repository at a time.
    await claim("notices");
    const work = await claim("work");
    // The limit of the installation.
    await claim();
    await queue.complete(first!, { kind: "done", reason: "" });
    const second = await claim("notices");
    await queue.complete(work!, { kind: "done", reason: "" });
    await claim();
    expect(kinds).toEqual(["notify", undefined, "review", undefined, "notify", "review"]);
    expect(second?.task).toMatchObject({ id: "msg_1" });

    time += leaseMs + 1;
    expect((await queue.claim("another", leaseMs, "notices"))?.id).toBe(second?.id);
    expect(await queue.forget(1, [7])).toEqual({ running: 1 });
  });

  it("A worker for notices takes no review whose lease has run out", async () => {
    const queue = await open();
    await queue.enqueue(jobOf(1, 1));
    await queue.claim("dead", leaseMs);
    time += leaseMs + 1;
    expect(await queue.claim("worker", leaseMs, "notices")).toBeUndefined();
    expect(await queue.claim("worker", leaseMs)).toMatchObject({ attempt: 2 });
  });

  it("The deletion of a repository deletes its notices", async () => {
    const queue = await open();
    const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
    await queue.accept({ id: "msg_1", event: "notify", action: "review.completed" }, [
      {
        task: { kind: "notify", repository, id: "msg_1", body: "{}", headSha: null },
        ...{ concurrencyKey: "notify#7", coalesce: false, priority: noticePriority },
      },
    ]);
    await queue.forget(1, [7]);
    expect(await queue.claim("worker", leaseMs, "notices")).toBeUndefined();
  });

  it("Installations take turns even if one job runs at a time", async () => {
    const queue = await open();
    for (let key = 0; key < 3; key++)
      for (const installation of [1, 2]) await queue.enqueue(jobOf(installation, key));
    const found: unknown[] = [];
    for (let n = 0; n < 6; n++) {
      const job = await queue.claim("worker", leaseMs);
      found.push(installationOf(job));
      if (job) await queue.complete(job, { kind: "done", reason: "" });
    }
    expect(found).toEqual([1, 2, 1, 2, 1, 2]);
  });

  it("The next turn goes to the installation that runs least, then to the one that waited longest", async () => {
    const queue = await open();
    for (let key = 0; key < 3; key++) await queue.enqueue(jobOf(1, key));
    const [first] = [await queue.claim("worker", leaseMs), await queue.claim("worker", leaseMs)];
    await queue.enqueue(jobOf(2, 0));
    await queue.enqueue(jobOf(2, 1));
    expect(await turns(queue, 1)).toEqual([2]);
    if (first) await queue.complete(first, { kind: "done", reason: "" });
    expect(await turns(queue, 3)).toEqual([1, 2, undefined]);
  });

  it("A person's request runs first, in any installation", async () => {
    const queue = await open();
    for (let key = 0; key < 3; key++) await queue.enqueue(jobOf(1, key, key === 2 ? 10 : 0));
    await queue.enqueue(jobOf(2, 0));
    await queue.enqueue(jobOf(1, 3, 10));
    expect(await turns(queue, 4)).toEqual([1, 1, 2, 1]);
  });

  it("An installation's limit of parallel jobs holds over all connections", async () => {
    const [queue, other] = [await open(2), await open(2)];
    for (let key = 0; key < 5; key++) await queue.enqueue(jobOf(1, key, 10));
    await queue.enqueue(jobOf(2, 0));
    const job = await queue.claim("worker", leaseMs);
    expect(await turns(other, 3)).toEqual([1, 2, undefined]);
    expect((await queue.stats()).oldestWaitingMs).toBeNull();
    if (job) await queue.release(job, 0, "stops");
    expect(await turns(other, 2)).toEqual([1, undefined]);
  });

  it("A job whose lease ran out does not count for the limit", async () => {
    const queue = await open(1);
    await queue.enqueue(jobOf(1, 0));
    await queue.claim("dead", leaseMs);
    await queue.enqueue(jobOf(1, 1, 10));
    expect(await turns(queue, 1)).toEqual([undefined]);
    time += leaseMs;
    expect(await turns(queue, 2)).toEqual([1, undefined]);
  });

  const small = (max: number) => fc.integer({ min: 0, max });
  const step = fc.oneof(
    fc.record({ do: fc.constant("add" as const), installation: small(3), key: small(2), priority: small(1) }),
    fc.record({ do: fc.constantFrom("claim" as const, "claim" as const, "lapse" as const) }),
    fc.record({
      do: fc.constantFrom("complete" as const, "release" as const, "beat" as const),
      which: small(9),
    }),
  );

  it("In any sequence the queue chooses the job of a plain model", async () => {
    const queue = await open(2);
    let run = 0;
    const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      run++;
      const slow = new SlowQueue(2);
      const held: ClaimedJob[] = [];
      for (const one of steps) {
        if (one.do === "add") {
          const job = jobOf(run * 10 + one.installation, one.key, one.priority);
          slow.add(await queue.enqueue(job), job);
        } else if (one.do === "lapse") {
          time += leaseMs / 2;
        } else if (one.do === "claim") {
          const job = await queue.claim("worker", leaseMs);
          expect(job?.id).toBe(slow.claim(time));
          if (job) held.push(job);
        } else if ("which" in one) {
          const job = held[one.which % Math.max(1, held.length)];
          if (!job) continue;
          const isOurs = slow.owns(job);
          if (one.do === "beat") expect(await queue.heartbeat(job, leaseMs)).toBe(isOurs);
          if (one.do === "complete")
            expect(await queue.complete(job, { kind: "done", reason: "" })).toBe(isOurs);
          if (one.do === "release") expect(await queue.release(job, 0, "")).toBe(isOurs);
          if (isOurs) slow.settle(job.id, one.do, time);
        }
      }
      // Removes jobs that would affect the next sequence.
      for (let n = 10; n < 14; n++) await empty(queue, run * 10 + n - 10);
    });
    await fc.assert(property, { numRuns: 25 });
  });

  async function empty(queue: Queue, installation: number): Promise<void> {
    for (let n = 0; n < 100; n++) {
      if ((await queue.forget(installation, null)).running === 0) return;
      time += leaseMs;
      const job = await queue.claim("worker", leaseMs);
      if (job) await queue.complete(job, { kind: "done", reason: "" });
    }
  }
}

interface SlowJob {
  id: string;
  key: string;
  installation: number;
  priority: number;
  seq: number;
  attempts: number;
  fence: number;
  leaseUntil: number | null;
}

/** A reference implementation without a database: every rule checks every job. */
class SlowQueue {
  #jobs: SlowJob[] = [];
  readonly #limit: number;
  readonly #claims: number[] = [];
  #seq = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(id: string, { concurrencyKey, priority, task }: NewJob): void {
    const installation = "repository" in task ? task.repository.installation : 0;
    const fresh = { attempts: 0, fence: 0, leaseUntil: null };
    this.#jobs.push({ id, key: concurrencyKey, installation, priority, seq: this.#seq++, ...fresh });
  }

  claim(now: number): string | undefined {
    const isDead = (job: SlowJob) => job.leaseUntil !== null && job.leaseUntil <= now;
    this.#jobs = this.#jobs.filter((job) => !(isDead(job) && job.attempts > 5));
    const active = this.#jobs.filter((job) => job.leaseUntil !== null);
    const running = ({ installation }: SlowJob) =>
      active.filter((job) => job.installation === installation && !isDead(job)).length;
    const lastClaim = ({ installation }: SlowJob) => this.#claims.lastIndexOf(installation);
    const [next] = this.#jobs
      .filter((job) => job.leaseUntil === null || isDead(job))
      .filter((job) => running(job) < this.#limit)
      .filter((job) => active.every((other) => other === job || other.key !== job.key))
      .toSorted(
        (a, b) =>
          b.priority - a.priority || running(a) - running(b) || lastClaim(a) - lastClaim(b) || a.seq - b.seq,
      );
    if (!next) return undefined;
    Object.assign(next, { leaseUntil: now + leaseMs, attempts: next.attempts + 1, fence: next.fence + 1 });
    this.#claims.push(next.installation);
    return next.id;
  }

  owns({ id, fence }: ClaimedJob): boolean {
    return this.#jobs.some((job) => job.id === id && job.fence === fence && job.leaseUntil !== null);
  }

  settle(id: string, how: "beat" | "complete" | "release", now: number): void {
    const job = this.#jobs.find((one) => one.id === id);
    if (how === "complete") this.#jobs = this.#jobs.filter((one) => one !== job);
    else if (job) job.leaseUntil = how === "beat" ? now + leaseMs : null;
  }
}
