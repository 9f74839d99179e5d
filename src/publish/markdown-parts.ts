import type { CodeLocation, Finding, Severity } from "../finding.ts";
import { foldLine } from "../ledger/folds.ts";
import { markOf } from "../reporters/finding-words.ts";
import { plural } from "../reporters/outcome.ts";
import { untrustedCode, untrustedLine } from "../reporters/safe-markdown.ts";
import { byteLength } from "../text/cut.ts";

/** Text in a fold below a line of its own. */
export function details(title: string, text: string): string {
  return `${foldLine(title)}\n\n${text}\n\n</details>`;
}

/** A titled list of the items that fit, with the number of the others; empty without items. */
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

/** One by one, because only the first of thousands have room. */
function* each<T>(items: readonly T[], line: (item: T) => string): Generator<string> {
  for (const item of items) yield line(item);
}

/** The first parts that fit together, including separators. Stops at the first one that does not fit, without reading further. */
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

/** Targets of links: the repository's page, and the compared revisions. */
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
type Located = Omit<CodeLocation, "quote">;

/** The lines of a finding, or another place of it, as a link to their side of the change. */
export function findingLink(place: Located, base: LinkBase): string {
  const { path, line, start_line } = place;
  return placeLink(base, revisionOf(place, base), path, start_line ?? line, line);
}

/**
 * A finding in one line: severity, title as a link, location, and whether it is in doubt.
 *
 * @param page target of the link; the finding's lines if there is no better page
 */
export function findingLine(finding: Finding, base: LinkBase, page = ""): string {
  const { path, line, start_line, severity, places, verification, rule } = finding;
  const first = start_line ?? line;
  const url = page === "" ? placeUrl(base, revisionOf(finding, base), path, first, line) : page;
  const more = places.length === 0 ? "" : ` and ${plural(places.length, "more place")}`;
  const doubts: Partial<Record<Finding["verification"], string>> = {
    uncertain: " (uncertain)",
    not_judged: " (not judged)",
  };
  const doubt = doubts[verification] ?? "";
  const shown = markOf(finding) === null ? "" : " (shown by a test)";
  return `- ${severityBadge(severity)}: ${linked(untrustedLine(finding.title), url)} in ${placeLabel(path, first, line)}${more}${rule === undefined ? "" : ` (rule ${untrustedCode(rule)})`}${doubt}${shown}`;
}

/** More would be a list to scroll through; ten are enough to find the similar code. */
const mostPlaces = 10;

/** The other places of a finding, in one line of links, with the number of those that do not fit. Empty if there are none. */
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

/** Paths may have thousands of characters, and each may take several to write. The end is the most useful part. */
const mostLabel = 160;
const mostUrl = 2_000;

/** `path:first-last` as code, without the beginning of a long path. */
export function placeLabel(path: string, first: number, last: number): string {
  const end = path.length > mostLabel ? `…${path.slice(-mostLabel).toWellFormed()}` : path;
  return untrustedCode(`${end}:${first === last ? first : `${first}-${last}`}`);
}

/** Undefined if it is too long to be useful. */
function placeUrl(
  base: LinkBase,
  sha: string,
  path: string,
  first: number,
  last: number,
): string | undefined {
  const anchor = first === last ? `#L${first}` : `#L${first}-L${last}`;
  // GitHub shows such files rendered, without lines, by default.
  const isRendered = /\.(md|markdown|mdx|rst|adoc|asciidoc|org|textile|ipynb|svg|csv|tsv)$/i.test(path);
  const url = `${base.repositoryUrl}/blob/${sha}/${encodePath(path)}${isRendered ? "?plain=1" : ""}${anchor}`;
  return url.length > mostUrl ? undefined : url;
}

/** Parentheses would end the link, and `encodeURIComponent` does not encode them. */
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
