/** How a database writes what the two spell differently. */
export interface Dialect {
  /** A whole number of 64 bits. */
  integer: string;
  real: string;
  /** A key that counts up and never gives a number twice. */
  counter: string;
  /** Compares a text byte by byte. */
  byBytes: string;
  /** After the columns of a table, and of one whose rows are found by their key alone. */
  table: string;
  keyTable: string;
}

/** For `ON CONFLICT`: adds the new row's counts to those of the old one. */
export const addUp = (table: string, counts: string): string =>
  `DO UPDATE SET ${counts.replaceAll(/\w+/g, (name) => `${name} = ${table}.${name} + excluded.${name}`)}`;

/** The `schemaVersion` of a database that this program created. It grows with each change to the schema. */
export const schemaVersion = 10;

/** The tables of both databases. Times are milliseconds since 1970, a day (UTC) is written as 2026-11-22, and a week is named by its Monday. */
export function tables({ integer, real, counter, byBytes, table, keyTable }: Dialect): string {
  const counts = (names: string, rest = "") => names.replaceAll(/\w+/g, `$& ${integer} NOT NULL${rest}`);
  /** What model turns took. Turns without a known price are in "unpriced". */
  const paid = (rest = "") =>
    `${counts("turns, prompt_tokens, cached_tokens, completion_tokens, unpriced", rest)}, cost_usd ${real} NOT NULL${rest}`;
  return `
  CREATE TABLE delivery (
    id          TEXT PRIMARY KEY,
    event       TEXT NOT NULL,
    action      TEXT,
    received_at ${integer} NOT NULL
  ) ${keyTable};
  CREATE INDEX delivery_received_at ON delivery (received_at);

  CREATE TABLE job (
    seq          ${counter},
    id           TEXT NOT NULL UNIQUE,
    task         TEXT NOT NULL,
    -- What statements ask of a task is a column. A task that is no JSON is failed when its turn comes.
    installation ${integer} NOT NULL,
    repository   ${integer},
    pull         ${integer},
    head         TEXT,
    concurrency_key TEXT NOT NULL,
    coalesces    ${integer} NOT NULL,
    priority     ${integer} NOT NULL,
    delivery_id  TEXT,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'active', 'done', 'failed')),
    attempts     ${integer} NOT NULL DEFAULT 0,
    fence        ${integer} NOT NULL DEFAULT 0,
    worker       TEXT,
    lease_until  ${integer},
    run_after    ${integer} NOT NULL,
    -- When the first of the tasks came that a waiting job joins; null when its quiet time begins with the next one.
    joins_since  ${integer},
    -- Whether the head of a waiting job's task came after the last claim of a job of its key.
    has_new_head ${integer} NOT NULL DEFAULT 0,
    created_at   ${integer} NOT NULL,
    -- When the present task was first claimed.
    started_at   ${integer},
    ended_at     ${integer},
    outcome      TEXT,
    reason       TEXT,
    -- What a run has cost so far: every turn of its model, also of failed attempts.
    ${paid(" DEFAULT 0")}
  ) ${table};
  CREATE INDEX job_ended_at ON job (ended_at) WHERE ended_at IS NOT NULL;
  -- The two promises of the queue, kept by the database itself.
  CREATE UNIQUE INDEX job_one_active ON job (concurrency_key) WHERE state = 'active';
  CREATE UNIQUE INDEX job_one_waiting ON job (concurrency_key) WHERE state = 'waiting' AND coalesces = 1;
  CREATE INDEX job_key ON job (concurrency_key);
  -- Jobs are counted each time that somebody asks for the process's health.
  CREATE INDEX job_state ON job (state);
  CREATE INDEX job_of_installation ON job (installation, priority, seq);
  -- Holds all that the choice of the next installation asks of the jobs that wait.
  CREATE INDEX job_waiting ON job (priority, installation, run_after, seq) WHERE state = 'waiting';
  CREATE INDEX job_active ON job (installation, lease_until) WHERE state = 'active';

  CREATE TABLE trajectory (
    number     ${counter},
    job_id     TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    fence      ${integer} NOT NULL,
    entry      TEXT NOT NULL,
    created_at ${integer} NOT NULL
  ) ${table};
  CREATE INDEX trajectory_job ON trajectory (job_id, number);

  -- What model turns took.
  CREATE TABLE spending (
    day          TEXT NOT NULL,
    ${counts("installation, repository, pull, tokens")},
    cost_usd     ${real} NOT NULL,
    PRIMARY KEY (day, installation, repository, pull)
  ) ${keyTable};

  -- The number of an installation's last claim; they are numbered in the order in which they were made.
  CREATE TABLE last_claim (
    installation ${integer} PRIMARY KEY,
    number       ${integer} NOT NULL
  ) ${table};

  CREATE TABLE note (
    name       TEXT PRIMARY KEY,
    text       TEXT NOT NULL,
    written_at ${integer} NOT NULL
  ) ${keyTable};

  -- Written to find out whether anything can be.
  CREATE TABLE pulse (
    id ${integer} PRIMARY KEY CHECK (id = 1),
    at ${integer} NOT NULL
  ) ${table};

  -- What was done of that which has a limit: a person's commands of an hour, the reviews of a day.
  CREATE TABLE tally (
    installation ${integer} NOT NULL,
    scope        TEXT NOT NULL,
    name         TEXT NOT NULL,
    repository   ${integer} NOT NULL,
    at           ${integer} NOT NULL,
    PRIMARY KEY (installation, scope, name)
  ) ${keyTable};
  CREATE INDEX tally_at ON tally (installation, scope, at);

  -- Figures: ids, counts, times and names of repositories, never code, nor text of a model. They outlive the records.

  -- The last known name of each repository that a run was about.
  CREATE TABLE repository (
    id           ${integer} PRIMARY KEY,
    installation ${integer} NOT NULL,
    owner        TEXT NOT NULL,
    name         TEXT NOT NULL
  ) ${table};
  CREATE INDEX repository_installation ON repository (installation);

  -- A job about a pull request that has ended. What only reviews have is null in other runs.
  CREATE TABLE run (
    seq               ${integer} PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    ${counts("installation, repository, pull")},
    kind              TEXT NOT NULL,
    origin            TEXT NOT NULL,
    requested_by      TEXT,
    head              TEXT ${byBytes},
    outcome           TEXT NOT NULL,
    reason            TEXT,
    attempts          ${integer} NOT NULL,
    stored_at         ${integer} NOT NULL,
    started_at        ${integer},
    ended_at          ${integer} NOT NULL,
    hunks_total       ${integer},
    hunks_served      ${integer},
    is_complete       ${integer},
    findings          ${integer},
    posted            ${integer},
    ${paid()}
  ) ${table};
  CREATE INDEX run_ended ON run (ended_at, seq);
  CREATE INDEX run_of_repository ON run (repository, ended_at, seq);
  CREATE INDEX run_of_pull ON run (repository, pull, seq);
  CREATE INDEX run_of_head ON run (head);

  -- What became of a pull request that was reviewed.
  CREATE TABLE pull (
    ${counts("repository, number, installation")},
    state        TEXT NOT NULL CHECK (state IN ('open', 'closed', 'merged')),
    closed_at    ${integer},
    closed_week  TEXT,
    PRIMARY KEY (repository, number)
  ) ${keyTable};
  CREATE INDEX pull_closed ON pull (repository, closed_week, state);
  CREATE INDEX pull_closed_at ON pull (closed_at);

  -- A finding that people saw, by its comment or, if it has none, by its id.
  CREATE TABLE finding (
    ${counts("repository, pull")},
    key           TEXT NOT NULL,
    id            TEXT NOT NULL,
    installation  ${integer} NOT NULL,
    comment       ${integer},
    place         TEXT NOT NULL CHECK (place IN ('comment', 'annotation', 'summary')),
    severity      TEXT NOT NULL,
    category      TEXT,
    source        TEXT,
    rule          TEXT,
    state         TEXT NOT NULL CHECK (state IN ('open', 'outdated', 'fixed', 'withdrawn', 'dismissed')),
    dismissed_by  TEXT,
    dismissed_how TEXT,
    ${counts("thumbs_up, thumbs_down", " DEFAULT 0")},
    delivered_at  ${integer} NOT NULL,
    decided_at    ${integer},
    PRIMARY KEY (repository, pull, key)
  ) ${keyTable};
  CREATE INDEX finding_delivered ON finding (delivered_at, repository);
  CREATE INDEX finding_of_repository ON finding (repository, delivered_at);
  CREATE INDEX finding_of_state ON finding (repository, state, delivered_at);

  -- The words of a finding: a record, which is deleted like other records.
  CREATE TABLE finding_text (
    ${counts("repository, pull")},
    key        TEXT NOT NULL,
    title      TEXT NOT NULL,
    path       TEXT NOT NULL,
    line       ${integer},
    url        TEXT,
    reason     TEXT,
    written_at ${integer} NOT NULL,
    PRIMARY KEY (repository, pull, key)
  ) ${keyTable};
  CREATE INDEX finding_text_written ON finding_text (written_at);

  -- The findings of the pull requests that closed in a week, counted by one dimension: computed from "finding" and "pull".
  CREATE TABLE outcome_week (
    repository  ${integer} NOT NULL,
    week        TEXT NOT NULL,
    dimension   TEXT NOT NULL,
    value       TEXT NOT NULL,
    ${counts("delivered, fixed, dismissed, ignored, unclear, unmerged, thumbs_up, thumbs_down")},
    withdrawn   ${integer} NOT NULL DEFAULT 0,
    PRIMARY KEY (repository, dimension, week, value)
  ) ${keyTable};
  CREATE INDEX outcome_week_week ON outcome_week (week);

  -- What models took in a week.
  CREATE TABLE model_week (
    repository        ${integer} NOT NULL,
    week              TEXT NOT NULL,
    model             TEXT NOT NULL,
    ${paid()},
    PRIMARY KEY (repository, week, model)
  ) ${keyTable};

  -- The runs that ended in a week: computed from "run".
  CREATE TABLE run_week (
    repository ${integer} NOT NULL,
    week       TEXT NOT NULL,
    ${counts("reviews, quiet, complete, skipped, failed, other")},
    PRIMARY KEY (repository, week)
  ) ${keyTable};

  -- The workers that live, as they last said.
  CREATE TABLE worker (
    name        TEXT PRIMARY KEY,
    version     TEXT NOT NULL,
    concurrency ${integer} NOT NULL,
    started_at  ${integer} NOT NULL,
    seen_at     ${integer} NOT NULL
  ) ${keyTable};
`;
}
