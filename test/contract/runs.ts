import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LoopEntry } from "../../src/agent/record/trajectory.ts";
import type { Database } from "../../src/server/queue/database.ts";
import type { ClaimedJob } from "../../src/server/queue/job.ts";
import { openPostgresDatabase } from "../../src/server/queue/postgres-database.ts";
import { type OpenRuns, openRuns } from "../../src/server/queue/runs.ts";
import { openSqliteDatabase } from "../../src/server/queue/sqlite-database.ts";
import type { Stores } from "../../src/server/queue/stores.ts";
import { commandJob, leaseMs, reviewJob } from "./jobs.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

const newest = Number.MAX_SAFE_INTEGER;
const stopped = (reason: string) => ({ kind: "stopped", loop: "review", reason }) as const;
const usage = { promptTokens: 9, cachedTokens: 0, completionTokens: 1, costUsd: null };
const turn = {
  ...{ kind: "turn", loop: "review", turn: 1 },
  model: { content: "", toolCalls: [], finishReason: "stop", usage },
} as const satisfies LoopEntry;
const result = (head: string) => ({ kind: "result", head, base: "b", result: { summary: "{}" } }) as const;

/** Reading records while other processes write them. */
export function describeRuns(create: () => StoresUnderTest): void {
  const data = dataOfTests(create);
  let stores: Stores;
  let runs: OpenRuns;
  let time: number;

  beforeEach(async () => {
    time = 1_800_000_000_000;
    stores = await data.open({ now: () => time });
    runs = await openRuns(await data.place());
  });
  afterEach(async () => {
    await runs[Symbol.asyncDispose]();
  });

  async function claimed(): Promise<ClaimedJob> {
    const job = await stores.queue.claim("worker", leaseMs);
    if (!job) throw new Error("no job to claim");
    return job;
  }

  it("Runs are listed newest first, page by page, with their task and outcome", async () => {
    await stores.queue.enqueue(reviewJob(1));
    const first = await claimed();
    time += 7_000;
    await stores.queue.complete(first, { kind: "done", reason: "2 posted" });
    const waits = await stores.queue.enqueue(commandJob(2, 5));
    const page = await runs.before(newest, 1);
    expect(page).toMatchObject([{ id: waits, state: "waiting", outcome: null, startedAt: null }]);
    expect(await runs.before(page[0]?.seq ?? 0, 5)).toEqual([
      {
        ...{ seq: expect.any(Number), id: first.id, task: first.task, attempts: 1 },
        ...{ state: "done", outcome: "done", reason: "2 posted" },
        ...{ createdAt: time - 7_000, startedAt: time - 7_000, endedAt: time },
      },
    ]);
  });

  it("The list omits runs without a repository and tasks that cannot be read", async () => {
    const { queue } = stores;
    const about = { kind: "reconcile", installation: 1, headSha: null } as const;
    await queue.enqueue({ task: about, concurrencyKey: "r", coalesce: false, priority: 0 });
    const id = await queue.enqueue(reviewJob(1));
    await queue.enqueue(reviewJob(2));
    await change("UPDATE job SET task = '{' WHERE concurrency_key = '7#2'");
    expect((await runs.before(newest, 9)).map((run) => run.id)).toEqual([id]);
  });

  it("A run is found by the beginning of its id, in which nothing is a pattern", async () => {
    const [id, other] = [await stores.queue.enqueue(reviewJob(1)), await stores.queue.enqueue(reviewJob(2))];
    expect(await runs.named(id.slice(0, 12))).toMatchObject([{ id }]);
    expect(await runs.named(other)).toMatchObject([{ id: other }]);
    for (const none of ["%", "_", `${id.slice(0, 5)}%`, "'", "zzz", "ffffffffffff"])
      expect(await runs.named(none), none).toEqual([]);
  });

  it("A record has its entries in order, with the time and claim of each", async () => {
    await stores.queue.enqueue(reviewJob(1));
    const first = await claimed();
    await stores.queue.record(first, stopped("model_error"));
    await stores.queue.release(first, 0, "down");
    time += 500;
    await stores.queue.record(await claimed(), stopped("finished"));
    expect(await runs.entries(first.id)).toEqual([
      { at: time - 500, claim: 1, entry: stopped("model_error") },
      { at: time, claim: 2, entry: stopped("finished") },
    ]);
    expect(await runs.entries("nobody")).toEqual([]);
  });

  it("Turns and results are read without other entries, even if their texts look alike", async () => {
    await stores.queue.enqueue(reviewJob(1));
    const job = await claimed();
    expect(await runs.turnsAndResults(job.id)).toEqual([]);
    await stores.queue.record(job, turn);
    await stores.queue.record(job, stopped('{"kind":"result",'));
    await stores.queue.record(job, { kind: "messages", loop: '{"kind":"turn",', messages: [] });
    await stores.queue.record(job, result("new"));
    expect(await runs.turnsAndResults(job.id)).toMatchObject([{ entry: turn }, { entry: result("new") }]);
  });

  describe("a record", () => {
    it("The database refuses a change of a record", async () => {
      await stores.queue.enqueue(reviewJob(1));
      const job = await claimed();
      await stores.queue.record(job, stopped("finished"));
      await expect(change("UPDATE trajectory SET entry = '{}'")).rejects.toThrow("a record is never changed");
      await expect(change("UPDATE trajectory SET created_at = 0")).rejects.toThrow("never changed");
      expect(await runs.entries(job.id)).toMatchObject([{ at: time, entry: stopped("finished") }]);
    });

    it("A running run's record cannot be overwritten, moved or deleted", async () => {
      await stores.queue.enqueue(reviewJob(1));
      const job = await claimed();
      await stores.queue.record(job, stopped("finished"));
      const other = await stores.queue.enqueue(reviewJob(2));
      const values = `SELECT number, job_id, fence, '{}', created_at FROM trajectory`;
      const into = "INTO trajectory (number, job_id, fence, entry, created_at)";
      const attempts = [
        `INSERT ${into} ${values}`,
        `REPLACE ${into} ${values}`,
        `INSERT ${into} ${values} WHERE true ON CONFLICT (number) DO UPDATE SET entry = excluded.entry`,
        `INSERT ${into} OVERRIDING SYSTEM VALUE ${values} ON CONFLICT (number) DO UPDATE SET entry = '{}'`,
        `UPDATE trajectory SET job_id = '${other}'`,
        `UPDATE job SET id = 'another' WHERE id = '${job.id}'`,
        "DELETE FROM trajectory",
        "TRUNCATE trajectory",
        "TRUNCATE job CASCADE",
      ];
      for (const attempt of attempts) await expect(change(attempt), attempt).rejects.toThrow();
      expect(await runs.entries(job.id)).toMatchObject([{ at: time, entry: stopped("finished") }]);
    });

    it("A record accepts nothing from a worker that lost the run, or after its end", async () => {
      await stores.queue.enqueue(reviewJob(1));
      const late = await claimed();
      await stores.queue.release(late, 0, "down");
      const job = await claimed();
      const refused = async (from: ClaimedJob) =>
        expect(stores.queue.record(from, stopped("finished"))).rejects.toMatchObject({ code: "lease_lost" });
      await refused(late);
      await stores.queue.complete(job, { kind: "done", reason: "" });
      await refused(job);
      time += 10_000;
      await stores.queue.purge(5_000, 400 * 86_400_000);
      await refused(job);
    });

    it("A record is deleted with its run", async () => {
      await stores.queue.enqueue(reviewJob(1));
      const job = await claimed();
      await stores.queue.record(job, stopped("finished"));
      await stores.queue.complete(job, { kind: "done", reason: "" });
      time += 10_000;
      await stores.queue.purge(5_000, 400 * 86_400_000);
      expect([await runs.before(newest, 9), await runs.entries(job.id)]).toEqual([[], []]);
    });
  });

  /** Changes the database directly, without regard for its writers. */
  async function change(sql: string): Promise<void> {
    const { databaseUrl, dataFolder } = await data.place();
    const database: Database =
      databaseUrl === null ? openSqliteDatabase(dataFolder) : await openPostgresDatabase(databaseUrl);
    try {
      await database.run(sql);
    } finally {
      await database.close();
    }
  }
}
