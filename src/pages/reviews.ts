import type { Hono } from "hono";
import { z } from "zod";
import { count, thousands } from "../core/text/count.ts";
import { Paid } from "../server/figures/insights.ts";

import type { Run } from "../server/queue/database.ts";
import { idsIn } from "../server/queue/reader.ts";
import { type Html, html } from "./html.ts";
import {
  between,
  conditions,
  Day,
  listRoutes,
  Paging,
  readPart,
  type Selection,
  type Table,
  Text,
} from "./listing.ts";
import {
  badge,
  type Column,
  column,
  field,
  type GitHubLinks,
  head,
  linksTo,
  money,
  number,
  repositoryNames,
  select,
  short,
  shown,
  span,
  type Tone,
  table,
  timeOf,
} from "./parts.ts";
import { type Named, type PagesEnv, scopeOf, type Viewer, visibleIds } from "./viewer.ts";

export interface PageDeps {
  /** Only reads; see `openReader`. */
  run: Run;
  /** Of GitHub's pages, without a slash at the end. */
  webUrl: string;
  now: () => number;
}

const runKinds =
  "review dry_run ask describe fix prove reply resolve pause resume remember dismiss demote help".split(" ");
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
  ...Paid.shape,
});
export type RunRow = z.infer<typeof RunRow>;

const columns = Object.keys(RunRow.shape).map((name) =>
  name === "reason" ? `CASE WHEN repository IN (${idsIn("visible")}) THEN reason END AS reason` : name,
);

const runs: Table = {
  name: "run",
  order: ["ended_at", "seq"],
  texts: [],
  select: (page) => `SELECT seq, ${columns.join(", ")} FROM (${page}) AS page`,
};

const Query = z.object({
  repository: Text,
  outcome: Text,
  kind: Text,
  from: Day,
  to: Day,
  q: Text,
  /** What a run showed; a quiet one published a review without a new finding. */
  result: z.enum(["", "published", "quiet", "partial"]).catch("").default(""),
  ...Paging,
});
type Query = z.infer<typeof Query>;

const results = {
  published: "posted IS NOT NULL",
  quiet: "posted = 0",
  partial: "posted IS NOT NULL AND is_complete = 0",
} as const;

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
    return { pull: Number(pull), ...(repository !== undefined && { repository }) };
  if (/^[0-9a-f]{7,64}$/i.test(q)) return { head: q.toLowerCase() };
  return q === "" ? {} : { login: q.replace(/^@/, "") };
}

async function selectionOf(run: Run, viewer: Viewer, query: Query): Promise<Selection> {
  const search = searchFor(query.q);
  const named = await scopeOf(run, viewer, query.repository);
  const searched = await scopeOf(run, viewer, search.repository ?? "");
  const repositories =
    named === null || searched === null ? (named ?? searched) : named.filter((id) => searched.includes(id));
  const { outcome, kind, result } = query;
  const { pull = null, head = null, login = "" } = search;
  const given = conditions({
    "outcome = :outcome": outcome,
    "kind = :kind": kind,
    "lower(requested_by) = :login": login,
  });
  return {
    repositories,
    filters: result === "" ? given : [...given, results[result]],
    ...between(query.from, query.to),
    indexed: pull === null ? [] : ["pull = :pull"],
    // Names of objects are hexadecimal: `g` is the first letter beyond.
    from:
      head === null
        ? undefined
        : "(SELECT * FROM run WHERE head >= :head AND head < :beyond ORDER BY head LIMIT 1000) AS headed",
    parameters: {
      ...{ outcome, kind, pull, head, beyond: `${head}g` },
      ...{ login: login.toLowerCase(), visible: visibleIds(viewer) },
    },
  };
}

/** `isCutOff`: not all runs were looked at. */
export async function newestRuns(run: Run, viewer: Viewer, count: number) {
  const selection = await selectionOf(run, viewer, Query.parse({}));
  const { rows, isCutOff } = await readPart(run, runs, selection, null, count);
  return { rows: z.array(RunRow).parse(rows), isCutOff };
}

const filterForm = (
  query: Query,
  { repositories }: Viewer,
): Html => html`<form class="filters" method="get" action="/reviews" role="search">
${field("q", "Search", query.q, { type: "search", placeholder: "#12, owner/name, head, login" })}
${field("repository", "Repository", query.repository, { list: "repositories", placeholder: "owner/name" })}
${repositoryNames(repositories)}
${select("kind", "What", query.kind, runKinds)}
${select("outcome", "Outcome", query.outcome, Object.keys(tones))}
${select("result", "Review", query.result, Object.keys(results))}
${field("from", "From", query.from, { type: "date" })}
${field("to", "To", query.to, { type: "date" })}
<button>Show</button>
</form>`;

