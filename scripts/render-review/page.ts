import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { git } from "../../test/support/github-double/bare-repository.ts";
import { mergeBaseOf } from "../../test/support/github-double/json/pull.ts";
import type {
  Account,
  CheckRun,
  IssueComment,
  Pull,
  Review,
  ReviewComment,
} from "../../test/support/github-double/model.ts";
import { headOf } from "../../test/support/github-double/model.ts";
import { codeFrame } from "./code-frame.ts";
import { avatar, icon } from "./drawings.ts";
import { Html, html } from "./html.ts";
import { renderMarkdown } from "./markdown.ts";

export type Theme = "light" | "dark";

const markdownStyle = (theme: Theme) =>
  fileURLToPath(import.meta.resolve(`github-markdown-css/github-markdown-${theme}.css`));
const pageStyle = join(import.meta.dirname, "page.css");

/**
 * The conversation of a pull request as GitHub shows it to a visitor: a self-contained page.
 *
 * @param unfolded how many of the folded texts are open, from the first, as after a click
 */
export async function renderPage(pull: Pull, theme: Theme, unfolded: number): Promise<string> {
  const items = [...pull.comments, ...pull.reviews.filter(isShown)].sort((a, b) => a.id - b.id);
  const shown = await Promise.all(items.map((item) => (isReview(item) ? review(item) : comment(item))));
  const checks = pull.repository.checkRuns.filter((run) => run.headSha === headOf(pull));
  const opening = commentBox(pull.author, "commented", renderMarkdown(pull.body ?? ""));
  const style = new Html(
    [markdownStyle(theme), pageStyle].map((file) => readFileSync(file, "utf8")).join("\n"),
  );
  const page = html`<!doctype html>
<html lang="en" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${pull.title}</title>
<style>${style}</style>
</head>
<body>
${await header(pull)}
<main>${beside(pull.author, opening)}${shown}</main>
${checks.length > 0 ? checkList(checks) : undefined}
</body>
</html>
`;
  let folds = 0;
  return page.text.replace(/<details>/g, (tag) => (folds++ < unfolded ? "<details open>" : tag));
}

/** A review that contains only a reply appears only in the thread. */
const isShown = (one: Review) =>
  one.body !== "" || one.pull.reviewComments.some(({ review: its, inReplyTo }) => its === one && !inReplyTo);

const isReview = (item: Review | IssueComment): item is Review => "commitId" in item;

async function header(pull: Pull): Promise<Html> {
  const state = pull.draft && pull.state === "open" ? "Draft" : pull.merged ? "Merged" : capital(pull.state);
  const base = await mergeBaseOf(pull, headOf(pull));
  const count = Number(await git(pull.repository.gitDir, "rev-list", "--count", `${base}..${headOf(pull)}`));
  return html`<header>
<h1>${pull.title} <span>#${pull.number}</span></h1>
<p><span class="state ${state.toLowerCase()}">${icon("pull")} ${state}</span>
<strong>${pull.author.login}</strong> wants to merge ${count} commit${count === 1 ? "" : "s"} into
<code>${pull.baseRef}</code> from <code>${pull.headRef}</code></p>
</header>`;
}

async function review(one: Review): Promise<Html> {
  const comments = one.pull.reviewComments.filter(({ review: its }) => its === one);
  const first = comments.filter(({ inReplyTo }) => inReplyTo === null);
  const threads = await Promise.all(first.map((opened) => thread(opened)));
  const body =
    one.body === "" ? undefined : commentBox(one.author, "left a comment", renderMarkdown(one.body));
  const verb = { APPROVED: "approved these changes", CHANGES_REQUESTED: "requested changes" };
  const did = (verb as Partial<Record<Review["state"], string>>)[one.state] ?? "reviewed";
  return beside(
    one.author,
    html`<p class="event"><span class="badge">${icon("eye")}</span>${name(one.author)} ${did} <time>now</time></p>
${body}${threads}`,
  );
}

async function thread(first: ReviewComment): Promise<Html> {
  const frame = await codeFrame(first);
  const replies = first.pull.reviewComments.filter(({ inReplyTo }) => inReplyTo === first);
  const texts = [first, ...replies].map(
    ({ author, body }) => html`<div class="message">${avatar(author, 24)}<div>
<p class="author">${name(author)} <time>now</time></p>
${renderMarkdown(body, frame?.commented)}
</div></div>`,
  );
  return html`<section class="box thread"><p class="path">${first.path}</p>${frame?.markup}${texts}</section>`;
}

const comment = ({ author, body }: IssueComment) =>
  beside(author, commentBox(author, "commented", renderMarkdown(body)));

const commentBox = (author: Account, verb: string, text: Html) =>
  html`<section class="box"><p class="bar">${name(author)} ${verb} <time>now</time></p><div class="text">${text}</div></section>`;

const beside = (author: Account, content: Html) =>
  html`<article>${avatar(author, 40)}<div>${content}</div></article>`;

/** GitHub shows an App's name without the suffix of its account, and with a label. */
const name = ({ login, type }: Account) =>
  html`<strong>${login.replace(/\[bot\]$/, "")}</strong>${type === "Bot" ? html` <span class="label">bot</span>` : undefined}`;

const marks: Record<string, Parameters<typeof icon>[0]> = {
  success: "check",
  failure: "cross",
  in_progress: "clock",
  queued: "clock",
};

const outcomeOf = ({ conclusion, status }: CheckRun) => conclusion ?? status;

/** The words of GitHub's own list. */
const adjectives: Record<string, string> = { success: "successful", failure: "failing" };

function checkList(checks: readonly CheckRun[]): Html {
  const failed = checks.some((run) => outcomeOf(run) === "failure");
  const running = checks.some((run) => run.conclusion === null);
  const [headline, mark, tone] = failed
    ? (["Some checks were not successful", "cross", "failure"] as const)
    : running
      ? (["Some checks have not completed yet", "clock", "running"] as const)
      : (["All checks have passed", "check", "success"] as const);
  const counts = Map.groupBy(checks, (run) => adjectives[outcomeOf(run)] ?? outcomeOf(run).replace("_", " "));
  const total = [...counts].map(([outcome, { length }]) => `${length} ${outcome}`).join(", ");
  return html`<section class="box checks">
<p class="verdict"><span class="${tone}">${icon(mark)}</span><span><strong>${headline}</strong><br>${total} check${checks.length === 1 ? "" : "s"}</span></p>
${checks.map((run) => checkLine(run))}
</section>`;
}

function checkLine(run: CheckRun): Html {
  const outcome = outcomeOf(run);
  const took = run.completedAt && Math.round((run.completedAt.getTime() - run.startedAt.getTime()) / 1000);
  const text = took === null ? capital(outcome) : `Completed in ${took}s`;
  const title = run.output.title ? html` — ${run.output.title}` : undefined;
  return html`<p class="check"><span class="${outcome}">${icon(marks[outcome] ?? "square")}</span>${avatar(run.app.bot, 20)}
<span><strong>${run.name}</strong> <small>${text}${title}</small></span></p>`;
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1).replace("_", " ");
