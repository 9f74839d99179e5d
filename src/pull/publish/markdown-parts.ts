import type { CodeLocation, Finding, Severity } from "../../core/finding.ts";
import { foldLine } from "../../core/ledger/folds.ts";
import { count, thousands } from "../../core/text/count.ts";
import { byteLength } from "../../core/text/cut.ts";
import { isOrigin } from "../../repo/diff/origin.ts";
import { lineRange } from "../../report/code-frame.ts";
import { effortSentence, markOf, whyDropped } from "../../report/finding-words.ts";
import { maskedSentence, predictionSentence, unreadPlaces, usageSentence } from "../../report/outcome.ts";
import { untrustedCode, untrustedLine } from "../../report/safe-markdown.ts";
import type { Coverage, DroppedFinding, ReviewResult } from "../../tasks/shapes/review-result.ts";

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

type Located = Omit<CodeLocation, "quote">;

/** The lines of a finding, or another place of it, as a link to their side of the change. */
export function findingLink(place: Located, base: LinkBase): string {
  const { path, line, start_line } = place;
  return placeLink(base, revisionOf(place, base), path, start_line ?? line, line);
}

/** A finding in one line. `page` is the target of the link; the finding's lines if there is no better page. */
export function findingLine(finding: Finding, base: LinkBase, page = ""): string {
  const { path, line, start_line, severity, places, verification, rule } = finding;
  const first = start_line ?? line;
  const url = page === "" ? placeUrl(base, revisionOf(finding, base), path, first, line) : page;
  const more = places.length === 0 ? "" : ` and ${count(places.length, "more place")}`;
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
  if (shown.length === 0) return `The same at ${count(rest, "more place")}.`;
  return `The same at ${shown.join(", ")}${rest > 0 ? `, and at ${count(rest, "more place")}` : ""}.`;
}

const revisionOf = ({ side }: Located, base: LinkBase) =>
  side === "RIGHT" ? base.headSha : base.mergeBaseSha;

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
  return untrustedCode(`${end}:${lineRange(first, last)}`);
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

/** "2 fixed", "1 dismissed" */
export const settledWords = ({ fixed = 0, dismissed = 0 }: { fixed?: number; dismissed?: number }) =>
  Object.entries({ fixed, dismissed }).flatMap(([what, count]) =>
    count > 0 ? [`${thousands(count)} ${what}`] : [],
  );

/** Bytes for each list of files or findings, or less if there is less room. */
const mostListBytes = 3_000;

/** "118 of 121 hunks in 8 files; 4 hunks new, 114 read before; 3 files skipped: lock file (2), generated (1)" */
function coverageWords(result: ReviewResult): string {
  const parts = [extentOf(result), roundWords(result), skippedWords(result.coverage)];
  return parts.filter((part) => part !== "").join("; ");
}

/** "4 hunks new, 114 read before"; empty without an earlier review. */
export function roundWords({ coverage, ledger }: ReviewResult): string {
  const known = ledger?.known_hunks ?? 0;
  if (known === 0) return "";
  return `${count(coverage.hunks_total - known, "hunk")} new, ${thousands(known)} read earlier`;
}

function extentOf({ mode, coverage }: ReviewResult): string {
  const { hunks_served, hunks_total } = coverage;
  if (hunks_total === 0) return "no hunks to review";
  const place = `${count(hunks_total, "hunk")} in ${count(reviewableFiles(coverage), "file")}`;
  return mode === "offline" ? `analyzers only (${place})` : `${hunks_served} of ${place}`;
}

/** Number of changed files that were not skipped. */
export function reviewableFiles({ files_total, files_skipped }: Coverage): number {
  return files_total - files_skipped.length;
}

