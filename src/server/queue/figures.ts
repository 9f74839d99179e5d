import { z } from "zod";
import { type Database, inBatches, type Run, readRows } from "./database.ts";
import { type Spender, weekOf } from "./usage.ts";

/** A finding that people saw, without words. */
export interface FindingFigure {
  /** The id of its comment, or, if it has none, of the finding. */
  key: string;
  id: string;
  comment: number | null;
  place: "comment" | "annotation" | "summary";
  severity: string;
  category: string | null;
  /** "model", or the analyzer and its rule. */
  source: string | null;
  /** The named rule that it breaks. */
  rule: string | null;
  /** `outdated`: its code has changed, and nobody has checked it since. `withdrawn`: no longer reported, although its code has not changed. */
  state: "open" | "outdated" | "fixed" | "withdrawn" | "dismissed";
  dismissal: { by: string | null; how: string } | null;
  /** Reactions of people on its comment; null if they were not read. */
  thumbs: { up: number; down: number } | null;
}

/** The words of a finding; they are kept as long as the records. */
export interface FindingWords {
  title: string;
  path: string;
  line: number | null;
  url: string | null;
  /** Why it was dismissed or counts as fixed; null if nobody said. */
  reason: string | null;
}

/** What is known now of a pull request and its findings. */
export interface PullFigures extends Spender {
  state: "open" | "closed" | "merged";
  /** Milliseconds since 1970; null while it is open. */
  closedAt: number | null;
  findings: readonly { figure: FindingFigure; words: FindingWords | null }[];
  /** Ids of findings whose comment a person deleted. */
  deleted: readonly string[];
  /** The findings without a comment that are fixed; others that are not in `findings` are deleted. Null if that is not known. */
  settled: readonly { path: string; title: string }[] | null;
}

export type Figures = ReturnType<typeof createFigures>;

const knowsPull = "SELECT 1 AS known FROM pull WHERE repository = :repository AND number = :pull";
const weekOfPull = "SELECT closed_week FROM pull WHERE repository = :repository AND number = :pull";
const putPull = `INSERT INTO pull (repository, number, installation, state, closed_at, closed_week)
  VALUES (:repository, :pull, :installation, :state, :closedAt, :week)
  ON CONFLICT (repository, number) DO UPDATE SET installation = excluded.installation, state = excluded.state,
    closed_at = excluded.closed_at, closed_week = excluded.closed_week`;
// A withdrawn finding has the same answer on GitHub as a fixed one.
const putFinding = `INSERT INTO finding (repository, pull, key, id, installation, comment, place, severity, category, source, rule,
    state, dismissed_by, dismissed_how, thumbs_up, thumbs_down, delivered_at, decided_at)
  VALUES (:repository, :pull, :key, :id, :installation, :comment, :place, :severity, :category, :source, :rule,
    :state, :by, :how, coalesce(CAST(:up AS BIGINT), 0), coalesce(CAST(:down AS BIGINT), 0), :at,
    CASE WHEN :state IN ('open', 'outdated') THEN NULL ELSE CAST(:at AS BIGINT) END)
  ON CONFLICT (repository, pull, key) DO UPDATE SET
    place = excluded.place, severity = excluded.severity, category = excluded.category, source = excluded.source, rule = excluded.rule,
    state = CASE WHEN finding.state = 'withdrawn' AND excluded.state = 'fixed' THEN 'withdrawn' ELSE excluded.state END,
    dismissed_by = excluded.dismissed_by, dismissed_how = excluded.dismissed_how,
    thumbs_up = coalesce(CAST(:up AS BIGINT), finding.thumbs_up), thumbs_down = coalesce(CAST(:down AS BIGINT), finding.thumbs_down),
    decided_at = CASE WHEN excluded.state IN ('open', 'outdated') THEN NULL ELSE coalesce(finding.decided_at, excluded.decided_at) END`;
