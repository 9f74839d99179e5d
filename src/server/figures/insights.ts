import { stringify } from "yaml";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { toolOf } from "../../core/finding.ts";
import { csvLine } from "../../report/csv.ts";
import { type Parameters, type Run, readRows } from "../queue/database.ts";
import { idList, idsIn } from "../queue/reader.ts";
import { weekOf } from "../queue/usage.ts";

/*
 * What reviews cost, and what came of them, over whole weeks (Monday to Sunday, UTC). The shapes leave the process: `hunkwise report` and the
 * page print the same.
 */

/** What became of findings. Counted in the week in which their pull request closed. */
const Outcomes = z.strictObject({
  /** That people saw, of all pull requests that closed. */
  delivered: z.int(),
  fixed: z.int(),
  dismissed: z.int(),
  ignored: z.int(),
  unclear: z.int(),
  withdrawn: z.int(),
  unmerged: z.int(),
  thumbs_up: z.int(),
  thumbs_down: z.int(),
});
export type Outcomes = z.infer<typeof Outcomes>;

/** Counted in the week in which the run ended. */
const Runs = z.strictObject({
  reviews: z.int(),
  quiet: z.int(),
  complete: z.int(),
  skipped: z.int(),
  failed: z.int(),
  other: z.int(),
});

