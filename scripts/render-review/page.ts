import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { raw } from "hono/html";
import { micromark, type Options } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { type Html, html } from "../../src/pages/html.ts";
import { git } from "../../test/support/github-double/bare-repository.ts";
import { findLine } from "../../test/support/github-double/commentable.ts";
import { pullDiff } from "../../test/support/github-double/current-line.ts";
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
import { highlightLines } from "./highlight.ts";

type Theme = "light" | "dark";

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
  const style = raw([markdownStyle(theme), pageStyle].map((file) => readFileSync(file, "utf8")).join("\n"));
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
  return String(page).replace(/<details>/g, (tag) => (folds++ < unfolded ? "<details open>" : tag));
}

/** A review that contains only a reply appears only in the thread. */
const isShown = (one: Review) =>
  one.body !== "" || one.pull.reviewComments.some(({ review: its, inReplyTo }) => its === one && !inReplyTo);

const isReview = (item: Review | IssueComment): item is Review => "commitId" in item;

async function header(pull: Pull): Promise<Html> {
  const base = await mergeBaseOf(pull, headOf(pull));
  const count = Number(await git(pull.repository.gitDir, "rev-list", "--count", `${base}..${headOf(pull)}`));
  return html`<header>
<h1>${pull.title} <span>#${pull.number}</span></h1>
<p><span class="state">${icon("pull")} Open</span>
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
  return beside(
    one.author,
    html`<p class="event"><span class="badge">${icon("eye")}</span>${name(one.author)} reviewed <time>now</time></p>
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

/** Those of a review that passes or is neutral: no picture shows others. */
const checkList = (checks: readonly CheckRun[]): Html => html`<section class="box checks">
<p class="verdict"><span class="success">${icon("check")}</span><span><strong>All checks have passed</strong><br>${
  checks.length
} ${checks.every(({ conclusion }) => conclusion === "success") ? "successful" : "neutral"} check${checks.length === 1 ? "" : "s"}</span></p>
${checks.map((run) => checkLine(run))}
</section>`;

function checkLine(run: CheckRun): Html {
  const took = Math.round(((run.completedAt ?? run.startedAt).getTime() - run.startedAt.getTime()) / 1000);
  return html`<p class="check"><span class="${run.conclusion}">${icon(run.conclusion === "success" ? "check" : "square")}</span>${avatar(run.app.bot, 20)}
<span><strong>${run.name}</strong> <small>Completed in ${took}s — ${run.output.title}</small></span></p>`;
}

/** Lines that GitHub shows above the first commented one. */
const CONTEXT = 3;

interface CodeFrame {
  markup: Html;
  /** The commented lines of the comment's side, which a suggestion would replace. */
  commented: string[];
}

/** The part of the diff around a comment; undefined for a file comment. */
async function codeFrame({ anchor, pull, path, commitId }: ReviewComment): Promise<CodeFrame | undefined> {
  const file = (await pullDiff(pull, commitId)).find((one) => one.path === path);
  const last = anchor && file && findLine(file, anchor.side, anchor.line);
  if (!last) return undefined;
  const { side, line, startLine } = anchor;
  const first = (startLine !== null && findLine(file, side, startLine)) || last;
  const rows = file.hunks[last.hunk]?.rows.slice(Math.max(0, first.row - CONTEXT), last.row + 1) ?? [];
  const [left, right] = await Promise.all([
    linesAt(pull.repository.gitDir, await mergeBaseOf(pull, commitId), file.previousPath ?? path),
    linesAt(pull.repository.gitDir, commitId, path),
  ]);
  const written = rows.map((row) => {
    const kind = row.LEFT === null ? "added" : row.RIGHT === null ? "removed" : "same";
    const code = row.RIGHT === null ? left[row.LEFT! - 1] : right[row.RIGHT - 1];
    return html`<div class="row ${kind}"><b>${row.LEFT ?? ""}</b><b>${row.RIGHT ?? ""}</b><i>${row.text.charAt(0)}</i><code>${code}</code></div>`;
  });
  const isCommented = (number: number | null) =>
    number !== null && number >= (startLine ?? line) && number <= line;
  return {
    markup: html`<div class="frame">${written}</div>`,
    commented: rows.filter((row) => isCommented(row[side])).map((row) => row.text.slice(1)),
  };
}

/** Empty if the file does not exist at the commit. */
async function linesAt(gitDir: string, commit: string, path: string): Promise<Html[]> {
  const listed = await git(gitDir, "ls-tree", commit, "--", path);
  return listed === "" ? [] : highlightLines(path, await git(gitDir, "show", `${commit}:${path}`));
}

type HtmlExtension = NonNullable<Options["htmlExtensions"]>[number];

/** In comments, unlike in files, GitHub keeps the author's line breaks. */
function lineBreaks(): HtmlExtension {
  let inProse = false;
  let isBroken = false;
  const breaks = (): undefined => {
    isBroken = true;
  };
  return {
    enter: {
      content(): undefined {
        inProse = true;
      },
      hardBreakEscape: breaks,
      hardBreakTrailing: breaks,
      // Runs before the line ending itself is written; a code span turns it into a space.
      lineEnding(): undefined {
        if (inProse && !isBroken && !this.getData("inCodeText")) this.raw("<br />");
        isBroken = false;
      },
    },
    exit: {
      content(): undefined {
        inProse = false;
      },
    },
  };
}

/** A comment's Markdown as GitHub shows it; `replaced` are the lines that its suggestion would replace. */
function renderMarkdown(markdown: string, replaced: readonly string[] = []): Html {
  const written = micromark(markdown, {
    allowDangerousHtml: true,
    extensions: [gfm()],
    htmlExtensions: [gfmHtml(), lineBreaks()],
  });
  const suggestion = /<pre><code class="language-suggestion">([\s\S]*?)<\/code><\/pre>/g;
  const shown = written.replace(suggestion, (_, code: string) =>
    String(suggestedChange(replaced, code.replace(/\n$/, "").split("\n"))),
  );
  return html`<div class="markdown-body">${raw(shown)}</div>`;
}

/** `suggested` lines are already markup. */
function suggestedChange(replaced: readonly string[], suggested: readonly string[]): Html {
  const removed = replaced.map((line) => html`<div class="row removed"><i>-</i><code>${line}</code></div>`);
  const added = suggested.map((line) => html`<div class="row added"><i>+</i><code>${raw(line)}</code></div>`);
  return html`<div class="suggestion"><div class="bar">Suggested change</div>${removed}${added}</div>`;
}

/** SVG strokes on a 16 by 16 grid. */
const strokes = {
  pull: '<circle cx="4" cy="3.5" r="1.75"/><circle cx="4" cy="12.5" r="1.75"/><circle cx="12" cy="12.5" r="1.75"/><path d="M4 5.25v5.5M12 10.75V5.5a2 2 0 0 0-2-2H8M9.75 1.5l-2 2 2 2"/>',
  eye: '<path d="M1 8c1.8-3.2 4.1-4.8 7-4.8s5.2 1.6 7 4.8c-1.8 3.2-4.1 4.8-7 4.8S2.8 11.2 1 8Z"/><circle cx="8" cy="8" r="1.8"/>',
  check: '<path d="m3 8.5 3.25 3.25L13 5"/>',
  square: '<rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor"/>',
};

function icon(name: keyof typeof strokes, size = 16): Html {
  return html`<svg class="icon" width="${size}" height="${size}" viewBox="0 0 16 16" aria-hidden="true">${raw(strokes[name])}</svg>`;
}

/** The default picture of an account: a mirrored pattern of five by five squares from a hash of the name. */
function avatar({ login, type }: Account, size: number): Html {
  const hash = createHash("sha256").update(login).digest();
  const fields = Array.from({ length: 25 }, (_, index) => {
    const [row, column] = [Math.floor(index / 5), index % 5];
    const isOn = ((hash[row * 3 + Math.min(column, 4 - column)] ?? 0) & 1) === 1;
    return html`${isOn && raw(`<path d="M${column} ${row}h1v1h-1z"/>`)}`;
  });
  const hue = Math.round(((hash[31] ?? 0) / 255) * 360);
  const shape = type === "Bot" ? "avatar bot" : "avatar";
  return html`<svg class="${shape}" width="${size}" height="${size}" viewBox="-0.75 -0.75 6.5 6.5" fill="hsl(${hue} 45% 55%)" shape-rendering="crispEdges" aria-hidden="true">${fields}</svg>`;
}
