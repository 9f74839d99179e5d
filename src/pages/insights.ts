import { Hono } from "hono";
import { z } from "zod";
import { count, thousands } from "../core/text/count.ts";
import {
  type Breakdown,
  breakdownCsv,
  breakdowns,
  type Dimension,
  definitions,
  demotionOf,
  dimensions,
  type Insights,
  judged,
  type Line,
  type OftenDismissed,
  type Outcomes,
  readInsights,
  share,
  tokensOf,
  weeksSince,
} from "../server/figures/insights.ts";
import { type Run, readRows } from "../server/queue/database.ts";
import { type DoAct, doneNotice, incomplete, readOnly, refuse, Sent, sentOnce } from "./actions.ts";
import { type Html, type HtmlPart, html, layout } from "./html.ts";
import {
  address,
  type Column,
  column,
  field,
  head,
  money,
  number,
  repositoryNames,
  short,
  shown,
  span,
  table,
} from "./parts.ts";
import type { PageDeps } from "./reviews.ts";
import {
  fullName,
  type PagesEnv,
  scopeOf,
  type Viewer,
  type VisibleRepository,
  visibleTo,
} from "./viewer.ts";

const periods = [
  { days: 7, name: "this week and the last" },
  { days: 30, name: "30 days" },
  { days: 90, name: "90 days" },
  { days: 365, name: "a year" },
] as const;

const Query = z.object({
  repository: z.string().trim().max(300).catch("").default(""),
  days: z.coerce
    .number()
    .refine((days) => periods.some((one) => one.days === days))
    .catch(30)
    .default(30),
});
type Query = z.infer<typeof Query>;

/** What reviews cost, and what came of them: `/insights`, and `/insights.csv` with one of its tables. */
export function insights({ run, now }: Pick<PageDeps, "run" | "now">, doAct?: DoAct): Hono<PagesEnv> {
  const read = async (viewer: Viewer, { repository, days }: Query) =>
    readInsights(run, { repositories: await scopeOf(run, viewer, repository), ...weeksSince(days, now()) });
  return new Hono<PagesEnv>()
    .get("/insights", async (context) => {
      const viewer = context.get("viewer");
      const query = Query.parse(context.req.query());
      const acts = doAct ? viewer.repositories.filter(({ mayWrite }) => mayWrite) : [];
      const body = html`${doneNotice(context)}${insightsBody(await read(viewer, query), { query, viewer, acts })}`;
      return context.html(layout({ title: "Insights", viewer, section: "/insights", body }));
    })
    .post("/insights", async (context) => {
      const viewer = context.get("viewer");
      const sent = ProposeForm.safeParse(await context.req.parseBody());
      const repository = sent.success ? visibleTo(viewer, sent.data.repository) : undefined;
      if (!doAct || !sent.success) return refuse(context, 400, "/insights", incomplete);
      if (!repository) return context.notFound();
      if (!repository.mayWrite) return refuse(context, 403, "/insights", readOnly);
      const { form, dimension, value, days } = sent.data;
      const question = { repositories: [repository.id], ...weeksSince(days, now()) };
      // The evidence is what the figures say, not what a form says.
      const { often_dismissed } = await readInsights(run, question);
      const found = often_dismissed.find((one) => one.dimension === dimension && one.value === value);
      const pull = found && (await newestDismissed(run, repository.id, { dimension, value }));
      if (!found || !pull || demotionOf(found).lines === null)
        return refuse(context, 409, "/insights", noHabit);
      const { dismissed, findings } = found;
      const act = { name: "demote" as const, dimension, value, dismissed, findings };
      return doAct(context, { act, form, repository, pull, back: "/insights", section: "/insights" });
    })
    .get("/insights.csv", async (context) => {
      const query = Query.parse(context.req.query());
      const by = z.enum(breakdowns).catch("repository").parse(context.req.query("by"));
      const text = breakdownCsv(await read(context.get("viewer"), query), by);
      return context.body(text, 200, {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": `attachment; filename="insights-by-${by}.csv"`,
      });
    });
}

const noHabit = "According to the figures, people no longer dismiss these again and again.";

const ProposeForm = Sent.extend({
  repository: z.coerce.number().pipe(z.int()),
  dimension: z.enum(["source", "category"]),
  value: z.string().min(1).max(200),
  days: Query.shape.days,
});

