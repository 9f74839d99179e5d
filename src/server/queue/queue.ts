import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { TrajectoryEntry } from "../../agent/record/trajectory.ts";
import { AppError } from "../../core/errors.ts";
import { type Database, inBatches, type Parameters, type Result, type Run, readRows } from "./database.ts";
import { forgetFigures, purgeFigures } from "./figures.ts";
import {
  askedBy,
  type ClaimedJob,
  installationOf,
  type JobOutcome,
  type JobState,
  type Lane,
  maxAttempts,
  maxDebounces,
  type NewerHead,
  type NewJob,
  noticePriority,
  originOf,
  parseTask,
  type RepositoryRef,
  runKind,
  type Task,
} from "./job.ts";
import { addUp } from "./schema.ts";
import { dayOf, monthOf, weekOf } from "./usage.ts";

export interface Delivery {
  id: string;
  event: string;
  action: string | null;
}

interface LivingWorker {
  name: string;
  version: string;
  concurrency: number;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** Job and fence identify a claim. With this condition, a statement of a late worker changes nothing. */
const stillOurs = "id = :id AND fence = :fence AND state = 'active'";

/** The candidate has not changed since it was read. */
const stillFree =
  "id = :id AND fence = :fence AND (state = 'waiting' OR (state = 'active' AND lease_until <= :now))";

/** An active job whose lease has expired may also run. */
const isDue = `((candidate.state = 'waiting' AND candidate.run_after <= :now)
  OR (candidate.state = 'active' AND candidate.lease_until <= :now))`;

/** An active job keeps its key, even with an expired lease, until it is claimed itself. */
const keyIsFree = `NOT EXISTS (SELECT 1 FROM job AS other WHERE other.concurrency_key = candidate.concurrency_key
  AND other.state = 'active' AND other.seq <> candidate.seq)`;

/** The number of running jobs by installation; without those whose lease has expired, and without notices. */
const running = `(SELECT installation, count(*) AS jobs FROM job WHERE state = 'active' AND lease_until > :now
  AND priority <> ${noticePriority} GROUP BY installation) AS running`;

/** 1 for a run that published a review. Commands such as `/resolve` may end in one, too. */
const isPublished = "CASE WHEN posted IS NOT NULL THEN 1 ELSE 0 END";

const ofInstallation = "installation = :installation AND (repository = :repository OR :repository IS NULL)";
const someEnded = "SELECT id FROM job WHERE ended_at < :before ORDER BY ended_at LIMIT 100";
/** Without jobs that have no repository: a waiting purge job among them names the data that is still to delete. */
const someToForget = `SELECT id FROM job WHERE state <> 'active' AND repository IS NOT NULL AND ${ofInstallation}
  ORDER BY priority, seq LIMIT 100`;
/** In small batches, because entries may be large. */
const deleteEntriesOf = (jobs: string) =>
  `DELETE FROM trajectory WHERE number IN (SELECT number FROM trajectory WHERE job_id IN (${jobs}) LIMIT 10)`;

const statements = {
  addDelivery: `INSERT INTO delivery (id, event, action, received_at) VALUES (:id, :event, :action, :now)
    ON CONFLICT (id) DO NOTHING`,
  addJob: `INSERT INTO job (id, task, installation, repository, pull, head, concurrency_key, coalesces, priority, delivery_id, state,
      run_after, created_at, joins_since, has_new_head)
    VALUES (:id, :task, :installation, :repository, :pull, :head, :concurrencyKey, :coalesces, :priority, :deliveryId, 'waiting',
      :runAfter, :now, :now, 1)`,
  waitingOf: `SELECT id, task, installation, repository, head, priority, delivery_id, run_after, joins_since FROM job
    WHERE concurrency_key = :concurrencyKey AND state = 'waiting' AND coalesces = 1`,
  // A newer task starts fresh: its attempts count from zero, and an old back-off does not delay it.
  renewWaiting: `UPDATE job SET task = :task, installation = :installation, repository = :repository, head = :head,
      delivery_id = :deliveryId, attempts = 0, started_at = NULL, run_after = :runAfter, joins_since = :joinsSince,
      priority = CASE WHEN priority < :priority THEN :priority ELSE priority END,
      has_new_head = CASE WHEN head IS DISTINCT FROM :head THEN 1 ELSE has_new_head END
    WHERE id = :id`,
  // Jobs of one priority and installation are a group. Choosing a group first avoids reading every waiting job.
  groups: `SELECT due.priority, due.installation
    FROM (SELECT priority, installation, min(seq) AS first FROM job WHERE state = 'waiting' AND run_after <= :now
          AND priority BETWEEN :least AND :most
        GROUP BY priority, installation
      UNION ALL SELECT priority, installation, seq FROM job WHERE state = 'active' AND lease_until <= :now
          AND priority BETWEEN :least AND :most) AS due
    LEFT JOIN ${running} ON running.installation = due.installation
    LEFT JOIN last_claim ON last_claim.installation = due.installation
    WHERE running.jobs IS NULL OR running.jobs < :limit
    GROUP BY due.priority, due.installation
    ORDER BY due.priority DESC, coalesce(min(running.jobs), 0), coalesce(min(last_claim.number), 0), min(due.first)`,
  nextOfGroup: `SELECT id, task, state, attempts, fence, delivery_id, created_at, started_at FROM job AS candidate
    WHERE candidate.installation = :installation AND candidate.priority = :priority AND ${isDue} AND ${keyIsFree}
    ORDER BY candidate.seq LIMIT 1`,
  take: `UPDATE job SET state = 'active', worker = :worker, lease_until = :leaseUntil,
      attempts = attempts + 1, fence = fence + 1, started_at = coalesce(started_at, :now)
    WHERE ${stillFree}`,
  countClaim: `INSERT INTO last_claim (installation, number)
    VALUES (:installation, (SELECT coalesce(max(number), 0) + 1 FROM last_claim))
    ON CONFLICT (installation) DO UPDATE SET number = excluded.number`,
  // A waiting job does not supersede the one that was just claimed. Its debounce time starts again, or each push would restart the review.
  forgetNewer: `UPDATE job SET has_new_head = 0, joins_since = NULL
    WHERE state = 'waiting' AND coalesces = 1 AND concurrency_key = (SELECT concurrency_key FROM job WHERE id = :id)`,
  newer: `SELECT head, run_after FROM job
    WHERE state = 'waiting' AND coalesces = 1 AND has_new_head = 1
      AND concurrency_key = (SELECT concurrency_key FROM job WHERE ${stillOurs})`,
  failStored: `UPDATE job SET state = 'failed', outcome = 'failed', reason = :reason, ended_at = :now, lease_until = NULL
    WHERE ${stillFree}`,
  heartbeat: `UPDATE job SET lease_until = :leaseUntil WHERE ${stillOurs}`,
  complete: `UPDATE job SET state = :state, outcome = :outcome, reason = :reason, ended_at = :now,
      lease_until = NULL, worker = NULL WHERE ${stillOurs}`,
  nameRepository: `INSERT INTO repository (id, installation, owner, name) VALUES (:id, :installation, :owner, :name)
    ON CONFLICT (id) DO UPDATE SET installation = excluded.installation, owner = excluded.owner, name = excluded.name`,
  countRun: `INSERT INTO run (seq, id, installation, repository, pull, kind, origin, requested_by, head, outcome, reason, attempts,
      stored_at, started_at, ended_at, hunks_total, hunks_served, is_complete, findings, posted,
      turns, prompt_tokens, cached_tokens, completion_tokens, cost_usd, unpriced)
    SELECT seq, id, installation, repository, pull, :kind, :origin, :by, coalesce(:head, head), :outcome, :reason, attempts,
      created_at, started_at, CAST(:now AS BIGINT), CAST(:hunksTotal AS BIGINT), CAST(:hunksServed AS BIGINT),
      CAST(:isComplete AS BIGINT), CAST(:findings AS BIGINT), CAST(:posted AS BIGINT),
      turns, prompt_tokens, cached_tokens, completion_tokens, cost_usd, unpriced
    FROM job WHERE id = :id AND fence = :fence AND repository IS NOT NULL AND pull IS NOT NULL`,
  countRunWeek: `INSERT INTO run_week (repository, week, reviews, quiet, complete, skipped, failed, other)
    SELECT repository, :week, ${isPublished}, CASE WHEN posted = 0 THEN ${isPublished} ELSE 0 END,
      CASE WHEN is_complete = 1 THEN ${isPublished} ELSE 0 END, CASE WHEN kind = 'review' AND outcome = 'skipped' THEN 1 ELSE 0 END,
      CASE WHEN outcome = 'failed' THEN 1 ELSE 0 END,
      CASE WHEN kind <> 'review' AND outcome <> 'failed' THEN 1 ELSE 0 END
    FROM run WHERE id = :id
    ON CONFLICT (repository, week) ${addUp("run_week", "reviews, quiet, complete, skipped, failed, other")}`,
  claimed: `SELECT concurrency_key, coalesces FROM job WHERE ${stillOurs}`,
  supersede: `UPDATE job SET state = 'done', outcome = 'superseded', reason = :reason, ended_at = :now WHERE id = :id`,
  release: `UPDATE job SET state = 'waiting', run_after = :runAfter, attempts = attempts - :uncounted,
      reason = :reason, joins_since = NULL, lease_until = NULL, worker = NULL WHERE ${stillOurs}`,
  record: `INSERT INTO trajectory (job_id, fence, entry, created_at)
    SELECT id, fence, :entry, CAST(:now AS BIGINT) FROM job WHERE ${stillOurs}`,
  trajectory: "SELECT entry FROM trajectory WHERE job_id = :id ORDER BY number",
  showWorker: `INSERT INTO worker (name, version, concurrency, started_at, seen_at)
    VALUES (:name, :version, :concurrency, :startedAt, :now) ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at`,
  hideWorkers: "DELETE FROM worker WHERE name = :name OR seen_at < :before",
  knows: `SELECT 1 AS known FROM job WHERE concurrency_key = :concurrencyKey AND head = :head
    AND (state IN ('waiting', 'active') OR outcome = 'done') LIMIT 1`,
  forgetEntries: deleteEntriesOf(someToForget),
  forgetJobs: `DELETE FROM job WHERE id IN (${someToForget})`,
  forgetSpending: `DELETE FROM spending WHERE ${ofInstallation}`,
  forgetTally: `DELETE FROM tally WHERE ${ofInstallation}`,
  forgetRepositories:
    "DELETE FROM repository WHERE installation = :installation AND (id = :repository OR :repository IS NULL)",
  forgetClaims: "DELETE FROM last_claim WHERE installation = :installation",
  // Without jobs that have no repository: the purge job itself is one.
  running: `SELECT count(*) AS jobs FROM job WHERE state = 'active' AND repository IS NOT NULL AND ${ofInstallation}`,
  check: "INSERT INTO pulse (id, at) VALUES (1, :now) ON CONFLICT (id) DO UPDATE SET at = excluded.at",
  countByState: "SELECT state, count(*) AS jobs FROM job GROUP BY state",
  oldestThatMayRun: `SELECT min(CASE candidate.state WHEN 'active' THEN candidate.lease_until ELSE candidate.run_after END)
      AS since
    FROM job AS candidate LEFT JOIN ${running} ON running.installation = candidate.installation
    WHERE ${isDue} AND ${keyIsFree} AND (running.jobs IS NULL OR running.jobs < :limit)`,
  purgeDeliveries:
    "DELETE FROM delivery WHERE id IN (SELECT id FROM delivery WHERE received_at < :before LIMIT 500)",
  purgeEntries: deleteEntriesOf(someEnded),
  purgeJobs: `DELETE FROM job WHERE id IN (${someEnded})`,
  purgeSpending: "DELETE FROM spending WHERE day < :day",
  purgeNotes: "DELETE FROM note WHERE written_at < :before",
  purgeTally: "DELETE FROM tally WHERE at < :before",
} as const;

/** The priorities of each lane; both databases know numbers of this size. */
const prioritiesOf: Record<Lane, { least: number; most: number }> = {
  work: { least: noticePriority + 1, most: 2 ** 31 - 1 },
  notices: { least: noticePriority, most: noticePriority },
};

const GroupRow = z.object({ priority: z.int(), installation: z.int() });
const CandidateRow = z.object({
  id: z.string(),
  task: z.string(),
  state: z.enum(["waiting", "active"]),
  attempts: z.int(),
  fence: z.int(),
  delivery_id: z.string().nullable(),
  created_at: z.int(),
  started_at: z.int().nullable(),
});

/** Takes a job, or gives it up if nobody can do it. Undefined also if its worker renewed the lease a moment ago: a heartbeat is no transaction. */
async function take(
  run: Run,
  row: z.infer<typeof CandidateRow>,
  claim: { worker: string; now: number; leaseUntil: number },
): Promise<ClaimedJob | undefined> {
  const { id, fence, attempts, delivery_id: deliveryId, created_at: createdAt } = row;
  const { now } = claim;
  // A task of another version must not block the queue.
  const task = parseTask(row.task);
  if (!task || (row.state === "active" && attempts > maxAttempts)) {
    const reason = task ? "its worker died at every attempt" : "a version with other tasks stored it";
    const ended = await run(statements.failStored, { id, fence, now, reason });
    if (task && ended.changes > 0) await countRun(run, { id, fence, task }, { kind: "failed", reason }, now);
    return undefined;
  }
  const taken = await run(statements.take, { id, fence, ...claim });
  if (taken.changes === 0) return undefined;
  await run(statements.forgetNewer, { id });
  const startedAt = row.started_at ?? now;
  return { id, task, attempt: attempts + 1, fence: fence + 1, deliveryId, createdAt, startedAt };
}

/** A worker says every half minute that it lives. */
const longestSilenceMs = 600_000;

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
const ClaimedRow = z.object({ concurrency_key: z.string(), coalesces: z.int() });
const RunningRow = z.object({ jobs: z.int() });
const CountRow = z.object({ state: z.enum(["waiting", "active", "done", "failed"]), jobs: z.int() });

export class Queue {
  readonly #database: Database;
  readonly #limit: number;
  readonly #now: () => number;