const putWords = `INSERT INTO finding_text (repository, pull, key, title, path, line, url, reason, written_at)
  VALUES (:repository, :pull, :key, :title, :path, :line, :url, :reason, :now)
  ON CONFLICT (repository, pull, key) DO UPDATE SET title = excluded.title, path = excluded.path,
    line = coalesce(excluded.line, finding_text.line), url = coalesce(excluded.url, finding_text.url),
    reason = coalesce(excluded.reason, finding_text.reason), written_at = excluded.written_at`;
const dismissDeleted = `UPDATE finding SET state = 'dismissed', dismissed_how = 'deleted', decided_at = coalesce(decided_at, :now)
  WHERE repository = :repository AND pull = :pull AND id = :id AND place = 'comment' AND state IN ('open', 'outdated')`;
const withoutComment = `SELECT finding.key, title, path FROM finding
  LEFT JOIN finding_text ON finding_text.repository = finding.repository AND finding_text.pull = finding.pull
    AND finding_text.key = finding.key
  WHERE finding.repository = :repository AND finding.pull = :pull AND place <> 'comment' AND state = 'open'`;
const settle =
  "UPDATE finding SET state = 'fixed', decided_at = :now WHERE repository = :repository AND pull = :pull AND key = :key";
const removeFinding = "DELETE FROM finding WHERE repository = :repository AND pull = :pull AND key = :key";
const removeWords = "DELETE FROM finding_text WHERE repository = :repository AND pull = :pull AND key = :key";

const clearWeek = "DELETE FROM outcome_week WHERE repository = :repository AND week = :week";
/** An open finding of a merged pull request was ignored, and it is unclear whether an outdated one was fixed. */
const countWeek = `INSERT INTO outcome_week (repository, week, dimension, value, delivered, fixed, dismissed, ignored, unclear, withdrawn,
    unmerged, thumbs_up, thumbs_down)
  SELECT repository, week, dimension, value, count(*),
    sum(CASE WHEN merged = 1 AND state = 'fixed' THEN 1 ELSE 0 END),
    sum(CASE WHEN merged = 1 AND state = 'dismissed' THEN 1 ELSE 0 END),
    sum(CASE WHEN merged = 1 AND state = 'open' THEN 1 ELSE 0 END),
    sum(CASE WHEN merged = 1 AND state = 'outdated' THEN 1 ELSE 0 END),
    sum(CASE WHEN merged = 1 AND state = 'withdrawn' THEN 1 ELSE 0 END),
    sum(CASE WHEN merged = 1 THEN 0 ELSE 1 END), sum(thumbs_up), sum(thumbs_down)
  FROM (SELECT finding.repository, pull.closed_week AS week, dimension, finding.state, thumbs_up, thumbs_down,
      CASE WHEN pull.state = 'merged' THEN 1 ELSE 0 END AS merged,
      CASE dimension WHEN 'severity' THEN severity WHEN 'category' THEN coalesce(category, '') WHEN 'source' THEN coalesce(source, '')
        WHEN 'rule' THEN rule ELSE '' END AS value
    FROM pull JOIN finding ON finding.repository = pull.repository AND finding.pull = pull.number
    CROSS JOIN (SELECT 'all' AS dimension UNION ALL SELECT 'severity' UNION ALL SELECT 'category' UNION ALL SELECT 'source'
      UNION ALL SELECT 'rule') AS dimensions
    WHERE pull.repository = :repository AND pull.closed_week = :week) AS counted
  WHERE value IS NOT NULL GROUP BY repository, week, dimension, value`;

const batch = 500;
const deleteSome = (table: string, key: string, which: string) =>
  `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${which} LIMIT ${batch})`;
