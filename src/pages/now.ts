import { Hono } from "hono";
import { z } from "zod";
import { count, thousands } from "../core/text/count.ts";
import { Paid } from "../server/figures/insights.ts";

import { type Run, readRows } from "../server/queue/database.ts";
import { askedBy, noticePriority, parseTask, taskName } from "../server/queue/job.ts";
import { idsIn } from "../server/queue/reader.ts";
import { purposeOf } from "../server/records/run-summary.ts";
import { type Html, html, layout } from "./html.ts";
import {
  badge,
  type Column,
  column,
  type GitHubLinks,
  head,
  linksTo,
  money,
  number,
  short,
  shown,
  span,
  table,
  timeOf,
} from "./parts.ts";
import { newestRuns, type PageDeps, runTable } from "./reviews.ts";
import { fullName, type Named, namesOf, type PagesEnv, type Viewer, visibleIds } from "./viewer.ts";

const job = {
  id: z.string(),
  task: z.string(),
  repository: z.int(),
  attempts: z.int(),
  created_at: z.int(),
};
const WaitingRow = z.object({
  ...job,
  run_after: z.int(),
  joins_since: z.int().nullable(),
  /** Only for operators: it may name machines and folders of theirs. */
  reason: z.string().nullable(),
  /** The job of the same pull request that runs. */
  runs_before: z.string().nullable(),
  /** Jobs of its installation that run. */
  busy: z.int(),
});
type WaitingRow = z.infer<typeof WaitingRow>;
const ActiveRow = z.object({
  ...job,
  started_at: z.int().nullable(),
  lease_until: z.int().nullable(),
  ...Paid.shape,
});
type ActiveRow = z.infer<typeof ActiveRow>;
const WorkerRow = z.object({
  name: z.string(),
  version: z.string(),
  concurrency: z.int(),
  started_at: z.int(),
  seen_at: z.int(),
  jobs: z.int(),
});
type WorkerRow = z.infer<typeof WorkerRow>;

const [MOST_WAITING, MOST_SHOWN] = [20_000, 50];
/** A worker that was not seen for longer is dead, or its machine hangs. */
const SILENT_MS = 120_000;

const among = ({ isOperator }: Viewer) =>
  `repository IS NOT NULL${isOperator ? "" : ` AND repository IN (${idsIn("visible")})`}`;
/** Nobody waits for notices. */
const isWork = `priority <> ${noticePriority}`;
const jobColumns = "id, task, repository, attempts, created_at";

const waitingJobs = (viewer: Viewer) => `SELECT ${jobColumns}, run_after, joins_since,
    ${viewer.isOperator ? `CASE WHEN repository IN (${idsIn("visible")}) THEN reason END` : "NULL"} AS reason,
    (SELECT other.id FROM job AS other WHERE other.concurrency_key = job.concurrency_key AND other.state = 'active') AS runs_before,
    (SELECT count(*) FROM job AS other WHERE other.state = 'active' AND other.installation = job.installation
      AND other.lease_until > :now) AS busy
  FROM job WHERE seq IN (SELECT seq FROM job WHERE state = 'waiting' AND ${isWork} LIMIT ${MOST_WAITING}) AND ${among(viewer)}
  ORDER BY priority DESC, run_after, seq LIMIT ${MOST_SHOWN + 1}`;

const activeJobs = (
  viewer: Viewer,
) => `SELECT ${jobColumns}, started_at, lease_until, ${Object.keys(Paid.shape).join(", ")}
  FROM job WHERE state = 'active' AND ${isWork} AND ${among(viewer)} ORDER BY started_at, seq LIMIT ${MOST_SHOWN + 1}`;

const workers = `SELECT name, version, concurrency, started_at, seen_at,
    (SELECT count(*) FROM job WHERE job.state = 'active' AND job.worker = worker.name AND job.lease_until > :now) AS jobs
  FROM worker ORDER BY seen_at DESC, name LIMIT 100`;

const newestEntries = `SELECT substr(entry, 1, 500) AS begin, created_at FROM trajectory WHERE job_id = :id
  ORDER BY number DESC LIMIT 10`;
const EntryRow = z.object({ begin: z.string(), created_at: z.int() });

