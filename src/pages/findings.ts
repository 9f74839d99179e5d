import { Hono } from "hono";
import { z } from "zod";
import { Category, ruleNameOf, severities } from "../core/finding.ts";
import { redactText } from "../core/secrets/redact.ts";
import { type Run, readRows } from "../server/queue/database.ts";
import { mostReason } from "../server/queue/job.ts";
import { idsIn } from "../server/queue/reader.ts";
import { type DoAct, doneNotice, incomplete, readOnly, refuse, Sent, sentOnce } from "./actions.ts";
import { type Html, type HtmlPart, html, layout } from "./html.ts";
import { between, conditions, Day, listRoutes, Paging, type Selection, type Table, Text } from "./listing.ts";
import {
  address,
  badge,
  type Column,
  column,
  facts,
  field,
  type GitHubLinks,
  head,
  linkOut,
  linksTo,
  repositoryNames,
  select,
  shown,
  type Tone,
  table,
  timeOf,
} from "./parts.ts";
import type { PageDeps } from "./reviews.ts";
import {
  fullName,
  type Named,
  type PagesEnv,
  scopeOf,
  type Viewer,
  type VisibleRepository,
  visibleIds,
  visibleTo,
} from "./viewer.ts";

export const stateTones: Readonly<Record<string, Tone>> = {
  open: "warn",
  outdated: "calm",
  fixed: "good",
  withdrawn: "calm",
  dismissed: "calm",
};
export const severityTones: Readonly<Record<string, Tone>> = {
  critical: "bad",
  high: "bad",
  medium: "warn",
  low: "calm",
};

/** How a person dismissed a finding, as the end of "dismissed". */
const dismissals: Readonly<Record<string, string>> = {
  reaction: "with a thumbs down",
  reply: "in a reply",
  resolved: "by resolving the thread",
  command: "by a command",
  deleted: "by deleting the comment",
  page: "on this page",
};

const FindingRow = z.object({
  repository: z.int(),
  pull: z.int(),
  key: z.string(),
  place: z.string(),
  severity: z.string(),
  category: z.string().nullable(),
  source: z.string().nullable(),
  rule: z.string().nullable(),
  state: z.string(),
  dismissed_by: z.string().nullable(),
  dismissed_how: z.string().nullable(),
  thumbs_up: z.int(),
  thumbs_down: z.int(),
  delivered_at: z.int(),
  decided_at: z.int().nullable(),
  /** Null once the words are deleted, and in repositories that GitHub does not show the viewer. */
  title: z.string().nullable(),
  path: z.string().nullable(),
  line: z.int().nullable(),
  url: z.string().nullable(),
  reason: z.string().nullable(),
});
type FindingRow = z.infer<typeof FindingRow>;

const words: ReadonlySet<string> = new Set(["title", "path", "line", "url", "reason"]);
const columns = Object.keys(FindingRow.shape).map(
  (name) => `${words.has(name) ? "words" : "page"}.${name} AS ${name}`,
);

const findingTable: Table = {
  name: "finding",
  order: ["delivered_at", "repository", "pull", "key"],
  texts: ["key"],
  select: (page) => `SELECT ${columns.join(", ")} FROM (${page}) AS page
    LEFT JOIN finding_text AS words ON words.repository = page.repository AND words.pull = page.pull AND words.key = page.key
      AND page.repository IN (${idsIn("visible")})`,
};

/** Of `/findings`. Each is empty if it does not matter. */
const Query = z.object({
  repository: Text,
  state: Text,
  severity: Text,
  category: Text,
  rule: Text,
  source: Text,
  /** Number of the pull request. */
  pull: z
    .string()
    .regex(/^\d{1,9}$/)
    .catch("")
    .default(""),
  /** Days between which it was delivered. */
  from: Day,
  to: Day,
  /** Weeks, by their Mondays, between which its pull request was closed. */
  closed_from: Day,
  closed_to: Day,
  pull_state: z.enum(["", "open", "closed", "merged"]).catch("").default(""),
  ...Paging,
});
type Query = z.infer<typeof Query>;

