import type { Database, Run } from "../../src/server/queue/database.ts";
import { dayOf } from "../../src/server/queue/usage.ts";

/** What a server has on record after a while: the same for the same sizes, in either database. */
export interface HistorySize {
  runs: number;
  repositories: number;
  /** Milliseconds since 1970; the newest run ended shortly before. */
  now: number;
  /** Days over which the runs are spread; 400 by default. */
  days?: number;
  /** Newest runs that still have a job, a record and the words of their findings; a tenth of the runs by default. */
  recorded?: number;
  waiting?: number;
  active?: number;
  /** Findings that a review shows: from none to one less than this; 34 by default. */
  findings?: number;
}

const dayMs = 86_400_000;
export const firstRepository = 1_001;
/** Names are "octo/repo-1" and so on. */
export const seededRepository = (index: number) => ({
  id: firstRepository + index,
  installation: 1 + (index % 7),
  owner: "octo",
  name: `repo-${index + 1}`,
  mayWrite: false,
});

/** The numbers from 0, in both databases. */
const numbers = (parameter: string) => `WITH RECURSIVE number (i) AS (
  SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM number WHERE i + 1 < CAST(:${parameter} AS BIGINT))`;

/** Spreads numbers over a range; another `by` gives another order. No colon stands before a letter in these statements, except before a parameter. */
const spread = (value: string, by: number, range: number | string) =>
  `((${value}) * ${by} + ${by % 97}) % (${range})`;
/** One of some texts. */
const oneOf = (value: string, texts: readonly (string | null)[]) =>
  `CASE (${value}) % ${texts.length} ${texts.map((text, index) => `WHEN ${index} THEN ${text === null ? "NULL" : `'${text}'`}`).join(" ")} END`;
const digits = (value: string, from: number) => `substr(CAST(${10 ** 12} + (${value}) AS TEXT), ${from})`;

/** As random ids, of twelve digits. */
export const seededId = (seq: number) => `00000000-0000-4000-8000-${String(10 ** 12 + seq).slice(1)}`;
const idOf = (value: string) => `'00000000-0000-4000-8000-' || ${digits(value, 2)}`;

