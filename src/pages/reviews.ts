import { Hono } from "hono";
import { z } from "zod";
import type { Run } from "../queue/database.ts";
import { idsIn } from "../queue/reader.ts";
import type { Cell } from "../reporters/csv.ts";
import { plural, thousands } from "../reporters/outcome.ts";
import { type Html, html, layout } from "./html.ts";
import {
  csvAnswer,
  MOST_CSV_ROWS,
  type Part,
  type Place,
  placeIn,
  placeText,
  readAll,
  readPart,
  type Selection,
  type Table,
} from "./listing.ts";
import {
  address,
  badge,
  type Column,
  choices,
  field,
  type GitHubLinks,
  linkOut,
  linksTo,
  money,
  pager,
  repositoryNames,
  select,
  short,
  shown,
  span,
  type Tone,
  table,
  timeOf,
} from "./parts.ts";
import { fullName, type Named, namesOf, type PagesEnv, scopeOf, type Viewer, visibleIds } from "./viewer.ts";

export interface PageDeps {
  /** Only reads; see `openReader`. */
  run: Run;
  /** Of GitHub's pages, without a slash at the end. */
  webUrl: string;
  /** Milliseconds since 1970. */
  now: () => number;
}

const runKinds = [
  ...[
    "review",
    "dry_run",
    "ask",
    "describe",
    "fix",
    "prove",
    "reply",
    "resolve",
    "pause",
    "resume",
    "remember",
    "dismiss",
    "demote",
    "help",
  ],
];
const outcomes = ["done", "skipped", "superseded", "failed"] as const;
export const tones: Readonly<Record<string, Tone>> = {
  done: "good",
  skipped: "calm",
  superseded: "calm",
  failed: "bad",
};

