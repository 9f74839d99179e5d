import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError, errorLine } from "../../../src/core/errors.ts";
import { type JobOutcome, maxAttempts } from "../../../src/server/queue/job.ts";
import type { Queue } from "../../../src/server/queue/queue.ts";
import { retryingSpending } from "../../../src/server/queue/usage.ts";
import { startWorker, type Worker, type WorkerOptions } from "../../../src/server/queue/worker.ts";
import { reviewJob } from "../../contract/jobs.ts";
import { paidTurn, payer } from "../../support/paid-turn.ts";
import { type VirtualTime, virtualTime } from "./virtual-time.ts";
import { done, ownQueue, untilAborted } from "./worker-setup.ts";

const paid = { kind: "stopped", loop: "review", reason: "paid" } as const;
const minute = 60_000;
const hour = 60 * minute;

let queue: Queue;
let removeQueue: () => Promise<void>;
let worker: Worker | undefined;
let time: VirtualTime;
let lines: string[];
/** How jobs ended for this worker. */
let ends: string[];
/** What the queue does not do at the moment, as with a full disk; calls of each method, in order. */
let broken: Set<keyof Queue>;
let calls: string[];
/** It answers nothing at all. */
let isHanging: boolean;

beforeEach(() => {
  time = virtualTime();
  [lines, ends, calls, broken, isHanging] = [[], [], [], new Set(), false];
  const own = ownQueue(time.now);
  [queue, removeQueue] = [breakable(own.queue), own.remove];
});
afterEach(async () => {
  broken.clear();
  isHanging = false;
  const stopped = worker?.stop(0);
  await time.pass(minute);
  await stopped;
  await removeQueue();
});