async function selectionOf(run: Run, viewer: Viewer, query: Query): Promise<Selection> {
  const { state, pull, closed_from, closed_to, pull_state, severity, category, source, rule } = query;
  const ofPull = conditions({
    "pull.closed_week >= :closed_from": closed_from,
    "pull.closed_week <= :closed_to": closed_to,
    "pull.state = :pull_state": pull_state,
  });
  const filters = conditions({
    "severity = :severity": severity,
    "category = :category": category,
    "source = :source": source,
    "rule = :rule": rule,
  });
  if (ofPull.length > 0)
    filters.push(
      `EXISTS (SELECT 1 FROM pull WHERE pull.repository = scanned.repository AND pull.number = scanned.pull AND ${ofPull.join(" AND ")})`,
    );
  return {
    repositories: await scopeOf(run, viewer, query.repository),
    ...between(query.from, query.to),
    indexed: conditions({ "state = :state": state, "pull = :pull": pull }),
    filters,
    parameters: { ...query, pull: Number(pull), visible: visibleIds(viewer) },
  };
}

const filterForm = (
  query: Query,
  { repositories }: Viewer,
): Html => html`<form class="filters" method="get" action="/findings" role="search">
${field("repository", "Repository", query.repository, { list: "repositories", placeholder: "owner/name" })}
${repositoryNames(repositories)}
${field("pull", "Pull request", query.pull, { type: "number" })}
${select("state", "State", query.state, Object.keys(stateTones))}
${select("severity", "Severity", query.severity, severities)}
${select("category", "Category", query.category, Category.options)}
${field("rule", "Rule", query.rule)}
${field("source", "Source", query.source, { placeholder: "model, analyzer/rule" })}
${select("pull_state", "Its pull request is", query.pull_state, ["open", "merged", "closed"])}
${field("from", "Delivered from", query.from, { type: "date" })}
${field("to", "To", query.to, { type: "date" })}
${
  (query.closed_from || query.closed_to) &&
  html`${field("closed_from", "Closed in weeks from", query.closed_from, { type: "date" })}
${field("closed_to", "To the week of", query.closed_to, { type: "date" })}`
}
<button>Show</button>
</form>`;

function findingList(rows: readonly FindingRow[], names: (id: number) => Named, links: GitHubLinks): Html {
  const list: Column<FindingRow>[] = [
    head("Finding", (row) => titleCell(row, names(row.repository), links)),
    column("Severity", ({ severity }) => badge(severity, severityTones[severity] ?? "calm")),
    column("About", aboutCell),
    column("State", stateCell),
    column("Thumbs", thumbs),
    column("Pull request", ({ pull, repository }) => links.toPull(names(repository), pull)),
    column("Delivered", ({ delivered_at }) => timeOf(delivered_at)),
  ];
  return table("Posted findings, newest first", list, rows);
}

export const findingPath = ({ repository, pull, key }: Pick<FindingRow, "repository" | "pull" | "key">) =>
  `/findings/${repository}/${pull}/${encodeURIComponent(key)}`;

function titleCell(row: FindingRow, { isVisible }: Named, links: GitHubLinks): Html {
  const { title, path, line, url, place } = row;
  if (title === null)
    return html`<span class="dim">${isVisible ? "words no longer on record" : "words not shown: GitHub does not show you this repository"}</span>`;
  const where = path === null ? "" : `${path}${line === null ? "" : `:${line}`}`;
  return html`${linkOut(links.own(url), shown(title))}<span class="sub mono">${shown(where)}</span>${place !== "comment" && html`<span class="sub">${place === "annotation" ? "as an annotation" : "in the summary"}</span>`}<span class="sub"><a href="${findingPath(row)}" aria-label="${shown(`Details of: ${title}`)}">Details</a></span>`;
}

