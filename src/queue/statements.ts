import type { DatabaseSync } from "node:sqlite";

/** A claim is told apart by job and fence; a statement with this condition does nothing for a late worker. */
const stillOurs = "id = :id AND fence = :fence AND state = 'active'";

const headOf = (task: string) => `json_extract(${task}, '$.headSha')`;

/** Every statement of the queue, prepared once. */
export function prepareStatements(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text);
  return {
    addDelivery: sql(
      `INSERT INTO delivery (id, event, action, received_at) VALUES (:id, :event, :action, :now)
       ON CONFLICT (id) DO NOTHING`,
    ),
    addJob: sql(
      `INSERT INTO job (id, task, serial_key, coalesces, priority, delivery_id, state, run_after, created_at,
         joins_since, has_new_head)
       VALUES (:id, :task, :serialKey, :coalesces, :priority, :deliveryId, 'waiting', :runAfter, :now, :now, 1)`,
    ),
    waitingOf: sql(
      `SELECT id, task, priority, delivery_id, run_after, joins_since FROM job
       WHERE serial_key = :serialKey AND state = 'waiting' AND coalesces = 1`,
    ),
    // New news is a fresh start: its attempts count from zero, and an old back-off does not hold it up.
    renewWaiting: sql(
      `UPDATE job SET task = :task, delivery_id = :deliveryId, priority = max(priority, :priority),
         attempts = 0, run_after = :runAfter, joins_since = :joinsSince,
         has_new_head = has_new_head OR ${headOf("task")} IS NOT ${headOf(":task")} WHERE id = :id`,
    ),
    abandonDead: sql(
      `UPDATE job SET state = 'failed', outcome = 'failed', reason = :reason, ended_at = :now, lease_until = NULL
       WHERE state = 'active' AND lease_until <= :now AND attempts > :maxAttempts`,
    ),
    // An active job whose lease ran out stands in the way of its key until it is taken over itself.
    nextJob: sql(
      `SELECT id, task, attempts, fence, delivery_id, created_at FROM job AS candidate
       WHERE ((state = 'waiting' AND run_after <= :now) OR (state = 'active' AND lease_until <= :now))
         AND NOT EXISTS (SELECT 1 FROM job AS other WHERE other.serial_key = candidate.serial_key
           AND other.state = 'active' AND other.seq <> candidate.seq)
       ORDER BY priority DESC, seq LIMIT 1`,
    ),
    take: sql(
      `UPDATE job SET state = 'active', worker = :worker, lease_until = :leaseUntil,
         attempts = attempts + 1, fence = fence + 1 WHERE id = :id`,
    ),
    // What waits now does not supersede the job that was just taken: that one begins with the newest head. A restart for
    // every push would be all that is left of the quiet time if it went on counting from before.
    seeWaiting: sql(
      `UPDATE job SET has_new_head = 0, joins_since = NULL
       WHERE state = 'waiting' AND coalesces = 1 AND serial_key = (SELECT serial_key FROM job WHERE id = :id)`,
    ),
    newer: sql(
      `SELECT ${headOf("newer.task")} AS head, newer.run_after FROM job AS newer
       WHERE newer.state = 'waiting' AND newer.coalesces = 1 AND newer.has_new_head = 1
         AND newer.serial_key = (SELECT serial_key FROM job WHERE ${stillOurs})`,
    ),
    spoil: sql(
      `UPDATE job SET state = 'failed', outcome = 'failed', reason = :reason, ended_at = :now, lease_until = NULL
       WHERE id = :id`,
    ),
    heartbeat: sql(`UPDATE job SET lease_until = :leaseUntil WHERE ${stillOurs}`),
    complete: sql(
      `UPDATE job SET state = :state, outcome = :outcome, reason = :reason, ended_at = :now,
         lease_until = NULL, worker = NULL WHERE ${stillOurs}`,
    ),
    claimed: sql(`SELECT serial_key, coalesces FROM job WHERE ${stillOurs}`),
    supersede: sql(
      `UPDATE job SET state = 'done', outcome = 'superseded', reason = :reason, ended_at = :now WHERE id = :id`,
    ),
    release: sql(
      `UPDATE job SET state = 'waiting', run_after = :runAfter, attempts = attempts - :uncounted,
         reason = :reason, joins_since = NULL, lease_until = NULL, worker = NULL WHERE ${stillOurs}`,
    ),
    record: sql(
      `INSERT INTO trajectory (job_id, fence, entry, created_at)
       SELECT id, fence, :entry, :now FROM job WHERE ${stillOurs}`,
    ),
    trajectory: sql("SELECT entry FROM trajectory WHERE job_id = :id ORDER BY number"),
    countByState: sql("SELECT state, count(*) AS jobs FROM job GROUP BY state"),
    oldestWaiting: sql("SELECT min(created_at) AS since FROM job WHERE state = 'waiting'"),
    workers: sql("SELECT DISTINCT worker FROM job WHERE state = 'active' AND worker IS NOT NULL"),
    endLeases: sql("UPDATE job SET lease_until = :now WHERE state = 'active' AND worker = :worker"),
    knows: sql(
      `SELECT 1 FROM job WHERE serial_key = :serialKey AND ${headOf("task")} = :head
         AND (state IN ('waiting', 'active') OR outcome = 'done') LIMIT 1`,
    ),
    forgetJobs: sql(
      `DELETE FROM job WHERE state <> 'active' AND :installation IN (json_extract(task, '$.repository.installation'))
         AND (:repository IS NULL OR json_extract(task, '$.repository.id') = :repository)`,
    ),
    forgetSpending: sql(
      "DELETE FROM spending WHERE installation = :installation AND (:repository IS NULL OR repository = :repository)",
    ),
    check: sql("UPDATE job SET seq = seq WHERE seq < 0"),
    purgeDeliveries: sql("DELETE FROM delivery WHERE received_at < :before"),
    purgeJobs: sql("DELETE FROM job WHERE ended_at < :before"),
    purgeSpending: sql("DELETE FROM spending WHERE day < :day"),
  };
}
