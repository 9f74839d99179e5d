import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import { inTransaction, openDatabase } from "./database.ts";
import {
  type ClaimedJob,
  type JobState,
  longestQuiet,
  maxAttempts,
  type NewerHead,
  type NewJob,
  type Outcome,
  Task,
} from "./job.ts";
import type { Delivery, Queue } from "./queue.ts";
import { dayOf } from "./spending.ts";
import { prepareStatements } from "./statements.ts";

export interface SqliteQueueOptions {
  /** Milliseconds since 1970; injected by tests. */
  now?: () => number;
}

const CandidateRow = z.object({
  id: z.string(),
  task: z.string(),
  attempts: z.int(),
  fence: z.int(),
  delivery_id: z.string().nullable(),
  created_at: z.int(),
});
const WaitingRow = z.object({
  id: z.string(),
  task: z.string(),
  priority: z.int(),
  delivery_id: z.string().nullable(),
  run_after: z.int(),
  joins_since: z.int().nullable(),
});
const NewerRow = z.object({ head: z.string().nullable(), run_after: z.int() });
const ClaimedRow = z.object({ serial_key: z.string(), coalesces: z.int() });

/**
 * Opens the queue that lives in `<dataFolder>/queue.db`. Any number of processes may open the same file.
 * @throws AppError `data_folder_unusable`.
 */
export function openSqliteQueue(dataFolder: string, options: SqliteQueueOptions = {}): Queue {
  return new SqliteQueue(openDatabase(dataFolder), options.now ?? Date.now);
}

/** Every method is one short transaction; SQLite has written and synced it when the method returns. */
class SqliteQueue implements Queue {
  readonly #database: DatabaseSync;
  readonly #sql: ReturnType<typeof prepareStatements>;
  readonly #now: () => number;

  constructor(database: DatabaseSync, now: () => number) {
    this.#database = database;
    this.#sql = prepareStatements(database);
    this.#now = now;
  }

