import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JobOutcome } from "../../src/server/queue/job.ts";
import type { Queue } from "../../src/server/queue/queue.ts";
import { openSqliteStores } from "../../src/server/queue/stores.ts";
import { reviewJob } from "../contract/jobs.ts";
import { TempFolder } from "../support/git-repo.ts";

const minute = 60_000;
const day = 24 * 60 * minute;
const done: JobOutcome = { kind: "done", reason: "reviewed" };

let folder: TempFolder;
let queue: Queue;
let now: number;

beforeEach(() => {
  folder = new TempFolder("clock");
  now = Date.UTC(2026, 10, 22, 12);
  queue = openSqliteStores(folder.path, { now: () => now }).queue;
});
afterEach(async () => {
  await queue.close();
  folder.dispose();
});

describe("a clock that jumps", () => {
  it("full-disk: After a jump forward the next worker has the job, and the previous one writes no more", async () => {
    const id = await queue.enqueue(reviewJob(1));
    const first = (await queue.claim("first", minute))!;
    now += day;
    const second = (await queue.claim("second", minute))!;

    expect(second).toMatchObject({ id, attempt: 2 });
    await expect(queue.record(first, { kind: "stopped", loop: "x", reason: "y" })).rejects.toMatchObject({
      code: "lease_lost",
    });
    expect(await queue.complete(first, done)).toBe(false);
    expect(await queue.complete(second, done)).toBe(true);
  });

  it("full-disk: After a jump back all jobs stay with their workers, and none is lost", async () => {
    const ids = [await queue.enqueue(reviewJob(1)), await queue.enqueue(reviewJob(2))];
    const running = (await queue.claim("first", minute))!;
    now -= day;

    expect(await queue.heartbeat(running, minute)).toBe(true);
    expect(await queue.complete(running, done)).toBe(true);
    // A job scheduled by the former clock runs when that time comes again.
    expect(await queue.claim("second", minute)).toBeUndefined();
    now += day;
    const waiting = await queue.claim("second", minute);
    expect([running.id, waiting?.id].toSorted()).toEqual(ids.toSorted());
  });
});