async function insertRuns(run: Run, size: Required<HistorySize>): Promise<void> {
  const { runs, repositories, now, days, findings } = size;
  const step = Math.floor((days * dayMs) / runs);
  // Three runs for each pull request. A tenth of the repositories has half of the runs.
  const repository = `${firstRepository} + CASE WHEN (i / 3) % 2 = 0 THEN ${spread("(i / 3)", 7_919, Math.ceil(repositories / 10))} ELSE ${spread("(i / 3)", 104_729, repositories)} END`;
  const kind = oneOf(spread("i", 31, 20), [
    ...Array.from({ length: 16 }, () => "review"),
    ...["dry_run", "ask", "fix", "reply"],
  ]);
  const outcome = oneOf(spread("i", 53, 20), [
    ...Array.from({ length: 15 }, () => "done"),
    ...["skipped", "skipped", "superseded", "superseded", "failed"],
  ]);
  await run(
    `INSERT INTO run (seq, id, installation, repository, pull, kind, origin, requested_by, head, outcome, reason, attempts,
        stored_at, started_at, ended_at, hunks_total, hunks_served, is_complete, findings, posted, turns, prompt_tokens,
        cached_tokens, completion_tokens, cost_usd, unpriced)
      ${numbers("runs")}, drawn AS (
        SELECT i, ${repository} AS repository, ${kind} AS kind, ${outcome} AS outcome, CAST(:first AS BIGINT) + i * CAST(:step AS BIGINT) AS stored FROM number
      ), reviewed AS (
        SELECT drawn.*, CASE WHEN kind = 'review' AND outcome = 'done' THEN 1 ELSE 0 END AS is_review,
          CASE WHEN outcome IN ('done', 'failed') THEN 1 ELSE 0 END AS asked, ${spread("i", 15, findings)} AS posted FROM drawn
      )
      SELECT i + 1, ${idOf("i + 1")}, 1 + (repository - ${firstRepository}) % 7, repository, 1 + (i / 3) % 9973, kind,
        CASE WHEN kind = 'review' THEN ${oneOf("i", ["event", "event", "event", "rerun"])} ELSE 'comment' END,
        CASE WHEN kind = 'review' THEN NULL ELSE ${oneOf("i", ["ann", "bob", "O''Brien", "dependabot[bot]"])} END,
        substr(CAST(${spread("i", 2_654_435, 1_000_000_007)} + 1000000000 AS TEXT) || '89abcdef0123456789abcdef0123456789abcdef', 1, 40),
        outcome, ${oneOf("CASE outcome WHEN 'skipped' THEN 0 WHEN 'superseded' THEN 1 ELSE 2 END", ["its author is a bot", "a newer head arrived", null])},
        1 + (CASE WHEN i % 29 = 0 THEN 1 ELSE 0 END), stored, CASE WHEN outcome = 'superseded' THEN NULL ELSE stored + 1000 + ${spread("i", 61, 90_000)} END,
        stored + 95000 + ${spread("i", 67, 400_000)},
        CASE is_review WHEN 1 THEN 10 + i % 90 END, CASE is_review WHEN 1 THEN 10 + i % 90 - (CASE WHEN i % 11 = 0 THEN 5 ELSE 0 END) END,
        CASE is_review WHEN 1 THEN (CASE WHEN i % 11 = 0 THEN 0 ELSE 1 END) END,
        CASE is_review WHEN 1 THEN posted + i % 3 END, CASE is_review WHEN 1 THEN posted END,
        asked * (5 + i % 40), asked * (20000 + ${spread("i", 71, 400_000)}), asked * ${spread("i", 73, 20_000)},
        asked * (500 + ${spread("i", 79, 9_000)}), asked * (0.01 + (${spread("i", 83, 300)}) / 1000.0), CASE WHEN i % 97 = 0 THEN asked ELSE 0 END
      FROM reviewed`,
    { runs, step, first: now - runs * step },
  );
}

/** So that no statement takes as long as one may take. */
const RUNS_AT_ONCE = 10_000;

async function insertPullsAndFindings(
  run: Run,
  { now, runs }: Required<HistorySize>,
  weeks: string,
): Promise<void> {
  // Seven of ten are merged, one is closed, and the newest are open.
  await run(
    `INSERT INTO pull (repository, number, installation, state, closed_at, closed_week)
      SELECT repository, pull, max(installation),
        CASE WHEN (pull + repository) % 10 < 2 OR max(ended_at) + 3600000 > CAST(:now AS BIGINT) THEN 'open' WHEN (pull + repository) % 10 = 2 THEN 'closed' ELSE 'merged' END,
        CASE WHEN (pull + repository) % 10 < 2 OR max(ended_at) + 3600000 > CAST(:now AS BIGINT) THEN NULL ELSE max(ended_at) + 3600000 END, NULL
      FROM run GROUP BY repository, pull`,
    { now },
  );
  await run(
    `UPDATE pull SET closed_week = (SELECT max(key) FROM json_each(:weeks) AS week
      WHERE CAST(CAST(week.value AS TEXT) AS BIGINT) <= pull.closed_at) WHERE closed_at IS NOT NULL`,
    { weeks },
  );
  const state = oneOf("mixed", ["open", "open", "fixed", "fixed", "fixed", "fixed", "outdated", "dismissed"]);
  const rule = oneOf("mixed / 7", [
    ...Array.from({ length: 6 }, () => null),
    "no-sync-io",
    "money-is-decimal",
  ]);
  const source = oneOf("mixed / 5", [
    ...Array.from({ length: 8 }, () => "model"),
    "ast-grep/py-mutable-default",
    "leftovers/debugger",
  ]);
  const insert = `INSERT INTO finding (repository, pull, key, id, installation, comment, place, severity, category, source, rule, state,
        dismissed_by, dismissed_how, thumbs_up, thumbs_down, delivered_at, decided_at)
      ${numbers("most")}, delivered AS (
        SELECT run.repository, run.pull, run.installation, run.ended_at, run.seq * 40 + number.i AS comment,
          ${spread("run.seq * 40 + number.i", 48_271, 9_973)} AS mixed
        FROM run JOIN number ON number.i < run.posted WHERE run.seq > :after AND run.seq <= :until
      )
      SELECT repository, pull, CAST(comment AS TEXT), 'f' || CAST(comment AS TEXT), installation, comment, ${oneOf("mixed", [...Array.from({ length: 9 }, () => "comment"), "annotation", "summary"])},
        ${oneOf("mixed / 3", ["low", "medium", "medium", "high", "low", "critical"])},
        ${oneOf("mixed", ["correctness", "security", "performance", "api", "test", "error-handling", "maintainability"])},
        ${source}, ${rule}, ${state},
        CASE WHEN mixed % 8 = 7 THEN ${oneOf("mixed / 8", ["ann", "bob"])} END, CASE WHEN mixed % 8 = 7 THEN ${oneOf("mixed / 8", ["reply", "reaction", "resolved"])} END,
        CASE WHEN mixed % 13 = 0 THEN 1 ELSE 0 END, CASE WHEN mixed % 17 = 0 THEN 1 ELSE 0 END, ended_at,
        CASE WHEN mixed % 8 IN (0, 1, 6) THEN NULL ELSE ended_at + 1800000 END
      FROM delivered`;
  for (let after = 0; after < runs; after += RUNS_AT_ONCE)
    await run(insert, { most: 34, after, until: after + RUNS_AT_ONCE });
}