async function newestDismissed(
  run: Run,
  repository: number,
  { dimension, value }: Pick<z.infer<typeof ProposeForm>, "dimension" | "value">,
): Promise<number | undefined> {
  const sql = `SELECT finding.pull FROM finding
    JOIN pull ON pull.repository = finding.repository AND pull.number = finding.pull AND pull.state = 'merged'
    WHERE finding.repository = :repository AND finding.state = 'dismissed' AND finding.${dimension} = :value
    ORDER BY finding.delivered_at DESC LIMIT 1`;
  return (await readRows(run, z.object({ pull: z.int() }), sql, { repository, value }))[0]?.pull;
}

interface Shown {
  query: Query;
  viewer: Viewer;
  /** Repositories for which the viewer may propose a change. */
  acts: readonly VisibleRepository[];
}

function insightsBody(all: Insights, { query, viewer, acts }: Shown): Html {
  const links = listsBehind(all, query);
  return html`${filterForm(query, viewer)}
${story(all, links)}
${cards(all, links)}
${charts(all, links)}
${oftenDismissed(all, links, { query, acts })}
<h2>By repository</h2>
${byRepository(all, links)}
${csvLink(query, "repository")}
<h2>By week</h2>
${lineTable(
  "Week",
  all.weeks.toReversed(),
  ({ week }) => html`<time datetime="${week}">${week}</time>`,
  ({ week }) => links.within({ from: week, to: week }),
)}
${csvLink(query, "week")}
${dimensions.map((one) => breakdown(all, one, query, links))}
<h2>By model</h2>
${modelTable(all)}
${csvLink(query, "model")}
<h2 id="definitions">What the numbers mean</h2>
<dl class="meanings">${Object.entries(definitions).map(([name, means]) => html`<div><dt>${name}</dt><dd>${means}</dd></div>`)}</dl>`;
}

const filterForm = (
  { repository, days }: Query,
  { repositories }: Viewer,
) => html`<form class="filters" method="get" action="/insights" role="search">
${field("repository", "Repository", repository, { list: "repositories", placeholder: "all" })}
${repositoryNames(repositories)}
<label>Period
<select name="days">${periods.map((one) => html`<option value="${one.days}"${one.days === days && html` selected`}>${one.name}</option>`)}</select></label>
<button>Show</button></form>`;

/** Addresses of the lists that a number counts. */
interface Lists {
  runs(filter: Record<string, string>): string;
  findings(filter: Record<string, string>): string;
  /** The lists of a part of the period, or of one repository. */
  within(part: { repository?: string; from?: string; to?: string }): Lists;
}

function listsBehind({ period, weeks }: Pick<Insights, "period" | "weeks">, { repository }: Query): Lists {
  const of = (part: { repository: string; from: string; to: string }): Lists => {
    const { repository, from, to } = part;
    const sunday = new Date(Date.parse(to) + 6 * 86_400_000).toISOString().slice(0, 10);
    return {
      runs: (filter) => address("/reviews", { repository, from, to: sunday, ...filter }),
      findings: (filter) => address("/findings", { repository, closed_from: from, closed_to: to, ...filter }),
      within: (smaller) => of({ ...part, ...smaller }),
    };
  };
  return of({ repository, from: period.from, to: weeks.at(-1)?.week ?? period.from });
}

const linked = (href: string, count: number, text: HtmlPart = thousands(count)): HtmlPart =>
  count === 0 ? text : html`<a href="${href}">${text}</a>`;

/** The last whole week and the present one, in sentences. */
function story({ weeks }: Insights, lists: Lists): Html {
  const [last, present] = weeks.length > 1 ? weeks.slice(-2) : [undefined, weeks.at(-1)];
  const sentences = (when: string, line: ({ week: string } & Line) | undefined) => {
    if (!line) return null;
    const { runs, findings } = lists.within({ from: line.week, to: line.week });
    const whole = judged(line);
    return html`<p><strong>${when}</strong> (from ${line.week}): ${linked(runs({ result: "published" }), line.reviews, count(line.reviews, "review"))} cost
<strong>${line.cost_usd === 0 && line.unpriced > 0 ? "an unknown sum" : money(line.cost_usd, line.unpriced)}</strong>${line.quiet > 0 && html`, ${thousands(line.quiet)} of them found nothing new`}.
${count(line.merged, "reviewed pull request")} ${line.merged === 1 ? "was" : "were"} merged${
      whole > 0 &&
      html`, with ${linked(findings({ pull_state: "merged" }), whole, count(whole, "finding"))}:
<strong>${thousands(line.fixed)} fixed</strong>${outcomeSeries
        .filter(({ name }) => name !== "fixed" && line[name] > 0)
        .map(({ name }) => `, ${thousands(line[name])} ${name}`)}`
    }.</p>`;
  };
  return html`<section class="story" aria-label="The last two weeks">${sentences("Last week", last)}${sentences("This week so far", present)}<p><a href="#definitions">What the numbers mean</a></p></section>`;
}