function aboutCell({ category, rule, source }: FindingRow): Html {
  const name = ruleNameOf({ source: source ?? "model", ...(rule === null ? {} : { rule }) });
  return html`${category && shown(category)}${name && html`<span class="sub">${shown(name)}</span>`}`;
}

function stateCell({ state, dismissed_by, dismissed_how, decided_at, reason }: FindingRow): Html {
  const how = dismissed_how && (dismissals[dismissed_how] ?? dismissed_how);
  const dismissal = [how, dismissed_by && `by ${dismissed_by}`].filter(Boolean).join(", ");
  return html`${badge(state, stateTones[state] ?? "calm")}${dismissal && html`<span class="sub">${shown(dismissal)}</span>`}${decided_at && html`<span class="sub">${timeOf(decided_at)}</span>`}${reason && html`<span class="sub">“${shown(reason)}”</span>`}`;
}

const thumbs = ({ thumbs_up, thumbs_down }: FindingRow): HtmlPart =>
  [thumbs_up > 0 && `${thumbs_up} up`, thumbs_down > 0 && `${thumbs_down} down`].filter(Boolean).join(", ");

const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

export function findings({ run, webUrl }: PageDeps): Hono<PagesEnv> {
  const links = linksTo(webUrl);
  return listRoutes<FindingRow, Query>(run, {
    path: "/findings",
    title: "Findings",
    noun: "finding",
    table: findingTable,
    Row: FindingRow,
    Query,
    select: selectionOf,
    form: filterForm,
    rows: (rows, names) => findingList(rows, names, links),
    note: html`
<p class="note">Open: nothing has happened yet. Outdated: its code has changed, and it is not known whether that fixed it. Fixed: a later review saw that the code no longer has it. Withdrawn: a later review no longer reported it, although its code had not changed. Dismissed: a person with write access decided to leave the code as it is.</p>`,
    csv: "repository pull key severity category rule source state dismissed_by dismissed_how reason thumbs_up thumbs_down delivered_at decided_at place title path line url".split(
      " ",
    ),
    cells: {
      delivered_at: ({ delivered_at }) => iso(delivered_at),
      decided_at: ({ decided_at }) => iso(decided_at),
    },
  });
}

/** Why people leave the code as it is. Their own words follow. */
const reasons = {
  wrong: "The finding is wrong",
  intended: "The code is meant to be like this",
  handled: "It is handled elsewhere",
  minor: "It is not worth a change",
  later: "It will be changed later",
  other: "",
} as const;
/** Characters; with the longest reason and ": ", they are `mostReason`. */
const mostWords = 460;

const DismissForm = Sent.extend({
  why: z.enum(Object.keys(reasons) as (keyof typeof reasons)[]),
  // As one line: a database keeps no NUL, and a thread shows no other.
  words: z
    .string()
    .transform((text) => text.replace(/[\p{Cc}\s]+/gu, " ").trim())
    .pipe(z.string().max(mostWords)),
});

const reasonOf = ({ why, words }: z.infer<typeof DismissForm>): string =>
  [reasons[why], words].filter((part) => part !== "").join(": ");

const section = "/findings";
const one = findingTable.select(
  "SELECT * FROM finding WHERE repository = :repository AND pull = :pull AND key = :key",
);
const Place = z.object({
  repository: z.coerce.number().int().positive(),
  pull: z.coerce.number().int().positive().max(999_999_999),
  // A database refuses NUL, and an id is one word.
  key: z.string().regex(/^[\w.:-]{1,300}$/),
});

/** Only for those to whom GitHub shows its repository. */
async function findingAt(run: Run, viewer: Viewer, parameters: Record<string, string>) {
  const place = Place.safeParse(parameters).data;
  const repository = visibleTo(viewer, place?.repository);
  if (!place || !repository) return undefined;
  const [row] = await readRows(run, FindingRow, one, { ...place, visible: visibleIds(viewer) });
  return row && { row, repository };
}