/** Fills the tables that hold sums of others, over the days before `now`. */
export function deriveHistory(run: Run, now: number, days: number): Promise<void> {
  return insertDerived(run, calendar(now - days * dayMs, now, 7));
}

async function insertDerived(run: Run, weeks: string): Promise<void> {
  const inWeek = `ended_at >= CAST(CAST(week.value AS TEXT) AS BIGINT) AND ended_at < CAST(CAST(week.value AS TEXT) AS BIGINT) + ${7 * dayMs}`;
  const dimensions = {
    all: "''",
    severity: "severity",
    category: "category",
    source: "source",
    rule: "rule",
  };
  for (const [dimension, value] of Object.entries(dimensions)) {
    const count = (condition: string) => `sum(CASE WHEN ${condition} THEN 1 ELSE 0 END)`;
    await run(
      `INSERT INTO outcome_week (repository, week, dimension, value, delivered, fixed, dismissed, ignored, unclear, unmerged, thumbs_up, thumbs_down)
        SELECT finding.repository, pull.closed_week, '${dimension}', coalesce(${value}, ''), count(*), ${count("pull.state = 'merged' AND finding.state = 'fixed'")},
          ${count("pull.state = 'merged' AND finding.state = 'dismissed'")}, ${count("pull.state = 'merged' AND finding.state = 'open'")},
          ${count("pull.state = 'merged' AND finding.state = 'outdated'")}, ${count("pull.state <> 'merged'")}, sum(thumbs_up), sum(thumbs_down)
        FROM finding JOIN pull ON pull.repository = finding.repository AND pull.number = finding.pull
        WHERE pull.closed_week IS NOT NULL AND (${value}) IS NOT NULL GROUP BY finding.repository, pull.closed_week, coalesce(${value}, '')`,
    );
  }
  await run(
    `INSERT INTO model_week (repository, week, model, turns, prompt_tokens, cached_tokens, completion_tokens, cost_usd, unpriced)
      SELECT repository, key, CASE WHEN seq % 3 = 0 THEN 'small-model' ELSE 'large-model' END, sum(turns), sum(prompt_tokens),
        sum(cached_tokens), sum(completion_tokens), sum(cost_usd), sum(unpriced)
      FROM json_each(:weeks) AS week JOIN run ON ${inWeek}
      WHERE turns > 0 GROUP BY repository, key, CASE WHEN seq % 3 = 0 THEN 'small-model' ELSE 'large-model' END`,
    { weeks },
  );
  const one = (condition: string) => `sum(CASE WHEN ${condition} THEN 1 ELSE 0 END)`;
  await run(
    `INSERT INTO run_week (repository, week, reviews, quiet, complete, skipped, failed, other)
      SELECT repository, key, ${one("posted IS NOT NULL")}, ${one("posted = 0")}, ${one("posted IS NOT NULL AND is_complete = 1")},
        ${one("kind = 'review' AND outcome = 'skipped'")}, ${one("outcome = 'failed'")}, ${one("kind <> 'review' AND outcome <> 'failed'")}
      FROM json_each(:weeks) AS week JOIN run ON ${inWeek} GROUP BY repository, key`,
    { weeks },
  );
}

