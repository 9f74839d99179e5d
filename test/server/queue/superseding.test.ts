import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError, errorLine } from "../../../src/core/errors.ts";
import type { ClaimedJob, JobOutcome, NewJob } from "../../../src/server/queue/job.ts";
import type { Queue } from "../../../src/server/queue/queue.ts";
import type { JobTools } from "../../../src/server/queue/run-job.ts";
import { startWorker, type Worker, type WorkerOptions } from "../../../src/server/queue/worker.ts";
import { commandJob, reviewJob } from "../../contract/jobs.ts";
import { head, pushJob } from "../../contract/pushes.ts";
import { type VirtualTime, virtualTime } from "./virtual-time.ts";
import { done, ownQueue } from "./worker-setup.ts";

const debounceMs = 10_000;
/** So long a review takes here. */
const reviewMs = 45_000;

let queue: Queue;
let removeQueue: () => Promise<void>;
let worker: Worker;
let time: VirtualTime;
/** Every time a handler was begun, and how it ended: with its outcome, or with the code of what ended it. */
let runs: { job: ClaimedJob; tools: JobTools; head: string | null; end: string | null }[];
let lines: string[];
let givenUp: string[];

beforeEach(() => {
  time = virtualTime();
  ({ queue, remove: removeQueue } = ownQueue(time.now));
  [runs, lines, givenUp] = [[], [], []];
});
afterEach(async () => {
  await worker.stop(0);
  await removeQueue();
});

/** A review that takes its time and heeds its signal. */
async function review(_: ClaimedJob, { signal }: JobTools): Promise<JobOutcome> {
  await time.sleep(reviewMs, signal);
  signal.throwIfAborted();
  return done;
}

function start(handle: WorkerOptions["handle"] = review, options: Partial<WorkerOptions> = {}): void {
  const log = (_: object, message: string) => void lines.push(message);
  worker = startWorker({
    ...{ queue, concurrency: 2, random: () => 1, now: time.now, sleep: time.sleep },
    log: { info: log, warn: log, error: log },
    giveUp: async (_, error) => void givenUp.push(errorLine(error)),
    async handle(job, tools) {
      const run: (typeof runs)[number] = { job, tools, head: job.task.headSha, end: null };
      runs.push(run);
      // A job that is begun again and again in no time would keep the test from ever ending.
      if (runs.length > 200) return { kind: "failed", reason: "begun too often" };
      try {
        const outcome = await handle(job, tools);
        run.end = outcome.kind;
        return outcome;
      } catch (error) {
        run.end = error instanceof AppError ? error.code : "fault";
        throw error;
      }
    },
    ...options,
  });
}

/** As the web server does: stored, then announced to the worker of the same process. */
async function arrive(job: NewJob): Promise<void> {
  await queue.enqueue(job);
  worker.wake();
  await time.pass(0);
}
const heads = () => runs.map((run) => [run.head, run.end]);
const states = async () => (await queue.stats()).jobs;

it("A superseded review ends at once when this process took the push in, and the same job reviews the newer head after its quiet time", async () => {
  start();
  await arrive(reviewJob(1, { headSha: head(1) }));
  await runs[0]!.tools.record({ kind: "stopped", loop: "review", reason: "paid" });
  await arrive(pushJob(2));
  expect(heads()).toEqual([[head(1), "superseded"]]);
  await time.pass(debounceMs - 1);
  expect(runs).toHaveLength(1);
  await time.pass(1_001);
  expect(runs[1]).toMatchObject({ head: head(2), job: { id: runs[0]!.job.id, attempt: 1 } });
  expect(await runs[1]!.tools.recorded()).toHaveLength(1);
  await time.pass(reviewMs);
  expect(heads()).toEqual([
    [head(1), "superseded"],
    [head(2), "done"],
  ]);
  expect(await states()).toMatchObject({ done: 2, failed: 0, waiting: 0, active: 0 });
  expect(givenUp).toEqual([]);
  expect(lines).toContain(`Job superseded: the head is now ${head(2)}`);
});

it("A superseded review ends at the next heartbeat when another process took the push in", async () => {
  start(review, { leaseMs: 30_000 });
  await arrive(reviewJob(1, { headSha: head(1) }));
  await queue.enqueue(pushJob(2));
  await time.pass(9_000);
  expect(heads()).toEqual([[head(1), null]]);
  await time.pass(1_000);
  expect(heads()[0]).toEqual([head(1), "superseded"]);
});

