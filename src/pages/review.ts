import { Hono } from "hono";
import { z } from "zod";
import { markTitles } from "../core/ledger/folds.ts";
import { redactStrings, redactText } from "../core/secrets/redact.ts";
import { count, thousands } from "../core/text/count.ts";
import { cutCharacters } from "../core/text/cut.ts";
import {
  markOf,
  markParts,
  notShownSentence,
  type Proved,
  passingOf,
  revisionNames,
  testSentence,
} from "../report/finding-words.ts";
import { type Run, readRows } from "../server/queue/database.ts";
import { parseTask } from "../server/queue/job.ts";
import { readRecord } from "../server/queue/runs.ts";
import { type Asked, type ResultSummary, type RunSummary, summaryOf } from "../server/records/run-summary.ts";
import { whyStopped } from "../tasks/shapes/review-result.ts";
import { doneNotice, pullForm } from "./actions.ts";
import { findingPath, severityTones, stateTones } from "./findings.ts";
import { type Html, type HtmlPart, html, layout } from "./html.ts";
import {
  badge,
  type Column,
  column,
  facts,
  type GitHubLinks,
  head,
  linkOut,
  linksTo,
  money,
  number,
  shown,
  span,
  table,
  timeOf,
} from "./parts.ts";
import { coverageWords, type PageDeps, RunRow, requestWords, timesOf, tones } from "./reviews.ts";
import { fullName, type PagesEnv, type Viewer, type VisibleRepository, visibleTo } from "./viewer.ts";

interface ReviewDeps extends PageDeps {
  /** How long records are kept, in milliseconds. */
  retentionMs: number;
}

/** Of the results and of the loops of a record each, in bytes of JSON. */
const MOST_BYTES = 4_000_000;
/** Of one text on the page, in characters. */
const MOST_CHARACTERS = 3_000;
/** A secret that begins in what is shown must be whole when it is searched. */
const OVERLAP = 8_000;
/** Items of a list, and steps of all loops together. */
const MOST_ITEMS = 300;

const ended = `SELECT ${Object.keys(RunRow.shape).join(", ")} FROM run WHERE id = :id`;
const unfinished = "SELECT repository, task, state FROM job WHERE id = :id AND ended_at IS NULL";
const UnfinishedRow = z.object({ repository: z.int().nullable(), task: z.string(), state: z.string() });
const outcomes =
  "SELECT comment, key, state FROM finding WHERE repository = :repository AND pull = :pull LIMIT 2000";
const OutcomeRow = z.object({ comment: z.int().nullable(), key: z.string(), state: z.string() });
const failure = "SELECT reason FROM job WHERE id = :id";
const FailureRow = z.object({ reason: z.string().nullable() });

