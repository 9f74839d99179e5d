import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError, errorLine } from "../../../src/core/errors.ts";
import { type ClaimedJob, maxAttempts } from "../../../src/server/queue/job.ts";
import type { Queue } from "../../../src/server/queue/queue.ts";
import type { JobTools } from "../../../src/server/queue/run-job.ts";
import { startWorker, type Worker, type WorkerOptions } from "../../../src/server/queue/worker.ts";
import { commandJob, delivery, reviewJob } from "../../contract/jobs.ts";
import { done, ownQueue, untilAborted } from "./worker-setup.ts";

const outage = (retryAfterMs?: number) =>
  new AppError("model_failed", "The model is down", {
    retryable: true,
    ...(retryAfterMs && { retryAfterMs }),
  });

let queue: Queue;
let removeQueue: () => Promise<void>;
let worker: Worker | undefined;
/** Added to the clock: back-offs and leases are stepped over, not waited for. */
let ahead: number;
let lines: { level: string; message: string; fields: Record<string, unknown> }[];

beforeEach(() => {
  ahead = 0;
  lines = [];
  ({ queue, remove: removeQueue } = ownQueue(() => Date.now() + ahead));
});
afterEach(async () => {
  await worker?.stop(0);
  await removeQueue();
});

const level = (name: string) => (fields: object, message: string) =>
  void lines.push({ level: name, message, fields: fields as Record<string, unknown> });
const log = { info: level("info"), warn: level("warn"), error: level("error") };

function start(handle: WorkerOptions["handle"], options: Partial<WorkerOptions> = {}): Worker {
  worker = startWorker({ queue, handle, concurrency: 1, log, pollMs: 5, random: () => 1, ...options });
  return worker;
}

/** Resolves when `condition` holds; the test's own time-out ends it otherwise. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2));
}
const states = async () => (await queue.stats()).jobs;

/** A handler that goes on when the test says so. */
function gate() {
  const opened = Promise.withResolvers<void>();
  const calls: { job: ClaimedJob; tools: JobTools }[] = [];
  const handle = async (job: ClaimedJob, tools: JobTools) => {
    calls.push({ job, tools });
    await opened.promise;
    return done;
  };
  return { handle, calls, open: opened.resolve };
}

it("A worker does what waits, stores the outcome and says that it is idle", async () => {
  const idle = Promise.withResolvers<void>();
  await queue.accept(delivery("d1"), [reviewJob(1)]);
  const handled: ClaimedJob[] = [];
  start(
    async (job) => {
      handled.push(job);
      return done;
    },
    { onIdle: idle.resolve },
  );
  await idle.promise;
  expect(handled).toMatchObject([{ task: { pull: 1 }, attempt: 1, deliveryId: "d1" }]);
  expect(await states()).toMatchObject({ done: 1, waiting: 0, active: 0 });
});

it("A worker starts a job at once when it is woken, however seldom it polls", async () => {
  const idle = Promise.withResolvers<void>();
  const { handle, calls, open } = gate();
  const { wake } = start(handle, { pollMs: 1_000_000, onIdle: idle.resolve });
  await idle.promise;
  await queue.enqueue(reviewJob(1));
  wake();
  await until(() => calls.length === 1);
  open();
});

it("A worker runs `concurrency` jobs at a time, and none of a busy pull request", async () => {
  const { handle, calls, open } = gate();
  for (const pull of [1, 2, 3]) await queue.enqueue(commandJob(pull, pull));
  await queue.enqueue(commandJob(1, 9));
  start(handle, { concurrency: 2 });
  await until(() => calls.length === 2);
  expect(await states()).toMatchObject({ active: 2, waiting: 2 });
  open();
  await until(async () => (await states()).done === 4);
  expect(calls.map(({ job }) => job.task.kind === "review" && job.task.commentId)).toEqual([1, 2, 3, 9]);
});

it("A worker names delivery, repository, pull, head and job in every line about a job", async () => {
  await queue.accept(delivery("d1"), [reviewJob(4)]);
  start(async () => done);
  await until(async () => (await states()).done === 1);
  const about = lines.filter(({ fields }) => "job" in fields);
  expect(about.length).toBeGreaterThan(1);
  for (const { fields } of about) {
    expect(fields).toMatchObject({ delivery: "d1", repo: "octo/shop", pull: 4, head: "a".repeat(40) });
  }
});