it("A superseded review goes on for news of the same head, of another pull request, and for commands", async () => {
  start();
  await arrive(reviewJob(1, { headSha: head(1) }));
  await arrive(reviewJob(1, { headSha: head(1) }));
  await arrive(reviewJob(2, { headSha: head(2) }));
  await arrive(commandJob(1, 5));
  await time.pass(reviewMs);
  expect(heads().slice(0, 2)).toEqual([
    [head(1), "done"],
    [head(2), "done"],
  ]);
});

it("A superseded review goes on when it is the newer head that it found on GitHub and reviews", async () => {
  start();
  await arrive(reviewJob(1, { headSha: head(1) }));
  await runs[0]!.tools.record({ kind: "check_opened", head: head(2), trigger: "event#1@main" });
  await arrive(pushJob(2));
  expect(runs[0]!.end).toBeNull();
  await arrive(pushJob(3));
  expect(runs[0]!.end).toBe("superseded");
});

it("A superseded review keeps its outcome when it ended all the same", async () => {
  start(async () => {
    await time.sleep(reviewMs, new AbortController().signal);
    return done;
  });
  await arrive(reviewJob(1, { headSha: head(1) }));
  await arrive(pushJob(2));
  expect(runs[0]!.tools.signal.reason).toMatchObject({ code: "superseded" });
  await time.pass(reviewMs);
  expect(runs[0]).toMatchObject({ end: "done" });
  expect(await states()).toMatchObject({ done: 1, active: 1 });
  expect(runs[1]).toMatchObject({ head: head(2), job: { attempt: 1 } });
  expect(runs[1]!.job.id).not.toBe(runs[0]!.job.id);
});

it.each([
  ["a fault", () => new TypeError("a socket that was closed under it")],
  ["a failure for good", () => new AppError("child_died", "the review process ended")],
  ["a lost lease", () => new AppError("lease_lost", "another worker has this job now")],
])(
  "A superseded review is neither failed nor lost, whatever its handler made of the signal: %s",
  async (_, fault) => {
    start(async (job, tools) => {
      try {
        return await review(job, tools);
      } catch {
        throw fault();
      }
    });
    await arrive(reviewJob(1, { headSha: head(1) }));
    await arrive(pushJob(2));
    expect(await states()).toMatchObject({ active: 0, failed: 0, waiting: 1 });
    expect(givenUp).toEqual([]);
    await time.pass(debounceMs + 1_000);
    expect(runs[1]).toMatchObject({ head: head(2), job: { attempt: 1 } });
  },
);

it("A superseded review may not start to publish, also if its signal has not fired yet", async () => {
  start();
  await arrive(reviewJob(1, { headSha: head(1) }));
  await queue.enqueue(pushJob(2));
  expect(await runs[0]!.tools.mayPublish()).toBe(false);
  await time.pass(0);
  expect(heads()).toEqual([[head(1), "superseded"]]);
});

it("A superseded review ends what it began to publish, unless it asks again", async () => {
  start();
  await arrive(reviewJob(1, { headSha: head(1) }));
  expect(await runs[0]!.tools.mayPublish()).toBe(true);
  await arrive(pushJob(2));
  await time.pass(20_000);
  expect(heads()).toEqual([[head(1), null]]);
  expect(await runs[0]!.tools.mayPublish()).toBe(false);
  await time.pass(0);
  expect(heads()[0]).toEqual([head(1), "superseded"]);
});

it("A superseded review is handed back like any other when the worker stops", async () => {
  start();
  await arrive(reviewJob(1, { headSha: head(1) }));
  await queue.enqueue(pushJob(2));
  await worker.stop(1_000);
  expect(await states()).toMatchObject({ waiting: 1, active: 0, failed: 0 });
});

it("A review goes on when the queue cannot be asked for newer heads", async () => {
  queue.newer = async () => {
    throw new Error("disk is full");
  };
  start();
  await arrive(reviewJob(1, { headSha: head(1) }));
  await arrive(pushJob(2));
  expect(runs[0]!.end).toBeNull();
  expect(lines).toContain("Could not check for a newer head: disk is full");
});