/** The story of one run, `/reviews/<job id>`. */
export function review({ run, webUrl, now, retentionMs }: ReviewDeps): Hono<PagesEnv> {
  const links = linksTo(webUrl);
  return new Hono<PagesEnv>().get("/reviews/:id", async (context) => {
    const viewer = context.get("viewer");
    const id = context.req.param("id");
    const page = (title: string, body: Html, status: 200 | 404 = 200) =>
      context.html(layout({ title, viewer, section: "/reviews", body }), status);
    // The same for a run that does not exist and for one that GitHub does not show.
    const notFound = () =>
      page(
        "Not found",
        html`<p>There is no such run, or GitHub does not show you its repository. <a href="/reviews">All runs</a></p>`,
        404,
      );

    const [row] = await readRows(run, RunRow, ended, { id });
    if (row) {
      const repository = visibleTo(viewer, row.repository);
      if (!repository) return notFound();
      const story = await storyOf(run, row, viewer);
      const { repository: of, pull } = row;
      const became = await readRows(run, OutcomeRow, outcomes, { repository: of, pull });
      // Why it failed is for operators: the words may name machines and folders of theirs.
      const [failed] = viewer.isOperator ? await readRows(run, FailureRow, failure, { id }) : [];
      const reason = await redactText(row.reason ?? failed?.reason ?? "");
      const view = { row: { ...row, reason }, story, became, repository, links, now: now(), retentionMs };
      const body = html`${doneNotice(context)}${storyPage(view)}${pullForm(repository, id)}`;
      return page(titleOf(view), body);
    }
    const [job] = await readRows(run, UnfinishedRow, unfinished, { id });
    const repository = job && visibleTo(viewer, job.repository);
    if (!job || !repository) return notFound();
    const task = parseTask(job.task);
    return page(
      shown(`${fullName(repository)}${task && "pull" in task ? `#${task.pull}` : ""}`),
      html`<p>This run is ${job.state === "active" ? "under way" : "queued"}: see <a href="/">Now</a>. Its details will appear here when it has ended.</p>`,
    );
  });
}

/** Values that look random and are none: ids and names of objects. */
const keptKeys: ReadonlySet<string> = new Set(["id", "head", "base", "merge_base", "url"]);

interface Story {
  summary: RunSummary;
  /** Entries of the record that were not read, because they are too many. */
  omitted: number;
}

/** Null if nothing is on record. */
async function storyOf(
  run: Run,
  { id, started_at, stored_at }: RunRow,
  viewer: Viewer,
): Promise<Story | null> {
  const { entries, omitted } = await readRecord(run, id, MOST_BYTES);
  if (entries.length === 0) return null;
  const whole = summaryOf(entries, started_at ?? stored_at);
  const summary = shortened(withFewSteps(whole, viewer)) as RunSummary;
  return { summary: await redactStrings(summary, keptKeys), omitted };
}

/** What is left out costs no search for secrets. The words of a model's failure are for operators alone: they name the endpoint. */
function withFewSteps(summary: RunSummary, { isOperator }: Viewer): RunSummary {
  let left = MOST_ITEMS;
  const shownTo = (step: Step): Step =>
    step.kind === "stopped" && !isOperator ? { ...step, fault: null } : step;
  const loops = summary.loops.map((loop) => {
    const steps = loop.steps.slice(0, left).map(shownTo);
    left -= steps.length;
    return { ...loop, steps };
  });
  return { ...summary, loops };
}

/** A record with no list and no text that is longer than a page shows. */
function shortened(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, MOST_CHARACTERS + OVERLAP);
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}

interface StoryView {
  row: RunRow;
  story: Story | null;
  became: readonly z.infer<typeof OutcomeRow>[];
  repository: VisibleRepository;
  links: GitHubLinks;
  now: number;
  retentionMs: number;
}

const cut = (text: string): string => shown(cutCharacters(text, MOST_CHARACTERS));
const prose = (text: string): HtmlPart =>
  text.trim() !== "" && html`<p class="prose">${cut(text.trim())}</p>`;
const place = (path: string, line: number | null) =>
  html`<span class="mono">${cut(`${path}${line === null ? "" : `:${line}`}`)}</span>`;

const titleOf = ({ row, repository }: StoryView) => {
  const kind = row.kind.replaceAll("_", " ");
  return shown(`${kind.charAt(0).toUpperCase()}${kind.slice(1)} of ${fullName(repository)}#${row.pull}`);
};

function storyPage(view: StoryView): Html {
  const { row, story, repository, links, now, retentionMs } = view;
  const days = Math.round(retentionMs / 86_400_000);
  const isPurged = now - row.ended_at > retentionMs;
  return html`${factsOf(view)}
${
  story === null
    ? html`<p class="notice">${isPurged ? `Its record was deleted: records are kept for ${count(days, "day")} after the end of a run. The figures above remain.` : "Only these figures are on record."}</p>`
    : storyParts(story, view)
}
<p><a href="/findings?repository=${encodeURIComponent(fullName(repository))}&amp;pull=${row.pull}">All findings of this pull request</a> · ${linkOut(links.pull(repository, row.pull), "The pull request on GitHub")}</p>`;
}

