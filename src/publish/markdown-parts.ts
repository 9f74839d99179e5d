import type { Finding, Place, Severity } from "../finding.ts";
import { plural } from "../reporters/outcome.ts";
import { untrustedCode, untrustedLine } from "../reporters/safe-markdown.ts";
import { byteLength } from "../text/cut.ts";

/** Text folded away behind a line of its own. */
export function details(title: string, text: string): string {
  return `<details><summary>${title}</summary>\n\n${text}\n\n</details>`;
}

/** A titled list of as many items as fit, with the number of those that do not; nothing for no items. */
export function section<T>(
  title: string,
  items: readonly T[],
  line: (item: T) => string,
  maxBytes: number,
): string[] {
  if (items.length === 0) return [];
  const shown = fitting(each(items, line), maxBytes);
  const rest = items.length - shown.length;
  const list = [...shown, ...(rest > 0 ? [`- and ${rest} more`] : [])].join("\n");
  return [title === "" ? list : `${title}\n\n${list}`];
}

/** One by one, because of thousands only the first have room. */
function* each<T>(items: readonly T[], line: (item: T) => string): Generator<string> {
  for (const item of items) yield line(item);
}

/** The first parts that fit together, with what joins them; none after one that does not is even looked at. */
export function fitting(parts: Iterable<string>, maxBytes: number): string[] {
  const fit: string[] = [];
  let left = maxBytes;
  for (const part of parts) {
    left -= byteLength(part) + 8;
    if (left < 0) break;
    fit.push(part);
  }
  return fit;
}

/** Where links lead: the repository's page, and the revisions that were compared. */
export interface LinkBase {
  /** `https://github.com/OWNER/NAME`, without a slash at the end. */
  repositoryUrl: string;
  headSha: string;
  mergeBaseSha: string;
}

const signs: Record<Severity, string> = { critical: "🛑", high: "🔴", medium: "🟠", low: "🟡" };

/** "🔴 High" */
export function severityBadge(severity: Severity): string {
  return `${signs[severity]} ${severity.charAt(0).toUpperCase()}${severity.slice(1)}`;
}

/** Lines on one side of the change. */
type Located = Omit<Place, "quote">;

/** The lines of a finding, or another place where it is, as a link, on the side where they live. */
export function findingLink(place: Located, base: LinkBase): string {
  const { path, line, start_line } = place;
  return placeLink(base, revisionOf(place, base), path, start_line ?? line, line);
}

/**
 * A finding in one line: severity, title as a link, where it is, and whether it is in doubt.
 *
 * @param page where the link leads; its lines where there is no better page
 */
export function findingLine(finding: Finding, base: LinkBase, page = ""): string {
  const { path, line, start_line, severity, places, verification } = finding;
  const first = start_line ?? line;
  const url = page === "" ? placeUrl(base, revisionOf(finding, base), path, first, line) : page;
  const more = places.length === 0 ? "" : ` and ${plural(places.length, "more place")}`;
  const doubts: Partial<Record<Finding["verification"], string>> = {
    uncertain: " (uncertain)",
    not_judged: " (not judged)",
  };
  const doubt = doubts[verification] ?? "";
  return `- ${severityBadge(severity)}: ${linked(untrustedLine(finding.title), url)} in ${placeLabel(path, first, line)}${more}${doubt}`;
}

/** More would be a list to scroll through; the code that is alike is quickly found from ten. */
const mostPlaces = 10;

/** Where else a finding is, in one line of links; what does not fit is counted. Empty where it is nowhere else. */
export function otherPlaces({ places }: Finding, base: LinkBase, maxBytes: number): string {
  if (places.length === 0) return "";
  const links = places.slice(0, mostPlaces).map((place) => findingLink(place, base));
  const shown = fitting(links, maxBytes - 60);
  const rest = places.length - shown.length;
  if (shown.length === 0) return `The same at ${plural(rest, "more place")}.`;
  return `The same at ${shown.join(", ")}${rest > 0 ? `, and at ${plural(rest, "more place")}` : ""}.`;
}

const revisionOf = ({ side }: Located, base: LinkBase) =>
  side === "RIGHT" ? base.headSha : base.mergeBaseSha;

/** `path:first-last` as a link to these lines at a revision. */
export function placeLink(base: LinkBase, sha: string, path: string, first: number, last: number): string {
  return linked(placeLabel(path, first, last), placeUrl(base, sha, path, first, last));
}

export const linked = (text: string, url: string | undefined) =>
  url === undefined ? text : `[${text}](${url})`;

/** Paths may have thousands of characters, and each may take many to be written. The end says most. */
const mostLabel = 160;
const mostUrl = 2_000;

/** `path:first-last` as code, the beginning of a long path left out. */
export function placeLabel(path: string, first: number, last: number): string {
  const end = path.length > mostLabel ? `…${path.slice(-mostLabel).toWellFormed()}` : path;
  return untrustedCode(`${end}:${first === last ? first : `${first}-${last}`}`);
}

/** Undefined where it would be too long to be of use. */
function placeUrl(
  base: LinkBase,
  sha: string,
  path: string,
  first: number,
  last: number,
): string | undefined {
  const anchor = first === last ? `#L${first}` : `#L${first}-L${last}`;
  // GitHub shows such files rendered, without lines, unless told otherwise.
  const isRendered = /\.(md|markdown|mdx|rst|adoc|asciidoc|org|textile|ipynb|svg|csv|tsv)$/i.test(path);
  const url = `${base.repositoryUrl}/blob/${sha}/${encodePath(path)}${isRendered ? "?plain=1" : ""}${anchor}`;
  return url.length > mostUrl ? undefined : url;
}

/** Parentheses would end the link, and `encodeURIComponent` leaves them. */
function encodePath(path: string): string {
  return path
    .toWellFormed()
    .split("/")
    .map((segment) =>
      encodeURIComponent(segment).replace(
        /[!'()*]/g,
        (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
      ),
    )
    .join("/");
}