it("A command's review begins anew on the newest head after the quiet time, before the event's, and ends", async () => {
  start();
  await arrive(commandJob(1, 5));
  await arrive(pushJob(2));
  expect(heads()).toEqual([[null, "superseded"]]);
  await time.pass(debounceMs + 1_000);
  expect(runs[1]!.job).toMatchObject({ id: runs[0]!.job.id, attempt: 1 });
  await time.pass(2 * reviewMs + 2_000);
  expect(heads().slice(1)).toEqual([
    [null, "done"],
    [head(2), "done"],
  ]);
  expect(await states()).toMatchObject({ done: 2, failed: 0, waiting: 0, active: 0 });
});

it("A command's review is not superseded by a push that waited when it started", async () => {
  start();
  await queue.enqueue(pushJob(2));
  await arrive(commandJob(1, 5));
  await time.pass(reviewMs);
  expect(heads()[0]).toEqual([null, "done"]);
});

describe("a job that is no review", () => {
  const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
  const asked = { repository, pull: 1, commentId: 5, headSha: null };
  it.each<[string, NewJob["task"]]>([
    [
      "a command",
      {
        kind: "command",
        command: { name: "pause" },
        ...asked,
        requestedBy: "ada",
        thread: null,
        writtenAt: "2026-01-01T00:01:00Z",
      },
    ],
    ["a reply", { kind: "reply", ...asked, thread: 4, author: "ada", body: "why?" }],
  ])(
    "A job that is no review is not superseded: %s; its log lines name the pull request",
    async (_, task) => {
      const pulls: unknown[] = [];
      const info = (fields: object) => void pulls.push((fields as { pull?: number }).pull);
      start(review, { log: { info, warn: info, error: info } });
      await arrive({ task, concurrencyKey: "7#1", coalesce: false, priority: 10 });
      await arrive(pushJob(2));
      expect(await runs[0]!.tools.mayPublish()).toBe(true);
      await time.pass(reviewMs);
      expect(runs[0]!.end).toBe("done");
      expect(pulls.every((pull) => pull === 1)).toBe(true);
    },
  );
});

describe("ten pushes within a minute", () => {
  const completed = () => runs.filter(({ end }) => end === "done");

  it("Ten pushes within a minute make one review beside the one that was interrupted", async () => {
    start();
    await arrive(reviewJob(1, { headSha: head(0) }));
    for (let n = 1; n <= 10; n++) {
      await time.pass(6_000);
      await arrive(pushJob(n));
    }
    await time.pass(120_000);
    expect(heads()).toEqual([
      [head(0), "superseded"],
      [head(10), "done"],
    ]);
  });

  it("Ten pushes within a minute make at most two, with any timing and any command between; the last is of the newest head", async () => {
    start();
    let pull = 10;
    const moments = fc.array(fc.integer({ min: 0, max: 60_000 }), { minLength: 10, maxLength: 10 });
    const command = fc.option(fc.integer({ min: 0, max: 90_000 }));
    const property = fc.asyncProperty(moments, command, fc.boolean(), async (pushes, asked, announced) => {
      runs = [];
      pull++;
      const events = [
        { at: 0, job: reviewJob(pull, { headSha: head(0) }) },
        ...pushes.toSorted((a, b) => a - b).map((at, n) => ({ at, job: pushOf(pull, n + 1) })),
        ...(asked === null ? [] : [{ at: asked, job: commandJob(pull, 5) }]),
      ].toSorted((a, b) => a.at - b.at);
      const from = time.now();
      for (const { at, job } of events) {
        await time.pass(Math.max(0, from + at - time.now()));
        await queue.enqueue(job);
        if (announced) worker.wake();
      }
      await time.pass(600_000);
      const [commands, reviews] = [
        completed().filter(({ job }) => commentOf(job) !== null),
        completed().filter(({ job }) => commentOf(job) === null),
      ];
      expect(reviews.length).toBeLessThanOrEqual(2);
      expect(commands).toHaveLength(asked === null ? 0 : 1);
      expect(reviews.at(-1)?.head).toBe(head(10));
      // One at the beginning, one for each quiet time that fits into the pushes, the last one and the command.
      expect(runs.length).toBeLessThanOrEqual(9);
      expect(await states()).toMatchObject({ waiting: 0, active: 0, failed: 0 });
    });
    await fc.assert(property, { numRuns: 15 });
    expect(givenUp).toEqual([]);
  });

  const pushOf = (pull: number, n: number) => reviewJob(pull, { headSha: head(n), debounceMs });
  const commentOf = ({ task }: ClaimedJob) => (task.kind === "review" ? task.commentId : null);
});