function cards({ totals, times }: Insights, lists: Lists): Html {
  const whole = judged(totals);
  const outcome = (name: string, count: number, state: string) => ({
    name,
    value: linked(lists.findings({ pull_state: "merged", state }), count),
    note: [share(count, whole), `of ${thousands(whole)} findings`].filter(Boolean).join(" "),
  });
  const { reviews, quiet, cost_usd, unpriced } = totals;
  const all: { name: string; value: HtmlPart; note: HtmlPart }[] = [
    {
      name: "Reviews",
      value: linked(lists.runs({ result: "published" }), reviews),
      note: html`${linked(lists.runs({ result: "quiet" }), quiet)} quiet${share(quiet, reviews) && ` (${share(quiet, reviews)})`}`,
    },
    {
      name: "Cost",
      value: money(cost_usd, cost_usd > 0 ? 0 : unpriced),
      note: `${short(tokensOf(totals))} tokens${reviews > 0 && cost_usd > 0 ? `, ${money(cost_usd / reviews, 0)} a review` : ""}${cost_usd > 0 && unpriced > 0 ? `; ${count(unpriced, "turn")} without a known price` : ""}`,
    },
    outcome("Fixed before the merge", totals.fixed, "fixed"),
    outcome("Dismissed", totals.dismissed, "dismissed"),
    outcome("Ignored", totals.ignored, "open"),
    {
      name: "Thumbs",
      value: `${thousands(totals.thumbs_up)} up`,
      note: `${thousands(totals.thumbs_down)} down`,
    },
  ];
  if (times)
    all.push({
      name: "Time of a review",
      value: span(times.running.median_ms),
      note: `the middle value; 90% took at most ${span(times.running.p90_ms)}. It waited ${span(times.waiting.median_ms)} before`,
    });
  return html`<ul class="cards">${all.map(({ name, value, note }) => html`<li class="card">${name}<strong>${value}</strong><span class="dim">${note}</span></li>`)}</ul>`;
}

function oftenDismissed(
  { often_dismissed }: Insights,
  lists: Lists,
  { query, acts }: Pick<Shown, "query" | "acts">,
): Html {
  if (often_dismissed.length === 0) return html``;
  type Row = (typeof often_dismissed)[number];
  const list = ({ repository, dimension, value }: Row, state: string) =>
    lists.within({ repository }).findings({ [dimension]: value, pull_state: "merged", state });
  const columns: Column<Row>[] = [
    head("Repository", ({ repository }) => shown(repository)),
    column(
      "Findings",
      ({ dimension, value }) => html`${shown(value)}<span class="sub">${dimensionWords[dimension]}</span>`,
    ),
    number("Dismissed", (row) => linked(list(row, "dismissed"), row.dismissed)),
    number("Fixed", (row) => linked(list(row, "fixed"), row.fixed)),
    number("Of", ({ findings }) => thousands(findings)),
    column("What a person could do", (row) => {
      const { does, lines } = demotionOf(row);
      const repository = acts.find((one) => fullName(one) === row.repository);
      return html`${shown(does)}${lines !== null && html`<pre>${shown(lines)}</pre>`}${
        repository && lines !== null && proposeForm(row, repository, query)
      }`;
    }),
  ];
  return html`<h2 id="often-dismissed">Dismissed again and again</h2>
<p class="note">A kind of finding is listed if people dismissed at least five, and at least half of all in merged pull requests. Nothing changes by itself: the maintainers of the repository decide, and add the lines to <code>.github/hunkwise.yml</code>.</p>
${table("Findings that people dismiss again and again", columns, often_dismissed.slice(0, 20), { isUnderHeading: true })}`;
}

const proposeForm = (
  { dimension, value }: OftenDismissed,
  { id }: VisibleRepository,
  { days }: Query,
): Html => html`<form method="post" action="/insights">${sentOnce()}
<input type="hidden" name="repository" value="${id}"><input type="hidden" name="dimension" value="${dimension}">
<input type="hidden" name="value" value="${value}"><input type="hidden" name="days" value="${days}">
<button>Propose it in a pull request</button></form>`;

const dimensionWords = { rule: "named rule", source: "analyzer", category: "category" } as const;

const outcomeSeries = [
  { name: "fixed", color: 3 },
  { name: "dismissed", color: 2 },
  { name: "ignored", color: 5 },
  { name: "unclear", color: 6 },
  { name: "withdrawn", color: 4 },
] as const;