  /** @param limit jobs of one installation that may run at a time */
  constructor(database: Database, limit: number, now: () => number) {
    this.#database = database;
    this.#limit = limit;
    this.#now = now;
  }

  /** Stores the delivery and its jobs in one transaction. False, and nothing stored, if the delivery is already known. */
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

  /**
   * Claims the next job of a lane under a lease of `leaseMs`. Order: priority, then the installation with the fewest running jobs, then the
   * one whose last claim is longest ago, then age. A job whose lease has expired may run again, and its attempt counts.
   */
  claim(worker: string, leaseMs: number, lane: Lane = "work"): Promise<ClaimedJob | undefined> {
    return this.#database.transaction(async (run) => {
      const now = this.#now();
      const limit = lane === "work" ? this.#limit : Number.MAX_SAFE_INTEGER;
      const lanes = prioritiesOf[lane];
      for (const group of await readRows(run, GroupRow, statements.groups, { now, limit, ...lanes })) {
        const next = async () =>
          (await readRows(run, CandidateRow, statements.nextOfGroup, { ...group, now }))[0];
        for (let row = await next(); row; row = await next()) {
          const job = await take(run, row, { worker, now, leaseUntil: now + leaseMs });
          if (!job) continue;
          if (lane === "work") await run(statements.countClaim, { installation: group.installation });
          return job;
        }
      }
      return undefined;
    });
  }

  /** Renews the lease; false if the claim is no longer valid. */
  async heartbeat({ id, fence }: ClaimedJob, leaseMs: number): Promise<boolean> {
    const leaseUntil = this.#now() + leaseMs;
    return (await this.#database.run(statements.heartbeat, { id, fence, leaseUntil })).changes > 0;
  }

  /** The head of the coalescing job that waits for the same key, if it arrived after this claim. */
  async newer({ id, fence }: ClaimedJob): Promise<NewerHead | undefined> {
    const [row] = await readRows(this.#database.run, NewerRow, statements.newer, { id, fence });
    if (!row || row.head === null) return undefined;
    return { head: row.head, dueInMs: Math.max(0, row.run_after - this.#now()) };
  }

  /** Ends the job; false if the claim is no longer valid. */
  complete({ id, fence, task }: ClaimedJob, outcome: JobOutcome): Promise<boolean> {
    const { kind, reason } = outcome;
    const state: JobState = kind === "failed" ? "failed" : "done";
    const now = this.#now();
    return this.#database.transaction(async (run) => {
      const ended = await run(statements.complete, { id, fence, state, outcome: kind, reason, now });
      if (ended.changes > 0) await countRun(run, { id, fence, task }, outcome, now);
      return ended.changes > 0;
    });
  }

  /** Releases the job to run again. A coalescing job takes over the task and the debounce time of a newer one that waits. */
  release(
    { id, fence }: ClaimedJob,
    delayMs: number,
    why: string,
    options: { countAttempt: boolean } = { countAttempt: true },
  ): Promise<boolean> {
    return this.#database.transaction(async (run) => {
      const [claimed] = await readRows(run, ClaimedRow, statements.claimed, { id, fence });
      if (!claimed) return false;
      const now = this.#now();
      const runAfter = now + delayMs;
      const newer = claimed.coalesces ? await waitingOf(run, claimed.concurrency_key) : undefined;
      if (newer) await run(statements.supersede, { id: newer.id, now, reason: `merged into job ${id}` });
      const uncounted = options.countAttempt ? 0 : 1;
      await run(statements.release, { id, fence, runAfter, uncounted, reason: why });
      if (newer) await renew(run, { ...newer, id, run_after: Math.max(runAfter, newer.run_after) });
      return true;
    });
  }

  /** Appends to the job's trajectory. Rejects with `lease_lost` if the claim is no longer valid. */
  async record({ id, fence }: ClaimedJob, entry: TrajectoryEntry): Promise<void> {
    const text = JSON.stringify(entry);
    const added = await this.#database.run(statements.record, { id, fence, entry: text, now: this.#now() });
    if (added.changes === 0) throw new AppError("lease_lost", `Job ${id} now belongs to another worker`);
  }

  async trajectory(jobId: string): Promise<TrajectoryEntry[]> {
    const { rows } = await this.#database.run(statements.trajectory, { id: jobId });
    return rows.map((row) => JSON.parse(String(row.entry)));
  }

  /** Shows the worker to people, and forgets those that were not seen for ten minutes. */
  async showWorker(worker: LivingWorker): Promise<void> {
    const now = this.#now();
    await this.#database.run(statements.showWorker, { ...worker, now });
    await this.#database.run(statements.hideWorkers, { before: now - longestSilenceMs });
  }

  async hideWorker(name: string): Promise<void> {
    await this.#database.run(statements.hideWorkers, { name, before: this.#now() - longestSilenceMs });
  }

  /** Whether a job for this key and head waits, runs or is done. A skipped one does not count: its reason may no longer hold. */
  async knows(concurrencyKey: string, head: string): Promise<boolean> {
    return (await this.#database.run(statements.knows, { concurrencyKey, head })).rows.length > 0;
  }

  /**
   * Deletes the jobs of an installation, or of some repositories of it, that are not running, and what belongs to them. Resolves to the
   * number of jobs that still run; call it again for these.
   */
  async forget(installation: number, repositories: readonly number[] | null): Promise<{ running: number }> {
    let running = 0;
    for (const repository of repositories ?? [null]) {
      const of = { installation, repository };
      // Also before: a job that ends meanwhile leaves its row and its figures.
      const before = await this.#running(of);
      await this.#deleteJobs("forgetEntries", "forgetJobs", of);
      for (const kept of ["forgetSpending", "forgetTally"] as const)
        await this.#database.run(statements[kept], of);
      await forgetFigures(this.#database, of);
      const stillRunning = Math.max(before, await this.#running(of));
      // By its row, the figures that a running job leaves are found again.
      if (stillRunning === 0) await this.#database.run(statements.forgetRepositories, of);
      running += stillRunning;
    }
    if (repositories === null) await this.#database.run(statements.forgetClaims, { installation });
    return { running };
  }

  async #running(of: { installation: number; repository: number | null }): Promise<number> {
    const [row] = await readRows(this.#database.run, RunningRow, statements.running, of);
    return row?.jobs ?? 0;
  }

  /** Rejects if nothing can be stored: a full disk, a locked file, an unavailable database. */
  async check(): Promise<void> {
    await this.#database.run(statements.check, { now: this.#now() });
  }

  /** Counts by state, and how long the oldest job that may run has been waiting for a worker, in milliseconds. */
  async stats(): Promise<{ jobs: Record<JobState, number>; oldestWaitingMs: number | null }> {
    const now = this.#now();
    const jobs: Record<JobState, number> = { waiting: 0, active: 0, done: 0, failed: 0 };
    for (const row of await readRows(this.#database.run, CountRow, statements.countByState))
      jobs[row.state] = row.jobs;
    const oldest = await this.#database.run(statements.oldestThatMayRun, { now, limit: this.#limit });
    const since = oldest.rows[0]?.since;
    return { jobs, oldestWaitingMs: typeof since === "number" ? Math.max(0, now - since) : null };
  }

  /** Deletes what is older than this, and figures older than `figuresMs`. Spending of this month is kept. Resolves to the number of rows. */
  async purge(olderThanMs: number, figuresMs: number): Promise<number> {
    const before = this.#now() - olderThanMs;
    const { run } = this.#database;
    // A limit of this month counts all of its days.
    const firstOfMonth = `${monthOf(this.#now())}-01`;
    const day = dayOf(before) < firstOfMonth ? dayOf(before) : firstOfMonth;
    let rows = (await run(statements.purgeSpending, { day })).changes;
    rows += await purgeFigures(this.#database, this.#now() - figuresMs, before);
    for (const purge of ["purgeNotes", "purgeTally"] as const)
      rows += (await run(statements[purge], { before })).changes;
    rows += await inBatches(() => this.#inTransaction(statements.purgeDeliveries, { before }));
    return rows + (await this.#deleteJobs("purgeEntries", "purgeJobs", { before }));
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  #deleteJobs(
    entries: "purgeEntries" | "forgetEntries",
    jobs: "purgeJobs" | "forgetJobs",
    which: Parameters,
  ): Promise<number> {
    return inBatches(async () => {
      await inBatches(() => this.#inTransaction(statements[entries], which));
      return this.#inTransaction(statements[jobs], which);
    });
  }

  /** In a transaction: no waiting job gets another task meanwhile, and no other process deletes the same rows in another order. */
  #inTransaction(sql: string, parameters: Parameters): Promise<Result> {
    return this.#database.transaction((run) => run(sql, parameters));
  }

  /** Adds the job, or gives its task to the waiting job of its key, which keeps id and trajectory. */
  async #store(run: Run, job: NewJob, deliveryId: string | null): Promise<string> {
    const { concurrencyKey, priority, debounceMs = 0 } = job;
    const now = this.#now();
    const content = {
      task: JSON.stringify(job.task),
      installation: installationOf(job.task),
      repository: "repository" in job.task ? job.task.repository.id : null,
      head: job.task.headSha,
      priority,
    };
    const waiting = job.coalesce ? await waitingOf(run, concurrencyKey) : undefined;
    if (waiting) {
      const since = waiting.joins_since ?? now;
      const runAfter = Math.max(now, Math.min(now + debounceMs, since + maxDebounces * debounceMs));
      const times = { run_after: runAfter, joins_since: since };
      await renew(run, { ...content, ...times, id: waiting.id, delivery_id: deliveryId });
      return waiting.id;
    }
    const about = repositoryOf(job.task);
    if (about) await run(statements.nameRepository, { ...about });
    const id = randomUUID();
    const pull = "pull" in job.task ? job.task.pull : null;
    const coalesces = job.coalesce ? 1 : 0;
    const runAfter = job.coalesce ? now + debounceMs : now;
    const row = { ...content, pull, id, concurrencyKey, coalesces, deliveryId, runAfter, now };
    await run(statements.addJob, row);
    return id;
  }
}

async function countRun(
  run: Run,
  { id, fence, task }: Pick<ClaimedJob, "id" | "fence" | "task">,
  outcome: JobOutcome,
  now: number,
): Promise<void> {
  await run(statements.countRun, { id, fence, ...runOf(task, outcome), now });
  await run(statements.countRunWeek, { id, week: weekOf(now) });
}

/** The figures of a run. Reasons of failures and results may quote a model or code, so they stay with the record. */
function runOf(task: Task, { kind: outcome, reason, figures }: JobOutcome): Parameters {
  return {
    kind: runKind(task),
    origin: originOf(task),
    by: askedBy(task),
    outcome,
    reason: outcome === "skipped" || outcome === "superseded" ? reason : null,
    ...(figures && { ...figures, isComplete: Number(figures.isComplete) }),
  };
}

function repositoryOf(task: Task): RepositoryRef | undefined {
  if ("repository" in task) return task.repository;
  if (task.kind !== "recount" || task.only === null || task.installation === null) return undefined;
  return { installation: task.installation, ...task.only };
}

async function waitingOf(run: Run, concurrencyKey: string): Promise<WaitingRow | undefined> {
  return (await readRows(run, WaitingRow, statements.waitingOf, { concurrencyKey }))[0];
}

async function renew(run: Run, newer: WaitingRow): Promise<void> {
  const { delivery_id: deliveryId, run_after: runAfter, joins_since: joinsSince, ...content } = newer;
  await run(statements.renewWaiting, { ...content, deliveryId, runAfter, joinsSince });
}