it("A worker reports once how long a job waited, and each time how it ended and how long it took", async () => {
  const told: string[] = [];
  const watch: WorkerOptions["watch"] = {
    began: (_, waitedMs) => void told.push(`waited ${waitedMs >= 60_000}`),
    ended: (_, how, tookMs) => void told.push(`${how} ${tookMs >= 0}`),
  };
  await queue.enqueue(reviewJob(1));
  ahead += 60_000;
  const handle = async ({ attempt }: ClaimedJob) => {
    if (attempt === 1) throw outage(1);
    return done;
  };
  start(handle, { watch, now: () => Date.now() + ahead });
  await until(async () => (await states()).done === 1);
  await until(() => told.length === 3);
  expect(told).toEqual(["waited true", "retried true", "done true"]);
});

it("A worker goes on when the queue could not be read", async () => {
  let broken = true;
  const claim = queue.claim.bind(queue);
  queue.claim = async (...args) => {
    if (broken) throw new Error("disk is full");
    return claim(...args);
  };
  await queue.enqueue(reviewJob(1));
  start(async () => done);
  await until(() => lines.some(({ message }) => message.includes("disk is full")));
  broken = false;
  await until(async () => (await states()).done === 1);
});

it("A job that fails for a reason that passes is tried again after a growing time", async () => {
  const seen: number[] = [];
  await queue.enqueue(reviewJob(1));
  start(async ({ attempt }) => {
    seen.push(attempt);
    if (attempt < 3) throw outage();
    return done;
  });
  await until(async () => seen.length === 1 && (await states()).waiting === 1);
  ahead += 5_000;
  await until(async () => seen.length === 2 && (await states()).waiting === 1);
  ahead += 10_000;
  await until(async () => (await states()).done === 1);
  expect(seen).toEqual([1, 2, 3]);
  expect(lines.flatMap(({ fields }) => fields.delayMs ?? [])).toEqual([5_000, 10_000]);
});

it("A job that fails waits as long as the other side asks", async () => {
  await queue.enqueue(reviewJob(1));
  start(async ({ attempt }) => {
    if (attempt === 1) throw outage(2_400_000);
    return done;
  });
  await until(() => lines.some(({ fields }) => fields.delayMs === 2_400_000));
  ahead += 2_400_000;
  await until(async () => (await states()).done === 1);
});

it("A job that fails for good is reported once and stored as failed", async () => {
  const told: string[] = [];
  await queue.enqueue(reviewJob(1));
  start(
    async () => {
      throw new AppError("model_unauthorized", "The key is wrong", { remedy: "Set another one." });
    },
    { giveUp: async (_, error) => void told.push(errorLine(error)) },
  );
  await until(async () => (await states()).failed === 1);
  expect(told).toEqual(["The key is wrong. Set another one."]);
});

it("A job that fails at every attempt is given up", async () => {
  const told: number[] = [];
  await queue.enqueue(reviewJob(1));
  start(
    async () => {
      throw outage();
    },
    { giveUp: async ({ attempt }) => void told.push(attempt) },
  );
  await until(async () => {
    ahead += 300_000;
    return (await states()).failed === 1;
  });
  expect(told).toEqual([maxAttempts]);
});

it("A job that fails is stored as failed also if it cannot be reported", async () => {
  await queue.enqueue(reviewJob(1));
  start(
    async () => {
      throw new TypeError("a bug");
    },
    {
      giveUp: async () => {
        throw new Error("GitHub is down");
      },
    },
  );
  await until(async () => (await states()).failed === 1);
  expect(lines.filter((line) => line.level === "error").map(({ message }) => message)).toEqual([
    "Job failed: a bug",
    "The failure was not reported on GitHub: GitHub is down",
  ]);
});

it("A job that fails with its worker every time is not tried again, but reported", async () => {
  const id = await queue.enqueue(reviewJob(1));
  for (let n = 0; n < maxAttempts; n++) {
    await queue.claim("doomed", 1);
    ahead += 10;
  }
  const told: string[] = [];
  const handled: string[] = [];
  start(
    async (job) => {
      handled.push(job.id);
      return done;
    },
    { giveUp: async (job, error) => void told.push(`${job.id}: ${errorLine(error)}`) },
  );
  await until(async () => (await states()).failed === 1);
  expect({ told, handled }).toEqual({
    told: [`${id}: it failed at every attempt, or its worker died`],
    handled: [],
  });
});