  async accept(delivery: Delivery, jobs: readonly NewJob[]): Promise<boolean> {
    return this.#write(() => {
      const added = this.#sql.addDelivery.run({ ...delivery, now: this.#now() });
      if (added.changes === 0) return false;
      for (const job of jobs) this.#store(job, delivery.id);
      return true;
    });
  }

  async enqueue(job: NewJob): Promise<string> {
    return this.#write(() => this.#store(job, null));
  }

  async claim(worker: string, leaseMs: number): Promise<ClaimedJob | undefined> {
    return this.#write(() => {
      const now = this.#now();
      this.#sql.abandonDead.run({ now, maxAttempts, reason: "its worker died at every attempt" });
      for (;;) {
        const row = CandidateRow.optional().parse(this.#sql.nextJob.get({ now }));
        if (!row) return undefined;
        const task = parseTask(row.task);
        if (!task) {
          this.#sql.spoil.run({ id: row.id, now, reason: "stored by a version with other tasks" });
          continue;
        }
        this.#sql.take.run({ id: row.id, worker, leaseUntil: now + leaseMs });
        this.#sql.seeWaiting.run({ id: row.id });
        const { id, delivery_id: deliveryId, created_at: createdAt } = row;
        return { id, task, attempt: row.attempts + 1, fence: row.fence + 1, deliveryId, createdAt };
      }
    });
  }

  async heartbeat({ id, fence }: ClaimedJob, leaseMs: number): Promise<boolean> {
    const leaseUntil = this.#now() + leaseMs;
    return this.#write(() => this.#sql.heartbeat.run({ id, fence, leaseUntil }).changes > 0);
  }

  async newer({ id, fence }: ClaimedJob): Promise<NewerHead | undefined> {
    const row = NewerRow.optional().parse(this.#sql.newer.get({ id, fence }));
    if (!row || row.head === null) return undefined;
    return { head: row.head, dueInMs: Math.max(0, row.run_after - this.#now()) };
  }

  async complete({ id, fence }: ClaimedJob, { kind, reason }: Outcome): Promise<boolean> {
    const state: JobState = kind === "failed" ? "failed" : "done";
    const now = this.#now();
    return this.#write(
      () => this.#sql.complete.run({ id, fence, state, outcome: kind, reason, now }).changes > 0,
    );
  }

  async release(
    job: ClaimedJob,
    delayMs: number,
    why: string,
    options: { countAttempt: boolean } = { countAttempt: true },
  ): Promise<boolean> {
    const { id, fence } = job;
    return this.#write(() => {
      const claimed = ClaimedRow.optional().parse(this.#sql.claimed.get({ id, fence }));
      if (!claimed) return false;
      const now = this.#now();
      const runAfter = now + delayMs;
      const newer = claimed.coalesces ? this.#waitingOf(claimed.serial_key) : undefined;
      if (newer) this.#sql.supersede.run({ id: newer.id, now, reason: `went into job ${id}` });
      const uncounted = options.countAttempt ? 0 : 1;
      this.#sql.release.run({ id, fence, runAfter, uncounted, reason: why });
      if (newer) this.#renew(id, { ...newer, run_after: Math.max(runAfter, newer.run_after) });
      return true;
    });
  }

  async record({ id, fence }: ClaimedJob, entry: TrajectoryEntry): Promise<void> {
    const text = JSON.stringify(entry);
    const added = this.#write(() => this.#sql.record.run({ id, fence, entry: text, now: this.#now() }));
    if (added.changes === 0) throw new AppError("lease_lost", `Job ${id} belongs to another worker now`);
  }

  async trajectory(jobId: string): Promise<TrajectoryEntry[]> {
    return this.#sql.trajectory.all({ id: jobId }).map((row) => JSON.parse(String(row.entry)));
  }

  async endLeases(isDead: (worker: string) => boolean): Promise<number> {
    return this.#write(() => {
      const workers = this.#sql.workers.all().map((row) => String(row.worker));
      const ended = workers
        .filter(isDead)
        .map((worker) => this.#sql.endLeases.run({ worker, now: this.#now() }));
      return ended.reduce((rows, { changes }) => rows + Number(changes), 0);
    });
  }

  async knows(serialKey: string, head: string): Promise<boolean> {
    return this.#sql.knows.get({ serialKey, head }) !== undefined;
  }

  async forget(installation: number, repositories: readonly number[] | null): Promise<number> {
    return this.#write(() => {
      let rows = 0;
      for (const repository of repositories ?? [null]) {
        rows += Number(this.#sql.forgetJobs.run({ installation, repository }).changes);
        rows += Number(this.#sql.forgetSpending.run({ installation, repository }).changes);
      }
      return rows;
    });
  }

  async check(): Promise<void> {
    this.#write(() => this.#sql.check.run());
  }

  async stats(): Promise<{ jobs: Record<JobState, number>; oldestWaitingMs: number | null }> {
    const jobs: Record<JobState, number> = { waiting: 0, active: 0, done: 0, failed: 0 };
    for (const row of this.#sql.countByState.all()) jobs[row.state as JobState] = Number(row.jobs);
    const since = this.#sql.oldestWaiting.get()?.since;
    return { jobs, oldestWaitingMs: typeof since === "number" ? Math.max(0, this.#now() - since) : null };
  }

  async purge(olderThanMs: number): Promise<number> {
    const before = this.#now() - olderThanMs;
    return this.#write(() => {
      const { purgeDeliveries, purgeJobs, purgeSpending } = this.#sql;
      const done = [purgeDeliveries.run({ before }), purgeJobs.run({ before })];
      done.push(purgeSpending.run({ day: dayOf(before) }));
      return done.reduce((rows, { changes }) => rows + Number(changes), 0);
    });
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
  }

  #write<T>(work: () => T): T {
    return inTransaction(this.#database, work);
  }

  /** Adds the job, or lets it take the place of the waiting one of its key, whose id and trajectory stay. */
  #store(job: NewJob, deliveryId: string | null): string {
    const { serialKey, priority, quietMs = 0 } = job;
    const task = JSON.stringify(job.task);
    const now = this.#now();
    const waiting = job.coalesce ? this.#waitingOf(serialKey) : undefined;
    if (waiting) {
      const since = waiting.joins_since ?? now;
      const runAfter = Math.max(now, Math.min(now + quietMs, since + longestQuiet * quietMs));
      this.#renew(waiting.id, {
        ...{ task, priority, delivery_id: deliveryId, run_after: runAfter, joins_since: since },
      });
      return waiting.id;
    }
    const id = randomUUID();
    const coalesces = job.coalesce ? 1 : 0;
    const runAfter = job.coalesce ? now + quietMs : now;
    this.#sql.addJob.run({ id, task, serialKey, coalesces, priority, deliveryId, runAfter, now });
    return id;
  }

  #renew(id: string, newer: Omit<WaitingRow, "id">): void {
    const { task, priority, delivery_id: deliveryId, run_after: runAfter, joins_since: joinsSince } = newer;
    this.#sql.renewWaiting.run({ id, task, priority, deliveryId, runAfter, joinsSince });
  }

  #waitingOf(serialKey: string): WaitingRow | undefined {
    return WaitingRow.optional().parse(this.#sql.waitingOf.get({ serialKey }));
  }
}

type WaitingRow = z.infer<typeof WaitingRow>;

/** Undefined for a task of another version: it must not stand at the head of the queue for ever. */
function parseTask(text: string): Task | undefined {
  try {
    return Task.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