function factsOf({ row, story, repository, links }: StoryView): Html {
  const { waited, ran } = timesOf(row);
  const commits = story?.summary.commits;
  const commit = (sha: string) =>
    html`<span class="mono">${linkOut(links.commit(repository, sha), sha.slice(0, 10))}</span>`;
  const head = commits?.head ?? row.head;
  return facts([
    [
      "Outcome",
      html`${badge(row.outcome, tones[row.outcome] ?? "calm")}${row.reason && html` ${cut(row.reason)}`}`,
    ],
    ["Pull request", links.toPull(repository, row.pull)],
    ["Head", head && commit(head)],
    ["Base", commits && commit(commits.merge_base)],
    ["Requested", requestWords(row)],
    ["Stored", timeOf(row.stored_at)],
    ["Ended", timeOf(row.ended_at)],
    ["Waited", span(waited)],
    ["Ran", span(ran)],
    ["Attempts", row.attempts > 1 && String(row.attempts)],
    ["Hunks read", coverageWords(row)],
    ["Findings posted", row.posted !== null && `${row.posted} of ${row.findings ?? row.posted}`],
    ["Model turns", row.turns > 0 && thousands(row.turns)],
    [
      "Tokens",
      row.turns > 0 &&
        `${thousands(row.prompt_tokens)} in (${thousands(row.cached_tokens)} cached), ${thousands(row.completion_tokens)} out`,
    ],
    ["Cost", row.turns > 0 && money(row.cost_usd, row.unpriced)],
  ]);
}

function storyParts({ summary, omitted }: Story, view: StoryView): Html {
  const { totals } = summary;
  const read = [
    totals.files_read > 0 && count(totals.files_read, "file"),
    totals.searches > 0 && (totals.searches === 1 ? "1 search" : `${thousands(totals.searches)} searches`),
  ].filter(Boolean);
  return html`${summary.asked && askedPart(summary.asked)}
${summary.results.map((result) => resultPart(result, view))}
<h2>What was done</h2>
${read.length > 0 && html`<p>The model read ${read.join(" and made ")}.</p>`}
${paidPart(summary)}
${loopsPart(summary, omitted)}
${summary.notes.length > 0 && html`<h3>Notes</h3>${summary.notes.map(({ page, content }) => html`<details><summary>${cut(page)}</summary>${prose(content)}</details>`)}`}
${writtenPart(summary, view)}`;
}

function askedPart(asked: Asked): Html {
  if (asked.what === "answer")
    return html`<h2>Question</h2><p class="dim">${shown(asked.by)}${asked.path !== null && html` on ${place(asked.path, null)}`}</p>${prose(asked.question)}`;
  return html`<h2>${asked.what === "fix" ? "To repair" : "To prove"}</h2><ul class="plain">${asked.targets.map(({ path, line, title }) => html`<li>${cut(title)} <span class="sub">${place(path, line)}</span></li>`)}</ul>`;
}

function resultPart(result: ResultSummary, view: StoryView): Html {
  switch (result.what) {
    case "review":
      return reviewPart(result, view);
    case "answer":
      return html`<h2>Answer</h2>${result.text === null ? html`<p>None: ${whyStopped[result.stop_reason]}.</p>` : prose(result.text)}`;
    case "fix":
      return html`<h2>Repair</h2>${prose(result.summary)}<ul class="plain">${result.repairs.map(
        ({ repaired, note }) =>
          html`<li>${badge(repaired ? "repaired" : "not repaired", repaired ? "good" : "warn")} ${cut(note)}</li>`,
      )}</ul>
<ul class="plain">${result.edits.map(({ path, change }) => html`<li>${change} ${place(path, null)}</li>`)}</ul>`;
    case "prove":
      // Only findings of models are proved.
      return html`<h2>What a test shows</h2>${result.proofs
        .map(({ proof }) => ({ proof, source: "model" }))
        .map((one) => html`${markPart(one)}${testPart(one)}${prose(notShownSentence(one))}`)}`;
  }
}

type Review = Extract<ResultSummary, { what: "review" }>;

