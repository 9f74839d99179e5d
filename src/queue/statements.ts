/** A claim is told apart by job and fence; a statement with this condition does nothing for a late worker. */
const stillOurs = "id = :id AND fence = :fence AND state = 'active'";

const stillFree =
  "id = :id AND fence = :fence AND (state = 'waiting' OR (state = 'active' AND lease_until <= :now))";

/** An active job whose lease ran out may run as well. */
const isDue = `((candidate.state = 'waiting' AND candidate.run_after <= :now)
  OR (candidate.state = 'active' AND candidate.lease_until <= :now))`;

/** Such a job stands in the way of its key until it is taken over itself. */
const keyIsFree = `NOT EXISTS (SELECT 1 FROM job AS other WHERE other.serial_key = candidate.serial_key
  AND other.state = 'active' AND other.seq <> candidate.seq)`;

/** How many jobs each installation runs; it does not count there. */
const running = `(SELECT installation, count(*) AS jobs FROM job WHERE state = 'active' AND lease_until > :now
  GROUP BY installation) AS running`;

/** So many jobs are deleted at a time. */
const someEnded = "SELECT id FROM job WHERE ended_at < :before ORDER BY ended_at LIMIT 100";
/** Without those that are about no repository: what is still to be deleted is named in one that waits. */
const someToForget = `SELECT id FROM job WHERE state <> 'active' AND installation = :installation
  AND repository IS NOT NULL AND (repository = :repository OR :repository IS NULL) ORDER BY priority, seq LIMIT 100`;
/** Entries of trajectories may be large: few at a time. */
const deleteEntriesOf = (jobs: string) =>
  `DELETE FROM trajectory WHERE number IN (SELECT number FROM trajectory WHERE job_id IN (${jobs}) LIMIT 10)`;

/** Every statement of the queue. */
export const statements = {
  addDelivery: `INSERT INTO delivery (id, event, action, received_at) VALUES (:id, :event, :action, :now)
    ON CONFLICT (id) DO NOTHING`,
  addJob: `INSERT INTO job (id, task, installation, repository, head, serial_key, coalesces, priority, delivery_id, state,
      run_after, created_at, joins_since, has_new_head)
    VALUES (:id, :task, :installation, :repository, :head, :serialKey, :coalesces, :priority, :deliveryId, 'waiting',
      :runAfter, :now, :now, 1)`,
  waitingOf: `SELECT id, task, installation, repository, head, priority, delivery_id, run_after, joins_since FROM job
    WHERE serial_key = :serialKey AND state = 'waiting' AND coalesces = 1`,
  // New news is a fresh start: its attempts count from zero, and an old back-off does not hold it up.
  renewWaiting: `UPDATE job SET task = :task, installation = :installation, repository = :repository, head = :head,
      delivery_id = :deliveryId, attempts = 0, started_at = NULL, run_after = :runAfter, joins_since = :joinsSince,
      priority = CASE WHEN priority < :priority THEN :priority ELSE priority END,
      has_new_head = CASE WHEN head IS DISTINCT FROM :head THEN 1 ELSE has_new_head END
    WHERE id = :id`,
  // Jobs of one priority and installation are a group. Looking at groups first spares a look at every job that waits: no more
  // of them than there are running jobs can turn out to be all busy keys.
  groups: `SELECT due.priority, due.installation
    FROM (SELECT priority, installation, min(seq) AS first FROM job WHERE state = 'waiting' AND run_after <= :now
        GROUP BY priority, installation
      UNION ALL SELECT priority, installation, seq FROM job WHERE state = 'active' AND lease_until <= :now) AS due
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
  // What waits now does not supersede the job that was just taken: that one begins with the newest head. A restart for
  // every push would be all that is left of the quiet time if it went on counting from before.
  seeWaiting: `UPDATE job SET has_new_head = 0, joins_since = NULL
    WHERE state = 'waiting' AND coalesces = 1 AND serial_key = (SELECT serial_key FROM job WHERE id = :id)`,
  newer: `SELECT head, run_after FROM job
    WHERE state = 'waiting' AND coalesces = 1 AND has_new_head = 1
      AND serial_key = (SELECT serial_key FROM job WHERE ${stillOurs})`,
  spoil: `UPDATE job SET state = 'failed', outcome = 'failed', reason = :reason, ended_at = :now, lease_until = NULL
    WHERE ${stillFree}`,
  heartbeat: `UPDATE job SET lease_until = :leaseUntil WHERE ${stillOurs}`,
  complete: `UPDATE job SET state = :state, outcome = :outcome, reason = :reason, ended_at = :now,
      lease_until = NULL, worker = NULL WHERE ${stillOurs}`,
  claimed: `SELECT serial_key, coalesces FROM job WHERE ${stillOurs}`,
  supersede: `UPDATE job SET state = 'done', outcome = 'superseded', reason = :reason, ended_at = :now WHERE id = :id`,
  release: `UPDATE job SET state = 'waiting', run_after = :runAfter, attempts = attempts - :uncounted,
      reason = :reason, joins_since = NULL, lease_until = NULL, worker = NULL WHERE ${stillOurs}`,
  record: `INSERT INTO trajectory (job_id, fence, entry, created_at)
    SELECT id, fence, :entry, CAST(:now AS BIGINT) FROM job WHERE ${stillOurs}`,
  trajectory: "SELECT entry FROM trajectory WHERE job_id = :id ORDER BY number",
  workers:
    "SELECT DISTINCT worker FROM job WHERE state = 'active' AND lease_until > :now AND worker IS NOT NULL",
  endLeases:
    "UPDATE job SET lease_until = :now WHERE state = 'active' AND lease_until > :now AND worker = :worker",
  knows: `SELECT 1 AS known FROM job WHERE serial_key = :serialKey AND head = :head
    AND (state IN ('waiting', 'active') OR outcome = 'done') LIMIT 1`,
  forgetEntries: deleteEntriesOf(someToForget),
  forgetJobs: `DELETE FROM job WHERE id IN (${someToForget})`,
  forgetSpending: `DELETE FROM spending WHERE installation = :installation
    AND (repository = :repository OR :repository IS NULL)`,
  forgetTally: `DELETE FROM tally WHERE installation = :installation
    AND (repository = :repository OR :repository IS NULL)`,
  forgetClaims: "DELETE FROM last_claim WHERE installation = :installation",
  // A job that is about no repository, as the one that purges, does not stand in its own way.
  running: `SELECT count(*) AS jobs FROM job WHERE state = 'active' AND installation = :installation
    AND repository IS NOT NULL AND (repository = :repository OR :repository IS NULL)`,
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