interface NowDeps extends PageDeps {
  /** Jobs of one installation that may run at a time. */
  installationConcurrency: number;
}

/** What waits, what runs, and what ended last: `/`. */
export function now({ run, webUrl, now: clock, installationConcurrency }: NowDeps): Hono<PagesEnv> {
  const links = linksTo(webUrl);
  return new Hono<PagesEnv>().get("/", async (context) => {
    const viewer = context.get("viewer");
    const time = clock();
    const isLive = context.req.query("live") !== undefined;
    const given = { now: time, visible: visibleIds(viewer) };
    const [waiting, active, known, ended] = await Promise.all([
      readRows(run, WaitingRow, waitingJobs(viewer), given),
      readRows(run, ActiveRow, activeJobs(viewer), given),
      readRows(run, WorkerRow, workers, given),
      newestRuns(run, viewer, 10),
    ]);
    const names = await namesOf(run, viewer, [...waiting, ...active, ...ended.rows]);
    const asked = active.slice(0, MOST_SHOWN).map(async ({ id }) => [id, await stepOf(run, id)] as const);
    const steps = new Map(await Promise.all(asked));
    const view = { names, links, time };
    const live = known.filter(({ seen_at }) => time - seen_at < SILENT_MS);
    const body = html`<p>${count(active.length, "run")} under way, ${waiting.length > MOST_SHOWN ? `more than ${MOST_SHOWN}` : thousands(waiting.length)} waiting, ${placesWords(live)}.
${isLive ? html`This page loads itself again every 10 seconds. <a href="/">Stop that</a>` : html`<a href="/?live">Reload every 10 seconds</a>`}</p>
<h2>Running</h2>
${active.length > 0 ? activeTable(active.slice(0, MOST_SHOWN), steps, view) : html`<p class="empty">Nothing runs.</p>`}
<h2>Waiting</h2>
${waiting.length > 0 ? waitingTable(waiting.slice(0, MOST_SHOWN), (row) => whyWaiting(row, time, live, installationConcurrency), view) : html`<p class="empty">Nothing waits.</p>`}
${
  viewer.isOperator &&
  html`<h2>Workers</h2>
${known.length > 0 ? workerTable(known, time) : html`<p class="empty">No worker has reported yet.</p>`}`
}
<h2>Ended last</h2>
${ended.rows.length > 0 ? runTable("The newest runs", ended.rows, names, links, { isUnderHeading: true }) : noRuns(ended.isCutOff)}
<p><a href="/reviews">All runs</a> · <a href="/insights">Results and cost of the last weeks</a></p>`;
    return context.html(
      layout({ title: "Now", viewer, section: "/", body, refreshSeconds: isLive ? 10 : undefined }),
    );
  });
}

const noRuns = (isCutOff: boolean) =>
  isCutOff
    ? html`<p class="empty">No run of your repositories is among the newest that were looked at.</p>`
    : html`<p class="empty">Nothing has run yet. Open a pull request in a repository in which this App is installed, or write <code>/review</code> in one.</p>`;

function placesWords(live: readonly WorkerRow[]): string {
  if (live.length === 0) return "no worker is running";
  const places = live.reduce((sum, { concurrency }) => sum + concurrency, 0);
  const taken = live.reduce((sum, { jobs }) => sum + jobs, 0);
  return `${count(live.length, "worker")} with ${taken} of ${count(places, "place")} taken`;
}

interface View {
  names: (id: number) => Named;
  links: GitHubLinks;
  time: number;
}

function jobCells({ names, links }: View): Column<WaitingRow | ActiveRow>[] {
  return [
    head("Pull request", ({ repository, task: text }) => {
      const name = names(repository);
      const task = parseTask(text);
      return task && "pull" in task ? links.toPull(name, task.pull) : shown(fullName(name));
    }),
    column("What", ({ task: text }) => {
      const task = parseTask(text);
      const by = task && askedBy(task);
      return html`${task ? taskName(task) : "a task of another version"}${by && html`<span class="sub">${shown(`by ${by}`)}</span>`}`;
    }),
  ];
}

type Step = Awaited<ReturnType<typeof stepOf>>;