/** A run that has ended, as lists show it. Times in milliseconds since 1970. */
export const RunRow = z.object({
  id: z.string(),
  repository: z.int(),
  pull: z.int(),
  kind: z.string(),
  origin: z.string(),
  requested_by: z.string().nullable(),
  head: z.string().nullable(),
  outcome: z.string(),
  /** Null in repositories that GitHub does not show the viewer. */
  reason: z.string().nullable(),
  attempts: z.int(),
  stored_at: z.int(),
  started_at: z.int().nullable(),
  ended_at: z.int(),
  hunks_total: z.int().nullable(),
  hunks_served: z.int().nullable(),
  is_complete: z.int().nullable(),
  findings: z.int().nullable(),
  posted: z.int().nullable(),
  turns: z.int(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  completion_tokens: z.int(),
  cost_usd: z.number(),
  unpriced: z.int(),
});
export type RunRow = z.infer<typeof RunRow>;

/** The columns of {@link RunRow}; needs the parameter `visible`. */
const columns = Object.keys(RunRow.shape).map((name) =>
  name === "reason" ? `CASE WHEN repository IN (${idsIn("visible")}) THEN reason END AS reason` : name,
);

const runs: Table = {
  ...{ name: "run", order: ["ended_at", "seq"], identity: ["seq"], texts: [] },
  select: (page) => `SELECT seq, ${columns.join(", ")} FROM (${page}) AS page`,
};

/** What somebody has written into a field; empty for nothing. */
export const Text = z
  .string()
  .catch("")
  .transform((value) => value.trim().slice(0, 300));
/** A day as "2026-11-27"; empty for any. */
export const Day = z.iso.date().catch("").default("");
export const dayMs = 86_400_000;
/** The times of the days from one to another, both included. */
export const between = (from: string, to: string): Pick<Selection, "since" | "until"> => ({
  since: from === "" ? 0 : Date.parse(from),
  until: to === "" ? Number.MAX_SAFE_INTEGER : Date.parse(to) + dayMs,
});
/** Where a list goes on. */
export const Paging = { older: Text, newer: Text };

const Query = z.object({
  ...{ repository: Text, outcome: Text, kind: Text, from: Day, to: Day, q: Text },
  /** What a run showed; a quiet one published a review without a new finding. */
  result: z.enum(["", "published", "quiet", "partial"]).catch("").default(""),
  ...Paging,
});
type Query = z.infer<typeof Query>;

/** The conditions for what a run showed. */
const results = {
  published: "posted IS NOT NULL",
  quiet: "posted = 0",
  partial: "posted IS NOT NULL AND is_complete = 0",
} as const;

/** @param place of the query, in its direction */
export function positionOf(table: Table, { older, newer }: { older: string; newer: string }) {
  const direction = newer === "" ? ("older" as const) : ("newer" as const);
  return { direction, place: placeIn(table, newer || older) };
}

/** What somebody searches for: a pull request, a repository or both, the begin of a head, or a login. */
interface Search {
  repository?: string;
  pull?: number;
  head?: string;
  login?: string;
}

export function searchFor(q: string): Search {
  const [, repository, pull] = /^([\w.-]+\/[\w.-]+)?(?:#?(\d{1,9}))?$/.exec(q) ?? [];
  if (repository !== undefined && pull === undefined) return { repository };
  // A long number is rather the begin of a head.
  if (pull !== undefined && (repository !== undefined || q.startsWith("#") || pull.length < 7))
    return {
      pull: Number(pull),
      ...(repository === undefined ? {} : { repository: repository.replace(/#$/, "") }),
    };
  if (/^[0-9a-f]{7,64}$/i.test(q)) return { head: q.toLowerCase() };
  return q === "" ? {} : { login: q.replace(/^@/, "") };
}

async function selectionOf(run: Run, viewer: Viewer, query: Query): Promise<Selection> {
  const search = searchFor(query.q);
  const named = await scopeOf(run, viewer, query.repository);
  const searched = await scopeOf(run, viewer, search.repository ?? "");
  const repositories =
    named === null || searched === null ? (named ?? searched) : named.filter((id) => searched.includes(id));
  const { outcome, kind } = query;
  const { pull = null, head = null, login = null } = search;
  const filters = [
    ...(outcome === "" ? [] : ["outcome = :outcome"]),
    ...(query.result === "" ? [] : [results[query.result]]),
    ...(kind === "" ? [] : ["kind = :kind"]),
    ...(login === null ? [] : ["lower(requested_by) = :login"]),
  ];
  return {
    ...{ repositories, filters, ...between(query.from, query.to) },
    indexed: pull === null ? [] : ["pull = :pull"],
    // Names of objects are hexadecimal: `g` is the first letter beyond.
    from:
      head === null
        ? undefined
        : "(SELECT * FROM run WHERE head >= :head AND head < :beyond ORDER BY head LIMIT 1000) AS headed",
    parameters: {
      ...{ outcome, kind, pull, head, beyond: `${head}g`, login: login?.toLowerCase() ?? null },
      visible: visibleIds(viewer),
    },
  };
}

/** The newest runs that a viewer may see. */
export async function newestRuns(run: Run, viewer: Viewer, count: number): Promise<RunRow[]> {
  const selection = await selectionOf(run, viewer, Query.parse({}));
  const { rows } = await readPart(run, runs, selection, { direction: "older", place: null }, count);
  return z.array(RunRow).parse(rows);
}

const PAGE = 50;

/** The list of runs that have ended: `/reviews`, and `/reviews.csv`. */
export function reviews({ run, webUrl }: PageDeps): Hono<PagesEnv> {
  const links = linksTo(webUrl);
  return new Hono<PagesEnv>()
    .get("/reviews", async (context) => {
      const viewer = context.get("viewer");
      const query = Query.parse(context.req.query());
      const selection = await selectionOf(run, viewer, query);
      const part = await readPart(run, runs, selection, positionOf(runs, query), PAGE);
      const rows = z.array(RunRow).parse(part.rows);
      const names = await namesOf(run, viewer, rows);
      const body = html`${filterForm(query, viewer)}
${rows.length > 0 ? runTable("Runs that have ended, newest first", rows, names, links) : html`<p class="empty">${emptyWords(viewer, part)}</p>`}
${part.isCutOff && html`<p class="note">The list ends here because very many runs were looked at; it goes on with the older ones.</p>`}
${listPager("/reviews", query, part)}`;
      return context.html(layout({ title: "Reviews", viewer, section: "/reviews", body }));
    })
    .get("/reviews.csv", async (context) => {
      const viewer = context.get("viewer");
      const selection = await selectionOf(run, viewer, Query.parse(context.req.query()));
      return csvAnswer("reviews.csv", csvHead, csvLines(run, viewer, selection));
    });
}

const emptyWords = ({ repositories, isOperator }: Viewer, { isCutOff }: Part): string => {
  if (isCutOff) return "No run among those that were looked at.";
  return repositories.length === 0 && !isOperator
    ? "GitHub shows you no repository in which this App is installed."
    : "No run.";
};

/** Links to the other parts of a list, with the same filters. */
export function listPager(
  path: string,
  query: Readonly<Record<string, string>>,
  { older, newer }: Part,
): Html {
  const filters = { ...query, older: "", newer: "" };
  const to = (place: Place | null, direction: "older" | "newer") =>
    place && address(path, { ...filters, [direction]: placeText(place) });
  return pager({
    ...{ older: to(older, "older"), newer: to(newer, "newer") },
    first: query.older || query.newer ? address(path, filters) : null,
    csv: address(`${path}.csv`, filters),
  });
}

const filterForm = (
  query: Query,
  { repositories }: Viewer,
): Html => html`<form class="filters" method="get" action="/reviews" role="search">
${field("q", "Search", query.q, { type: "search", placeholder: "#12, owner/name, head, login" })}
${field("repository", "Repository", query.repository, { list: "repositories", placeholder: "owner/name" })}
${repositoryNames(repositories)}
${select("kind", "What", query.kind, choices(runKinds))}
${select("outcome", "Outcome", query.outcome, choices(outcomes))}
${select("result", "Review", query.result, choices(Object.keys(results)))}
${field("from", "From", query.from, { type: "date" })}
${field("to", "To", query.to, { type: "date" })}
<button>Show</button>
</form>`;

/** A table of runs. */
export function runTable(
  caption: string,
  rows: readonly RunRow[],
  names: (id: number) => Named,
  links: GitHubLinks,
  options: { isUnderHeading?: boolean } = {},
): Html {
  const list: Column<RunRow>[] = [
    {
      ...{ name: "Ended", isHead: true },
      cell: ({ id, ended_at, repository }) =>
        names(repository).isVisible
          ? html`<a href="/reviews/${id}">${timeOf(ended_at)}</a>`
          : timeOf(ended_at),
    },
    { name: "Pull request", cell: (row) => pullCell(row, names(row.repository), links) },
    { name: "What", cell: whatCell },
    {
      name: "Outcome",
      cell: ({ outcome, reason, attempts }) =>
        html`${badge(outcome, tones[outcome] ?? "calm")}${attempts > 1 && html`<span class="sub">${plural(attempts, "attempt")}</span>`}${reason && html`<span class="sub">${shown(reason)}</span>`}`,
    },
    { name: "Hunks read", isNumber: true, cell: coverageWords },
    {
      name: "Findings",
      isNumber: true,
      cell: ({ findings, posted }) =>
        findings !== null &&
        html`${posted ?? 0}${findings !== posted && html`<span class="sub">of ${findings} found</span>`}`,
    },
    {
      name: "Tokens",
      isNumber: true,
      cell: ({ turns, prompt_tokens, completion_tokens }) =>
        turns > 0 &&
        html`<span title="${thousands(prompt_tokens + completion_tokens)}">${short(prompt_tokens + completion_tokens)}</span>`,
    },
    {
      name: "Cost",
      isNumber: true,
      cell: ({ turns, cost_usd, unpriced }) => turns > 0 && money(cost_usd, unpriced),
    },
    { name: "Waited", isNumber: true, cell: (row) => span(timesOf(row).waited) },
    { name: "Ran", isNumber: true, cell: (row) => span(timesOf(row).ran) },
  ];
  return table(caption, list, rows, options);
}

/** A pull request, with a link to it on GitHub, and the head that was reviewed. */
function pullCell(
  { pull, head }: Pick<RunRow, "pull" | "head">,
  repository: Named,
  links: GitHubLinks,
): Html {
  return html`${linkOut(links.pull(repository, pull), shown(`${fullName(repository)}#${pull}`))}${head && html`<span class="sub mono">${head.slice(0, 7)}</span>`}`;
}

const origins: Readonly<Record<string, string>> = {
  event: "by an event",
  rerun: "check run again",
  comment: "by a comment",
};
/** Who or what asked for a run. */
export const requestWords = ({ origin, requested_by }: Pick<RunRow, "origin" | "requested_by">): string =>
  requested_by === null
    ? (origins[origin] ?? shown(origin))
    : shown(`by ${requested_by}${origin === "page" ? " on a page" : ""}`);

const whatCell = (row: Pick<RunRow, "kind" | "origin" | "requested_by">): Html =>
  html`${shown(row.kind.replaceAll("_", " "))}<span class="sub">${requestWords(row)}</span>`;

/** How many of the hunks were read; empty for what is no review. */
export function coverageWords({
  hunks_served,
  hunks_total,
  is_complete,
}: Pick<RunRow, "hunks_served" | "hunks_total" | "is_complete">): string {
  if (hunks_total === null) return "";
  const served = hunks_served ?? 0;
  const rest = served === hunks_total && is_complete === 0 ? ", incomplete" : "";
  return `${served}/${hunks_total}${rest}`;
}

/** Milliseconds between arrival, begin and end. */
export const timesOf = ({
  stored_at,
  started_at,
  ended_at,
}: Pick<RunRow, "stored_at" | "started_at" | "ended_at">) => ({
  waited: (started_at ?? ended_at) - stored_at,
  ran: started_at === null ? null : ended_at - started_at,
});

const csvHead = [
  ...["id", "ended_at", "repository", "pull", "kind", "origin", "requested_by", "head", "outcome", "reason"],
  ...["attempts", "hunks_served", "hunks_total", "complete", "findings", "posted", "turns", "prompt_tokens"],
  ...["cached_tokens", "completion_tokens", "cost_usd", "unpriced_turns", "waited_seconds", "ran_seconds"],
];

async function* csvLines(run: Run, viewer: Viewer, selection: Selection): AsyncGenerator<Cell[]> {
  for await (const part of readAll(run, runs, selection, MOST_CSV_ROWS)) {
    const rows = z.array(RunRow).parse(part);
    const names = await namesOf(run, viewer, rows);
    for (const row of rows) {
      const { waited, ran } = timesOf(row);
      yield [
        ...[
          row.id,
          new Date(row.ended_at).toISOString(),
          fullName(names(row.repository)),
          row.pull,
          row.kind,
        ],
        ...[row.origin, row.requested_by, row.head, row.outcome, row.reason, row.attempts, row.hunks_served],
        ...[row.hunks_total, row.is_complete, row.findings, row.posted, row.turns, row.prompt_tokens],
        ...[row.cached_tokens, row.completion_tokens, row.cost_usd, row.unpriced],
        ...[waited / 1_000, ran === null ? null : ran / 1_000],
      ];
    }
  }
}
