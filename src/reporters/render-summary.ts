import type { Finding } from "../finding.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { byteLength } from "../text/cut.ts";
import { formatMarker } from "./markers.ts";
import {
  countBySeverity,
  duration,
  nothingFound,
  outcomeOf,
  outcomeSentence,
  plural,
  summaryOf,
  unreadPlaces,
  usageSentence,
} from "./outcome.ts";
import { type CommentContext, renderFinding } from "./render-comment.ts";
import { findingLink, type LinkBase, severityBadge } from "./render-places.ts";
import { untrustedBlock, untrustedCode, untrustedLine } from "./render-untrusted.ts";

/** A finding that has no comment of its own, and why. */
export interface ListedFinding {
  finding: Finding;
  reason: string;
}

export interface SummaryInput {
  result: ReviewResult;
  /** Version of Hunkwise. */
  version: string;
  /** Posted on their lines or files by this review. */
  posted: readonly Finding[];
  listed: readonly ListedFinding[];
  /** Still true, and already said by an earlier review. */
  standing: readonly Finding[];
  /** What the maintainer should know: a permission that is missing, a channel that failed. */
  notices: readonly string[];
}

/** Bytes for each part; together with their frames they stay below `mostBodyBytes` of a comment. */
const room = { summary: 5_000, posted: 9_000, listed: 22_000, titles: 6_000, standing: 4_000, list: 3_000 };

/** The sticky summary comment of a pull request, marker included. */
export function renderSummaryComment(input: SummaryInput, context: CommentContext): string {
  const marker = formatMarker({ kind: "summary", head: context.headSha, trigger: context.trigger });
  return `${renderSummary(input, context)}\n\n${marker}`;
}

/** The summary without a marker, for wherever it is shown; under 60,000 bytes. */
export function renderSummary(input: SummaryInput, base: LinkBase): string {
  const { result } = input;
  if (isQuiet(input)) return quietLine(input);
  const blocks = [
    `### Hunkwise: ${headline(result)}`,
    outcomeSentence(result) && `**${outcomeSentence(result)}.**`,
    ...input.notices.slice(0, 5).map((notice) => `⚠️ ${untrustedLine(notice, 600)}`),
    untrustedBlock(summaryOf(result), room.summary),
    ...section(
      "",
      input.posted.map((finding) => titleLine(finding, base)),
      room.posted,
    ),
    ...listedSection(input.listed, base),
    ...section(
      "**Already reported, and still there**",
      input.standing.map((finding) => titleLine(finding, base)),
      room.standing,
    ),
    ...section("**Not read**", unreadLines(result), room.list),
    ...section(
      "**Warnings**",
      result.warnings.map((warning) => `- ${untrustedLine(warning)}`),
      room.list,
    ),
    details("About this review", footer(input)),
  ];
  return blocks.filter((block) => block !== "").join("\n\n");
}

/** All was read, nothing was found, and there is nothing else to say. */
function isQuiet({ result, notices }: SummaryInput): boolean {
  const silent = result.findings.length === 0 && result.warnings.length === 0 && notices.length === 0;
  return silent && outcomeOf(result) === "complete";
}

function quietLine(input: SummaryInput): string {
  const { hunks_total, files_total, files_skipped } = input.result.coverage;
  const reviewed = files_total - files_skipped.length;
  if (hunks_total === 0) return details("Hunkwise: no hunk of this change is to be reviewed", footer(input));
  const extent = `${plural(hunks_total, "hunk")} in ${plural(reviewed, "file")}`;
  const skipped = files_skipped.length > 0 ? `, ${plural(files_skipped.length, "file")} skipped` : "";
  return details(`✅ Hunkwise found no problems: ${extent} read${skipped}`, footer(input));
}

function headline(result: ReviewResult): string {
  const found = countBySeverity(result.findings.map(({ finding }) => finding));
  if (found !== "") return found;
  return {
    complete: nothingFound(result),
    offline: "analyzers only, nothing found",
    partial: "incomplete review",
  }[outcomeOf(result)];
}

function titleLine(finding: Finding, base: LinkBase): string {
  return `- ${severityBadge(finding.severity)}: ${untrustedLine(finding.title)} (${findingLink(finding, base)})`;
}

/** In full while there is room, then by title, then by number: what is left out is said to be. */
function listedSection(listed: readonly ListedFinding[], base: LinkBase): string[] {
  if (listed.length === 0) return [];
  const full = fitting(
    listed.map(({ finding, reason }) => {
      const why = `_Not on its line: ${untrustedLine(reason)}._`;
      return `${renderFinding(finding, "list", base, 6_000)}\n\n${why}`;
    }),
    room.listed,
  );
  const titles = listed.slice(full.length).map(({ finding }) => titleLine(finding, base));
  return [full.join("\n\n---\n\n"), ...section("**And, in short**", titles, room.titles)];
}

function unreadLines(result: ReviewResult): string[] {
  return unreadPlaces(result).map(({ path, what }) => `- ${untrustedCode(path)}: ${untrustedLine(what)}`);
}

function footer({ result, version }: SummaryInput): string {
  const { coverage, mode, model } = result;
  const reader =
    mode === "offline" ? "analyzers only, no model" : `model ${untrustedCode(model ?? "unknown")}`;
  const read =
    mode === "offline"
      ? `analyzers only (${plural(coverage.hunks_total, "hunk")})`
      : `${coverage.hunks_served} of ${plural(coverage.hunks_total, "hunk")} in ${plural(coverage.files_total, "file")}`;
  const skipped = coverage.files_skipped.map(
    ({ path, reason }) => `- skipped ${untrustedCode(path)}: ${untrustedLine(reason)}`,
  );
  return [
    `- reviewed \`${result.merge_base_sha.slice(0, 12)}..${result.head_sha.slice(0, 12)}\` with ${reader}`,
    `- coverage: ${read}`,
    `- usage: ${usageSentence(result)}`,
    `- took ${duration(result.duration_ms)}, ended with \`${result.stop_reason}\``,
    `- Hunkwise ${untrustedLine(version, 60)}`,
    ...section("", skipped, room.list),
  ].join("\n");
}

function details(title: string, text: string): string {
  return `<details><summary>${title}</summary>\n\n${text}\n\n</details>`;
}

/** A titled list of as many lines as fit, with the number of those that do not; nothing for no lines. */
function section(title: string, lines: readonly string[], maxBytes: number): string[] {
  if (lines.length === 0) return [];
  const shown = fitting(lines, maxBytes);
  const rest = lines.length - shown.length;
  const list = [...shown, ...(rest > 0 ? [`- and ${rest} more`] : [])].join("\n");
  return [title === "" ? list : `${title}\n\n${list}`];
}

function fitting(parts: readonly string[], maxBytes: number): string[] {
  let left = maxBytes;
  const end = parts.findIndex((part) => {
    left -= byteLength(part) + 8;
    return left < 0;
  });
  return end < 0 ? [...parts] : parts.slice(0, end);
}