/** Each table of figures with its key, and the column that says how old a row is. */
const tables = [
  ["run", "seq", "ended_at"],
  ["finding", "repository, pull, key", "delivered_at"],
  ["finding_text", "repository, pull, key", "written_at"],
  ["pull", "repository, number", "closed_at"],
  ["outcome_week", "repository, dimension, week, value", "week"],
  ["model_week", "repository, week, model", "week"],
  ["run_week", "repository, week", "week"],
] as const;
const ofInstallation = `repository IN (SELECT id FROM repository WHERE installation = :installation
  AND (id = :repository OR :repository IS NULL))`;

const WeekRow = z.object({ closed_week: z.string().nullable() });
const UncommentedRow = z.object({
  key: z.string(),
  title: z.string().nullable(),
  path: z.string().nullable(),
});

/** Figures of findings and pull requests: a derived copy of what GitHub shows. Every method resolves only when its effect is on disk. */
export function createFigures(database: Database, now: () => number) {
  return {
    async knows({ repository, pull }: Spender): Promise<boolean> {
      return (await database.run(knowsPull, { repository, pull })).rows.length > 0;
    },

    write: (pull: PullFigures): Promise<void> => database.transaction((run) => writePull(run, pull, now())),
  };
}

/** Deletes figures from before `at`, and words of findings from before `wordsAt` (milliseconds since 1970). Resolves to the number of rows. */
export async function purgeFigures(
  { run }: Pick<Database, "run">,
  at: number,
  wordsAt: number,
): Promise<number> {
  const before = (age: string) => {
    if (age === "written_at") return Math.max(at, wordsAt);
    return age === "week" ? weekOf(at) : at;
  };
  let rows = 0;
  for (const [table, key, age] of tables) {
    const sql = deleteSome(table, key, `${age} < :before`);
    rows += await inBatches(() => run(sql, { before: before(age) }));
  }
  return rows;
}

/** Deletes all figures of an installation, or of one repository of it, but not the rows of `repository`, by which they are found. */
export async function forgetFigures(
  { run }: Pick<Database, "run">,
  of: { installation: number; repository: number | null },
): Promise<void> {
  for (const [table, key] of tables) await inBatches(() => run(deleteSome(table, key, ofInstallation), of));
}

async function writePull(run: Run, figures: PullFigures, now: number): Promise<void> {
  const { installation, repository, pull, state, closedAt, findings, deleted, settled } = figures;
  const of = { repository, pull };
  const before = (await readRows(run, WeekRow, weekOfPull, of))[0]?.closed_week ?? null;
  const week = closedAt === null ? null : weekOf(closedAt);
  await run(putPull, { ...of, installation, state, closedAt, week });
  for (const { figure, words } of findings) {
    const { dismissal, thumbs, ...row } = figure;
    // What is first seen after the end was there before it.
    const at = Math.min(now, closedAt ?? now);
    await run(putFinding, { ...of, installation, ...row, ...dismissal, ...thumbs, at });
    if (words) await run(putWords, { ...of, key: figure.key, ...words, now });
  }
  for (const id of deleted) await run(dismissDeleted, { ...of, id, now });
  if (settled !== null) await settleOthers(run, of, figures, settled, now);
  for (const one of new Set([before, week])) {
    if (one === null) continue;
    await run(clearWeek, { repository, week: one });
    await run(countWeek, { repository, week: one });
  }
}

/** Findings without a comment that were not shown again: fixed, or now elsewhere. */
async function settleOthers(
  run: Run,
  of: { repository: number; pull: number },
  { findings }: PullFigures,
  settled: NonNullable<PullFigures["settled"]>,
  now: number,
): Promise<void> {
  const known = new Set(findings.map(({ figure }) => figure.key));
  const rows = await readRows(run, UncommentedRow, withoutComment, of);
  for (const { key, title, path } of rows.filter((row) => !known.has(row.key))) {
    if (settled.some((one) => one.title === title && one.path === path))
      await run(settle, { ...of, key, now });
    else for (const sql of [removeFinding, removeWords]) await run(sql, { ...of, key });
  }
}