/** The page of one finding, `/findings/<repository>/<pull request>/<key>`, and the form on it that dismisses the finding. */
export function finding({ run, webUrl }: Pick<PageDeps, "run" | "webUrl">, doAct: DoAct): Hono<PagesEnv> {
  const links = linksTo(webUrl);
  const path = "/findings/:repository/:pull/:key";
  return new Hono<PagesEnv>()
    .get(path, async (context) => {
      const { viewer } = context.var;
      const found = await findingAt(run, viewer, context.req.param());
      if (!found) return context.notFound();
      const { row, repository } = found;
      const title = row.title ?? `A finding of ${fullName(repository)}#${row.pull}`;
      const form = repository.mayWrite && isOpen(row) && dismissPart(row);
      const body = html`${doneNotice(context)}${findingPart(row, repository, links)}${form}`;
      return context.html(layout({ title: shown(title), viewer, section, body }));
    })
    .post(path, async (context) => {
      const found = await findingAt(run, context.var.viewer, context.req.param());
      if (!found) return context.notFound();
      const { row, repository } = found;
      if (!repository.mayWrite) return refuse(context, 403, section, readOnly);
      const sent = DismissForm.safeParse(await context.req.parseBody());
      if (!sent.success) return refuse(context, 400, section, incomplete);
      const reason = (await redactText(reasonOf(sent.data))).slice(0, mostReason).toWellFormed();
      if (reason === "")
        return refuse(context, 400, section, "A dismissal needs a reason. Choose one, or write one.");
      if (!isOpen(row)) return refuse(context, 409, section, `The finding is ${row.state} by now.`);
      if (row.place !== "comment") return refuse(context, 409, section, noThread);
      const act = { name: "dismiss" as const, comment: Number(row.key), reason };
      const { pull } = row;
      return doAct(context, { act, form: sent.data.form, repository, pull, back: findingPath(row), section });
    });
}

function findingPart(row: FindingRow, repository: VisibleRepository, links: GitHubLinks): Html {
  const { path, line, key } = row;
  const pull = links.pull(repository, row.pull);
  const url = links.own(row.url) ?? (row.place === "comment" ? `${pull}#discussion_r${key}` : null);
  const where = path && html`<span class="mono">${shown(line === null ? path : `${path}:${line}`)}</span>`;
  const runs = address("/reviews", { repository: fullName(repository), q: `#${row.pull}` });
  return html`${facts([
    ["State", stateCell(row)],
    ["Severity", badge(row.severity, severityTones[row.severity] ?? "calm")],
    ["About", aboutCell(row)],
    ["Place", where],
    ["Pull request", links.toPull(repository, row.pull)],
    ["Delivered", timeOf(row.delivered_at)],
    ["Thumbs", thumbs(row)],
  ])}
${row.title === null && html`<p class="notice">Its words are no longer on record.</p>`}
<p>${url !== null && html`${linkOut(url, "The finding on GitHub")} · `}<a href="${runs}">What was run on its pull request</a></p>
`;
}

const isOpen = ({ state }: FindingRow): boolean => state === "open" || state === "outdated";

const noThread =
  "It has no thread on GitHub, so it cannot be dismissed here. It closes when a review no longer finds it.";

function dismissPart(row: FindingRow): Html {
  if (row.place !== "comment") return html`<p class="note">${noThread}</p>`;
  return html`<h2>Dismiss it</h2>
<form class="filters" method="post" action="${findingPath(row)}">${sentOnce()}
<label>Why
<select name="why" required><option value="">choose</option>${Object.entries(reasons).map(([value, text]) => html`<option value="${value}">${text || "Another reason"}</option>`)}</select></label>
<label>In your words
<textarea name="words" rows="2" cols="50" maxlength="${mostWords}"></textarea></label>
<button>Dismiss</button>
</form>
<p class="note">Hunkwise answers in the thread of the finding with your name and your reason, does not report the finding again, and no longer
counts it against the change.</p>`;
}
