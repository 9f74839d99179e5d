import type { Finding, Severity } from "../finding.ts";
import { untrustedCode } from "./render-untrusted.ts";

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
  const sha = finding.side === "RIGHT" ? base.headSha : base.mergeBaseSha;
  return placeLink(base, sha, finding.path, finding.start_line ?? finding.line, finding.line);
}

/** `path:first-last` as a link to these lines at a revision. */
export function placeLink(base: LinkBase, sha: string, path: string, first: number, last: number): string {
  const label = untrustedCode(`${path}:${first === last ? first : `${first}-${last}`}`);
  const anchor = first === last ? `#L${first}` : `#L${first}-L${last}`;
  // GitHub shows such files rendered, without lines, unless told otherwise.
  const plain = /\.(md|markdown|mdx|rst|adoc|asciidoc|org|textile|ipynb|svg|csv|tsv)$/i.test(path)
    ? "?plain=1"
    : "";
  return `[${label}](${base.repositoryUrl}/blob/${sha}/${encodePath(path)}${plain}${anchor})`;
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