/** Counted in the week in which a model was paid. */
export const Paid = z.strictObject({
  turns: z.int(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  completion_tokens: z.int(),
  cost_usd: z.number(),
  /** Turns without a known price; their cost is missing in `cost_usd`. */
  unpriced: z.int(),
});

const Pulls = z.strictObject({ merged: z.int(), closed: z.int() });

const Line = z.strictObject({ ...Outcomes.shape, ...Runs.shape, ...Paid.shape, ...Pulls.shape });
export type Line = z.infer<typeof Line>;

const DismissedRow = z.object({
  repository: z.int(),
  dimension: z.enum(["rule", "source", "category"]),
  value: z.string(),
  dismissed: z.int(),
  fixed: z.int(),
  findings: z.int(),
});
export type OftenDismissed = Omit<z.infer<typeof DismissedRow>, "repository"> & { repository: string };

export type Insights = Awaited<ReturnType<typeof readInsights>>;

export const dimensions = ["severity", "category", "rule", "source"] as const;
export type Dimension = (typeof dimensions)[number];

const noLine = Line.parse(Object.fromEntries(Object.keys(Line.shape).map((name) => [name, 0])));

interface InsightsQuestion {
  /** Ids of repositories; null for all. */
  repositories: readonly number[] | null;
  /** Mondays, both included. */
  from: string;
  to: string;
}

/** The id of a repository that the figures know, by "owner/name" in any case. @throws AppError `usage` if there is none */
export async function repositoryNamed(run: Run, name: string): Promise<number> {
  const sql = "SELECT id FROM repository WHERE lower(owner || '/' || name) = :name ORDER BY id DESC LIMIT 1";
  const [row] = await readRows(run, z.object({ id: z.int() }), sql, { name: name.toLowerCase() });
  if (row) return row.id;
  throw new AppError("usage", `no review of the repository '${name}' is on record`, {
    remedy: "Write it as owner/name. `hunkwise report` lists all that are.",
  });
}

/** Fewer dismissals are no habit. */
const leastDismissed = 5;
/** Times are compared one by one, so only those of the last weeks. */
const timedWeeks = 13;
const weekMs = 7 * 86_400_000;

/** The whole weeks from the one with the day `days` ago to the present one. */
export const weeksSince = (days: number, now: number): Pick<InsightsQuestion, "from" | "to"> => ({
  from: weekOf(now - days * 86_400_000),
  to: weekOf(now),
});

/** Where each kind of count is. */
const sources = {
  outcomes: { shape: Outcomes, from: "outcome_week", where: "dimension = 'all'" },
  runs: { shape: Runs, from: "run_week", where: "1 = 1" },
  paid: { shape: Paid, from: "model_week", where: "1 = 1" },
  pulls: {
    shape: Pulls,
    from: `(SELECT repository, closed_week AS week, CASE WHEN state = 'merged' THEN 1 ELSE 0 END AS merged,
      CASE WHEN state = 'closed' THEN 1 ELSE 0 END AS closed FROM pull) AS closed_pull`,
    where: "week IS NOT NULL",
  },
} as const;
type Source = keyof typeof sources;

const sums = (shape: z.ZodObject) =>
  Object.keys(shape.shape)
    .map((name) =>
      name === "cost_usd" ? "sum(cost_usd) AS cost_usd" : `CAST(sum(${name}) AS BIGINT) AS ${name}`,
    )
    .join(", ");

function statementsFor({ repositories }: Pick<InsightsQuestion, "repositories">) {
  const ids = repositories === null ? "SELECT id FROM repository" : idsIn("ids");
  const inWeeks = `repository IN (${ids}) AND week BETWEEN :from AND :to`;
  const published = `FROM run WHERE repository IN (${ids}) AND ended_at >= :since AND ended_at < :until
    AND posted IS NOT NULL AND started_at IS NOT NULL`;
  return {
    counts: (source: Source, by: "week" | "repository") => {
      const { shape, from, where } = sources[source];
      return `SELECT ${by} AS name, ${sums(shape)} FROM ${from} WHERE ${where} AND ${inWeeks} GROUP BY ${by}`;
    },
    dimensions: `SELECT dimension, value, ${sums(Outcomes)} FROM outcome_week
      WHERE dimension IN ('severity', 'category', 'rule', 'source') AND ${inWeeks} GROUP BY dimension, value`,
    oftenDismissed: `SELECT repository, dimension, value, CAST(sum(dismissed) AS BIGINT) AS dismissed, CAST(sum(fixed) AS BIGINT) AS fixed,
        CAST(sum(delivered) - sum(unmerged) AS BIGINT) AS findings FROM outcome_week
      WHERE dimension IN ('category', 'rule', 'source') AND ${inWeeks} GROUP BY repository, dimension, value
      HAVING sum(dismissed) >= ${leastDismissed} AND 2 * sum(dismissed) >= sum(delivered) - sum(unmerged)`,
    models: `SELECT model, ${sums(Paid)} FROM model_week WHERE ${inWeeks} GROUP BY model ORDER BY model`,
    spread: (value: string) => `SELECT value FROM
      (SELECT ${value} AS value, row_number() OVER (ORDER BY ${value}) AS n, count(*) OVER () AS total ${published}) AS ranked
      WHERE n = (total + 1) / 2 OR n = (total * 9 + 9) / 10 ORDER BY n`,
    names: `SELECT id, owner, name FROM repository WHERE id IN (${ids})`,
  };
}

const DimensionRow = Outcomes.extend({ dimension: z.enum(dimensions), value: z.string() });
const ModelRow = Paid.extend({ model: z.string() });
const SpreadRow = z.object({ value: z.int() });
const NameRow = z.object({ id: z.int(), owner: z.string(), name: z.string() });

export async function readInsights(run: Run, question: InsightsQuestion) {
  const { from, to, repositories } = question;
  const statements = statementsFor(question);
  const ids = idList(repositories ?? []);
  const ask = <Row>(shape: z.ZodType<Row>, sql: string, parameters: Parameters) =>
    readRows(run, shape, sql, { ids, ...parameters });
  const weeks = { from, to };
  const names = await ask(NameRow, statements.names, {});
  const until = Date.parse(to) + weekMs;
  const times = { since: Math.max(Date.parse(from), until - timedWeeks * weekMs), until };
  const lines = async (by: "week" | "repository") => {
    const found = new Map<string | number, Line>();
    for (const source of Object.keys(sources) as Source[]) {
      const Row = sources[source].shape.extend({ name: z.union([z.string(), z.int()]) });
      const sql = statements.counts(source, by);
      for (const { name, ...counts } of await ask<{ name: string | number } & Partial<Line>>(Row, sql, weeks))
        found.set(name, { ...(found.get(name) ?? noLine), ...counts });
    }
    return found;
  };
  const [ofWeek, ofRepository, byDimension, models, dismissed, waiting, running] = await Promise.all([
    lines("week"),
    lines("repository"),
    ask(DimensionRow, statements.dimensions, weeks),
    ask(ModelRow, statements.models, weeks),
    ask(DismissedRow, statements.oftenDismissed, weeks),
    ask(SpreadRow, statements.spread("started_at - stored_at"), times),
    ask(SpreadRow, statements.spread("ended_at - started_at"), times),
  ]);
  const nameOf = new Map(names.map(({ id, owner, name }) => [id, `${owner}/${name}`]));
  const totals = { ...noLine };
  for (const line of ofWeek.values()) add(totals, line);
  return {
    /** The first Monday, and the last Sunday. */
    period: { from, to: new Date(Date.parse(to) + weekMs - 1).toISOString().slice(0, 10) },
    totals,
    weeks: mondays(from, to).map((week) => ({ week, ...(ofWeek.get(week) ?? noLine) })),
    repositories: [...ofRepository]
      .map(([id, line]) => ({ id: Number(id), name: nameOf.get(Number(id)) ?? String(id), ...line }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    /** By what the findings are; `value` is empty if they do not say. */
    by: Object.fromEntries(dimensions.map((one) => [one, ofDimension(byDimension, one)])) as Record<
      Dimension,
      ReturnType<typeof ofDimension>
    >,
    models,
    often_dismissed: dismissed
      .map(({ repository, ...row }) => ({ repository: nameOf.get(repository) ?? String(repository), ...row }))
      .filter(({ dimension, value }) => value !== "" && !(dimension === "source" && value === "model"))
      .toSorted((a, b) => b.dismissed - b.fixed - (a.dismissed - a.fixed)),
    /** Of the runs that published a review in the last 13 weeks of the period; null if there is none. */
    times: spreadOf(waiting, running),
  };
}

function ofDimension(rows: z.infer<typeof DimensionRow>[], wanted: Dimension) {
  return rows
    .filter(({ dimension }) => dimension === wanted)
    .map(({ dimension: _, ...row }) => row)
    .toSorted((a, b) => b.delivered - a.delivered || (a.value < b.value ? -1 : 1));
}

function spreadOf(...all: z.infer<typeof SpreadRow>[][]) {
  const [waiting, running] = all.map(([median, p90 = median]) =>
    median && p90 ? { median_ms: median.value, p90_ms: p90.value } : null,
  );
  return waiting && running ? { waiting, running } : null;
}

function add(sum: Line, counts: Line): void {
  for (const [name, count] of Object.entries(counts)) sum[name as keyof Line] += count;
}

/** Every Monday from one to another. */
function mondays(from: string, to: string): string[] {
  const weeks: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += weekMs) weeks.push(weekOf(at));
  return weeks;
}

/** Fewer findings than this say too little for a share. */
const leastForShare = 20;

/** What the numbers mean, in the words that the page and the report print. */
export const definitions: Readonly<Record<string, string>> = {
  Week: "Monday to Sunday, UTC. A period is made of whole weeks; the last one is not over yet.",
  Review: "A run that published a review. It counts in the week in which it ended.",
  "Quiet review": "A review that showed no finding for the first time.",
  Cost: "The cost of model turns in the week in which they ran, even in runs that failed. Turns without a known price are not included.",
  Findings:
    "Findings that people saw (in comments, annotations or a summary) on pull requests that closed in the week. So the findings of open pull requests are not counted yet.",
  Fixed: "A later review found that the code no longer has the fault, before the merge.",
  Dismissed:
    "A person with write access decided to leave the code as it is: by a command, a reply, a thumbs down, a resolved thread, a deleted comment or the page.",
  Ignored: "Open at the merge: nobody changed its lines or decided about it.",
  Unclear: "Its lines had changed at the merge, and no review has checked since whether that fixed it.",
  Withdrawn:
    "A later review no longer reported it, although its code had not changed. Findings without a comment count as fixed.",
  "Not merged": "Its pull request was closed without a merge. Nothing is said about these findings.",
  Thumbs: "Reactions of people on the comments of these findings, as they were when the pull request closed.",
  Share: `Of the findings whose pull request was merged. Shown only from ${leastForShare} on; below that, only counts.`,
  "Waiting, running":
    "From the event to the start, and from the start to the end of a review; the middle value of the last 13 weeks of the period.",
};

export const judged = ({ delivered, unmerged }: Pick<Outcomes, "delivered" | "unmerged">): number =>
  delivered - unmerged;

export function share(part: number, whole: number): string | null {
  return whole < leastForShare ? null : `${Math.round((part / whole) * 100)}%`;
}

export const tokensOf = ({
  prompt_tokens,
  completion_tokens,
}: Pick<Line, "prompt_tokens" | "completion_tokens">): number => prompt_tokens + completion_tokens;

export const breakdowns = ["repository", "week", "severity", "category", "rule", "source", "model"] as const;
export type Breakdown = (typeof breakdowns)[number];

type NamedNumbers = { name: string; numbers: Record<string, number> };

export function rowsBy(insights: Insights, by: Breakdown): NamedNumbers[] {
  switch (by) {
    case "repository":
      return insights.repositories.map(({ id: _, name, ...numbers }) => ({ name, numbers }));
    case "week":
      return insights.weeks.map(({ week: name, ...numbers }) => ({ name, numbers }));
    case "model":
      return insights.models.map(({ model: name, ...numbers }) => ({ name, numbers }));
    default:
      return insights.by[by].map(({ value, ...numbers }) => ({ name: value || "none", numbers }));
  }
}

export function breakdownCsv(insights: Insights, by: Breakdown): string {
  const rows = rowsBy(insights, by);
  const names = Object.keys(rows[0]?.numbers ?? {});
  const lines = rows.map(({ name, numbers }) => csvLine([name, ...names.map((one) => numbers[one] ?? null)]));
  return [csvLine([by, ...names]), ...lines].join("");
}

export const severeOnly = (category: string): string =>
  `Report a finding of the category ${category} only if its severity is high or critical.`;

/**
 * What a repository can do about findings that its people dismiss again and again. `lines` are for `.github/hunkwise.yml`; null if there is no
 * single right one.
 */
export function demotionOf({ dimension, value, dismissed, findings }: OftenDismissed) {
  const evidence = `people dismissed ${dismissed} of ${findings}`;
  const demotion = (does: string, lines: object | null) => ({ does, lines: lines && stringify(lines) });
  if (dimension === "rule")
    return demotion(
      `Lower the severity of the rule ${value}, say more exactly what it means, or narrow its files: ${evidence} of its findings.`,
      null,
    );
  if (dimension === "category")
    return demotion(
      `Ask the reviewer to report findings about ${value} only if they are severe: ${evidence}.`,
      { instructions: [{ path: "**", text: severeOnly(value) }] },
    );
  const tool = toolOf(value);
  return tool === null
    ? demotion(`Switch the rule ${value} off, or only for some files: ${evidence} of its findings.`, {
        rules: { [value]: "off" },
      })
    : demotion(`Switch it off in ${tool}, whose results these are: ${evidence}.`, null);
}