const task = (by: string) =>
  `'{"kind":"review","mode":"new","again": false,"repository":{"installation":' || CAST(installation AS TEXT) || ',"id":' || CAST(repository AS TEXT)
    || ',"owner":"octo","name":"repo-' || CAST(repository - ${firstRepository - 1} AS TEXT) || '"},"pull":' || CAST(pull AS TEXT)
    || ',"headSha":"' || coalesce(head, '') || '","trigger":"event#' || CAST(pull AS TEXT) || '","thread": null,"commentId": null,"requestedBy": ${by}}'`;

async function insertJobs(run: Run, size: Required<HistorySize>): Promise<void> {
  const { runs, recorded, waiting, active, now } = size;
  const first = runs - recorded;
  const given = "OVERRIDING SYSTEM VALUE";
  // Postgres gives numbers by itself unless told otherwise; SQLite does not know the words.
  const isPostgres = await run("SELECT to_regclass('job')").then(
    () => true,
    () => false,
  );
  const insert = (columns: string) => `INSERT INTO job (${columns}) ${isPostgres ? given : ""}`;
  await run(
    `${insert("seq, id, task, concurrency_key, coalesces, priority, state, attempts, fence, run_after, created_at, started_at, ended_at, outcome, reason, installation, repository, head, pull, turns, cost_usd")}
      SELECT seq, id, ${task("null")}, CAST(repository AS TEXT) || '#' || CAST(pull AS TEXT), 1, 0, CASE outcome WHEN 'failed' THEN 'failed' ELSE 'done' END,
        attempts, attempts, stored_at, stored_at, started_at, ended_at, outcome, coalesce(reason, 'as planned'), installation, repository, head, pull, turns, cost_usd
      FROM run WHERE seq > :first`,
    { first },
  );
  await run(
    `INSERT INTO finding_text (repository, pull, key, title, path, line, url, reason, written_at)
      SELECT finding.repository, pull, key, 'The condition assigns instead of comparing, case ' || key, 'src/part-' || CAST(comment % 50 AS TEXT) || '/cart.ts', 1 + comment % 300,
        'https://github.com/octo/repo-' || CAST(finding.repository - ${firstRepository - 1} AS TEXT) || '/pull/' || CAST(pull AS TEXT) || '#discussion_r' || key,
        CASE state WHEN 'dismissed' THEN 'We know, and it stays as it is.' END, delivered_at
      FROM finding WHERE delivered_at > :since`,
    { since: now - 30 * dayMs },
  );
  const open = `SELECT ${idOf("900000 + i")} AS id, i, ${firstRepository} + i % CAST(:repositories AS BIGINT) AS repository, 1 + (i % CAST(:repositories AS BIGINT)) % 7 AS installation, 500 + i AS pull, 'abcdef0123456789abcdef0123456789abcdef01' AS head FROM number`;
  const columns =
    "id, task, concurrency_key, coalesces, priority, state, attempts, fence, worker, lease_until, run_after, joins_since, created_at, started_at, reason, installation, repository, head, pull, turns, prompt_tokens, completion_tokens, cost_usd";
  const { repositories } = size;
  const key = "CAST(repository AS TEXT) || '#' || CAST(pull AS TEXT)";
  if (active > 0)
    await run(
      `INSERT INTO job (${columns}) ${numbers("active")}, open AS (${open})
        SELECT id, ${task("null")}, ${key}, 1, 0, 'active', 1, 1, 'worker-' || CAST(1 + i % 2 AS TEXT), CAST(:now AS BIGINT) + 20000, CAST(:now AS BIGINT) - 90000, NULL, CAST(:now AS BIGINT) - 120000, CAST(:now AS BIGINT) - 80000 + i * 1000, NULL,
          installation, repository, head, pull, 7 + i, 41000 * (i + 1), 2100, 0.12 * (i + 1) FROM open`,
      { active, repositories, now },
    );
  if (waiting > 0)
    await run(
      `INSERT INTO job (${columns}) ${numbers("waiting")}, open AS (${open.replace("900000", "950000").replace("500 + i", "500 + i + (CASE WHEN i % 5 = 1 THEN 0 ELSE 100000 END)")})
        SELECT id, ${task("null")}, ${key}, 1, 0, 'waiting', CASE WHEN i % 5 = 2 THEN 1 ELSE 0 END, 1, NULL, NULL,
          CAST(:now AS BIGINT) + (CASE WHEN i % 5 IN (0, 2, 3) THEN 30000 + i * 100 ELSE -1000 END), CASE WHEN i % 5 = 0 THEN CAST(:now AS BIGINT) - 5000 END, CAST(:now AS BIGINT) - 60000 - i, NULL,
          CASE WHEN i % 5 IN (2, 3) THEN 'Cannot reach the model at http://10.0.0.7/v1: it does not answer' END,
          installation, repository, head, pull, 0, 0, 0, 0 FROM open`,
      { waiting, repositories, now },
    );
  await run(
    `INSERT INTO trajectory (job_id, fence, entry, created_at) ${numbers("entries")}
      SELECT job.id, job.fence, '{"kind":"turn","loop":"review","turn":' || CAST(number.i + 1 AS TEXT) || ',"model":{"content":"I read on.","toolCalls":[{"id":"1","name":"read_file_part","arguments":"{\\"file_path\\":\\"src/a' || CAST(number.i AS TEXT) || '.ts\\"}"}],"finishReason":"tool_calls","usage":{"promptTokens": 900,"cachedTokens": 0,"completionTokens": 100,"costUsd": 0.02}}}', job.created_at + number.i * 1000
      FROM job CROSS JOIN number WHERE job.started_at IS NOT NULL`,
    { entries: 5 },
  );
  await run(
    `INSERT INTO worker (name, version, concurrency, started_at, seen_at)
      SELECT 'worker-' || CAST(key AS TEXT), '0.1.0', 2, CAST(:now AS BIGINT) - 7200000, CAST(:now AS BIGINT) - CAST(CAST(value AS TEXT) AS BIGINT) FROM json_each(:workers) AS one`,
    { now, workers: JSON.stringify({ 1: 4_000, 2: 9_000, 3: 900_000 }) },
  );
}