/** The queue, with methods that reject as long as they are in `broken`. */
function breakable(real: Queue): Queue {
  return new Proxy(real, {
    get(target, name: keyof Queue) {
      return async (...args: unknown[]) => {
        calls.push(name);
        if (isHanging) await new Promise(() => {});
        if (broken.has(name)) throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
        return (target[name] as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}
const breakAll = () => {
  for (const name of ["claim", "check", "record", "complete", "release", "heartbeat"] as const)
    broken.add(name);
};

function start(handle: WorkerOptions["handle"], options: Partial<WorkerOptions> = {}): Worker {
  const log = (_: object, message: string) => void lines.push(message);
  worker = startWorker({
    ...{ queue, handle, concurrency: 1, random: () => 1, now: time.now, sleep: time.sleep },
    log: { info: log, warn: log, error: log },
    watch: { began: () => {}, ended: (_, how) => void ends.push(how) },
    ...options,
  });
  return worker;
}
const states = async () => (await queue.stats()).jobs;

it("A queue that cannot be read is asked less and less often, and again every second once it is back", async () => {
  broken.add("claim");
  start(async () => done);
  await time.pass(10 * minute);
  // After 1, 2, 4, 8 and 16 seconds, and every thirty then.
  expect(calls.filter((name) => name === "claim").length).toBe(24);
  broken.clear();
  await time.pass(31_000);
  await queue.enqueue(reviewJob(1));
  await time.pass(1_000);
  expect(ends).toEqual(["done"]);
});

it("A queue that is away while a job runs is waited for: what was paid is on record once, and the job ends as if nothing had been", async () => {
  const id = await queue.enqueue(reviewJob(1));
  start(async (_, { record, mayPublish }) => {
    breakAll();
    await record(paid);
    breakAll();
    const outcome: JobOutcome = (await mayPublish()) ? done : { kind: "failed", reason: "lost" };
    breakAll();
    return outcome;
  });
  for (let n = 0; n < 3; n++) {
    await time.pass(hour);
    expect(ends).toEqual([]);
    broken.clear();
    await time.pass(minute);
  }
  expect(ends).toEqual(["done"]);
  expect(await queue.trajectory(id)).toEqual([paid]);
  expect(await states()).toMatchObject({ done: 1, failed: 0 });
});

it("A queue that is away while a job runs and comes back with the job in another's hands leaves the late one powerless", async () => {
  await queue.enqueue(reviewJob(1));
  start(async (_, { record }) => {
    breakAll();
    await record(paid);
    return done;
  });
  await time.pass(hour);
  broken.delete("claim");
  await queue.claim("other", 2 * hour);
  broken.clear();
  await time.pass(minute);
  expect(ends).toEqual(["lost"]);
  expect(await states()).toMatchObject({ active: 1 });
});

it("A queue that is away while a job runs is blamed for unknown errors: the job waits and no attempt counts", async () => {
  await queue.enqueue(reviewJob(1));
  const attempts: number[] = [];
  const told: string[] = [];
  start(
    async ({ attempt }) => {
      if (attempts.push(attempt) > 1) return done;
      broken.add("check");
      throw new Error("a note could not be written");
    },
    { giveUp: async (_, error) => void told.push(errorLine(error)) },
  );
  await time.pass(1_000);
  broken.clear();
  await time.pass(2 * minute);
  expect({ attempts, ends, told }).toEqual({ attempts: [1, 1], ends: ["parked", "done"], told: [] });
});

it("A queue that is away while a job runs is not blamed if other jobs can be stored: such a job fails", async () => {
  await queue.enqueue(reviewJob(1));
  broken.add("record");
  start(async (_, { record }) => {
    await record(paid);
    return done;
  });
  await time.pass(minute);
  expect(ends).toEqual(["failed"]);
});

it("A queue that is away while a job runs makes charges wait until they are stored", async () => {
  let tries = 0;
  const charge = async () => {
    if (++tries < 4) throw new Error("disk is full");
  };
  broken.add("check");
  const spending = retryingSpending(
    { charge, spentOn: async () => ({ tokens: 0, costUsd: 0 }) },
    { queue, signal: new AbortController().signal, warn: () => {}, sleep: time.sleep },
  );
  const charged = spending.charge(
    payer({ installation: 1, repository: 2, pull: 3 }),
    paidTurn({ tokens: 1, costUsd: null }),
    0,
  );
  await time.pass(minute);
  await charged;
  expect(tries).toBe(4);
});

describe("outages", () => {
  const failing = (error: AppError) => async () => {
    throw error;
  };

  it("Outages of a model use up no attempt for an hour, and then they do", async () => {
    await queue.enqueue(reviewJob(1));
    const left = new AppError("model_unavailable", "x", { retryable: true, retryAfterMs: 5 * minute });
    start(failing(left), { pollMs: minute });
    await time.pass(hour - minute);
    expect(new Set(ends)).toEqual(new Set(["parked"]));
    const parked = ends.length;
    await time.pass(hour);
    expect(parked).toBeGreaterThan(5);
    expect(ends.slice(parked)).toEqual([...Array(maxAttempts - 1).fill("retried"), "failed"]);
  });

  it("Outages of the disk use up none for a day", async () => {
    await queue.enqueue(reviewJob(1));
    start(failing(new AppError("disk_full", "x", { retryable: true })), { pollMs: 10 * minute });
    await time.pass(23 * hour);
    expect(new Set(ends)).toEqual(new Set(["parked"]));
    expect(await states()).toMatchObject({ waiting: 1 });
  });
});

it("Old jobs are deleted every hour, also by a worker that never rests", async () => {
  await queue.enqueue(reviewJob(1));
  await queue.enqueue(reviewJob(2));
  const handle: WorkerOptions["handle"] = async (job, tools) =>
    job.task.kind === "review" && job.task.pull === 1 ? done : untilAborted(job, tools);
  start(handle, { retentionMs: 90 * minute, leaseMs: 6 * hour });
  await time.pass(1_000);
  expect(await states()).toMatchObject({ done: 1, active: 1 });
  await time.pass(3 * hour);
  expect(await states()).toMatchObject({ done: 0, active: 1 });
});

it("A worker that is stopped hands a job back that it was just about to get, without beginning it", async () => {
  await queue.enqueue(reviewJob(1));
  let isStopped: Promise<void> | undefined;
  const claim = queue.claim;
  const late: Queue = Object.create(queue, {
    claim: {
      value: async (...args: Parameters<Queue["claim"]>) => {
        const job = await claim(...args);
        isStopped = worker?.stop(8_000);
        return job;
      },
    },
  });
  let begun = 0;
  const handle = async () => {
    begun++;
    return done;
  };
  start(handle, { queue: late });
  await time.pass(1_000);
  await isStopped;
  expect({ begun, ends }).toEqual({ begun: 0, ends: ["handed_back"] });
  expect((await queue.claim("next", 1_000))?.attempt).toBe(1);
});

it("A worker that is stopped while a failure is being reported hands the job back, so that the next start reports it", async () => {
  await queue.enqueue(reviewJob(1));
  start(
    async () => {
      throw new AppError("too_large", "too large");
    },
    { giveUp: async (job, _, tools) => void (await untilAborted(job, tools)) },
  );
  await time.pass(1_000);
  await worker?.stop(8_000);
  expect(ends).toEqual(["handed_back"]);
  expect(await states()).toMatchObject({ waiting: 1, failed: 0 });
});

it("A worker that is stopped while the queue is away tries to hand its job back as long as it may, and ends then", async () => {
  await queue.enqueue(reviewJob(1));
  start(untilAborted, { leaseMs: 2 * hour });
  await time.pass(1_000);
  breakAll();
  const isStopped = worker?.stop(8_000);
  await time.pass(6_999);
  expect(ends).toEqual([]);
  await time.pass(1);
  await isStopped;
  expect(ends).toEqual(["unstored"]);
  expect(await states()).toMatchObject({ active: 1 });
});

it("A worker that is stopped does not wait for a database that never answers", async () => {
  await queue.enqueue(reviewJob(1));
  start(untilAborted);
  await time.pass(1_000);
  isHanging = true;
  const isStopped = worker?.stop(8_000);
  await time.pass(8_000);
  await isStopped;
  expect(lines.at(-1)).toMatch(/their leases will expire/);
});
