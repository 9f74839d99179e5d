import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import { claimNext } from "./claim.ts";
import type { Database, Parameters, Result, Run } from "./database.ts";
import { inPortions } from "./in-portions.ts";
import {
  type ClaimedJob,
  installationOf,
  type JobState,
  longestQuiet,
  type NewerHead,
  type NewJob,
  type Outcome,
} from "./job.ts";
import type { Delivery, Queue } from "./queue.ts";
import { dayOf } from "./spending.ts";
import { statements } from "./statements.ts";

export interface SqlQueueOptions {
  database: Database;
  /** Jobs of one installation that may run at a time. */
  installationConcurrency: number;
  /** Milliseconds since 1970. */
  now: () => number;
}

const WaitingRow = z.object({
  id: z.string(),
  task: z.string(),
  installation: z.int(),
  repository: z.int().nullable(),
  head: z.string().nullable(),
  priority: z.int(),
  delivery_id: z.string().nullable(),
  run_after: z.int(),
  joins_since: z.int().nullable(),
});
type WaitingRow = z.infer<typeof WaitingRow>;
const NewerRow = z.object({ head: z.string().nullable(), run_after: z.int() });
const ClaimedRow = z.object({ serial_key: z.string(), coalesces: z.int() });
const RunningRow = z.object({ jobs: z.int() });
const CountRow = z.object({ state: z.enum(["waiting", "active", "done", "failed"]), jobs: z.int() });

/** The queue in whichever database: what it means stands here and in its statements, once. */
export class SqlQueue implements Queue {
  readonly #database: Database;
  readonly #limit: number;
  readonly #now: () => number;

  constructor({ database, installationConcurrency, now }: SqlQueueOptions) {
    this.#database = database;
    this.#limit = installationConcurrency;
    this.#now = now;
  }

  accept(delivery: Delivery, jobs: readonly NewJob[]): Promise<boolean> {
    return this.#database.transaction(async (run) => {
      const { id, event, action } = delivery;
      const added = await run(statements.addDelivery, { id, event, action, now: this.#now() });
      if (added.changes === 0) return false;
      for (const job of jobs) await this.#store(run, job, id);
      return true;
    });
  }

  enqueue(job: NewJob): Promise<string> {
    return this.#database.transaction((run) => this.#store(run, job, null));
  }

  claim(worker: string, leaseMs: number): Promise<ClaimedJob | undefined> {
    return this.#database.transaction((run) => {
      const now = this.#now();
      return claimNext(run, { worker, now, leaseUntil: now + leaseMs, limit: this.#limit });
    });
  }