function reviewPart(result: Review, view: StoryView): Html {
  const { findings, dropped, resolutions, coverage, stop_reason, warnings, summary } = result;
  const leftOut = [
    ...coverage.unserved.map(({ path, hunks }) => ({ path, why: `${count(hunks, "hunk")} not read` })),
    ...coverage.files_skipped.map(({ path, reason }) => ({ path, why: reason })),
  ];
  return html`<h2>Summary</h2>
${prose(summary) || html`<p class="dim">The review wrote none.</p>`}
${stop_reason !== "finished" && html`<p class="notice">It did not finish by itself: ${whyStopped[stop_reason]}.</p>`}
${warnings.length > 0 && html`<h3>Warnings</h3><ul>${warnings.map((warning) => html`<li>${cut(warning)}</li>`)}</ul>`}
<h2>Findings</h2>
${findings.length === 0 ? html`<p class="empty">None.</p>` : findings.map((one) => findingPart(one, view))}
${more(findings, view.row.findings)}
${dropped.length > 0 && droppedPart(dropped)}
${resolutions.length > 0 && html`<h2>Earlier findings</h2><ul class="plain">${resolutions.map(({ state, reason }) => html`<li>${badge(state, state === "fixed" ? "good" : "calm")} ${cut(reason)}</li>`)}</ul>`}
<h2>Left out</h2>
${leftOut.length === 0 ? html`<p>Nothing: ${coverage.hunks_served} of ${count(coverage.hunks_total, "hunk")} in ${count(coverage.files_total, "file")} were read.</p>` : html`<p>${coverage.hunks_served} of ${count(coverage.hunks_total, "hunk")} were read.</p>${table("Files that were not read, or not in full", leftOutColumns, leftOut)}`}`;
}

const more = (list: readonly unknown[], all: number | null): HtmlPart =>
  list.length === MOST_ITEMS &&
  html`<p class="note">Only the first ${MOST_ITEMS}${all !== null && ` of ${all}`} are shown. <code>hunkwise runs</code> shows all.</p>`;

const leftOutColumns: Column<{ path: string; why: string }>[] = [
  head("File", ({ path }) => place(path, null)),
  column("Why", ({ why }) => cut(why)),
];

const verifications: Readonly<Record<string, string>> = {
  confirmed: "A second look confirmed it.",
  uncertain: "A second look could not decide.",
  unverified: "No second look was made.",
  not_judged: "A rule matched, and the model that should judge it never did.",
};

