import { html as template } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { showHidden } from "../core/text/escape-invisible.ts";
import type { Viewer } from "./viewer.ts";

/** HTML that is safe to write into a page. */
export type Html = HtmlEscapedString;

/** What may occur in a template. Text is escaped, for content and for quoted attributes; null, undefined and false are nothing. */
export type HtmlPart = Html | string | number | null | undefined | false | readonly HtmlPart[];

/** A template of HTML: html`<td title="${text}">${text}</td>`. Attributes need quotes. */
export const html = (strings: TemplateStringsArray, ...parts: HtmlPart[]): Html =>
  // A promise only results from a promise among the parts.
  template(strings, ...parts) as Html;

const sections = [
  { path: "/", title: "Now" },
  { path: "/reviews", title: "Reviews" },
  { path: "/findings", title: "Findings" },
  { path: "/insights", title: "Insights" },
  { path: "/configuration", title: "Configuration" },
  { path: "/health", title: "Health" },
] as const;
export type SectionPath = (typeof sections)[number]["path"];

interface Layout {
  title: string;
  /** Null before log-in: no navigation. */
  viewer: Viewer | null;
  /** The section of the page; null for a page beside them. */
  section: SectionPath | null;
  body: Html;
  /** The browser loads the page again after so many seconds. */
  refreshSeconds?: number | undefined;
}

export const layout = ({ title, viewer, section, body, refreshSeconds }: Layout): Html => html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
${refreshSeconds && html`<meta http-equiv="refresh" content="${refreshSeconds}">`}
<title>${title} · Hunkwise</title><link rel="stylesheet" href="/style.css"></head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><span class="brand">Hunkwise</span>${viewer && navigation(viewer, section)}</header>
<main id="content" tabindex="-1"><h1>${title}</h1>
${body}
</main>
<footer>${viewer?.isOperator && html`<p>You are an operator: you also see the server’s health, and the names, runs, costs and figures of all repositories, but not their text.</p>`}${viewer && html`<p>Times are UTC.</p>`}</footer>
</body></html>
`;

/** A page beside the others, which needs no log-in. */
export const notice = (title: string, body: Html): Html =>
  layout({ title, viewer: null, section: null, body });

const navigation = (
  { login }: Viewer,
  section: SectionPath | null,
) => html`<nav aria-label="Pages"><ul>${sections.map(
  ({ path, title }) =>
    html`<li><a href="${path}"${path === section && html` aria-current="page"`}>${title}</a></li>`,
)}</ul></nav>
<form method="post" action="/logout"><span>${showHidden(login)}</span> <button>Log out</button></form>`;