export function runTable(
  caption: string,
  rows: readonly RunRow[],
  names: (id: number) => Named,
  links: GitHubLinks,
  options: { isUnderHeading?: boolean } = {},
): Html {
  const list: Column<RunRow>[] = [
    head("Ended", ({ id, ended_at, repository }) =>
      names(repository).isVisible ? html`<a href="/reviews/${id}">${timeOf(ended_at)}</a>` : timeOf(ended_at),
    ),
    column(
      "Pull request",
      ({ repository, pull, head }) =>
        html`${links.toPull(names(repository), pull)}${head && html`<span class="sub mono">${head.slice(0, 7)}</span>`}`,
    ),
    column("What", whatCell),
    column(
      "Outcome",
      ({ outcome, reason, attempts }) =>
        html`${badge(outcome, tones[outcome] ?? "calm")}${attempts > 1 && html`<span class="sub">${count(attempts, "attempt")}</span>`}${reason && html`<span class="sub">${shown(reason)}</span>`}`,
    ),
    number("Hunks read", coverageWords),
    number(
      "Findings",
      ({ findings, posted }) =>
        findings !== null &&
        html`${posted ?? 0}${findings !== posted && html`<span class="sub">of ${findings} found</span>`}`,
    ),
    number(
      "Tokens",
      ({ turns, prompt_tokens, completion_tokens }) =>
        turns > 0 &&
        html`<span title="${thousands(prompt_tokens + completion_tokens)}">${short(prompt_tokens + completion_tokens)}</span>`,
    ),
    number("Cost", ({ turns, cost_usd, unpriced }) => turns > 0 && money(cost_usd, unpriced)),
    number("Waited", (row) => span(timesOf(row).waited)),
    number("Ran", (row) => span(timesOf(row).ran)),
  ];
  return table(caption, list, rows, options);
}

const origins: Readonly<Record<string, string>> = {
  event: "by an event",
  rerun: "check run again",
  comment: "by a comment",
};
export const requestWords = ({ origin, requested_by }: RunRow): string =>
  requested_by === null
    ? (origins[origin] ?? shown(origin))
    : shown(`by ${requested_by}${origin === "page" ? " on a page" : ""}`);

const whatCell = (row: RunRow): Html =>
  html`${shown(row.kind.replaceAll("_", " "))}<span class="sub">${requestWords(row)}</span>`;

export function coverageWords({ hunks_served, hunks_total, is_complete }: RunRow): string {
  if (hunks_total === null) return "";
  const served = hunks_served ?? 0;
  const rest = served === hunks_total && is_complete === 0 ? ", incomplete" : "";
  return `${served}/${hunks_total}${rest}`;
}

/** Milliseconds between arrival, begin and end. */
export const timesOf = ({ stored_at, started_at, ended_at }: RunRow) => ({
  waited: (started_at ?? ended_at) - stored_at,
  ran: started_at === null ? null : ended_at - started_at,
});

const inSeconds = (ms: number | null) => (ms === null ? null : ms / 1_000);

export function reviews({ run, webUrl }: PageDeps): Hono<PagesEnv> {
  const links = linksTo(webUrl);
  return listRoutes<RunRow, Query>(run, {
    path: "/reviews",
    title: "Reviews",
    noun: "run",
    table: runs,
    Row: RunRow,
    Query,
    select: selectionOf,
    form: filterForm,
    rows: (rows, names) => runTable("Runs that have ended, newest first", rows, names, links),
    csv: "id ended_at repository pull kind origin requested_by head outcome reason attempts hunks_served hunks_total complete findings posted turns prompt_tokens cached_tokens completion_tokens cost_usd unpriced_turns waited_seconds ran_seconds".split(
      " ",
    ),
    cells: {
      ended_at: ({ ended_at }) => new Date(ended_at).toISOString(),
      complete: ({ is_complete }) => is_complete,
      unpriced_turns: ({ unpriced }) => unpriced,
      waited_seconds: (row) => inSeconds(timesOf(row).waited),
      ran_seconds: (row) => inSeconds(timesOf(row).ran),
    },
  });
}
