import type { Finding, Severity } from "../finding.ts";
import { untrustedCode, untrustedLine } from "./render-untrusted.ts";

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

/** The lines of a finding as a link, on the side where they live. */
export function findingLink(finding: Finding, base: LinkBase): string {
  return placeLink(
    base,
    revisionOf(finding, base),
    finding.path,
    finding.start_line ?? finding.line,
    finding.line,
  );
}

/** A finding in one line: severity, title as a link to its lines, and where that is. */
export function findingLine(finding: Finding, base: LinkBase): string {
  const { path, line, start_line, severity } = finding;
  const first = start_line ?? line;
  const url = placeUrl(base, revisionOf(finding, base), path, first, line);
  return `- ${severityBadge(severity)}: ${linked(untrustedLine(finding.title), url)} in ${placeLabel(path, first, line)}`;
}

const revisionOf = ({ side }: Finding, base: LinkBase) =>
  side === "RIGHT" ? base.headSha : base.mergeBaseSha;

/** `path:first-last` as a link to these lines at a revision. */
export function placeLink(base: LinkBase, sha: string, path: string, first: number, last: number): string {
  return linked(placeLabel(path, first, last), placeUrl(base, sha, path, first, last));
}

const linked = (text: string, url: string | undefined) => (url === undefined ? text : `[${text}](${url})`);

/** Paths may have thousands of characters, and each may take many to be written. The end says most. */
const mostLabel = 160;
const mostUrl = 3_000;

function placeLabel(path: string, first: number, last: number): string {
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
