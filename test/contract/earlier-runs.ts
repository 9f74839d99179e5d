import { expect } from "vitest";
import type { Run } from "../../src/queue/database.ts";
import { commandJob, reviewJob } from "./jobs.ts";

/** Runs that a database of the version before holds: the last migration takes them over. */
const ended = [
  { id: "published", job: reviewJob(1), outcome: "done", reason: "2 posted" },
  { id: "draft", job: reviewJob(2), outcome: "skipped", reason: "it is a draft" },
  { id: "asked", job: commandJob(3, 9), outcome: "failed", reason: "the model said: secret" },
  {
    id: "merged away",
    job: reviewJob(4),
    outcome: "superseded",
    reason: "merged into job x",
    neverStarted: true,
  },
  { id: "no task", job: null, outcome: "failed", reason: "a version with other tasks stored it" },
];

/** @param run of a database with every schema step but the last */
export async function leaveEarlierRuns(run: Run): Promise<void> {
  for (const [at, { id, job, outcome, reason, neverStarted = false }] of ended.entries()) {
    await run(
      `INSERT INTO job (id, task, installation, repository, head, serial_key, coalesces, priority, state, run_after, created_at,
          started_at, ended_at, outcome, reason, attempts)
        VALUES (:id, :task, 1, :repository, :head, :key, 1, 0, 'done', 0, 1000, :startedAt, :endedAt, :outcome, :reason, 1)`,
      {
        ...{
          id,
          outcome,
          reason,
          key: `key ${at}`,
          endedAt: 5_000 + at,
          startedAt: neverStarted ? null : 2_000,
        },
        task: job === null ? "{broken" : JSON.stringify(job.task),
        repository: job === null ? null : 7,
        head: job?.task.headSha ?? null,
      },
    );
  }
}

/** @param run of the same database after the upgrade */
export async function expectEarlierRuns(run: Run): Promise<void> {
  const { rows } = await run(
    "SELECT id, repository, pull, kind, origin, requested_by, outcome, reason, stored_at, ended_at FROM run ORDER BY seq",
  );
  const same = { repository: 7, kind: "review", stored_at: 1_000 };
  expect(rows).toEqual([
    {
      ...same,
      id: "published",
      pull: 1,
      origin: "event",
      requested_by: null,
      outcome: "done",
      reason: null,
      ended_at: 5_000,
    },
    {
      ...same,
      id: "draft",
      pull: 2,
      origin: "event",
      requested_by: null,
      outcome: "skipped",
      reason: "it is a draft",
      ended_at: 5_001,
    },
    {
      ...same,
      id: "asked",
      pull: 3,
      origin: "comment",
      requested_by: "ada",
      outcome: "failed",
      reason: null,
      ended_at: 5_002,
    },
  ]);
  expect((await run("SELECT id, installation, owner, name FROM repository")).rows).toEqual([
    { id: 7, installation: 1, owner: "octo", name: "shop" },
  ]);
}