function charts({ weeks }: Insights, lists: Lists): Html {
  const label = (week: string) =>
    new Date(week).toLocaleDateString("en", { day: "numeric", month: "short", timeZone: "UTC" });
  return html`<div class="charts">
${barChart({
  name: "Cost in each week, in US dollars",
  series: [{ name: "cost", color: 1 }],
  format: (value) => (value < 10 && value > 0 ? `$${value.toFixed(2)}` : `$${short(Math.round(value))}`),
  bars: weeks.map(({ week, cost_usd, unpriced, reviews }) => ({
    label: label(week),
    title: `Week of ${week}: ${money(cost_usd, unpriced)}, ${count(reviews, "review")}`,
    values: [cost_usd],
    href: lists.within({ from: week, to: week }).runs({}),
  })),
})}
${barChart({
  name: "Outcomes of findings, by the week in which their pull request was merged",
  series: outcomeSeries,
  bars: weeks.map((line) => ({
    label: label(line.week),
    title: `Week of ${line.week}: ${outcomeSeries.map(({ name }) => `${line[name]} ${name}`).join(", ")}`,
    values: outcomeSeries.map(({ name }) => line[name]),
    href: lists.within({ from: line.week, to: line.week }).findings({ pull_state: "merged" }),
  })),
})}
</div>`;
}

const outcomes = <Row extends Outcomes>(
  lists: (row: Row) => Lists,
  filter: (row: Row) => Record<string, string>,
): Column<Row>[] => {
  const counted = (name: string, count: (row: Row) => number, more: Record<string, string>) =>
    number<Row>(name, (row) => linked(lists(row).findings({ ...filter(row), ...more }), count(row)));
  const merged = { pull_state: "merged" };
  return [
    counted("Findings", judged, merged),
    number(
      "Fixed",
      (row) =>
        html`${linked(lists(row).findings({ ...filter(row), ...merged, state: "fixed" }), row.fixed)}${share(row.fixed, judged(row)) && html` <span class="dim">${share(row.fixed, judged(row))}</span>`}`,
    ),
    counted("Dismissed", ({ dismissed }) => dismissed, { ...merged, state: "dismissed" }),
    counted("Ignored", ({ ignored }) => ignored, { ...merged, state: "open" }),
    counted("Unclear", ({ unclear }) => unclear, { ...merged, state: "outdated" }),
    counted("Not merged", ({ unmerged }) => unmerged, { pull_state: "closed" }),
    number("Thumbs", ({ thumbs_up, thumbs_down }) =>
      thumbs_up + thumbs_down === 0 ? "" : `+${thumbs_up} −${thumbs_down}`,
    ),
  ];
};

const mostRepositories = 100;

function byRepository({ repositories }: Insights, lists: Lists): Html {
  const busiest = repositories.toSorted((a, b) => b.reviews - a.reviews || b.delivered - a.delivered);
  return html`${lineTable(
    "Repository",
    busiest.slice(0, mostRepositories),
    ({ name }) => shown(name),
    ({ name }) => lists.within({ repository: name }),
  )}
${busiest.length > mostRepositories && html`<p class="note">The ${mostRepositories} busiest of ${thousands(busiest.length)} repositories; the file below has all.</p>`}`;
}

function lineTable<Row extends Line>(
  kind: string,
  rows: readonly Row[],
  name: (row: Row) => HtmlPart,
  lists: (row: Row) => Lists,
): Html {
  const runs: Column<Row>[] = [
    head(kind, name),
    number("Reviews", (row) => linked(lists(row).runs({ result: "published" }), row.reviews)),
    number("Quiet", (row) => linked(lists(row).runs({ result: "quiet" }), row.quiet)),
    number("Skipped", (row) => linked(lists(row).runs({ outcome: "skipped", kind: "review" }), row.skipped)),
    number("Failed", (row) => linked(lists(row).runs({ outcome: "failed" }), row.failed)),
    number(
      "Cost",
      ({ cost_usd, unpriced }) =>
        html`${money(cost_usd, cost_usd > 0 ? 0 : unpriced)}${cost_usd > 0 && unpriced > 0 && html`<span class="sub">+ unpriced</span>`}`,
    ),
    number("Merged", ({ merged }) => thousands(merged)),
  ];
  return rows.length === 0
    ? html`<p class="empty">No review in this time.</p>`
    : table(byKind(kind), [...runs, ...outcomes(lists, () => ({}))], rows, { isUnderHeading: true });
}

const kinds: Record<Dimension, string> = {
  severity: "Severity",
  category: "Category",
  rule: "Named rule",
  source: "Analyzer",
};
const byKind = (kind: string) => `By ${kind.toLowerCase()}`;