function findingPart(
  { finding, placement, url }: Review["findings"][number],
  { links, became, row }: StoryView,
): Html {
  const { severity, title, path, line, category, rule, source, confidence } = finding;
  const { quote, body, evidence, suggestion } = finding;
  const by = rule ?? (source === "model" ? null : source);
  const page = links.own(url);
  // A page of a comment ends with its id.
  const comment = Number(/#discussion_r(\d+)$/.exec(url ?? "")?.[1] ?? Number.NaN);
  const now = became.find((one) => one.comment === comment || one.key === finding.id);
  return html`<article class="finding ${severity in severityTones && severity}"><h3>${badge(severity, severityTones[severity] ?? "calm")} ${cut(title)}</h3>
<p class="dim">${place(path, line)} · ${category}${by !== null && html` · ${cut(by)}`} · confidence ${Math.round(confidence * 100)}%</p>
${quote !== "" && html`<pre>${cut(quote)}</pre>`}
${markPart(finding)}
${prose(body)}
${suggestion !== null && html`<details><summary>Suggested code</summary><pre>${cut(suggestion) || "(delete these lines)"}</pre></details>`}
${evidence.length > 0 && html`<details><summary>Evidence: ${count(evidence.length, "place")}</summary><ul class="plain">${evidence.map((one) => html`<li>${place(one.path, one.start_line)} ${cut(one.note)}</li>`)}</ul></details>`}
${testPart(finding)}
<p>${verifications[finding.verification]} ${finding.verification_note !== null && cut(finding.verification_note)}</p>
${prose(notShownSentence(finding))}
<p class="dim">${page === null ? placedWords(placement) : html`Posted: ${linkOut(page, "comment on GitHub")}`}${now && html` · Now: ${badge(now.state, stateTones[now.state] ?? "calm")} <a href="${findingPath({ ...row, key: now.key })}" aria-label="${cut(`Details of: ${title}`)}">Details</a>`}</p></article>`;
}

function markPart(finding: Proved): HtmlPart {
  const mark = markOf(finding);
  if (mark === null) return false;
  const parts = markParts(mark).map(([name, what]) => html` ${name}: ${cut(what)}.`);
  return html`<p><strong>${markTitles[mark.kind]}</strong>${parts}</p>`;
}

function testPart(finding: Proved): HtmlPart {
  const mark = markOf(finding);
  const proof = mark ?? passingOf(finding);
  if (proof === null) return false;
  const { test, command, runs } = proof;
  const runParts = runs.map(
    ({ on, exit_code, output }) =>
      html`<p>${revisionNames[on]}: exit code ${exit_code}</p>${output.trim() !== "" && html`<pre>${cut(output)}</pre>`}`,
  );
  return html`<details><summary>${mark === null ? "A test that passes" : "The test"}</summary>${mark === null && prose(testSentence(finding))}<p class="mono">${cut(test.path)}</p><pre>${cut(test.text)}</pre><p>Run with <span class="mono">${cut(command)}</span></p>${runParts}</details>`;
}

const placedWords = (placement: Review["findings"][number]["placement"]): string =>
  placement.kind === "inline"
    ? "Meant for its line; no comment of it is on record."
    : `${placement.kind === "file" ? "On its file" : "In the summary"}: ${cut(placement.reason)}`;

function droppedPart(dropped: Review["dropped"]): Html {
  const list: Column<Review["dropped"][number]>[] = [
    head(
      "Finding",
      ({ title, path, line }) => html`${cut(title)}<span class="sub">${place(path, line)}</span>`,
    ),
    column("Verdict", ({ verdict }) => badge(verdict.replaceAll("_", " "), "calm")),
    column("Why", ({ reason }) => cut(reason)),
  ];
  return html`<h2>Not reported</h2>${table("Findings that were dropped, and why", list, dropped, { isUnderHeading: true })}`;
}

function paidPart({ paid_for }: RunSummary): HtmlPart {
  const list: Column<RunSummary["paid_for"][number]>[] = [
    head("For", ({ purpose }) => cut(purpose)),
    number("Turns", ({ turns }) => thousands(turns)),
    number("Tokens", ({ tokens }) => thousands(tokens)),
    number("Cached", ({ cached_tokens }) => thousands(cached_tokens)),
    number("Cost", ({ cost_usd }) => (cost_usd === null ? "no price" : money(cost_usd, 0))),
  ];
  return (
    paid_for.length > 0 && table("What the model used, by purpose, in the turns on record", list, paid_for)
  );
}

function loopsPart({ loops }: RunSummary, omitted: number): HtmlPart {
  if (loops.length === 0) return null;
  return html`<h3>Conversations with the model</h3>
${loops.map(
  ({
    name,
    title,
    paid,
    steps,
  }) => html`<details><summary><span class="mono">${cut(name)}</span>${title !== null && html` ${cut(title)}`} <span class="dim">${count(paid.turns, "turn")}, ${count(paid.tokens, "token")}</span></summary>
${steps.length > 0 ? html`<ol>${steps.map((step) => html`<li>${stepPart(step)}</li>`)}</ol>` : html`<p class="dim">Its steps are not shown, because the page would be too long.</p>`}</details>`,
)}
${omitted > 0 && html`<p class="note">${count(omitted, "later entry").replace("entrys", "entries")} of the record are not shown; <code>hunkwise runs</code> exports all.</p>`}`;
}

type Step = RunSummary["loops"][number]["steps"][number];

function stepPart(step: Step): Html {
  const after = html`<span class="dim">after ${span(step.after_ms)}</span>`;
  switch (step.kind) {
    case "turn":
      return html`${after}${prose(step.text)}<ul class="plain">${step.calls.map(
        ({ tool, about, answer }) =>
          html`<li><span class="mono">${cut(tool)}</span> ${cut(cutCharacters(about, 300))}${answer !== null && html`<span class="sub">${cut(cutCharacters(answer, 300))}</span>`}</li>`,
      )}</ul>`;
    case "messages":
      return html`${after}<details><summary>${count(step.messages.length, "message")} to the model</summary>${step.messages.slice(0, 20).map(prose)}</details>`;
    case "stopped":
      return html`${after} ended: ${cut(step.reason.replaceAll("_", " "))}${step.fault !== null && html` (${cut(step.fault)})`}`;
  }
}

function writtenPart({ written }: RunSummary, { links }: StoryView): HtmlPart {
  return (
    written.length > 0 &&
    html`<h3>Written to GitHub</h3><ul class="plain">${written.map(({ request, url, after_ms }) => {
      const page = links.own(url);
      return html`<li><span class="mono">${cut(request)}</span>${page !== null && html` ${linkOut(page, "see it")}`} <span class="dim">after ${span(after_ms)}</span></li>`;
    })}</ul>`
  );
}