/** "3 files skipped: lock file (2), generated (1)", the most frequent reason first; empty if none was skipped. */
function skippedWords({ files_skipped }: Coverage): string {
  if (files_skipped.length === 0) return "";
  // Text in brackets is about one file, not its kind: "too large (20,345 changed lines)".
  const kinds = Map.groupBy(files_skipped, ({ reason }) => reason.replace(/ \(.*\)$/s, ""));
  const counts = [...kinds].map(([reason, { length }]) => ({ reason, length }));
  const kindWords = counts
    .toSorted((a, b) => b.length - a.length)
    .map(({ reason, length }) => `${untrustedLine(reason, 60)} (${thousands(length)})`);
  const rest = kindWords.length > mostKinds ? ", and others" : "";
  return `${count(files_skipped.length, "file")} skipped: ${kindWords.slice(0, mostKinds).join(", ")}${rest}`;
}

const mostKinds = 10;

export function skippedSection(
  title: string,
  { files_skipped }: Coverage,
  maxBytes = mostListBytes,
): string[] {
  const line = ({ path, reason }: Coverage["files_skipped"][number]) => pathLine(path, reason);
  return section(title, files_skipped, line, maxBytes);
}

/** The places that should have been read and were not, as a list under a title. */
export function unreadSection(title: string, result: ReviewResult, maxBytes = mostListBytes): string[] {
  return section(title, unreadPlaces(result), ({ path, what }) => pathLine(path, what), maxBytes);
}

const mostAccepted = 6;

/** How the base branch accepts files that were not read because their names or headers call them generated; empty if there are none. */
export function howToAccept({ coverage }: ReviewResult): string {
  const named = coverage.files_skipped.filter(
    ({ reason, account }) => account === "unread" && isOrigin(reason),
  );
  if (named.length === 0) return "";
  const patterns = named
    .slice(0, mostAccepted)
    .map(({ path }) => JSON.stringify(`/${path.replaceAll(/[*?[\]\\!]/g, "\\$&")}`));
  const line = untrustedCode(`paths: { ignore: [${patterns.join(", ")}] }`);
  const more = named.length > mostAccepted ? `, and so on for ${named.length - mostAccepted} more` : "";
  return `Some files look generated or vendored, and have too many changed lines to be read. If they need no review, the base branch can say so with ${line} in \`.github/hunkwise.yml\`${more}.`;
}

const pathLine = (path: string, what: string) => `- ${untrustedCode(path)}: ${untrustedLine(what)}`;

/** Coverage, effort and spending, each with its name and without a final full stop. */
export function figures(result: ReviewResult): [string, string][] {
  const lines: [string, string][] = [
    ["coverage", coverageWords(result)],
    ["effort", effortSentence(result)],
    ["masked", maskedSentence(result, ({ path, line }) => placeLabel(path, line, line))],
    ["usage", usageSentence(result)],
    ["predicted", predictionSentence(result)],
  ];
  return lines.filter(([, words]) => words !== "");
}

/** Findings that are not reported after all, each with the reason, as lists with titles. */
export function droppedSections(
  { dropped }: ReviewResult,
  maxBytes = mostListBytes,
): { title: string; list: string }[] {
  const by = (...verdicts: DroppedFinding["verdict"][]) =>
    dropped.filter(({ verdict }) => verdicts.includes(verdict));
  const groups: [string, DroppedFinding[]][] = [
    ["Left out after a second look", by("refuted", "uncertain")],
    ["Matched by a rule and rejected by the model", by("rejected")],
    ["Left out because the code was read earlier", by("read_before")],
  ];
  return groups.flatMap(([title, ones]) =>
    section("", ones, droppedLine, maxBytes).map((list) => ({ title, list })),
  );
}

export function droppedLine(one: DroppedFinding): string {
  const place = placeLabel(one.path, one.line, one.line);
  const rule = one.rule === null ? "" : ` (${untrustedCode(one.rule)})`;
  return `- ${place} ${untrustedLine(one.title, 200)}${rule}. ${untrustedLine(whyDropped(one), 300)}`;
}