describe("an outage of GitHub", () => {
  const outageOfGitHub = () => new AppError("github_failed", "GitHub answered 502", { retryable: true });
  const startLater = (handle: WorkerOptions["handle"], options: Partial<WorkerOptions> = {}) =>
    start(handle, { pollMs: 1, now: () => Date.now() + ahead, ...options });
  /** Lets the back-off of a minute pass until the only job is in `state`. */
  const steppingUntil = (state: "done" | "failed") =>
    until(async () => {
      ahead += 20_000;
      return (await states())[state] === 1;
    });

  it("An outage of GitHub costs no attempt, however long it lasts", async () => {
    await queue.enqueue(reviewJob(1));
    const attempts: number[] = [];
    startLater(async (job) => {
      if (attempts.push(job.attempt) <= 2 * maxAttempts) throw outageOfGitHub();
      return done;
    });
    await steppingUntil("done");
    expect(attempts).toEqual(Array.from({ length: 2 * maxAttempts + 1 }, () => 1));
  });

  it("An outage of GitHub ends after a day", async () => {
    await queue.enqueue(reviewJob(1));
    startLater(async () => {
      ahead += 3_600_000;
      throw outageOfGitHub();
    });
    await steppingUntil("failed");
  });

  it("An outage of GitHub only delays the report of a failure", async () => {
    await queue.enqueue(reviewJob(1));
    let tellings = 0;
    startLater(
      async () => {
        throw new AppError("too_large", "too large");
      },
      {
        giveUp: async () => {
          if (++tellings < 4) throw outageOfGitHub();
        },
      },
    );
    await steppingUntil("failed");
    expect(tellings).toBe(4);
  });
});

it("A lease is kept by heartbeats as long as the handler runs", async () => {
  const { handle, calls, open } = gate();
  await queue.enqueue(reviewJob(1));
  start(handle, { leaseMs: 30 });
  await until(() => calls.length === 1);
  for (let beats = 0; beats < 4; beats++) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(await calls[0]!.tools.mayPublish()).toBe(true);
  }
  expect((await states()).active).toBe(1);
  open();
  await until(async () => (await states()).done === 1);
  expect(calls).toHaveLength(1);
});

it("A lease that was lost aborts the handler, who can store nothing any more", async () => {
  const lost = Promise.withResolvers<{ reason: unknown; ours: boolean; recorded: unknown }>();
  await queue.enqueue(reviewJob(1));
  start(
    async (job, tools) => {
      await untilAborted(job, tools).catch(() => {});
      const recorded = await tools
        .record({ kind: "stopped", loop: "x", reason: "late" })
        .catch((error) => error.code);
      lost.resolve({ reason: tools.signal.reason.code, ours: await tools.mayPublish(), recorded });
      return done;
    },
    { leaseMs: 60, pollMs: 1_000_000 },
  );
  await until(async () => (await states()).active === 1);
  // As if this process had been asleep beyond its lease and another one had taken over.
  ahead += 60_000;
  const taken = await queue.claim("other", 600_000);
  expect(taken).toBeDefined();
  expect(await lost.promise).toEqual({ reason: "lease_lost", ours: false, recorded: "lease_lost" });
  await worker?.stop(0);
  expect(await states()).toMatchObject({ active: 1, done: 0 });
  expect(await queue.trajectory(taken!.id)).toEqual([]);
});

it("A stopping worker aborts what runs and hands it back at once without counting the attempt", async () => {
  await queue.enqueue(reviewJob(1));
  start(untilAborted);
  await until(async () => (await states()).active === 1);
  await worker?.stop(600_000);
  expect(await states()).toMatchObject({ active: 0, waiting: 1, failed: 0 });
  expect((await queue.claim("next", 1_000))?.attempt).toBe(1);
});

it("A stopping worker stores the outcome of a handler that ends all the same", async () => {
  const { handle, calls, open } = gate();
  await queue.enqueue(reviewJob(1));
  start(handle);
  await until(() => calls.length === 1);
  const stopped = worker?.stop(600_000);
  open();
  await stopped;
  expect(await states()).toMatchObject({ done: 1 });
});

it("A stopping worker hands a job back whose handler does not end in time, and leaves that one powerless", async () => {
  const { handle, calls } = gate();
  await queue.enqueue(reviewJob(1));
  start(handle);
  await until(() => calls.length === 1);
  await worker?.stop(1);
  expect(await states()).toMatchObject({ active: 0, waiting: 1 });
  expect(await calls[0]!.tools.mayPublish()).toBe(false);
  expect(calls[0]!.tools.signal.aborted).toBe(true);
});

it("A stopping worker takes no further job", async () => {
  start(async () => done);
  await worker?.stop(0);
  await queue.enqueue(reviewJob(1));
  worker?.wake();
  expect(await states()).toMatchObject({ waiting: 1 });
});