/** What a run is doing, from the newest entries of its record. */
async function stepOf(run: Run, id: string) {
  const entries = await readRows(run, EntryRow, newestEntries, { id });
  const [newest] = entries;
  if (!newest) return null;
  const name = entries.map(({ begin }) => stepIn(begin)).find((step) => step !== null) ?? "preparing";
  return { name, at: newest.created_at };
}

/** Entries are stored with `kind` first, and those of loops with `loop` second. */
function stepIn(begin: string): string | null {
  const [, kind, loop] = /^\{"kind":"(\w+)"(?:,"loop":"((?:[^"\\]|\\.)*)")?/.exec(begin) ?? [];
  if (kind === "result" || kind === "posted") return "publishing";
  if (loop === undefined) return null;
  const purpose = purposeOf(loop);
  return purpose === "review" ? "reading the change" : purpose;
}

function activeTable(rows: readonly ActiveRow[], steps: ReadonlyMap<string, Step>, view: View): Html {
  const { time } = view;
  const list: Column<ActiveRow>[] = [
    ...jobCells(view),
    column(
      "Step",
      ({ id, attempts, lease_until }) =>
        html`${badge(steps.get(id)?.name ?? "preparing", "busy")}${attempts > 1 && html`<span class="sub">attempt ${attempts}</span>`}${lease_until !== null && lease_until <= time && html`<span class="sub">its worker no longer answers; another one will take it over</span>`}`,
    ),
    number("Turns", ({ turns }) => thousands(turns)),
    number("Tokens", ({ prompt_tokens, completion_tokens }) => short(prompt_tokens + completion_tokens)),
    number("Cost so far", ({ cost_usd, unpriced }) => money(cost_usd, unpriced)),
    number("Running for", ({ started_at }) => started_at !== null && span(time - started_at)),
    number("Last sign of life", ({ id, started_at }) => {
      const at = steps.get(id)?.at ?? started_at;
      return at !== null && `${span(time - at)} ago`;
    }),
  ];
  return table("Runs under way", list, rows, { isUnderHeading: true });
}

/** The first of the reasons that would have to go. */
function whyWaiting(row: WaitingRow, time: number, live: readonly WorkerRow[], limit: number): Html {
  const { run_after: due, joins_since, reason, attempts, runs_before, busy } = row;
  if (due > time) {
    const until = html`${timeOf(due)} (in ${span(due - time)})`;
    if (joins_since !== null) return html`quiet time after a push, until ${until}`;
    if (attempts > 0)
      return html`${attempts === 1 ? "its attempt" : `${attempts} attempts`} failed; next try at ${until}${reason && html`<span class="sub">${shown(reason)}</span>`}`;
    return html`parked, because a service that it needs does not answer; next try at ${until}${reason && html`<span class="sub">${shown(reason)}</span>`}`;
  }
  if (runs_before !== null) return html`another run of this pull request is under way`;
  if (busy >= limit) return html`its installation is at its limit of ${count(limit, "run")} at a time`;
  if (live.length === 0) return html`no worker is running`;
  if (live.every(({ jobs, concurrency }) => jobs >= concurrency)) return html`no worker has a free place`;
  return html`a worker will take it in a moment`;
}

function waitingTable(rows: readonly WaitingRow[], why: (row: WaitingRow) => Html, view: View): Html {
  const list: Column<WaitingRow>[] = [
    ...jobCells(view),
    column("Why it waits", why),
    column("Stored", ({ created_at }) => timeOf(created_at)),
    number("Waiting for", ({ created_at }) => span(view.time - created_at)),
  ];
  const caption = "Jobs that wait, in the order of their priority and time";
  return table(caption, list, rows, { isUnderHeading: true });
}

function workerTable(rows: readonly WorkerRow[], time: number): Html {
  const list: Column<WorkerRow>[] = [
    head("Worker", ({ name }) => html`<span class="mono">${shown(name)}</span>`),
    column("Version", ({ version }) => shown(version)),
    number("Jobs", ({ jobs, concurrency }) => `${jobs} of ${concurrency}`),
    number("Up for", ({ started_at }) => span(time - started_at)),
    number(
      "Last seen",
      ({ seen_at }) =>
        html`${span(time - seen_at)} ago${time - seen_at >= SILENT_MS && html` ${badge("silent", "bad")}`}`,
    ),
  ];
  return table("Workers, as they last reported", list, rows, { isUnderHeading: true });
}
