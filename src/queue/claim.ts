import { z } from "zod";
import type { Run } from "./database.ts";
import { type ClaimedJob, maxAttempts, Task } from "./job.ts";
import { statements } from "./statements.ts";

export interface Claim {
  worker: string;
  /** Milliseconds since 1970, as the end of the lease. */
  now: number;
  leaseUntil: number;
  /** Jobs of one installation that may run at a time. */
  limit: number;
}

const GroupRow = z.object({ priority: z.int(), installation: z.int() });
type Group = z.infer<typeof GroupRow>;
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

/** Takes the job whose turn it is, within a transaction; undefined when none may run. */
export async function claimNext(run: Run, claim: Claim): Promise<ClaimedJob | undefined> {
  const { now, limit } = claim;
  const groups = await run(statements.groups, { now, limit });
  for (const group of z.array(GroupRow).parse(groups.rows)) {
    const job = await takeFrom(run, group, claim);
    if (job) return job;
  }
  return undefined;
}

async function takeFrom(run: Run, group: Group, claim: Claim): Promise<ClaimedJob | undefined> {
  const { worker, now, leaseUntil } = claim;
  for (;;) {
    const { rows } = await run(statements.nextOfGroup, { ...group, now });
    const row = CandidateRow.optional().parse(rows[0]);
    if (!row) return undefined;
    const { id, fence, attempts, delivery_id: deliveryId, created_at: createdAt } = row;
    const task = parseTask(row.task);
    const isGivenUp = row.state === "active" && attempts > maxAttempts;
    if (!task || isGivenUp) {
      const reason = task ? "its worker died at every attempt" : "stored by a version with other tasks";
      await run(statements.spoil, { id, fence, now, reason });
      continue;
    }
    // A heartbeat or the end of the job, which take no lock, may have come between.
    const taken = await run(statements.take, { id, fence, worker, now, leaseUntil });
    if (taken.changes === 0) continue;
    await run(statements.countClaim, { installation: group.installation });
    await run(statements.seeWaiting, { id });
    const startedAt = row.started_at ?? now;
    return { id, task, attempt: attempts + 1, fence: fence + 1, deliveryId, createdAt, startedAt };
  }
}

/** Undefined for a task of another version: it must not stand at the head of the queue for ever. */
function parseTask(text: string): Task | undefined {
  try {
    return Task.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