/** An object of begins, in milliseconds since 1970, by their names as days. */
function calendar(from: number, to: number, days: number): string {
  const begins: Record<string, number> = {};
  // 1970-01-05 was a Monday.
  const monday = 4 * dayMs;
  for (
    let at = from - ((((from - monday) % (days * dayMs)) + days * dayMs) % (days * dayMs));
    at <= to;
    at += days * dayMs
  )
    begins[dayOf(at)] = at;
  return JSON.stringify(begins);
}

/** Fills an empty database. Findings are about ten times as many as runs. */
export async function seedHistory({ run }: Pick<Database, "run">, given: HistorySize): Promise<void> {
  const size = {
    days: 400,
    recorded: Math.floor(given.runs / 10),
    waiting: 0,
    active: 0,
    findings: 34,
    ...given,
  };
  const { now, days, repositories } = size;
  const weeks = calendar(now - days * dayMs, now, 7);
  await run(
    `INSERT INTO repository (id, installation, owner, name) ${numbers("repositories")}
      SELECT ${firstRepository} + i, 1 + i % 7, 'octo', 'repo-' || CAST(i + 1 AS TEXT) FROM number`,
    { repositories },
  );
  await insertRuns(run, size);
  await insertPullsAndFindings(run, size, weeks);
  await insertDerived(run, weeks);
  await insertJobs(run, size);
}