function breakdown({ by }: Insights, dimension: Dimension, query: Query, lists: Lists): Html {
  const rows = by[dimension];
  if (rows.length === 0) return html``;
  const caption = byKind(kinds[dimension]);
  const ofValue = ({ value }: (typeof rows)[number]) => ({ [dimension]: value });
  const columns: Column<(typeof rows)[number]>[] = [
    head(kinds[dimension], ({ value }) => shown(value === "" ? "none" : value)),
    ...outcomes<(typeof rows)[number]>(() => lists, ofValue),
  ];
  return html`<h2>${caption}</h2>
${table(caption, columns, rows, { isUnderHeading: true })}
${csvLink(query, dimension)}`;
}

function modelTable({ models }: Insights): Html {
  if (models.length === 0) return html`<p class="empty">No model was asked in this time.</p>`;
  const list: Column<(typeof models)[number]>[] = [
    head("Model", ({ model }) => shown(model)),
    number("Turns", ({ turns }) => thousands(turns)),
    number("Prompt tokens", ({ prompt_tokens }) => short(prompt_tokens)),
    number("of them cached", ({ cached_tokens }) => short(cached_tokens)),
    number("Completion tokens", ({ completion_tokens }) => short(completion_tokens)),
    number("Cost", ({ cost_usd, unpriced }) => money(cost_usd, unpriced)),
  ];
  return table("By model", list, models, { isUnderHeading: true });
}

const csvLink = ({ repository, days }: Query, by: Breakdown): Html =>
  html`<p class="note"><a href="${address("/insights.csv", { repository, days, by })}">CSV of this table</a></p>`;

/* Charts as SVG. A table repeats the numbers, so programs that read pages aloud only read the caption, and links are for pointers alone. */

interface Bar {
  /** A week. */
  label: string;
  title: string;
  /** The parts from the bottom to the top, one for each series. */
  values: readonly number[];
  href: string;
}

interface BarChart {
  /** What the picture shows, as one sentence. */
  name: string;
  series: readonly { name: string; color: 1 | 2 | 3 | 4 | 5 | 6 }[];
  bars: readonly Bar[];
  /** A value at the axis and above bars. */
  format?: (value: number) => string;
}

const size = { width: 720, height: 220, left: 44, right: 8, top: 14, bottom: 26 };

function barChart({ name, series, bars, format = short }: BarChart): Html {
  const { width, height, left, right, top, bottom } = size;
  const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);
  const most = niceMaximum(Math.max(0, ...bars.map(({ values }) => sum(values))));
  const [plotWidth, plotHeight] = [width - left - right, height - top - bottom];
  const y = (value: number) => top + plotHeight * (1 - value / most);
  const step = plotWidth / Math.max(1, bars.length);
  const barWidth = Math.min(46, step * 0.72);
  const everyNth = Math.max(1, Math.ceil(bars.length / 13));
  return html`<figure class="chart"><svg viewBox="0 0 ${width} ${height}" aria-hidden="true">
${[0, most / 2, most].map(
  (value) =>
    html`<line x1="${left}" x2="${width - right}" y1="${round(y(value))}" y2="${round(y(value))}" class="axis"></line><text x="${left - 6}" y="${round(y(value) + 4)}" text-anchor="end" class="tick">${format(value)}</text>`,
)}
${bars.map(({ label, title, values, href }, at) => {
  const x = left + step * at + (step - barWidth) / 2;
  let below = 0;
  const parts = values.map((value, index) => {
    const from = below;
    below += value;
    return value > 0
      ? html`<rect x="${round(x)}" y="${round(y(below))}" width="${round(barWidth)}" height="${round(y(from) - y(below))}" class="series-${series[index]?.color ?? 1}"></rect>`
      : null;
  });
  return html`<a href="${href}" tabindex="-1"><title>${title}</title>${parts}<rect x="${round(left + step * at)}" y="${top}" width="${round(step)}" height="${plotHeight}" class="area"></rect></a>${
    at % everyNth === 0 &&
    html`<text x="${round(x + barWidth / 2)}" y="${height - 8}" text-anchor="middle" class="tick">${label}</text>`
  }`;
})}
</svg><figcaption>${name}${series.length > 1 && html`<ul class="legend">${series.map(({ name, color }) => html`<li><span class="swatch series-${color}"></span>${name}</li>`)}</ul>`}</figcaption></figure>`;
}

const round = (value: number) => String(Math.round(value * 10) / 10);

/** The next of 1, 2, 4, 5, 8 or 10 times a power of ten. */
function niceMaximum(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const times = [1, 2, 4, 5, 8, 10].find((one) => one * power >= value) ?? 10;
  return times * power;
}