  async heartbeat({ id, fence }: ClaimedJob, leaseMs: number): Promise<boolean> {
    const leaseUntil = this.#now() + leaseMs;
    return (await this.#database.run(statements.heartbeat, { id, fence, leaseUntil })).changes > 0;
  }

  async newer({ id, fence }: ClaimedJob): Promise<NewerHead | undefined> {
    const { rows } = await this.#database.run(statements.newer, { id, fence });
    const row = NewerRow.optional().parse(rows[0]);
    if (!row || row.head === null) return undefined;
    return { head: row.head, dueInMs: Math.max(0, row.run_after - this.#now()) };
  }

  async complete({ id, fence }: ClaimedJob, { kind, reason }: Outcome): Promise<boolean> {
    const state: JobState = kind === "failed" ? "failed" : "done";
    const ended = { id, fence, state, outcome: kind, reason, now: this.#now() };
    return (await this.#database.run(statements.complete, ended)).changes > 0;
  }

  release(
    { id, fence }: ClaimedJob,
    delayMs: number,
    why: string,
    options: { countAttempt: boolean } = { countAttempt: true },
  ): Promise<boolean> {
    return this.#database.transaction(async (run) => {
      const claimed = ClaimedRow.optional().parse((await run(statements.claimed, { id, fence })).rows[0]);
      if (!claimed) return false;
      const now = this.#now();
      const runAfter = now + delayMs;
      const newer = claimed.coalesces ? await waitingOf(run, claimed.serial_key) : undefined;
      if (newer) await run(statements.supersede, { id: newer.id, now, reason: `went into job ${id}` });
      const uncounted = options.countAttempt ? 0 : 1;
      await run(statements.release, { id, fence, runAfter, uncounted, reason: why });
      if (newer) await renew(run, { ...newer, id, run_after: Math.max(runAfter, newer.run_after) });
      return true;
    });
  }

  async record({ id, fence }: ClaimedJob, entry: TrajectoryEntry): Promise<void> {
    const text = JSON.stringify(entry);
    const added = await this.#database.run(statements.record, { id, fence, entry: text, now: this.#now() });
    if (added.changes === 0) throw new AppError("lease_lost", `Job ${id} belongs to another worker now`);
  }

  async trajectory(jobId: string): Promise<TrajectoryEntry[]> {
    const { rows } = await this.#database.run(statements.trajectory, { id: jobId });
    return rows.map((row) => JSON.parse(String(row.entry)));
  }

  endLeases(isDead: (worker: string) => boolean): Promise<number> {
    return this.#database.transaction(async (run) => {
      const now = this.#now();
      const { rows } = await run(statements.workers, { now });
      let ended = 0;
      for (const worker of rows.map((row) => String(row.worker)).filter(isDead))
        ended += (await run(statements.endLeases, { worker, now })).changes;
      return ended;
    });
  }

  async knows(serialKey: string, head: string): Promise<boolean> {
    return (await this.#database.run(statements.knows, { serialKey, head })).rows.length > 0;
  }

  async forget(installation: number, repositories: readonly number[] | null): Promise<{ running: number }> {
    let running = 0;
    for (const repository of repositories ?? [null]) {
      const of = { installation, repository };
      await this.#deleteJobs("forgetEntries", "forgetJobs", of);
      for (const kept of ["forgetSpending", "forgetTally"] as const)
        await this.#database.run(statements[kept], of);
      const { rows } = await this.#database.run(statements.running, of);
      running += RunningRow.parse(rows[0]).jobs;
    }
    if (repositories === null) await this.#database.run(statements.forgetClaims, { installation });
    return { running };
  }

  async check(): Promise<void> {
    await this.#database.run(statements.check, { now: this.#now() });
  }

  async stats(): Promise<{ jobs: Record<JobState, number>; oldestWaitingMs: number | null }> {
    const now = this.#now();
    const jobs: Record<JobState, number> = { waiting: 0, active: 0, done: 0, failed: 0 };
    const counts = await this.#database.run(statements.countByState);
    for (const row of z.array(CountRow).parse(counts.rows)) jobs[row.state] = row.jobs;
    const oldest = await this.#database.run(statements.oldestThatMayRun, { now, limit: this.#limit });
    const since = oldest.rows[0]?.since;
    return { jobs, oldestWaitingMs: typeof since === "number" ? Math.max(0, now - since) : null };
  }

  async purge(olderThanMs: number): Promise<number> {
    const before = this.#now() - olderThanMs;
    const { run } = this.#database;
    let rows = (await run(statements.purgeSpending, { day: dayOf(before) })).changes;
    for (const purge of ["purgeNotes", "purgeTally"] as const)
      rows += (await run(statements[purge], { before })).changes;
    rows += await inPortions(() => this.#alone(statements.purgeDeliveries, { before }));
    return rows + (await this.#deleteJobs("purgeEntries", "purgeJobs", { before }));
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** Deletes jobs in portions, and what they recorded first; resolves to how many jobs. */
  #deleteJobs(
    entries: "purgeEntries" | "forgetEntries",
    jobs: "purgeJobs" | "forgetJobs",
    which: Parameters,
  ): Promise<number> {
    return inPortions(async () => {
      await inPortions(() => this.#alone(statements[entries], which));
      return this.#alone(statements[jobs], which);
    });
  }

  /** While nobody replaces the task of a waiting job, and no other process deletes the same rows in another order. */
  #alone(sql: string, parameters: Parameters): Promise<Result> {
    return this.#database.transaction((run) => run(sql, parameters));
  }

  /** Adds the job, or lets it take the place of the waiting one of its key, whose id and trajectory stay. */
  async #store(run: Run, job: NewJob, deliveryId: string | null): Promise<string> {
    const { serialKey, priority, quietMs = 0 } = job;
    const now = this.#now();
    const content = {
      task: JSON.stringify(job.task),
      installation: installationOf(job.task),
      repository: "repository" in job.task ? job.task.repository.id : null,
      head: job.task.headSha,
      priority,
    };
    const waiting = job.coalesce ? await waitingOf(run, serialKey) : undefined;
    if (waiting) {
      const since = waiting.joins_since ?? now;
      const runAfter = Math.max(now, Math.min(now + quietMs, since + longestQuiet * quietMs));
      const times = { run_after: runAfter, joins_since: since };
      await renew(run, { ...content, ...times, id: waiting.id, delivery_id: deliveryId });
      return waiting.id;
    }
    const id = randomUUID();
    const coalesces = job.coalesce ? 1 : 0;
    const runAfter = job.coalesce ? now + quietMs : now;
    await run(statements.addJob, { ...content, id, serialKey, coalesces, deliveryId, runAfter, now });
    return id;
  }
}

async function waitingOf(run: Run, serialKey: string): Promise<WaitingRow | undefined> {
  return WaitingRow.optional().parse((await run(statements.waitingOf, { serialKey })).rows[0]);
}

async function renew(run: Run, newer: WaitingRow): Promise<void> {
  const { delivery_id: deliveryId, run_after: runAfter, joins_since: joinsSince, ...content } = newer;
  await run(statements.renewWaiting, { ...content, deliveryId, runAfter, joinsSince });
}
