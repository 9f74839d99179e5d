import { showHidden } from "../core/text/escape-invisible.ts";
import { type Html, type HtmlPart, html } from "./html.ts";
import { fullName, type RepositoryName } from "./viewer.ts";

/** Text of a repository, a person or a model, as a page shows it: what it hides is visible. */
export const shown = (text: string): string => showHidden(text);

/** A time in milliseconds since 1970, to the minute (UTC). */
export function timeOf(at: number | null): Html | null {
  if (at === null) return null;
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}" title="${iso.slice(0, 19).replace("T", " ")} UTC">${iso.slice(0, 16).replace("T", " ")}</time>`;
}

const units = Object.entries({ d: 86_400, h: 3_600, min: 60, s: 1 });

/** A span of milliseconds: "8 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
export function span(milliseconds: number | null): string {
  if (milliseconds === null) return "";
  let rest = Math.round(Math.max(0, milliseconds) / 1_000);
  const counts = units.map(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest %= size;
    return { count, words: `${count} ${unit}` };
  });
  const first = counts.findIndex(({ count }) => count > 0);
  if (first < 0) return "0 s";
  // The two largest, and the second one only if it says something.
  const shown = counts.slice(first, first + 2).filter(({ count }) => count > 0);
  return shown.map(({ words }) => words).join(" ");
}

/** A sum of money, to the cent; one below a cent to a hundredth of it. */
export function money(costUsd: number, unpriced: number): string {
  if (costUsd === 0) return unpriced > 0 ? "no price" : "$0";
  return `$${costUsd.toFixed(costUsd < 0.01 ? 4 : 2)}${unpriced > 0 ? " + unpriced" : ""}`;
}

/** A count as "12.3k", which a table has room for. */
export function short(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_500) return `${(count / 1_000).toFixed(count < 9_950 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(count < 9_950_000 ? 1 : 0)}M`;
}

export type GitHubLinks = ReturnType<typeof linksTo>;

/** @param webUrl without a slash at its end */
export function linksTo(webUrl: string) {
  const of = ({ owner, name }: RepositoryName) =>
    `${webUrl}/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
  const pull = (repository: RepositoryName, number: number) => `${of(repository)}/pull/${number}`;
  return {
    pull,
    /** A link with the name of the pull request. */
    toPull: (repository: RepositoryName, number: number) =>
      linkOut(pull(repository, number), shown(`${fullName(repository)}#${number}`)),
    commit: (repository: RepositoryName, sha: string) =>
      `${of(repository)}/commit/${encodeURIComponent(sha)}`,
    /** The address if it is one of GitHub's own; null otherwise, because a record may hold any. */
    own: (url: string | null) => (url?.startsWith(`${webUrl}/`) ? url : null),
  };
}

/** A link out of these pages; only the text if there is no address. */
export const linkOut = (url: string | null, text: HtmlPart): HtmlPart =>
  url === null ? text : html`<a href="${url}" rel="noreferrer">${text}</a>`;

export type Tone = "good" | "bad" | "warn" | "calm" | "busy";
/** A word that stands out by its color, and says the same without. */
export const badge = (text: string, tone: Tone): Html =>
  html`<span class="badge ${tone}">${shown(text)}</span>`;

/** An address of a page with its parameters; empty ones are left out. */
export function address(
  path: string,
  parameters: Readonly<Record<string, string | number | null | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query}`;
}

export interface Column<Row> {
  name: string;
  isNumber?: true;
  isHead?: true;
  cell: (row: Row) => HtmlPart;
}

export const column = <Row>(name: string, cell: Column<Row>["cell"]): Column<Row> => ({ name, cell });
/** A column of numbers, which are aligned to the right. */
export const number = <Row>(name: string, cell: Column<Row>["cell"]): Column<Row> => ({
  name,
  isNumber: true,
  cell,
});
/** The column that names the row. */
export const head = <Row>(name: string, cell: Column<Row>["cell"]): Column<Row> => ({
  name,
  isHead: true,
  cell,
});

/**
 * A table of rows; on a narrow screen, each row is a block with the names of its columns.
 * @param caption what it is; hidden where a heading above says so
 */
export function table<Row>(
  caption: HtmlPart,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { isUnderHeading = false }: { isUnderHeading?: boolean } = {},
): Html {
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table role="table">
<caption${isUnderHeading && html` class="hidden"`}>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(({ name, isNumber }) => html`<th scope="col" role="columnheader"${isNumber && html` class="number"`}>${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map(
    (row) => html`<tr role="row">${columns.map((column) => cellOf(column, row))}</tr>
`,
  )}</tbody>
</table></div>`;
}

function cellOf<Row>({ name, isNumber, isHead, cell }: Column<Row>, row: Row): Html {
  const kind = isNumber && html` class="number"`;
  const value = cell(row);
  const content = !isNothing(value) && html`<div>${value}</div>`;
  return isHead
    ? html`<th scope="row" role="rowheader" data-name="${name}"${kind}>${content}</th>`
    : html`<td role="cell" data-name="${name}"${kind}>${content}</td>`;
}

const isNothing = (part: HtmlPart) => part === null || part === undefined || part === false || part === "";

export const facts = (list: readonly (readonly [string, HtmlPart])[]): Html =>
  html`<dl class="facts">${list
    .filter(([, value]) => !isNothing(value))
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** A choice of a form of filters; the first one is no filter. */
export const select = (
  name: string,
  label: string,
  given: string,
  options: readonly string[],
): Html => html`<label>${label}
<select name="${name}"><option value="">all</option>${options.map(
  (value) =>
    html`<option value="${value}"${value === given && html` selected`}>${value.replaceAll("_", " ")}</option>`,
)}</select></label>`;

interface FieldOptions {
  type?: "text" | "date" | "search" | "number";
  list?: string;
  placeholder?: string;
}
export const field = (
  name: string,
  label: string,
  value: string,
  { type = "text", list, placeholder }: FieldOptions = {},
): Html => html`<label>${label}
<input type="${type}" name="${name}" value="${value}"${list && html` list="${list}"`}${placeholder && html` placeholder="${placeholder}"`}></label>`;

export const repositoryNames = (repositories: readonly RepositoryName[]): Html =>
  html`<datalist id="repositories">${repositories
    .slice(0, 500)
    .map((one) => html`<option value="${fullName(one)}"></option>`)}</datalist>`;
